// Package gram computes the Gram matrix of the coefficients of all tasks, P = unit^2 sum_t b_t b_t'. It
// preconditions steps, and its eigenvectors are the directions of the variation of the coefficients.
package gram

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// A Matrix holds P of all nodes, its eigenvalues and its inverse.
type Matrix struct {
	P       []float64 // the upper triangle by rows
	Inverse []float64 // r x r, 0 if P is 0
	Values  []float64 // the eigenvalues in ascending order
	vectors []float64 // the eigenvector of Values[k] is vectors[i*r+k], i = 0, ..., r-1
	work    []float64
}

// worst bounds the condition number of P. Smaller eigenvalues count as the largest one divided by worst, so
// that steps are bounded in directions that no task uses.
const worst = 1e6

// New returns the zero matrix of r x r.
func New(r int) *Matrix {
	c := &Matrix{
		P: make([]float64, r*(r+1)/2), Inverse: make([]float64, r*r),
		vectors: make([]float64, r*r), Values: make([]float64, r),
	}
	query := make([]float64, 1)
	c.eigenvectors(query, -1)
	c.work = make([]float64, int(query[0]))
	return c
}

// eigenvectors sets Values to the eigenvalues of the symmetric matrix in vectors, and vectors to its
// eigenvectors. lapack64 has other bits on other processors.
func (c *Matrix) eigenvectors(work []float64, lwork int) {
	r := len(c.Values)
	blas.Lapack{}.Dsyev(lapack.EVCompute, gblas.Upper, r, c.vectors, r, c.Values, work, lwork)
}

// Outer sets p to the upper triangle of scale sum_t w_t b_t b_t' for the coefficients of one node, b_t =
// b[t*r:(t+1)*r]. All w_t are 1 if weights is nil.
func Outer(p, b []float64, r int, weights []float64, scale float64) {
	clear(p)
	for t := 0; len(b) > 0; t, b = t+1, b[r:] {
		k, factor := 0, scale
		if weights != nil {
			factor *= weights[t]
		}
		for i := range r {
			for j := i; j < r; j++ {
				p[k] += float64(factor * b[i] * b[j]) // two roundings on every processor
				k++
			}
		}
	}
}

// Least is the smallest eigenvalue of P that counts.
func (c *Matrix) Least() float64 { return max(c.Values[0], c.Values[len(c.Values)-1]/worst) }

// Condition is the condition number of P, infinite if P is singular to rounding.
func (c *Matrix) Condition() float64 {
	return c.Values[len(c.Values)-1] / max(c.Values[0], 0)
}

// Invert sets P to the given upper triangle, and computes its eigenvalues and its inverse.
func (c *Matrix) Invert(p []float64) {
	r, at := len(c.Values), 0
	copy(c.P, p)
	for i := range r {
		for j := i; j < r; j++ {
			c.vectors[i*r+j] = p[at]
			at++
		}
	}
	clear(c.Inverse)
	if c.eigenvectors(c.work, len(c.work)); c.Values[r-1] > 0 {
		c.Map(c.Inverse, func(v float64) float64 { return 1 / v })
	}
}

// Map sets dst (r x r) to the matrix with the eigenvectors of P and a function of its eigenvalues, where
// those below Least are raised to it.
func (c *Matrix) Map(dst []float64, f func(value float64) float64) {
	r, least := len(c.Values), c.Least()
	clear(dst)
	for k, v := range c.Values {
		w := f(max(v, least))
		for i := range r {
			for j := range r {
				dst[i*r+j] += float64(c.vectors[i*r+k] * c.vectors[j*r+k] * w)
			}
		}
	}
}

// AddProduct adds v s to dst, for a symmetric r x r matrix s.
func AddProduct(dst, v *kernel.Basis, s []float64) {
	d, r := v.Dims()
	tile.RankUpdate(dst.Data(), dst.Stride(), v.Data(), v.Stride(), s, r, r, d, r)
}

// Vector returns a copy of the eigenvector of Values[k].
func (c *Matrix) Vector(k int) []float64 {
	r := len(c.Values)
	v := make([]float64, r)
	for i := range r {
		v[i] = c.vectors[i*r+k]
	}
	return v
}

// Leverage returns b'P^-1 b.
func (c *Matrix) Leverage(b []float64) (h float64) {
	for i, x := range b {
		for j, y := range b {
			h += float64(x * c.Inverse[i*len(b)+j] * y)
		}
	}
	return h
}
