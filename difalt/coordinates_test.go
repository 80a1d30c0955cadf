package difalt_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// moved returns the problem with features that are (x + c) times their scales, from
// 10^-decades to 10^decades, and coefficients that are what they were by these, so that
// only offsets are new in the responses.
func moved(seed uint64, c, decades float64, constant bool, noise float64) *synthetic {
	s := noisy(seed, 5, 40, 80, 3, 25, 3, noise)
	d := 40
	rng := rand.New(rand.NewPCG(seed, 80))
	scale, order := make([]float64, d), rng.Perm(d)
	for j := range scale {
		scale[j] = math.Pow(10, decades*(2*float64(order[j])/float64(d-1)-1))
	}
	for g := range s.x {
		for t, x := range s.x[g] {
			n, _ := x.Dims()
			if constant {
				for i := range n {
					s.y[g][t][i] += (1 - x.At(i, 7)) * s.theta[g][t].AtVec(7)
					x.Set(i, 7, 1)
				}
			}
			for i := range n {
				for j := range d {
					if !constant || j != 7 {
						x.Set(i, j, x.At(i, j)+c)
						s.y[g][t][i] += c * s.theta[g][t].AtVec(j)
					}
					x.Set(i, j, x.At(i, j)*scale[j])
				}
			}
		}
	}
	s.rebuild()
	truth := s.Truth.Clone()
	for j := range 3 {
		for i := range truth.Col(j) {
			truth.Col(j)[i] /= scale[i]
		}
	}
	truth.Orthonormalize(nil, nil)
	s.Truth = truth
	return s
}

// TestOffsetsAndScales moves and scales features: methods arrive at the same answer after as
// many iterations, give or take a few, and what they return predicts the responses.
func TestOffsetsAndScales(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	plain := moved(1, 0, 0, false, 0)
	cases := []struct {
		offset, decades float64
		constant        bool
		s               *synthetic
	}{
		{0.5, 0, false, nil}, {10, 0, false, nil}, {100, 1, false, nil}, {1e6, 0, false, nil}, {0, 6, false, nil}, {1e6, 6, false, nil}, {0, 0, true, nil}, {100, 3, true, nil},
	}
	for k, c := range cases {
		cases[k].s = moved(1, c.offset, c.decades, c.constant, 0)
	}
	for _, method := range difalt.Methods() {
		for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Tree} {
			if polynomial == consensus.Tree && method != difalt.Accelerated {
				continue
			}
			o := difalt.Options{Rank: 3, Method: method, Iterations: 600, Tolerance: 1e-8, Agreement: consensus.Agreement{Polynomial: polynomial}}
			want := run(t, plain.Problem, net, o)
			for _, c := range cases {
				s := c.s
				res := run(t, s.Problem, net, o)
				name := fmt.Sprintf("%v, %v, offset %g, decades %g, constant %v", method, polynomial, c.offset, c.decades, c.constant)
				if !method.Scaled() { // the paper's arrive or say that they did not
					if res.Status == difalt.Converged && misfit(s, res) > 1e-6 {
						t.Errorf("%s: converged after %d iterations, %.2g from the truth", name, res.Iterations, res.Last.SDMax)
					}
					continue
				}
				limit := 1.3
				if c.constant { // an offset is nearly a multiple of the constant: what tells them apart is little
					limit = 4
				}
				if res.Status != want.Status || float64(res.Iterations) > limit*float64(want.Iterations) {
					t.Errorf("%s: %v after %d iterations, residual %.2g, %.2g from the truth; as they were %v after %d", name, res.Status, res.Iterations, res.Residual, res.Last.SDMax, want.Status, want.Iterations)
				}
				if want.Status != difalt.Converged {
					continue
				}
				if far := 1e-7 * math.Pow(10, c.decades/2); res.Last.SDMax > min(far, 1e-5) {
					t.Errorf("%s: %.2g from the truth", name, res.Last.SDMax)
				}
				far := 1e-6
				if c.offset == 1e6 { // of whose sixteen digits ten are left
					far = 1e-5
				}
				if e := misfit(s, res); e > far {
					t.Errorf("%s: predictions are off by %.2g of the responses", name, e)
				}
			}
		}
	}
}

// misfit is the root mean square of y - X U b, of what y deviates from its mean.
func misfit(s *synthetic, res *difalt.Result) float64 {
	squares, all, sum, n := 0.0, 0.0, 0.0, 0.0
	for g := range s.x {
		for t, x := range s.x[g] {
			var p mat.VecDense
			p.MulVec(x, mat.NewVecDense(len(res.Theta(g, t)), res.Theta(g, t)))
			for i, y := range s.y[g][t] {
				squares += (y - p.AtVec(i)) * (y - p.AtVec(i))
				all, sum, n = all+y*y, sum+y, n+1
			}
		}
	}
	return math.Sqrt(squares / (all - sum*sum/n))
}

