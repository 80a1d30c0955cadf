package difalt_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// correlated is a noisy problem whose features vary by three orders of magnitude more in
// some directions than in others, with their moments.
func correlated(seed uint64) (*synthetic, *mat.SymDense) {
	const d = 10
	s := noisy(seed, 4, d, 24, 2, 20, 2, 0.3)
	q := kernel.BasisOf(s.x[0][0].Slice(0, d, 0, d))
	q.Orthonormalize(make([]float64, d*d), make([]float64, d))
	var mix mat.Dense
	mix.CloneFrom(q)
	for j := range d {
		for i := range d {
			mix.Set(i, j, mix.At(i, j)*math.Pow(10, -1.5*float64(j)/(d-1)))
		}
	}
	moments := mat.NewSymDense(d, nil)
	for _, node := range s.x {
		for _, x := range node {
			var z mat.Dense
			z.Mul(x, mix.T())
			x.Copy(&z)
			var own mat.SymDense
			own.SymOuterK(1./(24*20), x.T())
			moments.AddSym(moments, &own)
		}
	}
	s.rebuild()
	return s, moments
}

// With moments a run ends at the same U and coefficients, in far fewer iterations, with
// and without a ridge, by all methods that use them; along a tree all nodes have the
// same bits.
func TestMoments(t *testing.T) {
	for seed := range uint64(3) {
		s, moments := correlated(seed)
		with := *s.Problem
		with.Moments = moments
		net := network(t, "ring", 4, topology.Metropolis, 1)
		for _, ridge := range []float64{0, 0.5, 20} {
			o := difalt.Options{Method: difalt.Accelerated, Rank: 2, Iterations: 5000, Ridge: ridge, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
			run := func(p *difalt.Problem, o difalt.Options) *difalt.Result {
				t.Helper()
				res, err := difalt.Run(t.Context(), p, net, o)
				if err != nil || !res.Status.Arrived() {
					t.Fatalf("seed %d, ridge %v, %v: %v, %v after %d iterations, residual %g", seed, ridge, o.Method, err, res.Status, res.Iterations, res.Residual)
				}
				return res
			}
			fast := run(&with, o)
			slow := *s.Problem
			slow.U0 = fast.U // several minima: look at this one
			plain := o
			plain.Step = fast.Step
			if d := difalt.SubspaceDistance(run(&slow, plain).U[0], fast.U[0]); d > 1e-6 {
				t.Errorf("seed %d, ridge %v: with moments U ends %g from where it ends without", seed, ridge, d)
			}
			if fast.Iterations > 60 {
				t.Errorf("seed %d, ridge %v: %d iterations", seed, ridge, fast.Iterations)
			}
			for i, u := range fast.U {
				if !mat.Equal(u, fast.U[0]) {
					t.Errorf("seed %d, ridge %v: node %d differs", seed, ridge, i)
				}
			}
			for _, m := range []difalt.Method{difalt.GradientTracking, difalt.AcceleratedTracking} {
				tracked := o
				tracked.Method, tracked.Agreement = m, consensus.Agreement{}
				tracked.Tolerance = 1e-8
				start := with
				start.U0 = fast.U
				if d := difalt.SubspaceDistance(run(&start, tracked).U[0], fast.U[0]); d > 1e-6 {
					t.Errorf("seed %d, ridge %v, %v: U ends %g away", seed, ridge, m, d)
				}
			}
		}
	}
}

func TestBadMoments(t *testing.T) {
	s, good := correlated(1)
	bad := func(change func(m *mat.SymDense)) *mat.SymDense {
		m := mat.NewSymDense(10, nil)
		m.CopySym(good)
		change(m)
		return m
	}
	for want, m := range map[string]*mat.SymDense{
		"Moments is 3 x 3, want 10 x 10":  mat.NewSymDense(3, nil),
		"Moments, row 4, column 2 is NaN": bad(func(m *mat.SymDense) { m.SetSym(2, 4, math.NaN()) }),
		"Moments, row 3, column 3 is -1":  bad(func(m *mat.SymDense) { m.SetSym(3, 3, -1) }),
		"they have a negative eigenvalue": bad(func(m *mat.SymDense) { m.SetSym(0, 1, 100) }),
	} {
		p := *s.Problem
		p.Moments = m
		_, err := difalt.Run(context.Background(), &p, network(t, "ring", 4, topology.Metropolis, 1), difalt.Options{Method: difalt.Accelerated, Rank: 2, Rounds: 3})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
