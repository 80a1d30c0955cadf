//go:build !openblas

package kernel

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
)

func library() string { return "" }

// openBLASBackend is never called in builds without OpenBLAS.
func openBLASBackend() backend { panic(badBackend) }

func useBLAS() {
	if tile.Active() != tile.Generic {
		blas.Use()
	}
}
