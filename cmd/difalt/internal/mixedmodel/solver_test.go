package mixedmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

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

// A prior with and without zeros among its deviations, of rank 0 to 2.
func priors(r *rand.Rand, p int) (list []*Prior) {
	for rank := range 3 {
		d := make([]float64, p)
		for j := range d {
			d[j] = 0.2 + r.Float64()
		}
		list = append(list, &Prior{Deviations: d, Rank: rank, Loadings: normals(r, p*rank), Noise: 0.3})
		some := append([]float64(nil), d...)
		some[1], some[p-1] = 0, 0
		list = append(list, &Prior{Deviations: some, Rank: rank, Loadings: normals(r, p*rank), Noise: 1.7})
	}
	return append(list, &Prior{Deviations: make([]float64, p), Noise: 0.5})
}

func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if !floats.EqualApprox(got, want, 1e-9) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

// Rows and products both give what the dense covariance of y gives, with fewer rows than columns and with
// more.
func TestSolverAgainstDenseCovariance(t *testing.T) {
	const p = 5
	r := rand.New(rand.NewPCG(1, 2))
	for k, prior := range priors(r, p) {
		for _, n := range []int{0, 1, 3, 12} {
			t.Run(fmt.Sprintf("prior %d, %d rows", k, n), func(t *testing.T) {
				x, y, mean := normals(r, n*p), normals(r, n), normals(r, p)
				var root, c mat.Dense
				root.Mul(mat.NewDense(p, p, normals(r, p*p)), mat.NewDense(p, p, normals(r, p*p)))
				c.Mul(&root, root.T())
				products := &Task{Rows: n, YY: floats.Dot(y, y), G: make([]float64, p*p), C: make([]float64, p)}
				if n > 0 {
					products.AddRows(x, y)
				}
				for form, task := range map[string]*Task{"rows": {Rows: n, X: x, Y: y, YY: floats.Dot(y, y), Noise: 1}, "products": products} {
					if n == 3 {
						task.Noise = 0.6
					}
					s := new(Solver)
					s.Reset(prior)
					for range 2 { // the second time on used memory
						if err := s.Set(task); err != nil {
							t.Fatal(err)
						}
						check(t, form, s, x, y, mean, &c)
					}
				}
			})
		}
	}
}

// noiseOf returns the variance of the noise of the solver's task.
func noiseOf(s *Solver) float64 {
	if s.task.Noise == 0 {
		return s.prior.Noise
	}
	return s.prior.Noise * s.task.Noise
}

func check(t *testing.T, form string, s *Solver, x, y, mean []float64, c *mat.Dense) {
	t.Helper()
	p, n := len(mean), len(y)
	covariance := mat.NewDense(p, p, s.prior.Covariance())
	theta, cov := make([]float64, p), make([]float64, p*p)
	s.Coefficients(theta, cov, mean, c.RawMatrix().Data)
	if n == 0 {
		var want mat.Dense
		want.Add(covariance, c)
		near(t, form+": coefficients", theta, mean)
		near(t, form+": covariance", cov, want.RawMatrix().Data)
		return
	}
	xs, ys := mat.NewDense(n, p, x), mat.NewVecDense(n, y)
	var xp, v, inverse, xv, m, e mat.Dense
	xp.Mul(xs, covariance)
	v.Mul(&xp, xs.T())
	for i := range n {
		v.Set(i, i, v.At(i, i)+noiseOf(s))
	}
	if err := inverse.Inverse(&v); err != nil {
		t.Fatal(err)
	}
	xv.Mul(xs.T(), &inverse)
	m.Mul(&xv, xs)
	gotM, gotH := s.Information()
	near(t, form+": information", gotM, m.RawMatrix().Data)
	e.Mul(&xv, ys)
	near(t, form+": score", gotH, e.RawMatrix().Data)
	near(t, form+": square", []float64{s.Square()}, []float64{mat.Inner(ys, &inverse, ys)})
	near(t, form+": determinant", []float64{s.LogDeterminant()}, []float64{math.Log(mat.Det(&v))})

	times, fresh, spread, got := mat.NewVecDense(p, nil), mat.NewVecDense(p, nil), mat.Dense{}, make([]float64, p)
	times.MulVec(&m, mat.NewVecDense(p, mean))
	s.Times(got, mean)
	near(t, form+": information times mean", got, times.RawVector().Data)
	fresh.SubVec(e.ColView(0), times)
	s.Score(got, mean)
	near(t, form+": score of the residual", got, fresh.RawVector().Data)
	spread.Product(&m, c, &m)
	clear(got)
	s.AddSpread(got, c.RawMatrix().Data)
	for j := range p {
		near(t, form+": spread", got[j:j+1], []float64{spread.At(j, j)})
	}

	checkCoefficients(t, form, s, xs, ys, &xv, theta, cov, mean, c)
}

// checkCoefficients compares coefficients and their covariance with those of the dense X'V^-1.
func checkCoefficients(t *testing.T, form string, s *Solver, xs *mat.Dense, ys *mat.VecDense, xv *mat.Dense, theta, cov, mean []float64, c *mat.Dense) {
	t.Helper()
	p := len(mean)
	covariance := mat.NewDense(p, p, s.prior.Covariance())
	var gain, path, part, want mat.Dense
	// theta = mean + S X'V^-1 (y - X mean), and its covariance by the path of every source of error.
	gain.Mul(covariance, xv)
	var fitted, residual, shift mat.VecDense
	fitted.MulVec(xs, mat.NewVecDense(p, mean))
	residual.SubVec(ys, &fitted)
	shift.MulVec(&gain, &residual)
	near(t, form+": coefficients", theta, floats.AddTo(make([]float64, p), mean, shift.RawVector().Data))
	path.Mul(&gain, xs)
	path.Scale(-1, &path)
	for j := range p {
		path.Set(j, j, path.At(j, j)+1)
	}
	want.Product(&path, covariance, path.T())
	part.Mul(&gain, gain.T())
	part.Scale(noiseOf(s), &part)
	want.Add(&want, &part)
	part.Product(&path, c, path.T())
	want.Add(&want, &part)
	near(t, form+": covariance", cov, want.RawMatrix().Data)
	fitted.MulVec(xs, mat.NewVecDense(p, theta))
	residual.SubVec(ys, &fitted)
	near(t, form+": residual", []float64{s.task.Residual(theta)}, []float64{mat.Dot(&residual, &residual)})
}

// Numbers beyond float64 are an error and no NaN.
func TestSolverReportsOverflow(t *testing.T) {
	s := new(Solver)
	s.Reset(&Prior{Deviations: []float64{1}, Noise: 1})
	for form, task := range map[string]*Task{
		"rows":     {Rows: 1, X: []float64{1e200}, Y: []float64{1}},
		"products": {Rows: 1, G: []float64{math.Inf(1)}, C: []float64{1}},
	} {
		if err := s.Set(task); err != ErrNumeric {
			t.Errorf("%s: error %v, want %v", form, err, ErrNumeric)
		}
	}
}
