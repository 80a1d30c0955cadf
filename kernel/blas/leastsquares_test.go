package blas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// TestGels: Dgels finds the solutions that right sides were made of: any of an op(A) that has no more columns
// than rows, and one in the range of op(A)' otherwise.
func TestGels(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(55, 56))
		sizes := [][2]int{{1, 1}, {1, 3}, {3, 1}, {2, 2}, {3, 5}, {5, 3}, {7, 7}, {40, 40}, {40, 70}, {70, 40}}
		for _, s := range sizes {
			for _, tA := range transposes {
				for _, scale := range []float64{1, 0x1p-1000, 0x1p1000} {
					a := random(rng, s[0], s[1], 2)
					op, sides := a.clone(), 1+rng.IntN(4)
					if tA != gblas.NoTrans {
						op = a.transposed()
					}
					x := random(rng, op.cols, sides, 0)
					if op.cols > op.rows {
						x = op.transposed().times(random(rng, op.rows, sides, 0))
					}
					b := random(rng, max(s[0], s[1]), sides, 3)
					for i := range op.rows {
						copy(b.data[i*b.stride:][:sides], op.times(x).data[i*sides:])
					}
					a.multiplyBy(scale)
					work := make([]float64, 100*(s[0]+s[1]))
					ok := blas.Lapack{}.Dgels(tA, s[0], s[1], sides, a.data, a.stride, b.data, b.stride, work,
						len(work))
					b.multiplyBy(scale)
					if off := b.part(op.cols, sides).off(x); !ok || !(off < 1e-10) {
						t.Errorf("%d x %d, %c, entries of size %g: %v, off by %g", s[0], s[1], tA, scale, ok, off)
					}
				}
			}
		}
	})
}
