package fit

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// With a free mean, and tasks that do not differ, the model is ordinary least squares: its coefficients, and the noise by N - 1 - d degrees of freedom.
func TestFreeMeanIsLeastSquares(t *testing.T) {
	w := newWorld(3, 7)
	tab := w.table(t, "t", 6, 4)
	c := testConfig(t, 2, -1)
	free, none := 0.0, math.Inf(1)
	c.Owners, c.CommonNoise, c.Intercept, c.Ridge, c.MeanRidge = false, true, &none, &none, &free
	m, _ := fit(t, assigned(t, tab, 2), c)
	n, d := tab.Rows(), len(w.mean)
	x, y := mat.NewDense(n, d+1, nil), mat.NewVecDense(n, nil)
	for i := range n {
		x.Set(i, d, 1)
		tab.X(x.RawRowView(i)[:d], i)
		y.SetVec(i, tab.Y(i))
	}
	var theta, off mat.VecDense
	if err := theta.SolveVec(x, y); err != nil {
		t.Fatal(err)
	}
	off.MulVec(x, &theta)
	var fitted []float64
	for i := range n {
		v, err := m.Predict(tab.Tasks()[tab.Task(i)], x.RawRowView(i)[:d])
		if err != nil {
			t.Fatal(err)
		}
		fitted = append(fitted, v)
	}
	checkClose(t, "predictions", fitted, off.RawVector().Data)
	off.SubVec(y, &off)
	checkClose(t, "noise", []float64{m.Noise()}, []float64{math.Sqrt(mat.Dot(&off, &off) / float64(n-1-d))})
}
