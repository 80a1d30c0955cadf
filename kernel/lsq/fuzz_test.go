package lsq_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// FuzzSolve solves problems of small integers times a power of two, and holds the
// solution to the normal equations.
func FuzzSolve(f *testing.F) {
	f.Add(uint8(3), uint8(2), int16(0), uint8(0), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(uint8(2), uint8(4), int16(-1000), uint8(0), []byte{1, 0xff, 3})
	f.Add(uint8(9), uint8(4), int16(500), uint8(1), []byte{1, 1, 1, 1, 1, 2, 7})
	f.Add(uint8(4), uint8(4), int16(-530), uint8(9), []byte{0, 0, 0, 1})
	f.Add(uint8(0), uint8(1), int16(0), uint8(0), []byte{})
	f.Fuzz(func(t *testing.T, rows, cols uint8, exponent int16, ridge uint8, data []byte) {
		n, r := int(rows)%70, 1+int(cols)%20
		p := newProblem(n, r, n+1)
		at := 0
		next := func() float64 {
			if len(data) == 0 {
				return 0
			}
			at++
			return float64(int8(data[at%len(data)]) + int8(at/len(data)))
		}
		p.fill(next)
		e := int(exponent) % 900
		b, status := p.scaled(e, e).solve(t, 0)
		// At least one of n and r is the rank of a matrix that is called regular.
		if (status == lsq.OK && n < r) || (status == lsq.Underdetermined && n >= r) || status == lsq.NotFinite {
			t.Fatalf("status %v for %d samples and %d columns", status, n, r)
		}
		stationary(t, p, b, 0)
		lambda := float64(ridge) / 16
		b, status = p.solve(t, lambda)
		if lambda > 0 && status != lsq.OK {
			t.Fatalf("status %v with ridge %g", status, lambda)
		}
		stationary(t, p, b, lambda)
	})
}

// stationary checks that the gradient A'(A b - y) + ridge b is zero to rounding.
func stationary(t *testing.T, p problem, b []float64, ridge float64) {
	t.Helper()
	if p.n == 0 && norm(b) == 0 {
		return
	}
	g := p.gradient(b)
	g.AddScaledVec(g, ridge, mat.NewVecDense(p.r, b))
	m := math.Hypot(mat.Norm(p.dense(), 2), math.Sqrt(ridge)) // of [A; sqrt(ridge) I]
	bound := 1e-12 * m * (m*norm(b) + norm(p.y))
	if v := mat.Norm(g, 2); !(v <= bound) || math.IsInf(bound, 0) {
		t.Errorf("%d x %d, ridge %g: gradient %g, want at most %g", p.n, p.r, ridge, v, bound)
	}
}
