package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/dataset"
	"gonum.org/v1/gonum/mat"
)

func taskName(i int) string { return fmt.Sprint(i) }

// The standard error is that of the posterior by its definition, with a dense
// inverse, for trained and for adapted tasks.
func TestPredictErrorIsThePosterior(t *testing.T) {
	m, k, tab := testModel(t)
	few := emptyTable(t, 4)
	k.add(t, few, "new", 3)
	a, _, err := m.Adapt(few, 2, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task  string
		tab   *dataset.Table
		ridge float64
		node  int
	}{{"4", tab, m.ridge, tab.Node(4)}, {"new", few, 0.7, 2}} {
		u := a.Basis(c.node)
		precision := mat.NewDense(4, 4, nil)
		var z mat.VecDense
		scaled := func(i int) *mat.VecDense {
			row := make([]float64, 5)
			c.tab.X(row[:4], i)
			a.apply(row)
			z.Reset()
			z.MulVec(u.T(), mat.NewVecDense(5, row))
			return &z
		}
		at, _ := c.tab.TaskIndex(c.task)
		for j := range 4 {
			precision.Set(j, j, c.ridge)
		}
		last := 0
		for i := range c.tab.Rows() {
			if c.tab.Task(i) == at {
				p := scaled(i)
				precision.RankOne(precision, 1, p, p)
				last = i
			}
		}
		var inverse mat.Dense
		if err := inverse.Inverse(precision); err != nil {
			t.Fatal(err)
		}
		inverse.Scale(a.Noise()*a.Noise(), &inverse)
		p := scaled(last)
		want := math.Sqrt(mat.Inner(p, &inverse, p))
		x := c.tab.X(make([]float64, 4), last)
		y, got, err := a.PredictError(c.task, x)
		if plain, _ := a.Predict(c.task, x); err != nil || y != plain || math.Abs(got-want) > 1e-9*want {
			t.Errorf("task %s: standard error %v, %v, want %v", c.task, got, err, want)
		}
		covariance, err := a.Covariance(c.task)
		if err != nil || !mat.EqualApprox(covariance, &inverse, 1e-9*mat.Max(&inverse)) {
			t.Errorf("task %s: covariance %v, %v", c.task, covariance, err)
		}
	}
	x := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.PredictError("3", x) }); n != 0 {
		t.Errorf("PredictError allocates %v times", n)
	}
}

// The noise is estimated to a few percent, and predictions of new rows lie within
// their standard errors as often as a normal distribution says.
func TestStandardErrorsCover(t *testing.T) {
	k := newTruth(21, 5, 1.5)
	tab := k.table(t, 120, 30, 40, 3)
	c := testConfig(t, 3, 3)
	c.Tune = true
	m, _ := fit(t, tab, c)
	if math.Abs(m.Noise()-1.5) > 0.07 {
		t.Errorf("noise %v, want 1.5", m.Noise())
	}
	// New rows of known tasks.
	fresh := emptyTable(t, 5)
	for i := range 120 {
		k.add(t, fresh, taskName(i), 20)
	}
	x := make([]float64, 5)
	var square float64
	inside := 0
	for i := range fresh.Rows() {
		y, se, err := m.PredictError(fresh.Tasks()[fresh.Task(i)], fresh.X(x, i))
		if err != nil {
			t.Fatal(err)
		}
		z := (fresh.Y(i) - y) / math.Hypot(se, m.Noise())
		square += z * z
		if math.Abs(z) < 1.96 {
			inside++
		}
	}
	n := float64(fresh.Rows())
	if square/n < 0.9 || square/n > 1.1 || math.Abs(float64(inside)/n-0.95) > 0.02 {
		t.Errorf("%v of the rows within 1.96 standard errors, mean square %v", float64(inside)/n, square/n)
	}
}

func TestStandardErrorUnknown(t *testing.T) {
	m, k, _ := testModel(t)
	a, _, err := m.Adapt(oneRow(t, k), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, se, err := a.PredictError("one", make([]float64, 4)); err != nil || !math.IsNaN(se) {
		t.Errorf("one row without ridge: standard error %v, %v", se, err)
	}
	_, err = a.Covariance("one")
	check(t, err, `the coefficients of task "one" are not unique`)
	_, err = a.Covariance("x")
	check(t, err, `does not know task "x"`)
	a.noise = 0
	if _, se, _ := a.PredictError("1", make([]float64, 4)); !math.IsNaN(se) {
		t.Errorf("without noise: standard error %v", se)
	}
	_, err = a.Covariance("1")
	check(t, err, "noise of the model is not known")
	_, _, err = a.PredictError("x", make([]float64, 4))
	check(t, err, `does not know task "x"`)
}

// Cholesky factors multiply back, and singular matrices have none.
func TestCholesky(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := 1; n <= 6; n++ {
		a := mat.NewDense(n, n+2, nil)
		for i := range n {
			for j := range n + 2 {
				a.Set(i, j, r.NormFloat64())
			}
		}
		var g mat.Dense
		g.Mul(a, a.T())
		c := append([]float64(nil), g.RawMatrix().Data...)
		if !cholesky(c, n) {
			t.Fatalf("%d x %d: no factor", n, n)
		}
		for i := range n {
			for j := i; j < n; j++ {
				sum := 0.0
				for k := range i + 1 {
					sum += c[k*n+i] * c[k*n+j]
				}
				if math.Abs(sum-g.At(i, j)) > 1e-12*mat.Max(&g) {
					t.Errorf("%d x %d: R'R differs at %d, %d", n, n, i, j)
				}
			}
		}
	}
	if cholesky([]float64{1, 2, 2, 4}, 2) || cholesky([]float64{0}, 1) {
		t.Error("a singular matrix has a factor")
	}
}

// The loadings span the deviations: L L' / T is the mean of U b b' U'.
func TestLoadings(t *testing.T) {
	m, _, _ := testModel(t)
	l, values := m.Loadings()
	var got, want mat.Dense
	got.Mul(l, l.T())
	b := mat.NewDense(len(m.tasks), m.rank, m.b)
	var theta mat.Dense
	theta.Mul(m.Basis(0), b.T())
	want.Mul(&theta, theta.T())
	want.Scale(1/float64(len(m.tasks)), &want)
	if !mat.EqualApprox(&got, &want, 1e-10*mat.Max(&want)) {
		t.Error("the loadings do not add up to the covariance of the deviations")
	}
	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDNone) {
		t.Fatal("no singular values")
	}
	checkClose(t, "singular values", values, svd.Values(nil))
}
