package difalt_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pooled returns the tasks of all nodes as those of one.
func pooled(p *difalt.Problem) *kernel.Tasks {
	var x []mat.Matrix
	var y [][]float64
	for _, k := range p.Nodes {
		for t := range k.Len() {
			rows := mat.NewDense(k.Samples(t), k.Features(), nil)
			for i := range k.Samples(t) {
				k.Row(rows.RawRowView(i), t, i)
			}
			x, y = append(x, rows), append(y, k.Y(t))
		}
	}
	return pack(x, y)
}

// descent returns the objective after plain preconditioned steps from u: U <- QR(U - s grad P^-1/(n m)),
// independent of the solver. It stops where the objective does.
func descent(k *kernel.Tasks, u *kernel.Basis, iterations int) float64 {
	_, r := u.Dims()
	g, u := kernel.NewGroup(k, r), u.Clone()
	xx, _ := sizes.Squares(k)
	nm := xx / float64(k.Features()) / float64(k.Len())
	best := math.Inf(1)
	for i := range iterations {
		g.Step(u, 0, nil)
		if i%50 == 49 && g.Objective > best*(1-1e-12) {
			break
		}
		best = min(best, g.Objective)
		p := mat.NewSymDense(r, nil)
		for t := range k.Len() {
			p.SymRankOne(p, 1, mat.NewVecDense(r, g.B[t*r:][:r]))
		}
		var inverse, step mat.Dense
		if inverse.Inverse(p) != nil {
			return best
		}
		step.Mul(g.Grad, &inverse)
		for j := range r {
			floats.AddScaled(u.Col(j), -.7/nm, mat.Col(nil, j, &step))
		}
		u.Orthonormalize(nil, nil)
	}
	return best
}

// beside returns u with noise of that size, orthonormalised.
func beside(u *kernel.Basis, size float64, seed uint64) *kernel.Basis {
	v, rng := u.Clone(), rand.New(rand.NewPCG(seed, 82))
	d, r := v.Dims()
	for j := range r {
		for i := range v.Col(j) {
			v.Col(j)[i] += size / math.Sqrt(float64(d)) * rng.NormFloat64()
		}
	}
	v.Orthonormalize(nil, nil)
	return v
}

// TestConvergedIsAMinimum runs random noisy settings, in many of which the last direction is undetermined.
// Plain descent from beside the end of a converged run does not lead below it.
func TestConvergedIsAMinimum(t *testing.T) {
	settings := 24
	if testing.Short() {
		settings = 12
	}
	if longtest.Enabled() {
		settings = 240
	}
	count, near, far := map[difalt.Status]int{}, 0, 0
	for k := range settings {
		rng := rand.New(rand.NewPCG(uint64(k), 4711))
		r := 1 + rng.IntN(4)
		nodes, d, n := 1+rng.IntN(12), 8+rng.IntN(23), 2*r+2+rng.IntN(22)
		tasks := max(nodes, 12+rng.IntN(137))
		kappa, noise := math.Pow(10, 3*rng.Float64()), []float64{.01, .03, .1, .3}[rng.IntN(4)]
		if r == 1 {
			kappa = 1
		}
		name := fmt.Sprintf("%d: L %d d %d T %d n %d r %d kappa %.0f noise %v", k, nodes, d, tasks, n, r, kappa, noise)
		p := draw(t, nodes, d, tasks, n, r, kappa, noise, uint64(22000+k))
		res := run(t, p, network(t, "complete", nodes, 1),
			difalt.Options{Rank: r, Method: difalt.Accelerated, StopAtNoise: k%4 == 3})
		count[res.Status]++
		if res.Status != difalt.Converged {
			continue
		}
		if q := res.Last.SDMax / res.StatisticalError; q > .4 && q < 2.5 {
			near++
		} else {
			far++
		}
		allowed := 1e-6
		if k%4 == 3 { // a distance of a tenth of the statistical error explains a hundredth of d r residuals
			allowed = .05 * float64(d*r) / float64(n*tasks-r*tasks-d*r)
		}
		all, low := pooled(p), math.Inf(1)
		for i, size := range []float64{1e-3, .1, .5} {
			low = min(low, descent(all, beside(res.U[0], size, uint64(i)), 2000))
		}
		if excess := res.Last.Objective/low - 1; excess > allowed {
			t.Errorf("%s: converged after %d iterations, residual %.2g, statistical error %.2g, at an objective of "+
				"%.9g; plain descent from beside leads to %.9g (%.1e more)",
				name, res.Iterations, res.Residual, res.StatisticalError, res.Last.Objective, low, excess)
		}
	}
	t.Log(count, near, far)
	if count[difalt.Converged] < settings/3 || count[difalt.Undetermined] == 0 || far > count[difalt.Converged]/8 {
		t.Errorf("%v; %d statistical errors are within a factor of 2.5, %d are not", count, near, far)
	}
}

