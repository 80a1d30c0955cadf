package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// A start is given up after this many iterations unless its objective is the lowest:
	// by then the accelerated method is near the stationary point that it ends at.
	searchIterations = 14
	// Bases that are only compared are found to a tenth of the statistical error, or to this
	// distance.
	trialTolerance = 1e-2
)

// DefaultOptions returns what suits tables: the accelerated method, with sums along a
// tree, which are exact and for a few thousand numbers cheaper than gossip.
func DefaultOptions(rank int) difalt.Options {
	return difalt.Options{
		Method: difalt.Accelerated, Rank: rank, Iterations: 300, Initialization: difalt.InitializationOptions{PowerIterations: 10}, Tolerance: 1e-5,
		Agreement: consensus.Agreement{Polynomial: consensus.Tree},
	}
}

// An algorithm runs difalt on problems, with its options as Config.Auto has chosen them.
type algorithm struct {
	*nodes.Group
	c       *Config
	options difalt.Options
}

// agree lets difalt.Auto choose how nodes agree, if that is wanted.
func (a *algorithm) agree(ctx context.Context, p *difalt.Problem) (err error) {
	if a.c.Auto {
		a.options.Rank = max(a.c.Rank, 1)
		a.options, err = difalt.Auto(ctx, p, a.Net, a.options)
	}
	return err
}

// final runs the algorithm as the caller has asked for it, observed.
func (a *algorithm) final(ctx context.Context, p *difalt.Problem, rank int, ridge float64) (*difalt.Result, error) {
	o := a.options
	o.Rank, o.Ridge, o.AnyStationary = rank, ridge, !a.c.Plain // of rows that a model has whitened, what stands out is not what is above noise
	// An iteration tells other nodes something of the rows, and beyond what noise leaves there is nothing to find.
	o.StopAtNoise = o.StopAtNoise || !a.c.Plain && a.Dithers()
	if observe := o.Observer; a.c.Progress != nil {
		o.Observer = func(r *difalt.Record) error {
			a.c.progress("iterations", r.Iteration, max(o.Iterations, r.Iteration))
			if observe == nil {
				return nil
			}
			return observe(r)
		}
	}
	s, err := difalt.NewSolver(p, a.Net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if a.c.Drive != nil {
		return a.judged(a.c.Drive(ctx, s))
	}
	return a.judged(s.Run(ctx))
}

// judged takes a run that has diverged for what it is. It has the best basis that it came by, of which the evidence decides: it is an error only if the
// caller has chosen the step, or if there is no evidence.
func (a *algorithm) judged(res *difalt.Result, err error) (*difalt.Result, error) {
	if errors.Is(err, difalt.ErrDiverged) {
		if err = fmt.Errorf("after %d iterations with the step size %.3g: %w", res.Iterations, res.Step, err); !a.c.Plain && a.options.Step == 0 {
			err = nil
		}
	}
	return res, err
}

// search returns the result of the lowest objective among those that a few iterations
// lead to from several starts, the spectral one and random ones that all nodes draw
// alike. The objective has several minima, and none of the starts always leads to the
// best. Later runs have the step of the first.
func (a *algorithm) search(ctx context.Context, p *difalt.Problem, ridge float64) (best *difalt.Result, err error) {
	o, lowest := a.options, 0.0
	o.Rank, o.Ridge, o.Iterations, o.Observer, o.Logger = a.c.Rank, ridge, min(searchIterations, o.Iterations), nil, nil
	o.Tolerance, o.EveryIteration, o.StopAtNoise = max(o.Tolerance, trialTolerance), false, true
	if o.Agreement.Polynomial == consensus.Tree && o.Agreement.Codec == consensus.None { // and in codes of a quarter of the size
		o.Agreement.Codec = consensus.Int16
	}
	for k := range max(a.c.Starts, 1) {
		start := *p
		if k > 0 {
			start.U0 = slices.Repeat([]*kernel.Basis{random(p.Nodes[0].Features(), o.Rank, o.Seed, k)}, len(p.Nodes))
		}
		res, err := a.judged(difalt.Run(ctx, &start, a.Net, o))
		if err == nil && res.Status == difalt.Canceled {
			if err = ctx.Err(); err == nil {
				err = ErrLeft
			}
		}
		if err != nil {
			return nil, err
		}
		if k == 0 && o.Step == 0 {
			o.Step, a.options.Step = res.Step, res.Step
		}
		z := a.Zeros(1)
		for g, tasks := range p.Nodes {
			z[g][0] = objective(tasks, res.U[g], res.B[g], ridge)
		}
		sum, err := a.Sum(ctx, z)
		if err != nil {
			return nil, err
		}
		if k == 0 || sum[0] < lowest {
			best, lowest = res, sum[0]
		}
	}
	return best, nil
}

// loadings returns U (sum of b b' / tasks)^(1/2) of a result, with the mean of all nodes' U and so many tasks.
func loadings(ctx context.Context, group *nodes.Group, res *difalt.Result, tasks float64) (*mixedmodel.Prior, error) {
	w, rank := res.U[0].Dims()
	var layout nodes.Layout
	bases, gram := layout.Span(w*rank), layout.Span(rank*rank)
	z := group.Zeros(layout.Len)
	for g, s := range z {
		for a := range rank {
			copy(bases.Of(s)[a*w:], res.U[g].Col(a))
		}
		for b := res.B[g]; len(b) > 0; b = b[rank:] {
			for i, v := range b[:rank] {
				floats.AddScaled(gram.Of(s)[i*rank:][:rank], v, b[:rank])
			}
		}
	}
	sum, err := group.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	var e mat.EigenSym
	mean := mat.NewSymDense(rank, gram.Of(sum))
	mean.ScaleSym(1/tasks, mean)
	if !e.Factorize(mean, true) {
		return nil, errors.New("the coefficients of the tasks are out of range")
	}
	var v, l mat.Dense
	e.VectorsTo(&v)
	roots := e.Values(nil)
	for a, s := range roots {
		roots[a] = math.Sqrt(max(s, 0)) / float64(group.Net.Len())
	}
	l.Product(mat.NewDiagDense(rank, roots), v.T(), mat.NewDense(rank, w, bases.Of(sum)))
	p := &mixedmodel.Prior{W: w, Rank: rank, Loadings: l.RawMatrix().Data}
	p.Rotate()
	return p, nil
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
			tasks.Row(row, t, i)
			for j := range p {
				p[j] = floats.Dot(row, u.Col(j))
			}
			e := y - floats.Dot(p, b[t*r:][:r])
			sum += e * e
		}
	}
	return sum
}
