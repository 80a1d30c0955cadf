package fit

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// denseRidge solves min |A theta - y|^2 + ridge |theta|^2 as the least squares of
// [A; sqrt(ridge) I] by QR: no normal equations.
func denseRidge(t *testing.T, a [][]float64, y []float64, ridge float64) []float64 {
	t.Helper()
	w := len(a[0])
	m := mat.NewDense(len(a)+w, w, nil)
	rhs := mat.NewVecDense(len(a)+w, nil)
	for i := range a {
		m.SetRow(i, a[i])
		rhs.SetVec(i, y[i])
	}
	for j := range w {
		m.Set(len(a)+j, j, math.Sqrt(ridge))
	}
	var x mat.VecDense
	if err := x.SolveVec(m, rhs); err != nil {
		t.Fatal(err)
	}
	return x.RawVector().Data
}

// rowsWhere returns the design's rows that use chooses.
func (d *design) rowsWhere(use func(i int) bool) (a [][]float64, y []float64) {
	for i := range d.train {
		if use(i) {
			z := make([]float64, d.Width())
			y = append(y, d.row(z, i))
			a = append(a, z)
		}
	}
	return a, y
}

func squaredError(a [][]float64, y, theta []float64) float64 {
	sum := 0.0
	for i := range a {
		e := y[i] - floats.Dot(a[i], theta)
		sum += e * e
	}
	return sum
}

func testDesign(t *testing.T) *design {
	t.Helper()
	// Tasks have fewer and more rows than the 7 features and the constant.
	tab := newTruth(8, 7, 1).table(t, 9, 4, 16, 2)
	c := testConfig(t, 2, 2)
	c.Train = make([]bool, tab.Rows())
	for i := range c.Train {
		c.Train[i] = i%5 != 3
	}
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDesignIsStandardised(t *testing.T) {
	d := testDesign(t)
	a, y := d.rowsWhere(func(i int) bool { return d.train[i] })
	n := float64(len(a))
	for j := range d.Width() {
		mean, square := 0.0, 0.0
		for i := range a {
			mean += a[i][j] / n
			square += a[i][j] * a[i][j] / n
		}
		want := 0.0
		if j == d.Width()-1 {
			want = 1 // the added constant
		}
		if math.Abs(mean-want) > 1e-13 || math.Abs(square-1) > 1e-13 {
			t.Errorf("feature %d has mean %v and mean square %v", j, mean, square)
		}
	}
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	if math.Abs(sum/n) > 1e-12 {
		t.Errorf("the target has mean %v", sum/n)
	}
}

func TestPooledRidge(t *testing.T) {
	d := testDesign(t)
	grid := []float64{0.1, 1, 10, 100}
	p, err := d.fitPooled(t.Context(), grid)
	if err != nil {
		t.Fatal(err)
	}
	for g, ridge := range grid {
		sum, n := 0.0, 0
		for f := range d.folds {
			a, y := d.rowsWhere(func(i int) bool { return d.train[i] && d.fold[i] != f })
			theta := denseRidge(t, a, y, ridge)
			ha, hy := d.rowsWhere(func(i int) bool { return d.fold[i] == f })
			sum += squaredError(ha, hy, theta)
			n += len(hy)
			checkClose(t, "fold coefficients", p.theta(f, ridge), theta)
		}
		checkClose(t, "cross-validation error", []float64{p.tried[g].RMSE}, []float64{math.Sqrt(sum / float64(n))})
	}
	a, y := d.rowsWhere(func(i int) bool { return d.train[i] })
	checkClose(t, "coefficients", p.theta(-1, p.ridge), denseRidge(t, a, y, p.ridge))
}

func TestSingleRidge(t *testing.T) {
	d := testDesign(t)
	grid := []float64{0.1, 1, 10}
	o, err := d.fitSingle(t.Context(), d.layout, grid, 2)
	if err != nil {
		t.Fatal(err)
	}
	ridge, tried, tallies := o.ridge, o.tried, o.tallies
	var sse [2]float64
	for _, t := range tallies {
		sse[0] += t[0].squares
		sse[1] += t[1].squares
	}
	var want [2]float64
	cv := make([]float64, len(grid))
	n := 0
	for k := range d.t.Tasks() {
		of := func(i int) bool { return d.t.Task(i) == k }
		for f := range d.folds {
			a, y := d.rowsWhere(func(i int) bool { return of(i) && d.train[i] && d.fold[i] != f })
			ha, hy := d.rowsWhere(func(i int) bool { return of(i) && d.fold[i] == f })
			n += len(hy)
			for g := range grid {
				if len(hy) > 0 {
					cv[g] += squaredError(ha, hy, denseRidge(t, a, y, grid[g]))
				}
			}
		}
		a, y := d.rowsWhere(func(i int) bool { return of(i) && d.train[i] })
		theta := denseRidge(t, a, y, ridge)
		want[0] += squaredError(a, y, theta)
		ha, hy := d.rowsWhere(func(i int) bool { return of(i) && !d.train[i] })
		want[1] += squaredError(ha, hy, theta)
	}
	checkClose(t, "errors", sse[:], want[:])
	for g := range grid {
		checkClose(t, "cross-validation error", []float64{tried[g].RMSE}, []float64{math.Sqrt(cv[g] / float64(n))})
		if tried[g].RMSE < tried[0].RMSE && ridge == grid[0] {
			t.Errorf("strength %v was chosen, but %v has a smaller error", ridge, grid[g])
		}
	}
}

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
			t.Errorf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestDecades(t *testing.T) {
	want := []float64{0.1, 0.316, 1, 3.16, 10}
	got := decades(-1, 1, 1.0000000000000002)
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
