package consensus

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// A recurrence yields the factors of the Chebyshev semi-iteration. With x_0 = z and
//
//	x_k+1 = omega_k+1 W x_k + (1 - omega_k+1) x_k-1
//
// x_k is p_k(W) z, where p_k(t) = T_k(t/g) / T_k(1/g) for the Chebyshev polynomial
// T_k and g = bound: of all polynomials of degree k with p(1) = 1 the one with the
// smallest modulus on [-g, g] (Golub and Varga, Chebyshev semi-iterative methods,
// 1961). Since p(1) = 1 it keeps what W keeps.
//
// Where |t| > g, p_k is larger, but never larger than t^k: T_k(y)/y^k increases with
// y >= 1. So if g does not exceed gamma(W), k steps never average less than W^k.
//
// For a bound of zero all factors are 1, and x_k = W^k z.
type recurrence struct {
	bound float64 // g
	omega float64 // of the round under way
	last  float64 // the same, but 2 for k = 1
}

// advance makes omega the next of omega_1 = 1, omega_2, omega_3 and so on.
func (c *recurrence) advance() {
	if c.last == 0 {
		c.omega, c.last = 1, 2
		return
	}
	c.last = 1 / (1 - c.bound*c.bound*c.last/4)
	c.omega = c.last
}

// chebyshevOf returns p_k(w) for k > 0, or the error of ctx if it ends before.
func chebyshevOf(ctx context.Context, w *mat.Dense, bound float64, k int) (*mat.Dense, error) {
	l, _ := w.Dims()
	c := recurrence{bound: bound}
	var before, p *mat.Dense // p_k-1 and p_k
	before = mat.NewDense(l, l, nil)
	p = mat.NewDense(l, l, nil)
	for i := range l {
		p.Set(i, i, 1)
	}
	for range k {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.advance()
		next := product(w, p)
		for i, v := range next.RawMatrix().Data {
			next.RawMatrix().Data[i] = c.omega*v + (1-c.omega)*before.RawMatrix().Data[i]
		}
		before, p = p, next
	}
	return p, nil
}
