package owners

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// denseObjective returns the penalised objective of a mean over all rows, least over the intercepts and the
// coefficients of directions of tasks: with V = I + Z Z', where Z has the columns of these deviations times
// their prior standard deviations in units of the noise,
//
//	sum_t (y_t - X_t mu)' V_t^-1 (y_t - X_t mu) + sum_j ridge_j mu_j^2.
func denseObjective(t *testing.T, s *frame, u *kernel.Basis, mu []float64, r *ridges) float64 {
	t.Helper()
	total, d := 0.0, len(s.level)
	_, rank := u.Dims()
	for j, c := range s.design.Columns() {
		total += mu[j] * mu[j] * map[mixed.ColumnKind]float64{mixed.Linear: r[linear], mixed.Bend: r[curve]}[c.Kind]
	}
	for _, g := range s.nodes {
		for k := range g.tasks {
			x, y := g.tasks[k].set(folds)
			n := len(y)
			z, e := mat.NewDense(n, 1+rank, nil), mat.NewVecDense(n, nil)
			for i := range n {
				row := x.Data[i*x.Stride:][:x.Cols]
				e.SetVec(i, y[i]-floats.Dot(row, mu))
				z.Set(i, 0, row[0]/math.Sqrt(r[intercept]))
				for q := range rank {
					z.Set(i, 1+q, floats.Dot(row[1:1+d], u.Col(q)[:d])/math.Sqrt(r[direction]))
				}
			}
			v := mat.NewSymDense(n, nil)
			v.SymOuterK(1, z)
			for i := range n {
				v.SetSym(i, i, v.At(i, i)+1)
			}
			var f mat.Cholesky
			check.FailIf(t, !f.Factorize(v), "V of task %d is singular", k)
			var w mat.VecDense
			check.Done(f.SolveVecTo(&w, e))
			total += mat.Dot(e, &w)
		}
	}
	return total
}

// The objective, from which ridges and the noise follow, is that of dense matrices: at its least mean, and at
// the slopes of a private training, which are given.
func TestObjective(t *testing.T) {
	s := laidOut(t, drawn(t, 6, 2, 5, 9))
	p, strengths, u := s.design.Width(), &ridges{.4, 3, .2, 1.5}, kernel.NewBasis(3, 2)
	u.Col(0)[0], u.Col(0)[1], u.Col(1)[2] = .6, .8, 1
	given := make([]float64, p)
	for j := 1; j < p; j++ {
		given[j] = .3 * math.Sin(float64(3*j))
	}
	information := s.informations([]*span{s.span(basis{folds, u}, strengths)})[0]
	for _, s.slopes = range [][]float64{nil, given} {
		o := check.OK(s.solve(information, strengths))
		if want := denseObjective(t, s, u, o.mu, strengths); math.Abs(o.value-want) > 1e-9*want {
			t.Errorf("given slopes %v: the objective is %v, of dense matrices %v", s.slopes != nil, o.value, want)
		}
		if s.slopes != nil {
			check.FailIf(t, !floats.Equal(o.mu, given), "the given slopes are replaced by %v", o.mu)
			continue
		}
		for j := range p { // no other mean has a lower one
			for _, h := range []float64{-1e-3, 1e-3} {
				other := append([]float64(nil), o.mu...)
				other[j] += h
				check.FailIf(t, denseObjective(t, s, u, other, strengths) < o.value, "a lower objective along column %d", j)
			}
		}
	}
}

// The covariances of the mean and of the effects, in units of the noise, are the inverses of dense normal
// equations: under the ridges of the model, and with hardly any.
func TestCovariances(t *testing.T) {
	s := laidOut(t, drawn(t, 8, 2, 5, 9))
	p, u := s.design.Width(), kernel.NewBasis(3, 1)
	u.Col(0)[0], u.Col(0)[2] = .6, .8
	best := &trial{rank: 1, ridges: ridges{.4, 3, .2, 1.5}, loss: math.Inf(1)}
	b := basis{folds, u}
	e := s.estimate(best, b)
	information := informationOf(t, s, b, &best.ridges)
	inverse := func(bends, lines float64) *mat.SymDense {
		m := mat.NewSymDense(p, nil)
		for i := range p {
			for j := i; j < p; j++ {
				m.SetSym(i, j, information[dense.Triangle(p)-dense.Triangle(p-i)+j-i])
			}
		}
		for j, c := range s.design.Columns() {
			m.SetSym(j, j, m.At(j, j)+map[mixed.ColumnKind]float64{mixed.Linear: lines, mixed.Bend: bends}[c.Kind])
		}
		var f mat.Cholesky
		check.FailIf(t, !f.Factorize(m), "the normal equations are singular")
		var v mat.SymDense
		check.Done(f.InverseTo(&v))
		return &v
	}
	weak := func(deviation float64) float64 { return e.noise / (deviation * deviation) }
	for name, c := range map[string]struct{ got, want *mat.SymDense }{
		"mean": {e.c, inverse(best.ridges[curve], best.ridges[linear])},
		// Prior standard deviations of 30 for linear effects and .3 for curves, in deviations of the target.
		"effects": {mat.NewSymDense(p, e.flat.factor.Data), inverse(min(best.ridges[curve], weak(.3)), weak(30))},
	} {
		for i := range p {
			for j := i; j < p; j++ {
				size := math.Sqrt(c.want.At(i, i) * c.want.At(j, j))
				if got, want := c.got.At(i, j), c.want.At(i, j); !(math.Abs(got-want) <= 1e-6*size) {
					t.Errorf("%s: the covariance of columns %d and %d is %v, of dense matrices %v", name, i, j, got, want)
				}
			}
		}
	}
}
