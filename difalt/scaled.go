package difalt

import (
	"context"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/topology"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// scaling is what a node needs for the scaled step: the r x r matrix
//
//	P = Agree(L B_g B_g'), which is sum_t b_t b_t' where the nodes agree,
//
// and its inverse. Multiplying the gradient by P^-1 takes the condition number out
// of the iteration count (ScaledGD of Tong, Ma and Chi, "Accelerating
// Ill-Conditioned Low-Rank Matrix Estimation via Scaled Gradient Descent", carried
// to this setting).
type scaling struct {
	p       []float64 // the upper triangle by rows: the scalars of the node's message
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
		vectors: make([]float64, r*r), values: make([]float64, r),
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

// gather sets P = scale B B' for the coefficients of one node, b_t = b[t*r:(t+1)*r].
func (c *scaling) gather(b []float64, scale float64) {
	r := len(c.values)
	clear(c.p)
	for ; len(b) > 0; b = b[r:] {
		k := 0
		for i := range r {
			for j := i; j < r; j++ {
				c.p[k] += scale * b[i] * b[j]
				k++
			}
		}
	}
}

// invert computes P^-1 from the eigenvalues of P.
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

// adaptScaled computes Z = U - step grad P^-1; it overwrites the inverse.
func (c *scaling) adaptScaled(z, u, grad *kernel.Basis, step float64) {
	for k := range c.inverse {
		c.inverse[k] *= -step * c.factor
	}
	z.CopyFrom(u)
	_, r := z.Dims()
	blas.GemmNT(grad.Matrix(), blas.Matrix{Rows: r, Cols: r, Stride: r, Data: c.inverse}, z.Matrix())
}

// prepareScaled brings to every node what the scaled step needs from the others. In
// the first iteration the nodes agree on P by itself; afterwards it travels with Z,
// one iteration late, and costs no round of its own.
func (s *Solver) prepareScaled(ctx context.Context) error {
	if !s.shared {
		for i, g := range s.groups {
			s.scalings[i].gather(g.B, float64(s.nodes()))
		}
		if err := s.agree(ctx, s.scheme.mixer, topology.Exact, nil, s.scales, s.o.InitRounds); err != nil {
			return err
		}
	}
	if s.tracker != nil {
		if err := s.track(ctx); err != nil {
			return err
		}
	}
	s.shared = true
	return nil
}

// adaptScaledNode is the local update of ScaledDiffusion and GradientTracking at
// one node: Z = U - (s/n) L grad P^-1, or with the tracked gradient in place of L
// grad. It leaves the node's own L B B' in P, to be averaged together with Z.
func (s *Solver) adaptScaledNode(i int) {
	c, step := s.scalings[i], s.o.ScaledStep/s.meanSamples()
	grad := s.grads[i]
	if s.tracker != nil {
		grad = s.tracker.sum[i]
	} else {
		step *= s.scheme.scale
	}
	c.invert()
	c.adaptScaled(s.z[i], s.u[i], grad, step)
	c.gather(s.groups[i].B, float64(s.nodes()))
}
