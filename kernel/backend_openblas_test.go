//go:build openblas

package kernel_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas/blas64"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/netlib/blas/netlib"
)

// gonum is the host program's until that asks for OpenBLAS, by UseBLAS or by the backend. Both backends over
// gonum then compute with OpenBLAS, on one thread.
func TestUseBLAS(t *testing.T) {
	if v := kernel.Describe().Library; !strings.Contains(v, "OpenBLAS") {
		t.Errorf("library %q", v)
	}
	used := func() bool {
		_, ok := blas64.Implementation().(netlib.Implementation)
		return ok
	}
	if used() && kernel.Describe().Kernel != "openblas" {
		t.Error("gonum uses OpenBLAS although nobody asked for it")
	}
	before := blas64.Implementation()
	reset := func() {
		blas64.Use(before)
		lapack64.Use(lapackgonum.Implementation{})
	}
	defer reset()
	for name, ask := range map[string]func(){"gonum": kernel.UseBLAS, "openblas": func() {}} {
		reset()
		ask()
		use(t, name)
		if !used() || openblas.Threads() != 1 {
			t.Errorf("%s: gonum's BLAS is %T, with %d threads", name, blas64.Implementation(), openblas.Threads())
		}
		rng := rand.New(rand.NewPCG(55, 56))
		for _, r := range []int{1, 4, 11} {
			tasks, x, y := randomTasks(rng, 23, []int{40, 0, 9, 17}, kernel.Float64)
			checkBackend(t, tasks, x, y, randomBasis(rng, 23, r), 0)
		}
	}
}
