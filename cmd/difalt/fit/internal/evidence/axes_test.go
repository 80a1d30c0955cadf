package evidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/mat"
)

// What is told with a dither is near to what is told without in all directions: also in those in which features hardly differ, and with a
// prior by which tasks differ much.
func TestDitherAlongAxes(t *testing.T) {
	const width, count, rows = 6, 60, 12
	rng := rand.New(rand.NewPCG(2, 3))
	tasks := make([][]*mixedmodel.Task, 3)
	for task := range count {
		c := mixedmodel.NewCompressor(width)
		for range rows {
			row := c.Next()
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			row[1] = row[0] + 1e-3*row[1]
			row[width-1] = 1
		}
		tasks[task%3] = append(tasks[task%3], c.Task())
	}
	like, _, _ := testRows(t)
	p := &mixedmodel.Prior{W: width, Rank: 1, Loadings: []float64{0, 0, 30, 0, 0, 0}, Intercept: 2, Spread: 0.1, MeanVariance: 0.1}
	var points [2]*Point
	for k, group := range []*nodes.Group{like.group, {Net: like.group.Net, Secrets: []nodes.Secret{{1}, {2}, {3}}}} {
		r, err := NewRows(t.Context(), group, tasks, nil, width, count*rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, prior := range []*mixedmodel.Prior{{W: width, MeanVariance: 0.1}, p} {
			if points[k], err = r.At(t.Context(), prior, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	exact, dithered := mat.NewSymDense(width, points[0].gram), mat.NewSymDense(width, points[1].gram)
	if mat.EqualApprox(exact, dithered, 1e-6) {
		t.Error("there is no dither")
	}
	var chol mat.Cholesky
	if !chol.Factorize(exact) {
		t.Fatal("no rows")
	}
	ratio := new(mat.Dense)
	if err := chol.SolveTo(ratio, dithered); err != nil {
		t.Fatal(err)
	}
	var e mat.Eigen
	e.Factorize(ratio, mat.EigenNone)
	for _, v := range e.Values(nil) {
		if math.Abs(real(v)-1) > 0.4 || imag(v) > 1e-6 {
			t.Errorf("a direction has %v of its sum", v)
		}
	}
}
