//go:build !openblas

package kernel

import (
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

func library() string { return "" }

func openBLASBackend() backend { return nil }

func openBLASWork(maxSamples, d, r int) []float64 { return nil }

func useBLAS() {
	if tile.Active() != tile.Generic {
		blas.Use()
	}
}