// TestCoordinatesAndBack starts where another run has ended, in the coordinates of the caller,
// steps on from snapshots with the same bits, and changes responses.
func TestCoordinatesAndBack(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	for _, constant := range []bool{false, true} {
		s := moved(2, 30, 2, constant, 0.1)
		o := difalt.Options{Rank: 3, Method: difalt.Accelerated, Iterations: 300, Tolerance: 1e-8, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
		res := run(t, s.Problem, net, o)
		if res.Status != difalt.Converged {
			t.Fatalf("%v after %d iterations", res.Status, res.Iterations)
		}
		again := *s.Problem
		again.U0 = res.U
		o.Step = res.Step
		second := run(t, &again, net, o)
		if d := difalt.SubspaceDistance(second.U[0], res.U[0]); second.Iterations > 3 || d > 1e-6 {
			t.Errorf("from the end: %d iterations more, to %g away", second.Iterations, d)
		}
		if initial, err := difalt.Initialize(t.Context(), &again, net, o); err != nil || difalt.SubspaceDistance(initial.U[0], res.U[0]) > 1e-9 {
			t.Errorf("U0 comes back as another basis: %v", err)
		}
		u := kernel.BasisOf(mat.DenseCopyOf(res.U[0]))
		u.Orthonormalize(nil, nil)
		if d := difalt.SubspaceDistance(u, res.U[0]); d > 1e-12 {
			t.Errorf("U is not orthonormal: %g", d)
		}
		o.Step = 0
		got := restored(t, s.Problem, net, o, interrupted(t, s.Problem, net, o, 7))
		if !mat.Equal(got.U[2], res.U[2]) || got.B[2][1] != res.B[2][1] {
			t.Error("a restored run has other bits")
		}
	}
}

// TestOrdinaryFeatures: features of mean 0 and about the same size, with a constant among
// them or not, are taken as they are: all that is sent is what was.
func TestOrdinaryFeatures(t *testing.T) {
	for _, rows := range []int{6, 25, 200} {
		for seed := range uint64(20) {
			s := gaussian(seed, 3, 30, 6, 2, fixed(rows), 0.1)
			if seed%2 == 0 {
				for g := range s.x {
					for _, x := range s.x[g] {
						for i := range rows {
							x.Set(i, 3, 1)
						}
					}
				}
				s.rebuild()
			}
			net := network(t, "ring", 3, topology.Metropolis, 1)
			p := *s.Problem
			p.U0 = []*kernel.Basis{s.Truth, s.Truth, s.Truth}
			o := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, Iterations: 1, EveryIteration: true}
			before := net.Traffic()
			run(t, &p, net, o)
			sent := net.Traffic().Minus(before)
			p.Moments = mat.NewSymDense(30, nil) // of which nobody asks whether they matter
			for j := range 30 {
				p.Moments.SetSym(j, j, 1)
			}
			before = net.Traffic()
			run(t, &p, net, o)
			if want := net.Traffic().Minus(before); sent != want {
				t.Errorf("%d rows, seed %d: sent %+v, want %+v", rows, seed, sent, want)
			}
		}
	}
}

// TestOffsetsWithRidge: a ridge is one in the coordinates of the caller, whatever the moments. The
// gradient of the objective vanishes where a run has converged, and the run arrives.
func TestOffsetsWithRidge(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	s := moved(3, 20, 0.5, false, 0.1)
	const ridge = 2
	res := run(t, s.Problem, net, difalt.Options{Rank: 3, Method: difalt.Accelerated, Ridge: ridge, Iterations: 300, Tolerance: 1e-9, Agreement: consensus.Agreement{Polynomial: consensus.Tree}})
	if res.Status != difalt.Converged {
		t.Fatalf("%v after %d iterations, residual %g", res.Status, res.Iterations, res.Residual)
	}
	grad, size, u := mat.NewDense(40, 3, nil), 0.0, res.U[0]
	for g := range s.x {
		for k, x := range s.x[g] {
			b := mat.NewVecDense(3, res.B[g][3*k:][:3])
			var e, xe, own mat.VecDense
			e.MulVec(x, mat.NewVecDense(40, res.Theta(g, k)))
			e.SubVec(&e, mat.NewVecDense(len(s.y[g][k]), s.y[g][k]))
			xe.MulVec(x.T(), &e)
			// b is the ridge solution for U, an identity: U'X'e + ridge b = 0.
			own.MulVec(u.T(), &xe)
			own.AddScaledVec(&own, ridge, b)
			if off := mat.Norm(&own, 2); off > 1e-7*mat.Norm(&xe, 2) {
				t.Fatalf("node %d, task %d: b is not the ridge solution, by %g", g, k, off)
			}
			var outer mat.Dense
			outer.Outer(1, &xe, b)
			grad.Add(grad, &outer)
			size += mat.Norm(&xe, 2) * mat.Norm(b, 2)
		}
	}
	var along, inside mat.Dense
	along.Mul(u.T(), grad)
	inside.Mul(u, &along)
	grad.Sub(grad, &inside)
	if g := mat.Norm(grad, 2); g > 1e-6*size {
		t.Errorf("the gradient does not vanish: %g of %g", g, size)
	}
}
