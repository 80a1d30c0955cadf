package blas

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// TestOrderedRows: routines of few rows of a triangle have the bits of gonum on amd64.
func TestOrderedRows(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum's code is rounded otherwise")
	}
	type routines interface {
		gblas.Float64
		gblas.Float32
	}
	rng := rand.New(rand.NewPCG(77, 78))
	vector := func() (x []float64, x32 []float32) {
		for range 120 {
			v := rng.NormFloat64()
			x, x32 = append(x, v), append(x32, float32(v))
		}
		return x, x32
	}
	for range 3000 {
		n, lda := rng.IntN(9), 10
		incs := []int{1, 1, 2, -1, -3}
		incX, incY := incs[rng.IntN(5)], incs[rng.IntN(5)]
		ul := []gblas.Uplo{gblas.Upper, gblas.Lower}[rng.IntN(2)]
		alpha, beta := []float64{1, 0, -.7}[rng.IntN(3)], []float64{0, 1, .3}[rng.IntN(3)]
		x, x32 := vector()
		w, w32 := vector()
		y, y32 := vector()
		alpha32, beta32 := float32(alpha), float32(beta)
		for name, call := range map[string]func(f routines, y []float64, y32 []float32){
			"syr": func(f routines, y []float64, y32 []float32) {
				f.Dsyr(ul, n, alpha, x, incX, y, lda)
				f.Ssyr(ul, n, alpha32, x32, incX, y32, lda)
			},
			"spr": func(f routines, y []float64, y32 []float32) {
				f.Dspr(ul, n, alpha, x, incX, y)
				f.Sspr(ul, n, alpha32, x32, incX, y32)
			},
			"syr2": func(f routines, y []float64, y32 []float32) {
				f.Dsyr2(ul, n, alpha, x, incX, w, incY, y, lda)
				f.Ssyr2(ul, n, alpha32, x32, incX, w32, incY, y32, lda)
			},
			"spr2": func(f routines, y []float64, y32 []float32) {
				f.Dspr2(ul, n, alpha, x, incX, w, incY, y)
				f.Sspr2(ul, n, alpha32, x32, incX, w32, incY, y32)
			},
			"spmv": func(f routines, y []float64, y32 []float32) {
				f.Dspmv(ul, n, alpha, w, x, incX, beta, y, incY)
				f.Sspmv(ul, n, alpha32, w32, x32, incX, beta32, y32, incY)
			},
		} {
			got, want, got32, want32 := slices.Clone(y), slices.Clone(y), slices.Clone(y32), slices.Clone(y32)
			call(ordered{}, got, got32)
			call(reference.Implementation{}, want, want32)
			if !slices.Equal(got, want) || !slices.Equal(got32, want32) {
				t.Fatalf("%s %c of order %d, increments %d and %d, alpha %v, beta %v", name, ul, n, incX, incY, alpha,
					beta)
			}
		}
	}
}
