package owners

import (
	"math"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/dense"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func product(first mat.Matrix, others ...mat.Matrix) *mat.Dense {
	p := mat.DenseCopyOf(first)
	for _, m := range others {
		var next mat.Dense
		next.Mul(p, m)
		p = &next
	}
	return p
}

func sum(a, b mat.Matrix, scale float64) *mat.Dense {
	var s mat.Dense
	s.Scale(scale, b)
	s.Add(a, &s)
	return &s
}

// rowsOf returns the rows of a task in the given folds.
func rowsOf(t *task, folds ...int) (x, y *mat.Dense) {
	var columns, targets []float64
	for _, f := range folds {
		x, y := t.fold(f)
		columns, targets = append(columns, x.Data...), append(targets, y...)
	}
	return mat.NewDense(len(targets), len(columns)/len(targets), columns), mat.NewDense(len(targets), 1, targets)
}

// The information, the errors of a fold and the posteriors by shared products are those of every task by the
// dense covariance V = I + X S X' of its rows.
func TestSpan(t *testing.T) {
	for name, rows := range map[string]int{"short tasks": 7, "tall tasks": 200} {
		t.Run(name, func(t *testing.T) {
			s := laidOut(t, drawn(t, 11, 1, 6, rows))
			p, ridges, u := s.design.Width(), &Ridges{Intercept: .3, Direction: 2}, kernel.NewBasis(3, 2)
			u.Col(0)[0], u.Col(0)[1], u.Col(1)[2] = .6, .8, 1
			one := mat.NewDiagDense(p, nil)
			prior, mu, c := mat.NewDense(p, p, nil), mat.NewDense(p, 1, nil), mat.NewSymDense(p, nil)
			for j := range p {
				one.SetDiag(j, 1)
				mu.Set(j, 0, math.Sin(float64(j)))
				c.SetSym(j, j, .1+math.Abs(mu.At(j, 0)))
			}
			c.SetSym(1, 3, .05)
			prior.Set(0, 0, 1/ridges[Intercept])
			prior.Slice(1, 4, 1, 4).(*mat.Dense).Scale(1/ridges[Direction], product(u.T().T(), u.T()))

			of, mean := s.span(basis{1, u}, ridges), mu.RawMatrix().Data
			losses := s.losses(0, of, dense.General(2, p, append(make([]float64, p), mean...)))
			list := s.informations([]*span{of})[0]
			m, h, square, loss := mat.NewDense(p, p, nil), mat.NewDense(p, 1, nil), 0.0, 0.0
			for k := range s.nodes[0].tasks {
				x, y := rowsOf(&s.nodes[0].tasks[k], 0, 2, 3, 4)
				v, inverse := product(x, prior, x.T()), new(mat.Dense)
				for i := range v.RawMatrix().Rows {
					v.Set(i, i, v.At(i, i)+1)
				}
				if err := inverse.Inverse(v); err != nil {
					t.Fatal(err)
				}
				m.Add(m, product(x.T(), inverse, x))
				h.Add(h, product(x.T(), inverse, y))
				square += product(y.T(), inverse, y).At(0, 0)
				// theta = mu + S X'V^-1 (y - X mu); S, the noise and the error of mu add to its covariance.
				gain := product(prior, x.T(), inverse)
				theta := sum(mu, product(gain, sum(y, product(x, mu), -1)), 1)
				path := sum(one, product(gain, x), -1)
				cov := sum(product(path, sum(prior, c, 1), path.T()), product(gain, gain.T()), 1)
				got := of.theta(0, k, dense.General(1, p, mean)).Data
				if !floats.EqualApprox(got, theta.RawMatrix().Data, 1e-9) || !floats.EqualApprox(of.covariance(0, k, c), dense.Pack(nil, p, cov.RawMatrix().Data), 1e-9) {
					t.Errorf("the posterior of task %d differs", k)
				}
				x, y = rowsOf(&s.nodes[0].tasks[k], 1)
				e := sum(y, product(x, theta), -1)
				loss += product(e.T(), e).At(0, 0)
			}
			want := append(append(dense.Pack(nil, p, m.RawMatrix().Data), h.RawMatrix().Data...), square)
			if !floats.EqualApprox(list, want, 1e-9*mat.Norm(m, 2)) || math.Abs(losses[1]-loss) > 1e-9*loss {
				t.Errorf("the information or the loss differs: %v, want %v", losses[1], loss)
			}
		})
	}
}
