//go:build !openblas

package kernel

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
)

func library() string { return "" }

func openBLASBackend() backend { return nil }

func useBLAS() {
	if tile.Active() != tile.Generic {
		blas.Use()
	}
}
