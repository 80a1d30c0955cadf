package mixed

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

// A Covariance is the posterior covariance of a task's coefficients, with the uncertainty of mu and of the
// strengths: Packed or, for a task of n rows that are few beside the columns, the reduced form
//
//	Widening ((I - S M) (S + MeanFactor MeanCovariance + N) (I - M S) + S Root' diag(Shares) Root S).
//
// S is the covariance of deviations, M = Root' Root, and N has those entries of M, times Variances, whose
// row and column are of one group ([Strengths]).
type Covariance struct {
	Packed     []float64 // P(P+1)/2 numbers; nil: the other fields count
	Root       []float64 // n x P by rows: the whitened rows, rotated so that no row can be found again
	Shares     []float64 // n numbers: the noise's share of the variance along each row of Root
	MeanFactor float64
}

// Strengths have what reduced covariances of all tasks have in common.
type Strengths struct {
	Widening  float64   `json:"widening"` // to intervals of Student's t
	Groups    []int     `json:"groups"`   // group of each of the P columns, ascending; -1: none
	Variances []float64 `json:"-"`        // of the squared strengths, for each of the P columns
}

// columnsPerRow is the least number of columns for each row of a task whose covariance is reduced. Then the
// form has at most half of the numbers.
const columnsPerRow = 4

// isReduced reports whether a task of n rows and p columns has a reduced covariance.
func isReduced(n, p int) bool { return columnsPerRow*n <= p }

// numbers returns how many numbers the covariance holds.
func (c *Covariance) numbers() int { return len(c.Packed) + len(c.Root) + len(c.Shares) }

// numbers returns how many numbers the covariances of all tasks hold.
func (k *Tasks) numbers() (sum int) {
	for i := range k.Covariances {
		sum += k.Covariances[i].numbers()
	}
	return sum
}

// times sets dst to S x, where S is the covariance of deviations. dst must not alias x.
func (p *Prior) times(dst, x []float64) {
	for j, d := range p.Deviations {
		dst[j] = d * d * x[j]
	}
	for k := range p.Rank {
		l := p.Loadings[k*len(dst):][:len(dst)]
		rounded.AddScaled(dst, rounded.Dot(l, x), l)
	}
}

// reduced returns the reduced form of the posterior covariance of a task of rows. With the eigenvalues L and
// the eigenvectors Q of RR', where V = R'R, Root is Q'R'^-1 X, and the noise of the coefficients, S X'V^-1
// Noise V^-1 X S, is S Root' Noise L^-1 Root S. The error is errNumeric.
func (s *solver) reduced() (c Covariance, err error) {
	n, p := len(s.vector), s.width()
	both := make([]float64, n*p+n) // one slice: two take more memory of a task of few rows
	c = Covariance{Root: both[: n*p : n*p], Shares: both[n*p:]}
	if n == 0 {
		return c, nil
	}
	factor, square := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		copy(factor[i*n+i:(i+1)*n], s.factor[i*n+i:])
	}
	dense.Syrk(blas.NoTrans, 1, dense.General(n, n, factor), 0, dense.Symmetric(n, square))
	values, ok := dense.Eigen(n, square)
	if !ok {
		return c, errNumeric
	}
	for i, v := range values {
		c.Shares[i] = s.noise / max(v, s.noise) // rounding may move an eigenvalue below the noise
	}
	root, half := dense.General(n, p, c.Root), dense.General(n, p, s.half)
	dense.Gemm(blas.Trans, blas.NoTrans, 1, dense.General(n, n, square), half, 0, root)
	return c, nil
}

// variance returns z' C z for the covariance of the coefficients of task t; that of an unseen task for t =
// -1, or if the model has no covariances of known tasks.
func (m *Model) variance(t int, z []float64) float64 {
	if t < 0 || m.p.Tasks.Covariances == nil {
		return quadratic(m.unseen, z)
	}
	c := &m.p.Tasks.Covariances[t]
	if c.Packed != nil {
		return quadratic(c.Packed, z)
	}
	return m.p.reducedVariance(c, z)
}

// reducedVariance returns z' C z for a reduced covariance.
func (p *Parameters) reducedVariance(c *Covariance, z []float64) float64 {
	var stack [2 * stackWidth]float64
	both, w := stack[:], len(z)
	if 2*w > len(both) {
		both = make([]float64, 2*w)
	}
	left, moved := both[:w], both[w:][:w] // left becomes (I - M S) z
	copy(left, z)
	p.Prior.times(moved, z)
	sum := 0.0
	for i, share := range c.Shares {
		root := c.Root[i*w:][:w]
		along := rounded.Dot(root, moved)
		sum += float64(share * square(along))
		rounded.AddScaled(left, -along, root)
	}
	p.Prior.times(moved, left)
	sum += max(rounded.Dot(moved, left), 0) + float64(c.MeanFactor*quadratic(p.MeanCovariance, left))
	sum += p.Tasks.Strengths.quadratic(c, left)
	return p.Tasks.Strengths.Widening * sum
}

