package difalt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// TestAdaptErrors: invalid arguments of Adapt are errors.
func TestAdaptErrors(t *testing.T) {
	tasks, u := draw(t, 1, 6, 4, 9, 2, 2, 0, 1).Nodes[0], orthonormal(6, 1, 1)
	for name, f := range map[string]func() error{
		"ridge":    func() error { _, _, err := difalt.Adapt(u, tasks, -1); return err },
		"basis":    func() error { _, _, err := difalt.Adapt(nil, tasks, 0); return err },
		"features": func() error { _, _, err := difalt.Adapt(orthonormal(5, 1, 1), tasks, 0); return err },
		"the largest response": func() error {
			_, _, err := difalt.Adapt(u, tasks.WithResponses(slices.Repeat([]float64{2e6}, tasks.TotalSamples())), 0)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAdapt compares the coefficients of new tasks with a dense solution.
func TestAdapt(t *testing.T) {
	p := draw(t, 1, 9, 5, 12, 3, 2, .1, 1)
	for _, ridge := range []float64{0, .7} {
		b, status, err := difalt.Adapt(p.Truth, p.Nodes[0], ridge)
		if err != nil || len(status) != 5 {
			t.Fatal(status, err)
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
				gram.Set(j, j, gram.At(j, j)+ridge)
			}
			rhs.MulVec(a.T(), y)
			if err := want.SolveVec(&gram, &rhs); err != nil {
				t.Fatal(err)
			}
			for j := range 3 {
				if e := math.Abs(b[task*3+j] - want.AtVec(j)); e > 1e-12 {
					t.Errorf("ridge %v, task %d: coefficient %d is off by %g", ridge, task, j, e)
				}
			}
		}
	}
}
