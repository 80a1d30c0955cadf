package difalt

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// flattest bounds the condition number of Problem.Moments: directions in which features
// vary by less than this part of the mean get the steps of that.
const flattest = 1e-6

// A momentPreconditioner is what the scaled steps multiply gradients by from the left, in
// place of 1/(n m), where the moments M of the features are known:
//
//	K^-1,   K = n M + ridge I,
//
// about the Hessian of a task with a b_t of length one. It takes the correlations of the
// features out of the iteration count, as P^-1 does the condition number of the b_t.
type momentPreconditioner struct {
	inverse  *kernel.Basis    // K^-1, d x d; nil: mean
	mean     *meanInverse     // K^-1 of moments that were found
	product  []*kernel.Basis  // K^-1 grad of every hosted node
	addRidge func(worker int) // stored, so that calling it does not allocate
}

// checkMoments checks the shape and the entries of Problem.Moments.
func (p *Problem) checkMoments(d int) error {
	if n := p.Moments.SymmetricDim(); n != d {
		return fmt.Errorf("difalt: Moments is %d x %d, want %d x %d", n, n, d, d)
	}
	for i := range d {
		for j := range i + 1 {
			if v := p.Moments.At(i, j); !finite(v) || i == j && v < 0 {
				return fmt.Errorf("difalt: Moments, row %d, column %d is %v", i, j, v)
			}
		}
	}
	return nil
}

// newMomentPreconditioner returns nil without moments, and with those of the problem for
// methods that do not use P either. Others measure by those that were found.
func (s *Solver) newMomentPreconditioner() (p *momentPreconditioner, err error) {
	p = &momentPreconditioner{product: newBases(s.at.u)}
	switch m := s.data.moments; {
	case m != nil:
		p.mean = m.inverse(s.data.meanSamples(), s.data.ridge)
	case s.problem.Moments == nil || !s.o.sumsCoefficients():
		return nil, nil
	default:
		if p.inverse, err = s.invertMoments(); err != nil {
			return nil, err
		}
	}
	r, bb, at, ridge := s.o.Rank, make([][]float64, len(s.hosted)), s.at, s.data.ridge
	for i := range bb {
		bb[i] = make([]float64, r*(r+1)/2)
	}
	p.addRidge = s.each(func(i int) { addRidge(at.grads[i], at.u[i], bb[i], at.groups[i].B, ridge) })
	return p, nil
}

// invertMoments returns K^-1 for the moments of the problem.
func (s *Solver) invertMoments() (*kernel.Basis, error) {
	d := s.data.features
	n := s.data.meanSamples() * s.data.unit.x * s.data.unit.x
	k := mat.NewSymDense(d, nil)
	k.ScaleSym(n, s.problem.Moments)
	for i := range d {
		k.SetSym(i, i, k.At(i, i)+s.data.ridge+flattest*n*mat.Trace(s.problem.Moments)/float64(d))
	}
	var c mat.Cholesky
	inverse := mat.NewSymDense(d, nil)
	if !c.Factorize(k) || c.InverseTo(inverse) != nil {
		return nil, fmt.Errorf("difalt: Moments are not those of any features: they have a negative eigenvalue")
	}
	return kernel.BasisOf(inverse), nil
}

// apply returns K^-1 grad for hosted node i, valid until the next call for that node. Without
// moments that is grad, to be divided by iterate.curvature.
func (p *momentPreconditioner) apply(i int, grad blas.ColumnMajor) blas.ColumnMajor {
	if p == nil {
		return grad
	}
	h := p.product[i]
	if p.mean == nil {
		blas.MulTN(h.Matrix(), p.inverse.Matrix(), grad)
		return h.Matrix()
	}
	for j := range grad.Cols {
		p.mean.apply(h.Col(j), column(grad, j))
	}
	return h.Matrix()
}

// curvature is what is left to divide K^-1 grad by: n m without moments.
func (at *iterate) curvature() float64 {
	if at.moments != nil {
		return 1
	}
	return at.data.curvature()
}

// addRidge adds to grad the gradient of ridge |u b_t|^2, which is that of ridge |b_t|^2 but
// not only for orthonormal u; bb is scratch for B B'. It lies in the span of u, where a plain
// step does not feel it; multiplied by K^-1 it does not, and without it the step would not
// vanish at the minimiser.
func addRidge(grad, u *kernel.Basis, bb, b []float64, ridge float64) {
	_, r := u.Dims()
	gather(bb, b, r, ridge)
	k := 0
	for i := range r {
		for j := i; j < r; j++ {
			floats.AddScaled(grad.Col(i), bb[k], u.Col(j))
			if i != j {
				floats.AddScaled(grad.Col(j), bb[k], u.Col(i))
			}
			k++
		}
	}
}
