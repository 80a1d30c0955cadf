package difalt

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// flattest bounds the condition number of Problem.Moments: directions in which features
// vary by less than this part of the mean get the steps of that.
const flattest = 1e-6

// A preconditioner is what the scaled steps multiply gradients by from the left, in place
// of 1/(n m), where Problem.Moments M is known:
//
//	K^-1,   K = n M + ridge I,
//
// about the Hessian of a task with a b_t of length one. It takes the correlations of the
// features out of the iteration count, as P^-1 does the condition number of the b_t.
type preconditioner struct {
	inverse *kernel.Basis   // K^-1, d x d
	product []*kernel.Basis // K^-1 grad of every hosted node
	bb      [][]float64     // B B' likewise
	add     func(worker int)
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

// newPreconditioner returns nil without moments, and for methods that do not use P either.
func newPreconditioner(s *Solver) (*preconditioner, error) {
	switch s.method.(type) {
	case *scaledDiffusion, *accelerated:
	default:
		return nil, nil
	}
	if s.p.Moments == nil || s.o.Accelerated.Preconditioner == PreconditionerNone {
		return nil, nil
	}
	d, r := s.u[0].Dims()
	n := s.meanSamples() * s.unit.x * s.unit.x
	k := mat.NewSymDense(d, nil)
	k.ScaleSym(n, s.p.Moments)
	for i := range d {
		k.SetSym(i, i, k.At(i, i)+s.ridge()+flattest*n*mat.Trace(s.p.Moments)/float64(d))
	}
	var c mat.Cholesky
	inverse := mat.NewSymDense(d, nil)
	if !c.Factorize(k) || c.InverseTo(inverse) != nil {
		return nil, fmt.Errorf("difalt: Moments are not those of any features: they have a negative eigenvalue")
	}
	p := &preconditioner{inverse: kernel.BasisOf(inverse)}
	for range s.u {
		p.product = append(p.product, kernel.NewBasis(d, r))
		p.bb = append(p.bb, make([]float64, r*(r+1)/2))
	}
	p.add = s.perNode(func(i int) { p.addRidge(s, i) })
	return p, nil
}

// addRidge adds the gradient of ridge |U b_t|^2, which is that of ridge |b_t|^2 but not
// only for orthonormal U. It lies in U, where a plain step does not feel it; multiplied by
// K^-1 it does not, and without it the step would not vanish at the minimiser.
func (p *preconditioner) addRidge(s *Solver, i int) {
	u, grad, bb := s.u[i], s.grads[i], p.bb[i]
	gather(bb, s.groups[i].B, s.o.Rank, s.ridge())
	k := 0
	for a := range s.o.Rank {
		for b := a; b < s.o.Rank; b++ {
			floats.AddScaled(grad.Col(a), bb[k], u.Col(b))
			if a != b {
				floats.AddScaled(grad.Col(b), bb[k], u.Col(a))
			}
			k++
		}
	}
}
