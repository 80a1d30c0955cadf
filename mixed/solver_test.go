package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func normals(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// priors returns priors with and without zeros among their deviations, of rank 0 to 2, and one without any.
func priors(r *rand.Rand, p int) (list []*Prior) {
	for k := range 6 {
		prior := &Prior{Deviations: make([]float64, p), Rank: k / 2, Loadings: normals(r, p*(k/2))}
		prior.Noise.Variance = .3
		for j := range p {
			if k%2 == 0 || j != 1 && j != p-1 {
				prior.Deviations[j] = .2 + r.Float64()
			}
		}
		list = append(list, prior)
	}
	return append(list, &Prior{Deviations: make([]float64, p), Noise: Noise{Variance: 1.7}})
}

// Rows and products both give the results of the dense covariance of y, with fewer rows than columns and with
// more.
func TestSolverAgainstDenseCovariance(t *testing.T) {
	const p = 5
	r := rand.New(rand.NewPCG(1, 2))
	for k, prior := range priors(r, p) {
		for _, n := range []int{0, 1, 3, 12} {
			x, y, mean := normals(r, n*p), normals(r, n), normals(r, p)
			root, c := mat.NewDense(p, p, normals(r, p*p)), mat.NewDense(p, p, nil)
			c.Mul(root, root.T())
			ratio := map[int]float64{3: .6}[n] // otherwise 0, which means 1
			products := &taskData{Rows: n, YY: floats.Dot(y, y), G: make([]float64, p*p), C: make([]float64, p),
				Noise: ratio}
			if n > 0 {
				products.AddRows(x, y)
			}
			noise := prior.Noise.Variance
			if ratio != 0 {
				noise *= ratio
			}
			rows := &taskData{Rows: n, X: x, Y: y, YY: products.YY, Noise: ratio}
			for form, task := range map[string]*taskData{"rows": rows, "products": products} {
				t.Run(fmt.Sprintf("prior %d, %d %s", k, n, form), func(t *testing.T) {
					s := new(solver)
					for range 2 { // the second time on used memory
						check.Done(s.Set(prior, task))
						compare(t, s, noise, x, y, mean, c)
					}
				})
			}
		}
	}
}

func nearAll(t *testing.T, name string, got []float64, want ...float64) {
	t.Helper()
	check.FailIf(t, !floats.EqualApprox(got, want, 1e-9), "%s: %v, want %v", name, got, want)
}

// compare compares the results of a solver with those of dense matrices.
func compare(t *testing.T, s *solver, noise float64, x, y, mean []float64, c *mat.Dense) {
	t.Helper()
	p, n := len(mean), len(y)
	prior, m, theta := mat.NewDense(p, p, s.prior.Covariance()), mat.NewDense(p, p, nil), mat.NewVecDense(p, mean)
	h, gain := mat.NewVecDense(p, nil), mat.NewDense(p, max(n, 1), nil) // X'V^-1 y and S X'V^-1
	if n > 0 {
		xs, ys := mat.NewDense(n, p, x), mat.NewVecDense(n, y)
		var v, inverse, xv mat.Dense
		v.Product(xs, prior, xs.T())
		for i := range n {
			v.Set(i, i, v.At(i, i)+noise)
		}
		check.Done(inverse.Inverse(&v))
		xv.Mul(xs.T(), &inverse)
		m.Mul(&xv, xs)
		gain.Mul(prior, &xv)
		h.MulVec(&xv, ys)
		nearAll(t, "deviance", []float64{s.Deviance()}, mat.Inner(ys, &inverse, ys)+math.Log(mat.Det(&v)))
		var left mat.VecDense
		left.MulVec(xs, theta)
		left.SubVec(ys, &left)
		nearAll(t, "residual", []float64{s.task.Residual(mean)}, mat.Dot(&left, &left))
	}
	gotM, gotH := s.Information()
	nearAll(t, "information", gotM, m.RawMatrix().Data...)
	nearAll(t, "X'V^-1 y", gotH, h.RawVector().Data...)
	var score, times mat.VecDense
	times.MulVec(m, theta)
	got := make([]float64, p)
	s.Times(got, mean)
	nearAll(t, "information times mean", got, times.RawVector().Data...)
	score.SubVec(h, &times)
	s.Score(got, mean)
	nearAll(t, "score", got, score.RawVector().Data...)
	var spread, path, both, known, cov mat.Dense
	spread.Product(m, c, m)
	clear(got)
	s.AddSpread(got, c.RawMatrix().Data)
	for j := range p {
		nearAll(t, "spread", got[j:j+1], spread.At(j, j))
	}
	// theta = mean + gain (y - X mean), so that its error is path (deviation - error of the mean) - gain e.
	path.Mul(prior, m)
	path.Sub(mat.NewDiagDense(p, []float64{1, 1, 1, 1, 1}), &path)
	both.Add(prior, c)
	cov.Product(&path, &both, path.T())
	known.Mul(gain, gain.T())
	known.Scale(noise, &known)
	cov.Add(&cov, &known)
	score.MulVec(prior, &score)
	score.AddVec(theta, &score)
	gotCov := make([]float64, p*p)
	s.Coefficients(got, gotCov, mean, c.RawMatrix().Data)
	nearAll(t, "coefficients", got, score.RawVector().Data...)
	alone := make([]float64, p)
	s.Coefficients(alone, nil, mean, nil)
	nearAll(t, "coefficients without covariance", alone, got...)
	nearAll(t, "covariance", gotCov, cov.RawMatrix().Data...)
	if n > 0 && s.task.G == nil {
		var rows mat.Dense
		rows.Product(mat.NewDense(n, p, x), &cov, mat.NewDense(n, p, x).T())
		for i, share := range s.shares(c.RawMatrix().Data) {
			nearAll(t, "share of a row", []float64{share}, rows.At(i, i)/noise)
		}
	}
}

// The posterior of a coefficient keeps its digits where it is narrow in a wide prior.
func TestNarrowPosterior(t *testing.T) {
	s, cov := new(solver), make([]float64, 1)
	prior := &Prior{Deviations: []float64{1e4}, Noise: Noise{Variance: 1e-4}}
	check.Done(s.Set(prior, &taskData{Rows: 3, YY: 5, G: []float64{3}, C: []float64{2}}))
	s.Coefficients(make([]float64, 1), cov, []float64{0}, nil)
	check.FailIf(t, math.Abs(cov[0]*(1e-8+3e4)-1) > 1e-12, "variance %v, want 1 / (1e-8 + 3e4)", cov[0])
}

// Numbers beyond float64 are an error and no NaN.
func TestSolverReportsOverflow(t *testing.T) {
	s := new(solver)
	prior := &Prior{Deviations: []float64{1}, Noise: Noise{Variance: 1}}
	for form, task := range map[string]*taskData{
		"rows":     {Rows: 1, X: []float64{1e200}, Y: []float64{1}},
		"products": {Rows: 1, G: []float64{math.Inf(1)}, C: []float64{1}},
		"negative": {Rows: 1, G: []float64{-2}, C: []float64{1}},
	} {
		if err := s.Set(prior, task); err != errNumeric {
			t.Errorf("%s: error %v, want %v", form, err, errNumeric)
		}
	}
}
