package owners

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// The information and the errors of a fold by shared products are those of every task by itself.
func TestSpan(t *testing.T) {
	for name, rows := range map[string]int{"short tasks": 7, "tall tasks": 200} {
		t.Run(name, func(t *testing.T) {
			list, rank := drawn(t, 11, 1, 6, rows), 2
			net, err := consensus.New(weights(t, "complete", 1), nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &frame{group: &group{net: net}, c: &Config{Folds: 4}, tables: list}
			if err := s.introduce(t.Context()); err != nil {
				t.Fatal(err)
			}
			size, err := s.standardise(t.Context())
			if err == nil {
				err = s.addCurves(t.Context(), size)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.hold()
			h, p, r, u := s.held[0], s.design.Width(), &Ridges{Intercept: .3, Direction: 2}, kernel.NewBasis(3, rank)
			u.Col(0)[0], u.Col(0)[1], u.Col(1)[2] = .6, .8, 1
			x, mu := s.newSpan(1, u), make([]float64, p)
			for j := range mu {
				mu[j] = math.Sin(float64(j))
			}
			got, loss := make([]float64, model.Triangle(p)+p+1), make([]float64, 2)
			s.addInformation(got, 0, x, r)
			s.addLosses(loss, 0, x, r, [][]float64{make([]float64, p), mu})
			m, v, squares, want := make([]float64, p*p), make([]float64, p), 0.0, 0.0
			solver, theta := mixedmodel.NewSolver(s.prior(r, u)), make([]float64, p)
			for k := range h.tasks {
				others := &holding{parts: [][]*mixedmodel.Task{{h.parts[k][0], h.parts[k][2], h.parts[k][3]}}}
				if err := solver.Set(others.all(0, p)); err != nil {
					t.Fatal(err)
				}
				solver.AddInformation(m, v)
				squares += solver.Square()
				solver.Coefficients(theta, nil, mu, nil)
				want += h.parts[k][1].Residual(theta)
			}
			n, full := unpack(got, p), mat.NewSymDense(p, m)
			if !mat.EqualApprox(n.m, full, 1e-9*mat.Norm(full, 2)) || !mat.EqualApprox(mat.NewVecDense(p, n.h), mat.NewVecDense(p, v), 1e-8) {
				t.Error("the information differs")
			}
			if a, b := fmt.Sprintf("%.8g %.8g", n.square, loss[1]), fmt.Sprintf("%.8g %.8g", squares, want); a != b {
				t.Errorf("squares and loss %s, want %s", a, b)
			}
		})
	}
}