// quadratic returns x' N x for a reduced covariance.
func (s *Strengths) quadratic(c *Covariance, x []float64) (sum float64) {
	for i := range c.Shares {
		root := c.Root[i*len(x):][:len(x)]
		group, variance, part := -1, 0.0, 0.0
		for j, g := range s.Groups {
			if g < 0 {
				continue
			}
			if g != group {
				sum += float64(variance * square(part))
				group, variance, part = g, s.Variances[j], 0
			}
			part += float64(root[j] * x[j])
		}
		sum += float64(variance * square(part))
	}
	return sum
}

// covariance returns the packed covariance of the coefficients of task t, which must not be changed; that of
// an unseen task for t = -1, or if the model has no covariances of known tasks.
func (m *Model) covariance(t int) []float64 {
	if t < 0 || m.p.Tasks.Covariances == nil {
		return m.unseen
	}
	c := &m.p.Tasks.Covariances[t]
	if c.Packed != nil {
		return c.Packed
	}
	return m.p.pack(c)
}

// pack returns the packed form of a reduced covariance.
func (p *Parameters) pack(c *Covariance) []float64 {
	w, n, s := len(p.Mean), len(c.Shares), p.Tasks.Strengths
	path, middle, part := make([]float64, w*w), make([]float64, w*w), make([]float64, w*w)
	dense.Unpack(middle, w, p.MeanCovariance)
	dense.Mirror(w, middle)
	floats.Scale(c.MeanFactor, middle)
	root, gain := dense.General(n, w, c.Root), dense.General(n, w, make([]float64, n*w)) // gain has Root S
	if n > 0 {
		for i := range n {
			p.Prior.times(gain.Data[i*w:][:w], c.Root[i*w:][:w])
		}
		information := part
		dense.Gemm(blas.Trans, blas.NoTrans, 1, root, root, 0, dense.General(w, w, information))
		for i, g := range s.Groups {
			for j, h := range s.Groups {
				if g == h && g >= 0 {
					middle[i*w+j] += float64(s.Variances[i] * information[i*w+j])
				}
			}
		}
		dense.Gemm(blas.Trans, blas.NoTrans, -1, gain, root, 0, dense.General(w, w, path))
	}
	for i := range w {
		path[i*w+i]++
	}
	for i := range w {
		p.Prior.times(part[i*w:][:w], path[i*w:][:w])
	}
	left := dense.General(w, w, path)
	dense.Gemm(blas.NoTrans, blas.NoTrans, 1, left, dense.General(w, w, middle), 1, dense.General(w, w, part))
	dense.Gemm(blas.NoTrans, blas.Trans, 1, dense.General(w, w, part), left, 0, dense.General(w, w, middle))
	if n > 0 {
		for i, share := range c.Shares {
			floats.Scale(math.Sqrt(share), gain.Data[i*w:][:w])
		}
		dense.Gemm(blas.Trans, blas.NoTrans, 1, gain, gain, 1, dense.General(w, w, middle))
	}
	out := dense.Pack(nil, w, middle)
	floats.Scale(s.Widening, out)
	return out
}

// check reports arrays that do not fit p columns, and numbers that no covariance has. name is for errors
// about the packed form; prior is the largest variance of a deviation.
func (c *Covariance) check(name string, p int, prior float64) error {
	factor := array{"mean_factor", &[]float64{c.MeanFactor}, []int{1}, limits{0, varianceLimits.most}}
	list := []array{
		{"root", &c.Root, []int{len(c.Shares), p}, coefficientLimits},
		{"shares", &c.Shares, []int{len(c.Shares)}, limits{0, 1}},
		factor,
	}
	if c.Packed != nil {
		list = []array{{name, &c.Packed, []int{dense.Triangle(p)}, covarianceLimits}, factor}
	}
	for _, a := range list {
		if err := a.check(); err != nil {
			if a.name != name {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return err
		}
	}
	if c.Packed == nil {
		return nil
	}
	return checkDiagonal(name, c.Packed, p, prior)
}

// check reports strengths that do not fit p columns, or impossible numbers.
func (s *Strengths) check(p int) error {
	if s == nil {
		return errors.New("the model has reduced covariances of tasks and no strengths")
	}
	if !(s.Widening > 0 && s.Widening <= varianceLimits.most) {
		return fmt.Errorf("the widening of covariances is %v: it must be above 0, at most %g", s.Widening,
			varianceLimits.most)
	}
	variances := array{"strength_variance", &s.Variances, []int{p}, limits{0, varianceLimits.most}}
	if err := variances.check(); err != nil {
		return err
	}
	if len(s.Groups) != p {
		return fmt.Errorf("there are %d groups of strengths of %d columns", len(s.Groups), p)
	}
	last := -1
	for j, g := range s.Groups {
		if g >= 0 && g < last || g < -1 {
			return fmt.Errorf("the group of the strength of column %d is %d, after %d", j, g, last)
		}
		last = max(last, g)
	}
	return nil
}
