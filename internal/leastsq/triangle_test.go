package leastsq_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tiertest"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Triangles have the products of [A y] with itself, wherever they are stored and in numbers of any size.
func TestTriangle(t *testing.T) {
	const at = 3
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(15, 1))
		for _, e := range [][2]int{{}, {600, 0}, {-600, -600}, {0, 700}, {0, -700}, {-1000, 900}} {
			for _, shape := range [][2]int{{9, 4}, {40, 7}, {4, 4}, {2, 3}, {1, 1}} {
				p := random(rng, shape[0], shape[1])
				q, n, r := p.scaled(e[0], e[1]), p.n, p.r
				R := blas64.GeneralCols{Rows: at + r, Cols: r, Stride: at + r + 1, Data: make([]float64, (at+r+1)*r)}
				c := make([]float64, at+r)
				rest := leastsq.Triangle(R, c, at, q.matrix(), q.y, 0, leastsq.NewWorkspace(n, r))
				m := mat.NewDense(r+1, r+1, nil) // [R c; 0 rest], scaled back
				for j := range r {
					for i := range r {
						m.Set(i, j, math.Ldexp(R.Data[j*R.Stride+at+i], -e[0]))
					}
					m.Set(j, r, math.Ldexp(c[at+j], -e[1]))
				}
				m.Set(r, r, math.Ldexp(rest, -e[1]))
				var both, want, got mat.Dense
				both.Augment(p.dense(), mat.NewVecDense(n, p.y))
				want.Mul(both.T(), &both)
				got.Mul(m.T(), m)
				got.Sub(&got, &want)
				if d := mat.Norm(&got, 2); !(d <= 1e-14*float64(n+r)*mat.Norm(&want, 2)) {
					t.Errorf("%d x %d, times 2^%v: products are off by %g", n, r, e, d)
				}
				for j := range r {
					if m.At(j, j) < 0 || norm(R.Data[j*R.Stride:][:at]) != 0 ||
						norm(R.Data[j*R.Stride+at+j+1:][:r-j]) != 0 {
						t.Errorf("%d x %d: column %d of R is %v", n, r, j, R.Data[j*R.Stride:][:R.Stride])
					}
				}
			}
		}
	})
}

// FuzzSolve solves problems of small integers times a power of two.
func FuzzSolve(f *testing.F) {
	f.Add(uint8(3), uint8(2), int16(0), uint8(0), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(uint8(2), uint8(4), int16(-1000), uint8(0), []byte{1, 0xff, 3})
	f.Add(uint8(9), uint8(4), int16(500), uint8(1), []byte{1, 1, 1, 1, 1, 2, 7})
	f.Add(uint8(4), uint8(4), int16(-530), uint8(9), []byte{0, 0, 0, 1})
	f.Add(uint8(0), uint8(1), int16(0), uint8(0), []byte{})
	f.Fuzz(func(t *testing.T, rows, cols uint8, exponent int16, ridge uint8, data []byte) {
		at := 0
		p := newProblem(int(rows)%70, 1+int(cols)%20, func() float64 {
			if len(data) == 0 {
				return 0
			}
			at++
			return float64(int8(data[at%len(data)]) + int8(at/len(data)))
		})
		e := int(exponent) % 900
		p.check(t, 0, 0, [2]int{e, e})
		p.check(t, float64(ridge)/16, 0)
	})
}
