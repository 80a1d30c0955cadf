package blas_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// A product whose left factor is packed to save pages has the bits of products of few columns, which read it
// in place: with every form of the factors, in real and in complex numbers.
func TestPackedLeftSameBits(t *testing.T) {
	const m, n, k, ld, part = 257, 300, 270, 311, 75
	rng := rand.New(rand.NewPCG(3, 9))
	normal := func() []float64 {
		x := make([]float64, ld*ld)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	a, b, old := normal(), normal(), normal()
	pairs := func(x []float64) []complex128 {
		z := make([]complex128, len(x))
		for i, v := range x {
			z[i] = complex(v, x[len(x)-1-i])
		}
		return z
	}
	za, zb, zold := pairs(a), pairs(b), pairs(old)
	var i blas.Implementation
	real := func(tA, tB gblas.Transpose, columns, from int, c []float64) {
		at := from
		if tB != gblas.NoTrans {
			at *= ld
		}
		i.Dgemm(tA, tB, m, columns, k, 1.5, a, ld, b[at:], ld, 1, c[from:], ld)
	}
	complexes := func(tA, tB gblas.Transpose, columns, from int, c []complex128) {
		at := from
		if tB != gblas.NoTrans {
			at *= ld
		}
		i.Zgemm(tA, tB, m, columns, k, 1.5i, za, ld, zb[at:], ld, 1, c[from:], ld)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // several threads take few columns each
	tiertest.Each(t, func(t *testing.T) {
		if tile.Active() == tile.Generic {
			t.Skip("gonum computes")
		}
		for _, tA := range []gblas.Transpose{gblas.NoTrans, gblas.Trans} {
			for _, tB := range []gblas.Transpose{gblas.NoTrans, gblas.Trans} {
				packed, direct := slices.Clone(old), slices.Clone(old)
				zpacked, zdirect := slices.Clone(zold), slices.Clone(zold)
				real(tA, tB, n, 0, packed)
				complexes(tA, tB, n, 0, zpacked)
				for from := 0; from < n; from += part {
					real(tA, tB, part, from, direct)
					complexes(tA, tB, part, from, zdirect)
				}
				if !slices.Equal(packed, direct) || !slices.Equal(zpacked, zdirect) {
					t.Errorf("%c %c: the product has other bits than its parts", tA, tB)
				}
			}
		}
	})
}
