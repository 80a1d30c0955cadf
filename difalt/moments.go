package difalt

import (
	"context"
	"fmt"
	"math"

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
	inverse  inverse
	product  []*kernel.Basis  // K^-1 grad of every hosted node
	addRidge func(worker int) // stored, so that calling it does not allocate
}

// An inverse sets h = K^-1 grad, without allocating.
type inverse func(h *kernel.Basis, grad blas.ColumnMajor)

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
		p.inverse = m.inverse(s.data.meanSamples(), s.data.ridge)
	case s.problem.Moments == nil || !s.o.sumsCoefficients():
		return nil, nil
	default:
		if p.inverse, err = s.invertMoments(); err != nil {
			return nil, err
		}
	}
	r, at, ridge := s.o.Rank, s.at, s.data.ridge
	bb := zeros(len(s.hosted), r*(r+1)/2)
	p.addRidge = s.each(func(i int) { addRidge(at.grads[i], at.u[i], bb[i], at.groups[i].B, ridge) })
	return p, nil
}

// invertMoments returns K^-1 for the moments of the problem.
func (s *Solver) invertMoments() (inverse, error) {
	d, moments := s.data.features, s.problem.Moments
	n := s.data.meanSamples() * s.data.unit.x * s.data.unit.x
	k := mat.NewSymDense(d, nil)
	k.ScaleSym(n, moments)
	for i := range d {
		k.SetSym(i, i, k.At(i, i)+s.data.ridge+flattest*n*mat.Trace(moments)/float64(d))
	}
	var c mat.Cholesky
	if !c.Factorize(k) || c.InverseTo(k) != nil {
		return nil, fmt.Errorf("difalt: Moments are not those of any features: they have a negative eigenvalue")
	}
	dense := kernel.BasisOf(k)
	return func(h *kernel.Basis, grad blas.ColumnMajor) { blas.MulTN(h.Matrix(), dense.Matrix(), grad) }, nil
}

// apply returns K^-1 grad for hosted node i, valid until the next call for that node. Without
// moments that is grad, to be divided by iterate.curvature.
func (p *momentPreconditioner) apply(i int, grad blas.ColumnMajor) blas.ColumnMajor {
	if p == nil {
		return grad
	}
	p.inverse(p.product[i], grad)
	return p.product[i].Matrix()
}

// curvature is what is left to divide K^-1 grad by: n m without moments.
func (at *iterate) curvature() float64 {
	if at.moments != nil {
		return 1
	}
	return at.data.curvature()
}

