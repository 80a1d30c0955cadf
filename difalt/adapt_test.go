package difalt_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// TestAdapt compares the coefficients of new tasks with a dense solution, in responses of any unit.
func TestAdapt(t *testing.T) {
	p := draw(t, 1, 9, 5, 12, 3, 2, .1, 1)
	for _, c := range []struct{ ridge, unit float64 }{{0, 1}, {.7, 1}, {.7, 2e7}, {0, 1e-40}, {.7, 1e40}} {
		var scaled []float64
		for task := range 5 {
			for _, v := range p.Nodes[0].Y(task) {
				scaled = append(scaled, c.unit*v)
			}
		}
		m, err := (&difalt.Model{U: p.Truth, Ridge: c.ridge}).Adapt(t.Context(), p.Nodes[0].WithResponses(scaled))
		if err != nil || len(m.Tasks) != 5 || m.Intercepts != nil {
			t.Fatal(m, err)
		}
		for task := range 5 {
			x, y := mat.NewDense(12, 9, nil), mat.NewVecDense(12, slices.Clone(p.Nodes[0].Y(task)))
			for i := range 12 {
				p.Nodes[0].Row(x.RawRowView(i), task, i)
			}
			var a, gram mat.Dense
			var rhs, want mat.VecDense
			a.Mul(x, p.Truth)
			gram.Mul(a.T(), &a)
			for j := range 3 {
				gram.Set(j, j, gram.At(j, j)+c.ridge)
			}
			rhs.MulVec(a.T(), y)
			if err := want.SolveVec(&gram, &rhs); err != nil {
				t.Fatal(err)
			}
			for j := range 3 {
				if e := math.Abs(m.B[task*3+j]/c.unit - want.AtVec(j)); !(e <= 1e-12) {
					t.Errorf("%+v, task %d: coefficient %d is off by %g", c, task, j, e)
				}
			}
		}
	}
}
