//go:build !openblas

package kernel

import (
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

func library() string { return "" }

func useBLAS() {
	if tile.Active() != tile.Generic {
		blas.Use()
	}
}

// stepOpenBLAS does the tasks of chunks with OpenBLAS and reports whether it did;
// this build has no OpenBLAS.
func (g *Group) stepOpenBLAS(int, int, *Basis, float64, *Workspace) bool { return false }

// openBLASWork returns the scratch memory of stepOpenBLAS.
func openBLASWork(maxSamples, d, r int) []float64 { return nil }
