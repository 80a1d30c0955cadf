//go:build openblas

package kernel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas/blas64"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/netlib/blas/netlib"
)

// gonum is the host program's until that asks for OpenBLAS. Then the gonum backend computes with
// OpenBLAS by netlib.
func TestUseBLAS(t *testing.T) {
	if _, ok := blas64.Implementation().(netlib.Implementation); ok {
		t.Error("gonum uses OpenBLAS although nobody asked for it")
	}
	before := blas64.Implementation()
	defer func() {
		blas64.Use(before)
		lapack64.Use(lapackgonum.Implementation{})
	}()
	kernel.UseBLAS()
	if _, ok := blas64.Implementation().(netlib.Implementation); !ok {
		t.Errorf("gonum's BLAS is %T", blas64.Implementation())
	}
	use(t, "gonum")
	rng := rand.New(rand.NewPCG(55, 56))
	for _, r := range []int{1, 4, 11} {
		tasks, x, y := randomTasks(rng, 23, []int{40, 0, 9, 17}, kernel.Float64)
		checkBackend(t, tasks, x, y, randomBasis(rng, 23, r), 0)
	}
}