// newtonStep sets y = (I - u u') K^-1 grad P^-1 for the sum of the gradients at u: by so much a Newton-like
// step would lead away from u. What offsets leave of rounding in the gradient is in the direction that
// K^-1 makes short, so that comes first. c has P and its inverse; inner is r x r.
func (at *iterate) newtonStep(y, grad, u *kernel.Basis, c *scaling, inner []float64) {
	multiply(y, at.moments.apply(0, grad.Matrix()), c.inverse)
	floats.Scale(1/at.curvature(), y.Data())
	project(y, u, inner)
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

// featureMoments are the means mu and the variances v of the features over the samples of all
// nodes, where these would mislead methods for which features are alike: offsets, and columns of
// very different sizes. Of the second moments
//
//	M = diag(v) + mu mu'
//
// they leave out correlations alone. Against sizes, columns are divided by powers of two near
// their deviations, the coordinates, in which U is another basis; against offsets, gradients
// are multiplied by M^-1, as where Problem.Moments is known.
type featureMoments struct {
	mean, variance []float64 // in the coordinates
}

// coordinates are the powers of two by which features are divided: with D = diag(c) samples are
// x~ = D^-1 x, theta = D^-1 theta~, and U spans D^-1 U~.
type coordinates []float64

const (
	// A mean of features, in units of their deviations, matters when its squared length is
	// above offset, and a variance when it is more than wide times the mean of all, or less than
	// one narrow-th of it. Steps are as long as fits the mean.
	offset       = 0.5
	wide, narrow = 2, 4
	// So many standard deviations above these is what a sample may be by chance.
	chance = 6
	// Of so many samples a node sees whether moments may matter; of few it does not.
	looked, fewest = 1000, 8
	// Values that differ by no more than this part are one.
	rounded = 1e-14
)

// matter reports whether moments that were found in so many samples do. A variance of 0 is that
// of a constant, of which only the size may matter.
func matter(mean, variance []float64, samples float64) bool {
	total, squares, least, most, d := 0.0, 0.0, math.Inf(1), 0.0, 0.0
	for j, v := range variance {
		if v > 0 {
			squares += mean[j] * mean[j]
		} else if v = mean[j] * mean[j]; v == 0 {
			continue
		}
		total, least, most = total+v, min(least, v), max(most, v)
		d++
	}
	average := total / d
	luck := math.Exp(chance / math.Sqrt(samples))
	unbiased := squares/average - d/samples
	return unbiased > offset+chance*math.Sqrt(2*d)/samples || most > wide*luck*average || least*narrow*luck < average
}

// mayMatter is what a node says of the moments of some of its own samples.
func mayMatter(k *kernel.Tasks) bool {
	step := 1 + k.TotalSamples()/looked
	row, first := make([]float64, k.Features()), []float64(nil)
	sum, squares, n := make([]float64, len(row)), make([]float64, len(row)), 0.0
	at := 0
	for t := range k.Len() {
		for i := range k.Samples(t) {
			if at++; (at-1)%step != 0 {
				continue
			}
			if k.Row(row, t, i); first == nil {
				first = append(first, row...)
			}
			n++
			for j, v := range row { // less the first, so that no offset hides how they vary
				v -= first[j]
				sum[j] += v
				squares[j] += v * v
			}
		}
	}
	if n < fewest {
		return false
	}
	for j := range sum {
		sum[j] /= n
		squares[j] = (squares[j] - n*sum[j]*sum[j]) / (n - 1)
		sum[j] += first[j]
		squares[j] = realVariance(sum[j], squares[j])
	}
	return matter(sum, squares, n)
}

// realVariance is 0 where what varies is rounding.
func realVariance(mean, variance float64) float64 {
	if !(variance > (rounded*mean)*(rounded*mean)) {
		return 0
	}
	return variance
}

// findMoments lets the nodes add up the moments of their features, and returns nil if these do
// not matter.
func (k *data) findMoments(ctx context.Context, s *process, samples float64) (*featureMoments, error) {
	add := func(visit func(sum, row []float64)) ([]float64, error) {
		mean, err := s.sum(ctx, k.features, func(i int, sum []float64) {
			row := make([]float64, k.features)
			for t := range k.nodes[i].Len() {
				for n := range k.nodes[i].Samples(t) {
					visit(sum, k.nodes[i].Row(row, t, n))
				}
			}
		})
		floats.Scale(1/samples, mean)
		return mean, err
	}
	mean, err := add(func(sum, row []float64) { floats.Add(sum, row) })
	if err != nil {
		return nil, err
	}
	variance, err := add(func(sum, row []float64) { // about the means, so that offsets cost no digits
		for j, v := range row {
			sum[j] += (v - mean[j]) * (v - mean[j])
		}
	})
	if err != nil {
		return nil, err
	}
	for j := range variance {
		variance[j] = realVariance(mean[j], variance[j])
	}
	if !matter(mean, variance, samples) {
		return nil, nil
	}
	return &featureMoments{mean, variance}, nil
}

// coordinates returns those for the moments, which it brings into them.
func (m *featureMoments) coordinates() coordinates {
	c := make(coordinates, len(m.mean))
	for j, v := range m.variance {
		if v == 0 {
			v = m.mean[j] * m.mean[j]
		}
		if c[j] = 1; v > 0 {
			c[j] = math.Ldexp(1, int(math.Round(math.Log2(v)/2)))
		}
		m.mean[j] /= c[j]
		m.variance[j] /= c[j] * c[j]
	}
	return c
}

// leave returns U R = D^-1 u of a basis u in these coordinates, with U orthonormal, and R as
// kernel.Basis.Orthonormalize has it; enter an orthonormal basis of D u, of which leave makes u again.
func (c coordinates) leave(u *kernel.Basis) (out *kernel.Basis, rr []float64) {
	return c.scale(u, floats.Div)
}

func (c coordinates) enter(u *kernel.Basis) *kernel.Basis {
	out, _ := c.scale(u, floats.Mul)
	return out
}

func (c coordinates) scale(u *kernel.Basis, by func(column, c []float64)) (out *kernel.Basis, rr []float64) {
	out = u.Clone()
	_, r := u.Dims()
	for k := range r {
		by(out.Col(k), c)
	}
	rr = make([]float64, r*r)
	out.Orthonormalize(rr, nil)
	return out, rr
}

// inverse returns K^-1 for K = n (diag(v) + mu mu') + ridge I, in O(d) a vector.
func (m *featureMoments) inverse(n, ridge float64) inverse {
	diagonal := make([]float64, len(m.mean)) // 1/(n v + ridge); 0 for features that say nothing
	sum, constant := 0.0, -1                 // a feature other than 0 with a diagonal of 1/0; -1: none
	for j, v := range m.variance {
		mu := m.mean[j]
		switch v = n*v + ridge; {
		case v > 0:
			diagonal[j] = 1 / v
			sum += mu * mu / v
		case mu != 0 && constant < 0:
			constant = j
		}
	}
	share := n / (1 + n*sum)
	apply := func(h, g []float64) {
		if constant < 0 {
			floats.MulTo(h, diagonal, g)
			along := share * floats.Dot(m.mean, h)
			for j, mu := range m.mean {
				h[j] -= along * mu * diagonal[j]
			}
			return
		}
		level := g[constant] / m.mean[constant] // by which offsets are taken off
		for j, mu := range m.mean {
			h[j] = diagonal[j] * (g[j] - mu*level)
		}
		h[constant] = (level/n - floats.Dot(m.mean, h)) / m.mean[constant]
	}
	return func(h *kernel.Basis, grad blas.ColumnMajor) {
		for j := range grad.Cols {
			apply(h.Col(j), column(grad, j))
		}
	}
}
