package lsq

import (
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// TestNoSamples: a matrix without rows needs no memory, whatever its stride; the solution is 0.
func TestNoSamples(t *testing.T) {
	for _, stride := range []int{0, 1, 5} {
		for _, ridge := range []float64{0, 2} {
			b := []float64{3, 4}
			got := Solve(b, blas64.GeneralCols{Cols: 2, Stride: stride}, nil, Options{Ridge: ridge}, nil)
			if b[0] != 0 || b[1] != 0 || got.SquaredResidual != 0 || (got.Status == OK) != (ridge > 0) {
				t.Errorf("stride %d, ridge %g: %v, %+v", stride, ridge, b, got)
			}
		}
	}
}
