package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The standard error is that of the posterior by its definition, with a dense
// inverse, for a task that is adapted to rows which are known.
func TestPredictErrorIsThePosterior(t *testing.T) {
	m := testModel(t)
	rows := newRows(m)
	rows.add(rand.New(rand.NewPCG(9, 9)), "new", 6, []float64{1, 2, 3, 4}, 5, 1)
	const node, ridge = 2, 0.7
	a, _, err := m.Adapt(rows, node, ridge)
	if err != nil {
		t.Fatal(err)
	}
	p := a.Parameters()
	precision := mat.NewDense(3, 3, nil)
	for j := range 3 {
		precision.Set(j, j, ridge)
	}
	var z mat.VecDense
	for _, x := range rows.x {
		row := append(append([]float64(nil), x...), 0)
		p.Scaling.Apply(row)
		z.Reset()
		z.MulVec(p.U[node].T(), mat.NewVecDense(5, row))
		precision.RankOne(precision, 1, &z, &z)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(precision); err != nil {
		t.Fatal(err)
	}
	inverse.Scale(a.Noise()*a.Noise(), &inverse)
	want := math.Sqrt(mat.Inner(&z, &inverse, &z)) // of the last row
	y, got, err := a.PredictError("new", rows.x[5])
	if plain, _ := a.Predict("new", rows.x[5]); err != nil || y != plain || math.Abs(got-want) > 1e-9*want {
		t.Errorf("standard error %v, %v, want %v", got, err, want)
	}
	covariance, err := a.Covariance("new")
	if err != nil || !mat.EqualApprox(covariance, &inverse, 1e-9*mat.Max(&inverse)) {
		t.Errorf("covariance %v, %v", covariance, err)
	}
	x := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.PredictError("3", x) }); n != 0 {
		t.Errorf("PredictError allocates %v times", n)
	}
}

func TestStandardErrorUnknown(t *testing.T) {
	m := testModel(t)
	one := newRows(m)
	one.add(rand.New(rand.NewPCG(1, 1)), "one", 1, make([]float64, 4), 0, 1)
	a, _, err := m.Adapt(one, 0, 0)
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
	p := testParameters(t)
	p.NoiseVariance = 0
	if a, err = New(p); err != nil {
		t.Fatal(err)
	}
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
	m := testModel(t)
	l, values := m.Loadings()
	var got, want, theta mat.Dense
	got.Mul(l, l.T())
	b := mat.NewDense(15, 3, m.p.B)
	theta.Mul(m.p.U[0], b.T())
	want.Mul(&theta, theta.T())
	want.Scale(1./15, &want)
	if !mat.EqualApprox(&got, &want, 1e-10*mat.Max(&want)) {
		t.Error("the loadings do not add up to the covariance of the deviations")
	}
	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDNone) {
		t.Fatal("no singular values")
	}
	checkClose(t, "singular values", values, svd.Values(nil))
	// With fewer tasks than the rank, the other axes are empty.
	p := testParameters(t)
	p.Tasks, p.NodeOf, p.Samples, p.B, p.Precision = p.Tasks[:1], p.NodeOf[:1], p.Samples[:1], p.B[:3], p.Precision[:9]
	if m, err := New(p); err != nil {
		t.Error(err)
	} else if _, values = m.Loadings(); values[0] <= 0 || values[1] != 0 || values[2] != 0 {
		t.Errorf("one task has the singular values %v", values)
	}
}