// atSaddle is a problem with a U0 at an exact saddle point: tasks with the same orthogonal features, b_t with
// two uncorrelated entries, and a U with one right column and one that no task uses.
func atSaddle() *difalt.Problem {
	const d, n, tasks, nodes = 8, 12, 24, 4
	x := orthonormal(n, d, 81)
	p := &difalt.Problem{Truth: kernel.NewBasis(d, 2)}
	p.Truth.Col(0)[1], p.Truth.Col(1)[5] = 1, 1
	start := kernel.NewBasis(d, 2)
	start.Col(0)[1], start.Col(1)[6] = 1, 1
	for g := range nodes {
		var xs []mat.Matrix
		var ys [][]float64
		for k := g * tasks / nodes; k < (g+1)*tasks/nodes; k++ {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / tasks)
			y := make([]float64, n)
			for i := range y {
				y[i] = math.Sqrt(n) * (cos*x.At(i, 1) + 0.2*sin*x.At(i, 5))
			}
			features := mat.NewDense(n, d, nil)
			features.Scale(math.Sqrt(n), x)
			xs, ys = append(xs, features), append(ys, y)
		}
		p.Nodes, p.U0 = append(p.Nodes, pack(xs, ys)), append(p.U0, start)
	}
	return p
}

// TestLeavesSaddle starts where the gradient is zero. A converged run has found both columns. TestInner shows
// that iterations alone stay there.
func TestLeavesSaddle(t *testing.T) {
	for _, method := range difalt.Methods() {
		for _, noise := range []bool{false, true} {
			o := difalt.Options{Rank: 2, Method: method, Tolerance: 1e-5, StopAtNoise: noise, Iterations: 3000}
			res := run(t, atSaddle(), network(t, "ring", 4, 1), o)
			if res.Status == difalt.Converged && res.Last.SDMax > 0.05 || method == difalt.Accelerated &&
				res.Status != difalt.Converged {
				t.Errorf("%v, at the noise %v: %v after %d iterations, %.2g from the truth, residual %.2g", method,
					noise, res.Status, res.Iterations, res.Last.SDMax, res.Residual)
			}
		}
	}
}

// TestStatuses: every status is reported where it is true, and the log has the warning that explains it.
func TestStatuses(t *testing.T) {
	p, few, net := draw(t, 4, 12, 40, 15, 2, 2, 0, 1), draw(t, 4, 12, 400, 1, 2, 2, 0, 1), network(t, "ring", 4, 1)
	noisy := draw(t, 4, 12, 40, 15, 2, 2, .3, 1)
	few.Truth, noisy.Truth = nil, nil
	for _, c := range []struct {
		name string
		o    difalt.Options
		p    *difalt.Problem
		want difalt.Status
		warn string
	}{
		{"converged", difalt.Options{Method: difalt.Accelerated}, p, difalt.Converged, ""},
		{"at the start", difalt.Options{Method: difalt.Accelerated},
			&difalt.Problem{Nodes: p.Nodes, U0: []*kernel.Basis{p.Truth, p.Truth, p.Truth, p.Truth}}, difalt.Converged,
			""},
		{"too few iterations", difalt.Options{Method: difalt.Accelerated, Iterations: 3}, p, difalt.IterationLimit,
			"has not converged"},
		{"every iteration", difalt.Options{Method: difalt.Accelerated, EveryIteration: true, Iterations: 50},
			p, difalt.IterationLimit, ""},
		{"a step too long", difalt.Options{Step: 1}, p, difalt.Diverged, "diverged"},
		{"the paper", difalt.Options{Rounds: 10, Iterations: 2000, Kappa: 3}, p, difalt.Converged, ""},
		{"loose", difalt.Options{Rounds: 10, Tolerance: 1e-3}, p, difalt.Converged, ""},
		{"nodes that disagree", difalt.Options{Rounds: 1, StartRounds: 10, Tolerance: .01, Iterations: 100},
			noisy, difalt.IterationLimit, "has not converged"},
		{"a sample a task", difalt.Options{Iterations: 2, EveryIteration: true}, few, difalt.IterationLimit,
			"tasks=400"},
		{"with a ridge", difalt.Options{Iterations: 2, EveryIteration: true, Ridge: 1}, few, difalt.IterationLimit, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			c.o.Rank, c.o.Logger = 2, slog.New(slog.NewTextHandler(&log, nil))
			res := run(t, c.p, net, c.o)
			if !strings.Contains(log.String(), "the run has ended") || !strings.Contains(log.String(), c.warn) ||
				strings.Contains(log.String(), "WARN") != (c.warn != "") {
				t.Errorf("no warning of %q, or another one, in %s", c.warn, log.String())
			}
			if res.Status != c.want {
				t.Fatalf("%v after %d iterations, residual %g: want %v", res.Status, res.Iterations, res.Residual,
					c.want)
			}
			tolerance := c.o.Tolerance
			if tolerance == 0 {
				tolerance = 1e-10
			}
			if sd := difalt.SubspaceDistance(res.U[0], p.Truth); res.Status == difalt.Converged &&
				(sd > tolerance || res.Residual > tolerance) {
				t.Errorf("converged at %g from the truth, residual %g", sd, res.Residual)
			}
			if c.o.EveryIteration != math.IsNaN(res.Residual) && res.Status != difalt.Diverged {
				t.Errorf("the residual is %g", res.Residual)
			}
		})
	}
}

