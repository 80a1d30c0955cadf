//go:build openblas

package kernel_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/blas/blas64"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/netlib/blas/netlib"
)

// gonum is the host program's until that asks for OpenBLAS. Then the gonum backend computes with OpenBLAS.
func TestUse(t *testing.T) {
	used := func() bool {
		_, ok := blas64.Implementation().(netlib.Implementation)
		return ok
	}
	if used() {
		t.Error("gonum uses OpenBLAS although nobody asked for it")
	}
	before := blas64.Implementation()
	defer func() {
		blas64.Use(before)
		lapack64.Use(lapackgonum.Implementation{})
	}()
	blas.Use()
	if v := kernel.Describe().Library; !used() || !strings.Contains(v, "OpenBLAS") {
		t.Errorf("gonum's BLAS is %T, library %q", blas64.Implementation(), v)
	}
	use(t, "gonum")
	rng := rand.New(rand.NewPCG(55, 56))
	for _, r := range []int{1, 4, 11} {
		tasks, x, y := randomTasks(rng, 23, []int{40, 0, 9, 17}, kernel.Float64)
		(&conformance{t, tasks, x, y, randomBasis(rng, 23, r), 0}).check()
	}
}

// The call to C stays inside its operands, also for tasks that it leaves alone between others, and computes
// what gonum does: samples, responses, coefficients, gradient and scratch memory end at memory that nobody
// may touch.
func TestOpenBLASStaysInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 58))
	for i := range 60 {
		r := 1 + rng.IntN(9)
		d := r + rng.IntN(20)
		samples := make([]int, 12)
		for t := range samples {
			samples[t] = rng.IntN(25)
		}
		tasks, x, y := randomTasks(rng, d, samples, kernel.Storage(i%2))
		use(t, "openblas")
		u, g := randomBasis(rng, d, r), kernel.NewGroup(tasks, r)
		ws := kernel.NewWorkspace(g)
		kernel.GuardOpenBLAS(t, g, ws)
		g.Step(u, float64(i%3), ws)
		for k, s := range stepReference(u, float64(i%3), x, y, x, y).Status {
			if g.Status[k] != s && samples[k] != r {
				t.Errorf("status %v of task %d, want %v", g.Status[k], k, s)
			}
		}
	}
}
