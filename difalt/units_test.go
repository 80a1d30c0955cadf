package difalt_test

import (
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// TestUnits multiplies X and y by what changes of units do: every iterate stays the same
// to rounding.
func TestUnits(t *testing.T) {
	for _, method := range difalt.Methods() {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 25, EveryIteration: true, Ridge: 0.01}
		base := gaussian(1, 5, 20, 40, 2, fixed(15), 0.01)
		net := network(t, "er:0.7", 5, topology.Metropolis, 1)
		want := run(t, base.Problem, net, o)
		for _, c := range [][2]float64{{.5, 1}, {3, 1e3}, {1e-2, 1}, {1e30, 1e30}, {1e-30, 1e-30}, {1e100, 1e-100}, {1e-100, 1e100}, {1e-100, 1e-100}} {
			s := gaussian(1, 5, 20, 40, 2, fixed(15), 0.01)
			for g := range s.x {
				for k := range s.x[g] {
					s.x[g][k].Scale(c[0], s.x[g][k])
					for i := range s.y[g][k] {
						s.y[g][k][i] *= c[1]
					}
				}
			}
			s.rebuild()
			o := o
			o.Ridge *= c[0] * c[0]
			got := run(t, s.Problem, net, o)
			for g := range want.U {
				if e := difalt.SubspaceDistance(got.U[g], want.U[g]); e > 1e-9 {
					t.Errorf("%v: X times %g, y times %g moves U of node %d by %g", method, c[0], c[1], g, e)
				}
				for k, b := range want.B[g] {
					if e := math.Abs(got.B[g][k]*(c[0]/c[1])-b) / math.Abs(b); e > 1e-6 {
						t.Fatalf("%v: X times %g, y times %g: coefficient %d of node %d is %g, want %g", method, c[0], c[1], k, g, got.B[g][k], b*c[1]/c[0])
					}
				}
			}
		}
	}
}

func run(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options) *difalt.Result {
	t.Helper()
	res, err := difalt.Run(t.Context(), p, net, o)
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		t.Fatal(err)
	}
	return res
}

// TestNormalizeTasks has a node whose responses are a hundred times as large: only with
// every task divided by its own size do all runs arrive.
func TestNormalizeTasks(t *testing.T) {
	for seed := range uint64(3) {
		s := conditioned(seed+1, 10, 100, 200, 4, 30, 1.5)
		for k := range s.y[3] {
			for i := range s.y[3][k] {
				s.y[3][k][i] *= 100
			}
		}
		s.rebuild()
		net := network(t, "er:0.5", 10, topology.Metropolis, seed+1)
		res := run(t, s.Problem, net, difalt.Options{Rank: 4, Method: difalt.ScaledDiffusion, Seed: seed, NormalizeTasks: true})
		if res.Status != difalt.Converged || res.Last.SDMax > 1e-9 {
			t.Errorf("seed %d: %v after %d iterations, %.2g from the truth", seed, res.Status, res.Iterations, res.Last.SDMax)
		}
		// Coefficients come back in the units of the responses.
		var diff mat.VecDense
		diff.ScaleVec(100, s.theta[3][0])
		diff.SubVec(&diff, mat.NewVecDense(100, res.Theta(3, 0)))
		if e := mat.Norm(&diff, 2) / (100 * mat.Norm(s.theta[3][0], 2)); e > 1e-8 {
			t.Errorf("seed %d: theta of the large node is off by %g", seed, e)
		}
	}
}
