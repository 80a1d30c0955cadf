package tile_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// A column is set apart from (2 max(n, r) eps)^2 times the squares of the matrix on: here at 2^-49.5.
func TestSetApart(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		for _, c := range []struct {
			left  float64
			apart bool
		}{{0x1p-48, false}, {0x1p-49, false}, {0x1p-50, true}, {0, true}} {
			a, y := []float64{1, 0, 1, c.left}, []float64{0, 1}
			b, work := make([]float64, 2), make([]float64, tile.LeastSquaresWork(2, 2))
			tile.Orthogonalize(b, a, 2, 2, 2, y, work, 0)
			if got := b[1] == 0; got != c.apart {
				t.Errorf("%g is left of the second column: set apart %v, want %v, b = %v", c.left, got, c.apart, b)
			}
		}
	})
}

// All columns of a zero matrix are set apart, and nothing is divided by zero.
func TestLeastSquaresOfZeros(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		for n := 1; n <= 20; n++ {
			for r := 1; r <= 9; r++ {
				y, e, b := make([]float64, n), make([]float64, n), make([]float64, r)
				for i := range y {
					y[i] = float64(i + 1)
				}
				lo, hi, squares := tile.LeastSquares(b, e, make([]float64, n*r), n, n, r, y,
					make([]float64, tile.LeastSquaresWork(n, r)), 0)
				want := 0.0
				for i, v := range y {
					want += v * v
					if math.Abs(e[i]) != v {
						t.Fatalf("%d x %d: residual %v of y = %v", n, r, e, y)
					}
				}
				for _, v := range b {
					if v != 0 {
						t.Fatalf("%d x %d: b = %v", n, r, b)
					}
				}
				if lo != 0 || hi != 0 || squares != want {
					t.Fatalf("%d x %d: lo = %v, hi = %v, squares = %v, want 0, 0 and %v", n, r, lo, hi, squares, want)
				}
			}
		}
	})
}
