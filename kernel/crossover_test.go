//go:build openblas

package kernel

import (
	"testing"

	"github.com/difalt/difalt/kernel/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/netlib/blas/netlib"
)

// TestCrossover holds the shapes of the benchmarks to the tiles on processors that
// have some, and everything where OpenBLAS does not know the processor.
func TestCrossover(t *testing.T) {
	for _, tier := range []tile.Tier{tile.AVX2, tile.AVX512, tile.NEON} {
		for _, core := range []string{"SkylakeX", "Haswell", "Zen", "ARMV8", "Prescott"} {
			if rank, _ := crossover(tier, core); rank <= 16 {
				t.Errorf("%v tiles, OpenBLAS for %s: OpenBLAS from rank %d on", tier, core, rank)
			}
		}
		if rank, _ := crossover(tier, "Prescott"); rank < 1e6 {
			t.Errorf("%v tiles: OpenBLAS without AVX from rank %d on", tier, rank)
		}
	}
}

// gonum is the host program's until that asks for OpenBLAS.
func TestUseBLAS(t *testing.T) {
	if _, ok := blas64.Implementation().(netlib.Implementation); ok {
		t.Error("gonum uses OpenBLAS although nobody asked for it")
	}
	before := blas64.Implementation()
	defer func() {
		blas64.Use(before)
		lapack64.Use(lapackgonum.Implementation{})
	}()
	UseBLAS()
	if _, ok := blas64.Implementation().(netlib.Implementation); !ok {
		t.Errorf("gonum's BLAS is %T", blas64.Implementation())
	}
}