// TestDivergedIsTheBest: a diverged run returns the best state that the nodes have seen.
func TestDivergedIsTheBest(t *testing.T) {
	p, net := draw(t, 4, 12, 40, 15, 2, 2, 0, 1), network(t, "ring", 4, 1)
	start, err := difalt.Initialize(t.Context(), p, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	p.U0 = start.U
	res := run(t, p, net, difalt.Options{Rank: 2, Step: 30 * start.Step})
	if res.Status != difalt.Diverged || difalt.SubspaceDistance(res.U[0], start.U[0]) > 1e-12 {
		t.Errorf("%v, %g from the start", res.Status, difalt.SubspaceDistance(res.U[0], start.U[0]))
	}
}

// TestEveryUIsAMinimum: where all U have one objective no run converges, for tasks of no more samples than r,
// and for a square U. A ridge lets tasks of few samples tell about U.
func TestEveryUIsAMinimum(t *testing.T) {
	few, square := draw(t, 3, 8, 24, 2, 2, 2, .1, 1), draw(t, 3, 4, 24, 9, 2, 2, .1, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.Accelerated} {
		for _, c := range []struct {
			name string
			p    *difalt.Problem
			o    difalt.Options
		}{
			{"few samples", few, difalt.Options{Rank: 2}},
			{"fewer samples", few, difalt.Options{Rank: 3}},
			{"at the noise", few, difalt.Options{Rank: 2, StopAtNoise: true}},
			{"square", square, difalt.Options{Rank: 4}},
			{"square, with a ridge", square, difalt.Options{Rank: 4, Ridge: .5}},
		} {
			var log bytes.Buffer
			c.o.Method, c.o.Logger = method, slog.New(slog.NewTextHandler(&log, nil))
			res := run(t, c.p, network(t, "complete", 3, 1), c.o)
			if res.Status != difalt.Undetermined || !strings.Contains(log.String(), "hardly determine a direction") {
				t.Errorf("%v, %s: %v after %d iterations, %s", method, c.name, res.Status, res.Iterations, log.String())
			}
		}
	}
}

// TestUnknownError: with no more samples than unknowns the statistical error is infinite, and StopAtNoise
// does not stop.
func TestUnknownError(t *testing.T) {
	p, net := draw(t, 2, 12, 8, 3, 2, 2, .1, 1), network(t, "complete", 2, 1)
	s := newSolver(t, p, net, difalt.Options{Rank: 2, Method: difalt.Accelerated, StopAtNoise: true, Iterations: 30})
	status := difalt.Running
	for status == difalt.Running {
		status = step(t, s, t.Context())
	}
	res, err := s.Result()
	if err != nil || !math.IsInf(res.StatisticalError, 1) || status == difalt.Converged && res.Residual > 1e-10 {
		t.Errorf("%v, statistical error %v, residual %v, %v", status, res.StatisticalError, res.Residual, err)
	}
}
