package fit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/floats"
)

const (
	// A start is given up after this many iterations unless its objective is the lowest:
	// by then the accelerated method is near the stationary point that it ends at.
	searchIterations = 14
	// Trials end at a tenth of the statistical error, or at this distance: what is left
	// changes no choice.
	trialTolerance = 1e-2
)

// DefaultOptions returns what suits tables: the accelerated method, with sums along a
// tree, which are exact and for a few thousand numbers cheaper than gossip.
func DefaultOptions(rank int) difalt.Options {
	return difalt.Options{
		Method: difalt.Accelerated, Rank: rank, Iterations: 300, PowerIterations: 10, Tolerance: 1e-5,
		Agreement: consensus.Agreement{Polynomial: consensus.Tree},
	}
}

// A seat is where and how a run takes place.
type seat struct {
	net     *consensus.Network
	workers int // 0 for the final run, which is observed
}

// run runs the algorithm on a problem. The final run is observed; the others say how
// many threads they may use, and end early.
func (f *fitter) run(ctx context.Context, at seat, p *difalt.Problem, c Candidate, iterations int) (*difalt.Result, error) {
	o := f.c.Options
	o.Rank, o.Ridge = c.Rank, c.Ridge
	if p.U0 != nil && o.Step == 0 {
		o.Step = f.step
	}
	if at.workers > 0 {
		o.Workers, o.Iterations = at.workers, iterations
		o.Observer, o.Logger = nil, nil
		o.Tolerance, o.StopAtNoise = max(o.Tolerance, trialTolerance), true
	} else if f.c.Progress != nil {
		observe, total := o.Observer, o.Iterations
		o.Observer = func(r *difalt.Record) error {
			f.progress("iterations", r.Iteration, max(total, r.Iteration))
			if observe == nil {
				return nil
			}
			return observe(r)
		}
	}
	res, err := difalt.Run(ctx, p, at.net, o)
	if errors.Is(err, difalt.ErrDiverged) {
		err = fmt.Errorf("after %d iterations with the step size %.3g: %w", res.Iterations, res.Step, err)
	}
	if err == nil && at.workers > 0 && res.Status == difalt.Canceled {
		if err = ctx.Err(); err == nil {
			err = errLeft
		}
	}
	return res, err
}

// search returns the basis of the lowest objective among those that a few iterations
// lead to from several starts, the spectral one and random ones that all nodes draw
// alike. The objective has several minima, and none of the starts always leads to the
// best. With a single start it runs to the end.
func (f *fitter) search(ctx context.Context, p *difalt.Problem, c Candidate) (best []*kernel.Basis, err error) {
	at := seat{f.net, workersFor(f.c.Options.Workers)}
	iterations, starts := searchIterations, f.c.Starts
	if p.U0 != nil || p.Start != nil || starts <= 1 {
		iterations, starts = f.c.Options.Iterations, 1
	}
	if n := f.c.Options.Iterations; n > 0 {
		iterations = min(iterations, n)
	}
	lowest, d := 0.0, p.Nodes[0].Features()
	for k := range starts {
		if k > 0 {
			again := *p
			again.U0 = slices.Repeat([]*kernel.Basis{random(d, c.Rank, f.c.Options.Seed, k)}, len(p.Nodes))
			p = &again
		}
		res, err := f.run(ctx, at, p, c, iterations)
		if err != nil {
			return nil, err
		}
		f.step = res.Step
		z := f.zeros(1)
		for g, tasks := range p.Nodes {
			z[g][0] = objective(tasks, res.U[g], res.B[g], c.Ridge)
		}
		sum, err := f.sum(ctx, z)
		if err != nil {
			return nil, err
		}
		if k == 0 || sum[0] < lowest {
			best, lowest = res.U, sum[0]
		}
	}
	return best, nil
}

// random returns the orthonormal factor of a Gaussian matrix.
func random(d, r int, seed uint64, k int) *kernel.Basis {
	u, rng := kernel.NewBasis(d, r), rand.New(rand.NewPCG(seed, uint64(k)))
	for j := range r {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	u.Orthonormalize(make([]float64, r*r), make([]float64, qr.WorkLen(r)))
	return u
}

// objective returns sum_t |y_t - X_t U b_t|^2 + ridge |b_t|^2 of the tasks of a node.
func objective(tasks *kernel.Tasks, u *kernel.Basis, b []float64, ridge float64) float64 {
	d, r := u.Dims()
	sum := ridge * floats.Dot(b, b)
	row, p := make([]float64, d), make([]float64, r)
	for t := range tasks.Len() {
		for i, y := range tasks.Y(t) {
			project(p, tasks.Row(row, t, i), u)
			e := y - floats.Dot(p, b[t*r:][:r])
			sum += e * e
		}
	}
	return sum
}
