package mixedmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The covariance of two coefficients is a'S b, its derivatives are finite differences, and what is uncertain about it a quadratic form of these.
func TestCovary(t *testing.T) {
	const w, rank = 4, 2
	r := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	n := w*rank + 2
	var u mat.SymDense
	u.SymOuterK(0.1, mat.NewDense(n, n, normal(n*n)))
	p := &Posterior{Prior: &Prior{W: w, Rank: rank, Loadings: normal(w * rank), Intercept: 0.7, Spread: 0.3, Slopes: []float64{0.5, 2, 1}}, Noise: 1.7, Uncertainty: &u}
	a, b := normal(w), normal(w)
	b[1] = 0
	at := func() float64 {
		s := mat.NewDense(w, w, p.Prior.Covariance())
		return p.Noise * mat.Inner(mat.NewVecDense(w, a), s, mat.NewVecDense(w, b))
	}
	for _, own := range [][]float64{nil, {3, 4, 5}} {
		p.SlopesFreedom = own
		p.S = p.Prior.Covariance()
		v, slopes := p.Covary(a, b)
		if math.Abs(v-at()) > 1e-12 {
			t.Errorf("covariance %v, want %v", v, at())
		}
		const h = 1e-5
		difference := func(x *float64, log bool) float64 {
			was := *x
			move := func(h float64) float64 {
				if *x = was + h; log {
					*x = was * math.Exp(h)
				}
				defer func() { *x = was }()
				return at()
			}
			return (move(h) - move(-h)) / (2 * h)
		}
		var want []float64
		for i := range p.Loadings {
			want = append(want, difference(&p.Loadings[i], false))
		}
		want = append(want, difference(&p.Intercept, true))
		if own == nil {
			want = append(want, difference(&p.Spread, true))
		} else {
			want = append(want, 0)
			for j := range p.Slopes {
				want = append(want, difference(&p.Slopes[j], true))
			}
		}
		if len(want) != len(slopes) {
			t.Fatalf("%d derivatives, want %d", len(slopes), len(want))
		}
		for i := range want {
			if math.Abs(slopes[i]-want[i]) > 1e-8 {
				t.Errorf("derivative %d is %v, want %v", i, slopes[i], want[i])
			}
		}
		x := mat.NewVecDense(n, want[:n])
		variance := mat.Inner(x, &u, x)
		for j, f := range own {
			variance += 2 / f * want[n+j] * want[n+j]
		}
		if got := p.Uncertain(slopes); math.Abs(got-variance) > 1e-7 {
			t.Errorf("variance %v, want %v", got, variance)
		}
	}
	p.Uncertainty = nil
	if _, slopes := p.Covary(a, b); slopes != nil || p.Uncertain(nil) != 0 {
		t.Error("a prior that is known is uncertain")
	}
}

// What is not known of the prior adds to the covariance of a task's coefficients twice J U J', for its covariance U and the derivatives J of the
// coefficients, which are finite differences. As those of the variances of these are, by which Student's t widens all.
func TestCoefficientsOfAnUncertainPrior(t *testing.T) {
	const w, rank, rows = 4, 2, 5
	r := rand.New(rand.NewPCG(3, 4))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	const n = w*rank + 2
	var u mat.SymDense
	u.SymOuterK(0.1, mat.NewDense(n, n, normal(n*n)))
	task := &Task{Z: normal(rows * w), Y: normal(rows), Rows: rows}
	p := &Posterior{Prior: &Prior{W: w, Rank: rank, Loadings: normal(w * rank), Intercept: 0.7, Spread: 0.3, Slopes: []float64{0.5, 2, 1}},
		Mean: normal(w), MeanCovariance: make([]float64, w*w), Noise: 1.7}
	theta := func() []float64 {
		p.S = p.Prior.Covariance()
		theta := make([]float64, w)
		p.Coefficients(task, theta, nil)
		return theta
	}
	// Of coefficients, and of the variances of expected targets of typical rows if strengths are known.
	typical := [][]float64{{1, -1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, 1}, {1, 1, -1, -1}, {1, 1, 1, 1}, {1, 1, 1, -1}}
	copy(p.Mean, []float64{-0.3, 0.2, -0.1})
	for _, x := range typical {
		x[0], x[2] = -x[0], -x[2]
	}
	at := func(c mat.Matrix, x []float64) float64 {
		return mat.Inner(mat.NewVecDense(w, x), c, mat.NewVecDense(w, x))
	}
	numbers := w + len(typical)
	both := func() *mat.VecDense {
		out := theta()
		known := make([]float64, w*w)
		p.Coefficients(task, make([]float64, w), known)
		for _, x := range typical {
			out = append(out, at(mat.NewDense(w, w, known), x))
		}
		return mat.NewVecDense(numbers, out)
	}
	derivative := func(x *float64, move func(v, h float64) float64) *mat.VecDense {
		const h = 1e-5
		was, out := *x, mat.NewVecDense(numbers, nil)
		*x = move(was, h)
		out.AddVec(out, both())
		*x = move(was, -h)
		out.SubVec(out, both())
		*x = was
		out.ScaleVec(1/(2*h), out)
		return out
	}
	add := func(v, h float64) float64 { return v + h }
	times := func(v, h float64) float64 { return v * math.Exp(h) }
	var all mat.Dense // J
	for i := range p.Loadings {
		grow(&all, derivative(&p.Loadings[i], add))
	}
	grow(&all, derivative(&p.Intercept, times))
	theta()
	known := make([]float64, w*w)
	p.Coefficients(task, make([]float64, w), known)
	for _, own := range [][]float64{nil, {3, 4, 5}} {
		var want, j mat.Dense
		j.CloneFrom(&all)
		want.CloneFrom(mat.NewDense(w, w, known))
		uncertain := 0.0 // what the variances are, in all
		if own == nil {
			grow(&j, derivative(&p.Spread, times))
		} else {
			grow(&j, mat.NewVecDense(numbers, nil))
			for k, f := range own {
				d := derivative(&p.Slopes[k], times)
				var square mat.Dense
				square.Outer(4/f, d.SliceVec(0, w), d.SliceVec(0, w))
				want.Add(&want, &square)
				for i := range typical {
					uncertain += 2 / f * d.AtVec(w+i) * d.AtVec(w+i)
				}
			}
		}
		var twice mat.Dense
		twice.Product(&j, &u, j.T())
		squares := 0.0
		for i := range typical {
			uncertain += twice.At(w+i, w+i)
		}
		twice.Scale(2, &twice)
		want.Add(&want, twice.Slice(0, w, 0, w))
		for _, x := range typical {
			squares += math.Pow(at(&want, x), 2)
		}
		want.Scale(math.Pow(Interval95(2*squares/uncertain), 2), &want)
		p.Uncertainty, p.SlopesFreedom = &u, own
		p.S = p.Prior.Covariance()
		got := make([]float64, w*w)
		if !p.Coefficients(task, make([]float64, w), got) || !mat.EqualApprox(mat.NewDense(w, w, got), &want, 1e-7) {
			t.Errorf("slopes known to %v: covariance %v, want %v", own, got, want.RawMatrix().Data)
		}
		p.Uncertainty = nil
	}
}

