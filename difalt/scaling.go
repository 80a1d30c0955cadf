package difalt

import (
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A scaling is what a node needs for the scaled step: P, its inverse, and the length
// of the step.
type scaling struct {
	p       []float64 // the upper triangle by rows
	inverse []float64
	raised  bool // the last inversion had to raise an eigenvalue
	damping

	values, vectors, work []float64 // of the eigenvalue problem
}

// condition bounds the condition number of P. Smaller eigenvalues are raised to the
// largest over condition, so that a direction of which the tasks say nothing gets a
// long step but never an endless one.
const condition = 1e6

func newScaling(r int) *scaling {
	c := &scaling{
		p: make([]float64, r*(r+1)/2), inverse: make([]float64, r*r),
		vectors: make([]float64, r*r), values: make([]float64, r), damping: damping{factor: 1},
	}
	query := make([]float64, 1)
	lapack64.Syev(lapack.EVCompute, c.symmetric(), c.values, query, -1)
	c.work = make([]float64, int(query[0]))
	return c
}

func (c *scaling) symmetric() blas64.Symmetric {
	r := len(c.values)
	return blas64.Symmetric{N: r, Stride: r, Data: c.vectors, Uplo: gblas.Upper}
}

// multiply computes dst = v s for a symmetric r x r matrix s, and addProduct dst += v s.
func multiply(dst *kernel.Basis, v blas.ColumnMajor, s []float64) {
	clear(dst.Data())
	addProduct(dst, v, s)
}

func addProduct(dst *kernel.Basis, v blas.ColumnMajor, s []float64) {
	r := v.Cols
	blas.AddMulNT(dst.Matrix(), v, blas.ColumnMajor{Rows: r, Cols: r, Stride: r, Data: s})
}

// gather sets P = scale B B' for the coefficients of one node, b_t = b[t*r:(t+1)*r].
func gather(p, b []float64, r int, scale float64) {
	clear(p)
	for ; len(b) > 0; b = b[r:] {
		k := 0
		for i := range r {
			for j := i; j < r; j++ {
				p[k] += scale * b[i] * b[j]
				k++
			}
		}
	}
}

// invert computes P^-1 from the eigenvalues of P, of which the smallest comes first.
func (c *scaling) invert() {
	r := len(c.values)
	k := 0
	for i := range r {
		for j := i; j < r; j++ {
			c.vectors[i*r+j] = c.p[k]
			k++
		}
	}
	clear(c.inverse)
	c.raised = false
	if lapack64.Syev(lapack.EVCompute, c.symmetric(), c.values, c.work, len(c.work)); !(c.values[r-1] > 0) {
		c.raised = true // every coefficient is zero: no step
		return
	}
	for k, v := range c.values {
		if least := c.values[r-1] / condition; v < least {
			v, c.raised = least, true
		}
		for i := range r {
			for j := range r {
				c.inverse[i*r+j] += c.vectors[i*r+k] * c.vectors[j*r+k] / v
			}
		}
	}
}
