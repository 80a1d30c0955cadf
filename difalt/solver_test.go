package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

func newSolver(t testing.TB, p *difalt.Problem, net *consensus.Network, o difalt.Options) *difalt.Solver {
	t.Helper()
	s, err := difalt.NewSolver(p, net, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestAllocations: an iteration does not allocate, with checks of the stop rule and measurements of the
// residual, where all nodes live in one process. The tolerance is never reached.
func TestAllocations(t *testing.T) {
	p := draw(t, 5, 30, 40, 20, 3, 2, .1, 1)
	for _, method := range difalt.Methods() {
		for _, codec := range []consensus.Codec{0, consensus.Float64} {
			if codec != 0 && method != difalt.Accelerated {
				continue
			}
			for _, o := range []difalt.Options{{EveryIteration: true}, {StopAtNoise: true}, {Tolerance: 1e-300}} {
				o.Rank, o.Method, o.Codec, o.Iterations, o.Workers = 3, method, codec, 1000, 2
				o.Step = 1e-12 // the paper's methods stay where the residual is large
				if method == difalt.Accelerated && o.StopAtNoise {
					continue // it would end
				}
				s := newSolver(t, p, network(t, "er:0.6", 5, 1), o)
				for range 3 {
					step(t, s, t.Context())
				}
				most := 30
				if method == difalt.Accelerated && !o.EveryIteration { // which takes few iterations
					most = 6
				}
				if n := check.Allocations(most, func() { step(t, s, t.Context()) }); n != 0 {
					t.Errorf("%v, %v, at the noise %v: %v allocations in %d iterations", method, codec, o.StopAtNoise,
						n, most)
				}
			}
		}
	}
}

// TestIterations: the sequence has every record once, with growing times, and a break ends the run.
func TestIterations(t *testing.T) {
	p := draw(t, 3, 20, 40, 15, 2, 2, 0, 1)
	o := difalt.Options{Rank: 2, Method: difalt.Accelerated}
	want := run(t, p, network(t, "path", 3, 1), o)
	s, next, before := newSolver(t, p, network(t, "path", 3, 1), o), 0, time.Duration(-1)
	for rec, err := range s.Iterations(t.Context()) {
		if err != nil || rec.Iteration != next || rec.Compute <= before {
			t.Fatalf("iteration %d: %+v, %v", next, rec, err)
		}
		next, before = next+1, rec.Compute
	}
	if next != want.Iterations+1 {
		t.Errorf("%d records of %d iterations", next, want.Iterations)
	}
	s = newSolver(t, p, network(t, "path", 3, 1), o)
	for rec := range s.Iterations(t.Context()) {
		if rec.Iteration == 4 {
			break
		}
	}
	if status := step(t, s, t.Context()); status != difalt.Canceled {
		t.Errorf("after a break the run is %v", status)
	}
	res, err := s.Result()
	if err != nil || res.Iterations != 4 || res.Last.Iteration != 4 {
		t.Errorf("after a break: %+v, %v", res, err)
	}
}

// TestObserver: errors of the observer end the run for good, and a context that has ended gives no result.
func TestObserver(t *testing.T) {
	p := draw(t, 3, 20, 40, 15, 2, 2, 0, 1)
	mine := errors.New("mine")
	failing := newSolver(t, p, network(t, "path", 3, 1),
		difalt.Options{Rank: 2, Observer: func(r *difalt.Record) error {
			if r.Iteration == 3 {
				return mine
			}
			return nil
		}})
	_, first := failing.Run(t.Context())
	if _, again := failing.Step(t.Context()); !errors.Is(first, mine) || again != first {
		t.Errorf("the observer's error is %v, and then %v", first, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := difalt.Run(ctx, p, network(t, "path", 3, 1), difalt.Options{Rank: 2}); res != nil ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("canceled before the start: %v, %v", res, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	net := network(t, "path", 3, 1)
	res, err := difalt.Run(ctx, p, net, difalt.Options{Rank: 2, Observer: func(r *difalt.Record) error {
		if r.Iteration == 7 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || res == nil || res.Status != difalt.Canceled || res.Iterations > 8 {
		t.Errorf("canceled at iteration 7: %+v, %v", res, err)
	}
}

// withTask returns a problem of two nodes: one of a problem, and one with a task that change sets.
func withTask(p *difalt.Problem, change func(x *mat.Dense, y []float64)) *difalt.Problem {
	x, y := mat.NewDense(3, 6, slices.Repeat([]float64{1, -1, .5}, 6)), []float64{1, 2, 3}
	change(x, y)
	tasks := pack([]mat.Matrix{mat.NewDense(1, 6, nil), x}, [][]float64{{1}, y})
	return &difalt.Problem{Nodes: []*kernel.Tasks{p.Nodes[0], tasks}}
}

// TestErrors: invalid arguments are named with their value and place.
func TestErrors(t *testing.T) {
	good := draw(t, 2, 6, 8, 9, 2, 2, 0, 1)
	with := func(change func(x *mat.Dense, y []float64)) *difalt.Problem { return withTask(good, change) }
	basis := func(d, r int, v float64) *kernel.Basis {
		u := orthonormal(d, r, 1)
		u.Col(0)[1] = v
		return u
	}
	for want, c := range map[string]struct {
		p *difalt.Problem
		o difalt.Options
	}{
		"need a problem": {nil, difalt.Options{Rank: 1}},
		"Rank is 0":      {good, difalt.Options{}},
		"Rank is 7":      {good, difalt.Options{Rank: 7}},
		"Rank is 3": {&difalt.Problem{Nodes: draw(t, 2, 6, 2, 9, 2, 2, 0, 1).Nodes},
			difalt.Options{Rank: 3}},
		"Method is Method(5)":  {good, difalt.Options{Rank: 1, Method: 5}},
		"Iterations is -1":     {good, difalt.Options{Rank: 1, Iterations: -1}},
		"Step is NaN":          {good, difalt.Options{Rank: 1, Step: math.NaN()}},
		"Ridge is -1":          {good, difalt.Options{Rank: 1, Ridge: -1}},
		"Codec is int8":        {good, difalt.Options{Rank: 1, Codec: consensus.Int8}},
		"SampleSplit is true":  {good, difalt.Options{Rank: 1, Method: difalt.Accelerated, SampleSplit: true}},
		"SampleSplit needs 24": {good, difalt.Options{Rank: 2, Iterations: 5, SampleSplit: true}},
		"Rounds is 2000000:":   {good, difalt.Options{Rank: 1, Rounds: 2_000_000}},
		"the tasks of 1 nodes": {&difalt.Problem{Nodes: good.Nodes[:1]}, difalt.Options{Rank: 1}},
		"node 1: the node has no": {&difalt.Problem{Nodes: []*kernel.Tasks{good.Nodes[0], nil}},
			difalt.Options{Rank: 1}},
		"5 features, but 6": {
			&difalt.Problem{Nodes: []*kernel.Tasks{good.Nodes[0], draw(t, 1, 5, 4, 9, 2, 2, 0, 1).Nodes[0]}},
			difalt.Options{Rank: 1}},
		"task 1, row 2: feature 4 is": {with(func(x *mat.Dense, y []float64) { x.Set(2, 4, math.NaN()) }),
			difalt.Options{Rank: 1}},
		"task 1, row 0: the response": {with(func(x *mat.Dense, y []float64) { y[0] = math.Inf(-1) }),
			difalt.Options{Rank: 1}},
		"largest feature is 2e+60": {with(func(x *mat.Dense, y []float64) { x.Set(0, 0, 2e60) }),
			difalt.Options{Rank: 1}},
		"largest response is 3e+61": {with(func(x *mat.Dense, y []float64) { y[1] = -3e61 }),
			difalt.Options{Rank: 1}},
		"U0 has the starts of 1": {&difalt.Problem{Nodes: good.Nodes, U0: []*kernel.Basis{basis(6, 1, 0)}},
			difalt.Options{Rank: 1}},
		"U0 of node 1 is missing": {
			&difalt.Problem{Nodes: good.Nodes, U0: []*kernel.Basis{orthonormal(6, 1, 1), nil}},
			difalt.Options{Rank: 1}},
		"U0 of node 0, row 1": {
			&difalt.Problem{Nodes: good.Nodes, U0: []*kernel.Basis{basis(6, 1, math.NaN()), basis(6, 1, 0)}},
			difalt.Options{Rank: 1}},
		"Start is 5 x 1": {&difalt.Problem{Nodes: good.Nodes, Start: basis(5, 1, 0)},
			difalt.Options{Rank: 1}},
		"Truth is not orthonormal": {&difalt.Problem{Nodes: good.Nodes, Truth: basis(6, 2, 5)},
			difalt.Options{Rank: 1}},
		"features.Standardize": {moved(good, 100, nil), difalt.Options{Rank: 1}},
	} {
		_, err := difalt.Run(t.Context(), c.p, network(t, "complete", 2, 1), c.o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestBoundsOfResponses: the smallest and the largest responses are accepted, and zeros alone are not.
func TestBoundsOfResponses(t *testing.T) {
	good := draw(t, 2, 6, 8, 9, 2, 2, 0, 1)
	for _, y := range []float64{1e-6, 1e6} {
		p := withTask(good, func(x *mat.Dense, v []float64) { copy(v, []float64{y, y, y}) })
		if _, err := difalt.Run(t.Context(), p, network(t, "complete", 2, 1),
			difalt.Options{Rank: 1, Iterations: 1, AnyFeatures: true}); err != nil {
			t.Errorf("responses of %g: %v", y, err)
		}
	}
	zero := &difalt.Problem{
		Nodes: []*kernel.Tasks{good.Nodes[0].WithResponses(make([]float64, good.Nodes[0].TotalSamples())),
			good.Nodes[1].WithResponses(make([]float64, good.Nodes[1].TotalSamples()))}}
	if _, err := difalt.Run(t.Context(), zero, network(t, "complete", 2, 1), difalt.Options{Rank: 1}); err == nil ||
		!strings.Contains(err.Error(), "all responses zero") {
		t.Errorf("without responses: %v", err)
	}
}

// TestSampleSplit: a step of a run with sample splitting is the step on the parts of lines 7 and 10.
func TestSampleSplit(t *testing.T) {
	const iterations = 3
	p := draw(t, 1, 8, 12, 80, 2, 2, .1, 1)
	p.U0 = []*kernel.Basis{orthonormal(8, 2, 3)}
	s := newSolver(t, p, network(t, "complete", 1, 1),
		difalt.Options{Rank: 2, Iterations: iterations, SampleSplit: true, Step: 1e-4})
	want := p.U0[0].Clone()
	for tau := 1; tau <= iterations; tau++ {
		fit, grad := p.Nodes[0].Part(1+tau, 2*iterations+2), p.Nodes[0].Part(1+tau+iterations, 2*iterations+2)
		adapted, err := (&difalt.Model{U: want}).Adapt(t.Context(), fit)
		if err != nil {
			t.Fatal(err)
		}
		b := adapted.B
		sum, row := kernel.NewBasis(8, 2), make([]float64, 8)
		for task := range grad.Len() {
			for i, y := range grad.Y(task) {
				grad.Row(row, task, i)
				e := -y
				for j := range 2 {
					for k, x := range row {
						e += x * want.Col(j)[k] * b[task*2+j]
					}
				}
				for j := range 2 {
					for k, x := range row {
						sum.Col(j)[k] += e * x * b[task*2+j]
					}
				}
			}
		}
		for j := range 2 {
			for k, v := range sum.Col(j) {
				want.Col(j)[k] -= 1e-4 * v
			}
		}
		want.Orthonormalize(nil, nil)
		step(t, s, t.Context())
		if sd := mat.Norm(minus(s.U()[0], want), 2); sd > 1e-12 {
			t.Fatalf("iteration %d: U is off by %g", tau, sd)
		}
	}
	if status := step(t, s, t.Context()); status != difalt.IterationLimit {
		t.Errorf("after the last iteration: %v", status)
	}
}

// TestSplitStep: with sample splitting the default step is that of the samples of one set, and a run goes on
// with the number of iterations that its sets depend on.
func TestSplitStep(t *testing.T) {
	const iterations, sets, samples = 3, 8, 80
	p := draw(t, 2, 8, 12, samples, 2, 2, .1, 1)
	xx := 0.0
	for _, k := range p.Nodes {
		x, _ := sizes.Squares(k)
		xx += x
	}
	m := xx / (12 * samples * 8)
	o := difalt.Options{Rank: 2, Iterations: iterations, SampleSplit: true}
	s := newSolver(t, p, network(t, "complete", 2, 1), o)
	step(t, s, t.Context())
	res, err := s.Result()
	if err != nil {
		t.Fatal(err)
	}
	if want := .4 / (samples / sets * m * res.Initial.SigmaSquared); math.Abs(res.Initial.Step/want-1) > 1e-12 {
		t.Errorf("the step is %v, want %v", res.Initial.Step, want)
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := newSolver(t, p, network(t, "complete", 2, 1), o).Restore(snapshot); err != nil {
		t.Error(err)
	}
	o.Iterations++
	if err := newSolver(t, p, network(t, "complete", 2, 1), o).Restore(snapshot); err == nil {
		t.Error("a run with other sample sets goes on")
	}
}

// TestNames: names of methods and statuses are distinct and parse.
func TestNames(t *testing.T) {
	for _, m := range difalt.Methods() {
		if got, err := difalt.ParseMethod(m.String()); got != m || err != nil {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := difalt.ParseMethod("newton"); err == nil {
		t.Error("newton is a method")
	}
	if s := fmt.Sprint(difalt.Method(9), difalt.Status(9),
		difalt.Undetermined); s != "Method(9) Status(9) undetermined" {
		t.Error(s)
	}
}
