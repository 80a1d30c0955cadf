package qr

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// Which way a matrix is factored changes only the time, so that only this test would notice another gate.
func TestGates(t *testing.T) {
	const long = 1e40
	for name, c := range map[string]struct {
		cosine               float64 // of all angles between three columns
		scale                float64 // of the last column
		orthogonal, cholesky bool
	}{
		"nearly orthogonal":   {.999 * .5 / math.Sqrt2 / math.Sqrt(3), 1, true, true},
		"not so":              {1.001 * .5 / math.Sqrt2 / math.Sqrt(3), 1, false, true},
		"of other lengths":    {.999 * .5 / math.Sqrt2 / math.Sqrt(3), long, true, true},
		"apart":               {1 - 2e-8, 1, false, true},
		"nearly dependent":    {1 - .4e-8, 1, false, false},
		"dependent":           {1, 1, false, false},
		"long":                {0, 1.01e50, true, false},
		"short":               {0, .99e-50, true, false},
		"shortest, longest":   {0, 1.01e-50, true, true},
		"zero, with a cosine": {.1, 0, false, false},
	} {
		g, r, inv := make([]float64, 9), make([]float64, 9), make([]float64, 3)
		for j := range 3 {
			for i := range j + 1 {
				g[3*j+i] = c.cosine
				if i == j {
					g[3*j+i] = 1
				}
				if j == 2 {
					g[3*j+i] *= c.scale
				}
			}
		}
		g[8] *= c.scale
		of := func(x []float64) blas64.GeneralCols { return blas64.GeneralCols{Rows: 3, Cols: 3, Stride: 3, Data: x} }
		if got := nearlyOrthogonal(of(g)); got != c.orthogonal {
			t.Errorf("%s: nearly orthogonal %t", name, got)
		}
		if got := cholesky(of(r), of(g), inv); got != c.cholesky {
			t.Errorf("%s: Cholesky %t", name, got)
		}
	}
}
