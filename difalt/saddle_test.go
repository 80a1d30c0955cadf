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

// atSaddle is a problem with a U0 at an exact saddle point: tasks with the same orthogonal
// features and b_t of two uncorrelated entries, and a U of which one column is right and the
// other says nothing.
func atSaddle() *difalt.Problem {
	const d, n, tasks, nodes = 8, 12, 24, 4
	rng := rand.New(rand.NewPCG(1, 81))
	x := kernel.BasisOf(normal(rng, n, d))
	x.Orthonormalize(nil, nil)
	p := &difalt.Problem{Truth: kernel.NewBasis(d, 2)}
	p.Truth.Col(0)[1], p.Truth.Col(1)[5] = 1, 1
	start := kernel.NewBasis(d, 2)
	start.Col(0)[1], start.Col(1)[6] = 1, 1
	features := mat.NewDense(n, d, nil)
	features.Scale(math.Sqrt(n), x)
	for g := range nodes {
		var xs []mat.Matrix
		var ys [][]float64
		for k := g * tasks / nodes; k < (g+1)*tasks/nodes; k++ {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / tasks)
			y := make([]float64, n)
			for i := range y {
				y[i] = cos*features.At(i, 1) + 0.2*sin*features.At(i, 5)
			}
			xs, ys = append(xs, features), append(ys, y)
		}
		p.Nodes, p.U0 = append(p.Nodes, kernel.NewTasks(xs, ys, kernel.Float64)), append(p.U0, start)
	}
	return p
}

// TestLeavesSaddle starts where the gradient is zero. Every run that says that it has converged
// has found both columns.
func TestLeavesSaddle(t *testing.T) {
	p, nodes := atSaddle(), 4
	net := network(t, "ring", nodes, topology.Metropolis, 1)
	for _, method := range difalt.Methods() {
		for _, noise := range []bool{false, true} {
			o := difalt.Options{Rank: 2, Method: method, Tolerance: 1e-5, StopAtNoise: noise, Iterations: 3000}
			res := run(t, p, net, o)
			if res.Status == difalt.Converged && res.Last.SDMax > 0.05 || method.Scaled() && res.Status != difalt.Converged {
				t.Errorf("%v, at the noise %v: %v after %d iterations, %.2g from the truth, residual %.2g", method, noise, res.Status, res.Iterations, res.Last.SDMax, res.Residual)
			}
		}
	}
}

// TestAnyStationary: a caller who judges directions alone gets the saddle point, and nobody looks.
func TestAnyStationary(t *testing.T) {
	at := 0
	for _, method := range difalt.Methods() {
		for _, noise := range []bool{false, true} {
			o := difalt.Options{Rank: 2, Method: method, Tolerance: 1e-5, StopAtNoise: noise, Iterations: 3000, AnyStationary: true}
			res := run(t, atSaddle(), network(t, "ring", 4, topology.Metropolis, 1), o)
			if res.Status == difalt.Converged && res.Last.SDMax > 0.5 {
				at++
			}
			if res.Standing != nil {
				t.Errorf("%v: somebody has looked: %+v", method, res.Standing)
			}
		}
	}
	if at == 0 {
		t.Error("no run has ended at the saddle point")
	}
}