// Features in another order, with other signs, or beside one that is always 0 have the same errors.
func TestCoefficientsInAnotherOrder(t *testing.T) {
	const w, rank, rows = 6, 2, 5
	r := rand.New(rand.NewPCG(5, 6))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	loadings, mean, z, y, slopes := normal(w*rank), normal(w), normal(rows*w), normal(rows), []float64{0.5, 2, 1, 0.2, 3}
	root := normal(w * rank)
	covariance := func(size int, order []int, sign []float64) []float64 {
		p := &Posterior{Prior: &Prior{W: size, Rank: rank, Loadings: make([]float64, size*rank), Intercept: 0.7, Spread: 0.3},
			Mean: make([]float64, size), MeanCovariance: make([]float64, size*size), Noise: 1.7}
		task := &Task{Z: make([]float64, rows*size), Y: y, Rows: rows}
		u := mat.NewVecDense(size*rank+2, nil)
		p.Slopes, p.SlopesFreedom = make([]float64, size-1), make([]float64, size-1)
		for j := range size - 1 {
			p.Slopes[j], p.SlopesFreedom[j], p.MeanCovariance[j*size+j] = 1, 4, 0.2
		}
		for j, to := range order {
			p.Mean[to] = sign[j] * mean[j]
			for a := range rank {
				p.Loadings[a*size+to] = sign[j] * loadings[a*w+j]
				u.SetVec(a*size+to, sign[j]*root[a*w+j])
			}
			for i := range rows {
				task.Z[i*size+to] = sign[j] * z[i*w+j]
			}
			if j < w-1 {
				p.Slopes[to] = slopes[j]
			}
		}
		var known mat.SymDense
		known.SymOuterK(0.3, u)
		p.Uncertainty, p.S = &known, p.Prior.Covariance()
		cov, out := make([]float64, size*size), make([]float64, w*w)
		if !p.Coefficients(task, make([]float64, size), cov) {
			t.Fatal("no solution")
		}
		for i, to := range order {
			for j, at := range order {
				out[i*w+j] = sign[i] * sign[j] * cov[to*size+at]
			}
		}
		return out
	}
	want := mat.NewDense(w, w, covariance(w, []int{0, 1, 2, 3, 4, 5}, []float64{1, 1, 1, 1, 1, 1}))
	for name, got := range map[string][]float64{
		"order":            covariance(w, []int{4, 3, 2, 1, 0, 5}, []float64{1, 1, 1, 1, 1, 1}),
		"signs":            covariance(w, []int{0, 1, 2, 3, 4, 5}, []float64{-1, 1, -1, 1, 1, 1}),
		"a feature more":   covariance(w+1, []int{0, 1, 3, 4, 5, 6}, []float64{1, 1, 1, 1, 1, 1}),
		"signs of targets": covariance(w, []int{0, 1, 2, 3, 4, 5}, []float64{-1, -1, -1, -1, -1, -1}),
	} {
		if !mat.EqualApprox(mat.NewDense(w, w, got), want, 1e-12) {
			t.Errorf("%s: covariance %v, want %v", name, got, want.RawMatrix().Data)
		}
	}
}

// grow adds a column.
func grow(m *mat.Dense, column *mat.VecDense) {
	_, n := m.Dims()
	if n == 0 {
		m.CloneFrom(column)
		return
	}
	*m = *m.Grow(0, 1).(*mat.Dense)
	m.SetCol(n, column.RawVector().Data)
}

// A product by dots is that by blocks.
func TestProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, shape := range [][3]int{{1, 9, 9}, {2, 11, 2}, {1, smallProduct, 1}, {1, smallProduct + 1, 1}, {20, 21, 22}} {
		m, k, n := shape[0], shape[1], shape[2]
		draw := func(rows int) *mat.Dense {
			out := mat.NewDense(rows, k, nil)
			out.Apply(func(int, int, float64) float64 { return r.NormFloat64() }, out)
			return out
		}
		a, b, out := draw(m), draw(n), mat.NewDense(m, n, nil)
		var want mat.Dense
		want.Mul(a, b.T())
		if Product(a.RawMatrix(), b.RawMatrix(), out.RawMatrix()); !mat.EqualApprox(out, &want, 1e-11) {
			t.Errorf("%v is not the product", shape)
		}
	}
}
