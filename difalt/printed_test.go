package difalt_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// printed is Alg. 2 line by line, with every product a gonum matrix product; what line 15 leaves
// at a node is normalised by a QR. n is the same for all tasks, and mean square of X is m.
func printed(s *synthetic, w *mat.Dense, start *mat.Dense, tpm, tcon int, m float64) (u []*mat.Dense, alpha []float64) {
	nodes, samples, squares := len(s.x), 0.0, make([]*mat.Dense, len(s.x))
	for g := range s.y {
		squares[g] = mat.NewDense(1, 1, nil)
		for _, y := range s.y[g] {
			samples += float64(len(y))
			squares[g].Set(0, 0, squares[g].At(0, 0)+mat.Dot(mat.NewVecDense(len(y), y), mat.NewVecDense(len(y), y)))
		}
	}
	for g := range squares {
		squares[g].Scale(9*float64(nodes)/samples, squares[g]) // line 3
	}
	theta := make([]*mat.Dense, nodes)
	for g, a := range agree(w, squares, tcon) { // line 4
		alpha = append(alpha, a.At(0, 0))
		d, _ := start.Dims()
		theta[g] = mat.NewDense(d, len(s.x[g]), nil)
		for t, x := range s.x[g] {
			y := mat.NewVecDense(len(s.y[g][t]), nil)
			for i, v := range s.y[g][t] {
				if v*v <= alpha[g] { // line 6
					y.SetVec(i, v)
				}
			}
			var v mat.VecDense
			v.MulVec(x.T(), y)
			v.ScaleVec(1/(float64(y.Len())*m), &v)
			theta[g].SetCol(t, v.RawVector().Data) // line 7
		}
		u = append(u, project(start)) // lines 8, 9
	}
	for range tpm {
		z := make([]*mat.Dense, nodes)
		for g := range z { // line 11
			var v mat.Dense
			v.Mul(theta[g].T(), u[g])
			z[g] = new(mat.Dense)
			z[g].Mul(theta[g], &v)
		}
		z = agree(w, z, tcon) // line 12
		first := project(z[0])
		for g := range z { // line 14
			if z[g] = mat.DenseCopyOf(first); g > 0 {
				z[g].Zero()
			}
		}
		u[0] = first
		for g, v := range agree(w, z, tcon) { // line 15
			if g > 0 {
				u[g] = project(v)
			}
		}
	}
	return u, alpha
}

// TestAsPrinted holds the option to the printed lines on uneven loads, where few rounds leave the
// nodes with thresholds of their own, and the default to the exact threshold.
func TestAsPrinted(t *testing.T) {
	const nodes, d, rank, tpm = 5, 16, 2, 4
	differ := 0
	for _, rule := range []topology.Rule{topology.Metropolis, topology.EqualNeighbor} {
		for _, tcon := range []int{4, 9} {
			s := deal(gaussian(3, 1, d, 24, rank, fixed(20), 0.1), []int{1, 9, 4, 2, 8})
			for i := range s.y[1][3] {
				s.y[1][3][i] *= 9 // so that thresholds matter
			}
			s.rebuild()
			net := network(t, "er:0.6", nodes, rule, 5)
			w := mat.NewDense(nodes, nodes, nil)
			for g := range nodes {
				for j := range nodes {
					w.Set(g, j, net.Weights().At(g, j))
				}
			}
			start, squares, entries := normal(rand.New(rand.NewPCG(4, 1)), d, rank), 0.0, 0.0
			for g := range s.x {
				for _, x := range s.x[g] {
					squares += math.Pow(mat.Norm(x, 2), 2)
					r, c := x.Dims()
					entries += float64(r * c)
				}
			}
			s.Start = kernel.BasisOf(start)
			want, alpha := printed(s, w, start, tpm, tcon, squares/entries)
			o := difalt.Options{Rank: rank, Initialization: difalt.InitializationOptions{Rounds: tcon, PowerIterations: tpm, AsPrinted: true}}
			got, err := difalt.Initialize(t.Context(), s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			if alpha[0] == alpha[1] {
				t.Error("the nodes have the same threshold: the test sees nothing")
			}
			for g := range want {
				if far := sd(mat.DenseCopyOf(got.U[g]), want[g]); far > 1e-9 {
					t.Errorf("%v, %d rounds, node %d: %g from the printed lines", rule, tcon, g, far)
				}
			}
			before := got.Traffic.Rounds
			o.Initialization.AsPrinted = false
			exact, err := difalt.Initialize(t.Context(), s.Problem, network(t, "er:0.6", nodes, rule, 5), o)
			if err != nil {
				t.Fatal(err)
			}
			if sd(mat.DenseCopyOf(exact.U[0]), want[0]) > 1e-6 {
				differ++
			}
			if least := int64((2*tpm + 1) * tcon); before < least || exact.Traffic.Rounds >= before {
				t.Errorf("%d rounds as printed, at least %d expected; %d by default", before, least, exact.Traffic.Rounds)
			}
		}
	}
	if differ == 0 {
		t.Error("the exact threshold never makes a difference: the test sees nothing")
	}
}

// TestAsPrintedElsewhere: bits do not depend on the processes, methods that sum refuse it, and too
// few rounds for the way from node 0 are an error.
func TestAsPrintedElsewhere(t *testing.T) {
	const nodes = 5
	s := gaussian(1, nodes, 12, 20, 2, fixed(15), 0.01)
	w := network(t, "path", nodes, topology.Metropolis, 1).Weights()
	o := difalt.Options{Rank: 2, Iterations: 5, Rounds: 3, Workers: 1, Initialization: difalt.InitializationOptions{Rounds: 4, PowerIterations: 2, AsPrinted: true}}
	o.Agreement.RoundByRound = true
	want := run(t, s.Problem, network(t, "path", nodes, topology.Metropolis, 1), o)
	for _, k := range []int{2, nodes} {
		sameApart(t, fmt.Sprintf("%d processes", k), want, s.Problem, w, together(nodes, k), o)
	}
	for _, method := range []difalt.Method{difalt.Accelerated, difalt.Newton} {
		o := o
		o.Method = method
		if err := (*difalt.ParameterError)(nil); !errors.As(o.Validate(), &err) || err.Name != "Initialization.AsPrinted" {
			t.Errorf("%v: %v", method, o.Validate())
		}
	}
	o.Initialization.Rounds = 3
	if _, err := difalt.Initialize(t.Context(), s.Problem, network(t, "path", nodes, topology.Metropolis, 1), o); err == nil {
		t.Error("three rounds from one end of a path of five to the other")
	}
}