// TestConvergedIsAMinimum looks at runs on noisy data, of which many cannot tell the last
// direction. Of those that have converged plain descent from the side does not lead below, and
// most know how far they are from the truth; those that are undetermined are far from it.
func TestConvergedIsAMinimum(t *testing.T) {
	settings := []struct {
		nodes, d, tasks, n, r int
		kappa, noise          float64
	}{
		{50, 30, 400, 8, 3, 30, .1}, {2, 20, 200, 25, 4, 100, .3}, {10, 20, 200, 15, 3, 3, .2}, {5, 30, 100, 15, 2, 10, .03},
		{20, 40, 100, 10, 2, 3, .1}, {4, 40, 200, 15, 4, 300, .1}, {6, 20, 100, 6, 3, 300, .3}, {10, 40, 100, 15, 4, 1, .2},
		{3, 60, 200, 25, 3, 1, .3}, {2, 40, 400, 15, 4, 30, .3}, {20, 20, 200, 15, 2, 3, .01}, {10, 30, 100, 10, 3, 10, .01},
	}
	converged, near, undetermined := 0, 0, 0
	for k, c := range settings[:draws(8, len(settings))] {
		s := noisy(uint64(k)+1, c.nodes, c.d, c.tasks, c.r, c.n, c.kappa, c.noise)
		name := fmt.Sprintf("%+v", c)
		o := difalt.Options{Rank: c.r, Method: difalt.Accelerated, Tolerance: 1e-9, Iterations: 400, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
		res := run(t, s.Problem, network(t, "complete", c.nodes, topology.Metropolis, 1), o)
		switch res.Status {
		case difalt.Undetermined:
			undetermined++
			if w := res.Standing; w == nil || len(w.SingularValues) != c.r || !(w.Weakest < 1.2 || w.Share > 0.5) || res.StatisticalError != 1 {
				t.Errorf("%s: undetermined with %+v, statistical error %g", name, w, res.StatisticalError)
			}
			if res.Last.SDMax < 0.15 {
				t.Errorf("%s: undetermined, but %.2g from the truth", name, res.Last.SDMax)
			}
			continue
		case difalt.Converged:
			converged++
		default:
			continue
		}
		if q := res.Last.SDMax / res.StatisticalError; q < 2 && q > 0.5 {
			near++
		}
		u, rng := res.U[0].Clone(), rand.New(rand.NewPCG(uint64(k), 82))
		for j := range c.r {
			for i := range u.Col(j) {
				u.Col(j)[i] += 1e-3 * rng.NormFloat64()
			}
		}
		u.Orthonormalize(nil, nil)
		alone := &difalt.Problem{Nodes: []*kernel.Tasks{pooled(s)}, U0: []*kernel.Basis{u}}
		best := run(t, alone, network(t, "complete", 1, topology.Metropolis, 1), difalt.Options{Rank: c.r, Method: difalt.ScaledDiffusion, Iterations: 600, Step: 1, EveryIteration: true})
		if low := best.Last.Objective; res.Last.Objective > low*(1+1e-6) {
			t.Errorf("%s: converged at an objective of %.9g, plain descent from beside leads to %.9g", name, res.Last.Objective, low)
		}
	}
	if converged < 4 || undetermined < 1 || near < converged-1 {
		t.Errorf("%d converged, %d of them within a factor 2 of their error, %d undetermined", converged, near, undetermined)
	}
}

// TestFewTasksOwnADirection: runs that come to rest where the samples of one task hardly reach
// a direction, with a b_t without bound, do not say that they have converged.
func TestFewTasksOwnADirection(t *testing.T) {
	s := conditioned(1, 5, 20, 40, 2, 14, 3)
	// A direction that task 0 does not see: in the null space of its samples.
	var svd mat.SVD
	if !svd.Factorize(s.x[0][0], mat.SVDFull) {
		t.Fatal("no svd")
	}
	var v mat.Dense
	svd.VTo(&v)
	start := kernel.NewBasis(20, 2)
	copy(start.Col(0), s.Truth.Col(0))
	for i := range start.Col(1) {
		start.Col(1)[i] = v.At(i, 19) + 1e-3*v.At(i, 0)
	}
	start.Orthonormalize(nil, nil)
	p := *s.Problem
	p.U0 = []*kernel.Basis{start, start, start, start, start}
	for _, method := range []difalt.Method{difalt.ScaledDiffusion, difalt.GradientTracking, difalt.Accelerated, difalt.AcceleratedTracking} {
		for _, noise := range []bool{false, true} {
			res := run(t, &p, network(t, "complete", 5, topology.Metropolis, 1), difalt.Options{Rank: 2, Method: method, StopAtNoise: noise, Iterations: 400})
			if res.Status == difalt.Converged && res.Last.SDMax > 1e-6 {
				t.Errorf("%v, at the noise %v: converged after %d iterations, %.2g from the truth, residual %.2g, statistical error %.2g", method, noise, res.Iterations, res.Last.SDMax, res.Residual, res.StatisticalError)
			}
		}
	}
}

// TestSameBitsOfLooks: processes that leave a saddle point, cannot tell a direction, or see features
// in other coordinates compute the bits of one process.
func TestSameBitsOfLooks(t *testing.T) {
	const nodes = 4
	w := network(t, "ring", nodes, topology.Metropolis, 1).Weights()
	shifted := moved(4, 50, 2, false, 0.05)
	shifted = &synthetic{Problem: &difalt.Problem{Nodes: shifted.Nodes[:nodes], Truth: shifted.Truth}}
	for name, p := range map[string]*difalt.Problem{"saddle": atSaddle(), "noise": noisy(2, nodes, 20, 60, 3, 12, 100, 0.3).Problem, "offset": shifted.Problem} {
		for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Tree} {
			rank := 2
			if p.U0 == nil {
				rank = 3
			}
			o := difalt.Options{Rank: rank, Method: difalt.Accelerated, StopAtNoise: true, Iterations: 200, Workers: 1, Agreement: consensus.Agreement{Polynomial: polynomial, RoundByRound: true}}
			net, err := consensus.New(w, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := run(t, p, net, o)
			sameApart(t, name, want, p, w, together(nodes, nodes), o)
			t.Log(name, polynomial, want.Status, want.Iterations)
		}
	}
}

// TestErrorOfWeakDirections: where a direction stands out of noise, but not by much, the statistical
// error is within a factor of 2 of the distance to the truth, and the run is at a minimum.
func TestErrorOfWeakDirections(t *testing.T) {
	weak, near := 0, 0
	for k, c := range [][4]int{{20, 200, 2, 12}, {9, 40, 2, 15}, {40, 100, 3, 25}, {60, 100, 4, 25}} {
		for _, noise := range []float64{.05, .1, .2} {
			for _, kappa := range []float64{8, 15} {
				s := noisy(uint64(k+1), 5, c[0], c[1], c[2], c[3], kappa, noise)
				o := difalt.Options{Rank: c[2], Method: difalt.Accelerated, Iterations: 600, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
				res := run(t, s.Problem, network(t, "ring", 5, topology.Metropolis, 1), o)
				if w := res.Standing; res.Status != difalt.Converged || w == nil || w.Weakest > 4 {
					continue
				}
				weak++
				if q := res.Last.SDMax / res.StatisticalError; q < 2 && q > 0.5 {
					near++
				}
			}
		}
	}
	if weak < 8 || near < weak*9/10 {
		t.Errorf("%d of %d errors are within a factor of 2", near, weak)
	}
}
