package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/mixedmodel"
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

// problem returns what the algorithm finds a basis for: the rows of all tasks less the mean of a
// point, seen through its random intercepts. With an intercept of variance v a task,
// that is z - c mean(z) in place of z, c = 1 - 1/sqrt(1 + n v): quasi-demeaning.
func (f *fitter) problem(ctx context.Context, pt *point) (*difalt.Problem, error) {
	w := f.width()
	p := &difalt.Problem{}
	row := make([]float64, w)
	z := f.zeros(w*(w+1)/2 + 1) // row row' of the rows, and their number
	for g, tasks := range f.evidence.tasks {
		samples := make([]int, len(tasks))
		for i := range tasks {
			samples[i] = len(tasks[i].Y)
		}
		b := kernel.NewBuilder(w, samples, kernel.Float64)
		for i := range tasks {
			t, moments := &tasks[i], z[g]
			along, y, square := make([]float64, w), slices.Clone(t.Y), 0.0
			lengthwise := 0.0
			for s := range t.Y {
				z := t.Z[s*w:][:w]
				y[s] -= floats.Dot(z, pt.shift)
				floats.AddScaled(along, z[w-1], z)
				lengthwise += z[w-1] * y[s]
				square += z[w-1] * z[w-1]
			}
			c := 0.0
			if square > 0 {
				c = (1 - 1/math.Sqrt(1+pt.Intercept*square)) / square
			}
			for s := range t.Y {
				z := t.Z[s*w:][:w]
				floats.AddScaledTo(row, z, -c*z[w-1], along)
				b.SetRow(i, s, row, y[s]-c*z[w-1]*lengthwise)
				addTriangle(moments, row)
			}
			moments[len(moments)-1] += float64(len(t.Y))
		}
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	if w > maxMoments {
		return p, nil
	}
	// How features vary together: as collinear columns do, plain steps would take thousands of
	// iterations.
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	p.Moments = mat.NewSymDense(w, nil)
	at := 0
	for i := range w {
		for j := i; j < w; j++ {
			p.Moments.SetSym(i, j, sum[at]/sum[len(sum)-1])
			at++
		}
	}
	return p, nil
}

// addTriangle adds the upper triangle of row row', by rows.
func addTriangle(sum, row []float64) {
	for i, v := range row {
		n := len(row) - i
		floats.AddScaled(sum[:n], v, row[i:])
		sum = sum[n:]
	}
}

// maxMoments is the number of features from which on steps by their moments take more
// time than they save.
const maxMoments = 500

// basis returns where the climb at a rank starts: at the basis that the algorithm finds for
// the problem of a point without loadings, with axes and variances of its coefficients.
func (f *fitter) basis(ctx context.Context, p *difalt.Problem, rank int, ridge float64) (*mixedmodel.Prior, []*kernel.Basis, error) {
	res, err := f.search(ctx, p, rank, ridge)
	if err != nil {
		return nil, nil, fmt.Errorf("starts at rank %d: %w", rank, err)
	}
	if res.Status != difalt.Converged {
		at := *p
		at.U0 = res.U
		if res, err = f.run(ctx, &at, rank, ridge, f.c.Options.Iterations, false); err != nil {
			return nil, nil, err
		}
	}
	prior, err := f.loadings(ctx, res, rank)
	return prior, res.U, err
}

// loadings returns U (sum of b b' / tasks)^(1/2) of a result, with the mean of all nodes' U.
func (f *fitter) loadings(ctx context.Context, res *difalt.Result, rank int) (*mixedmodel.Prior, error) {
	w := f.width()
	z := f.zeros(w*rank + rank*rank)
	for g, s := range z {
		for a := range rank {
			copy(s[a*w:], res.U[g].Col(a))
		}
		for b := res.B[g]; len(b) > 0; b = b[rank:] {
			addOuter(s[w*rank:], b[:rank])
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	p := &mixedmodel.Prior{W: w, Rank: rank, Loadings: make([]float64, w*rank)}
	var e mat.EigenSym
	gram := mat.NewSymDense(rank, sum[w*rank:])
	gram.ScaleSym(1/f.evidence.count, gram)
	if !e.Factorize(gram, true) {
		return nil, errors.New("the coefficients of the tasks are out of range")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	for a, s := range e.Values(nil) {
		for b := range rank {
			floats.AddScaled(p.Column(a), v.At(b, a)*math.Sqrt(max(s, 0))/float64(f.net.Len()), sum[b*w:][:w])
		}
	}
	p.Rotate()
	return p, nil
}

// run runs the algorithm on a problem. The final run is observed; others end early. One that
// diverges has the best basis that it came by, and later ones take a shorter step; it is an error if the
// caller has chosen the step, or if there is no evidence to judge that basis by.
func (f *fitter) run(ctx context.Context, p *difalt.Problem, rank int, ridge float64, iterations int, final bool) (*difalt.Result, error) {
	o := f.c.Options
	o.Rank, o.Ridge, o.Iterations = rank, ridge, iterations
	if p.U0 != nil && o.Step == 0 {
		o.Step = f.step
	}
	if !final {
		o.Observer, o.Logger = nil, nil
		o.Tolerance, o.EveryIteration, o.StopAtNoise = max(o.Tolerance, trialTolerance), false, true
		if a := &o.Agreement; a.Polynomial == consensus.Tree && a.Codec == nil { // and in codes of a quarter of the size
			a.Codec = consensus.Int16
		}
	} else if f.c.Progress != nil {
		observe := o.Observer
		o.Observer = func(r *difalt.Record) error {
			f.progress("iterations", r.Iteration, max(iterations, r.Iteration))
			if observe == nil {
				return nil
			}
			return observe(r)
		}
	}
	run := difalt.Run
	if final && f.c.Drive != nil {
		run = f.drive
	}
	res, err := run(ctx, p, f.net, o)
	if errors.Is(err, difalt.ErrDiverged) {
		if f.c.Plain || f.c.Options.Step != 0 {
			return res, fmt.Errorf("after %d iterations with the step size %.3g: %w", res.Iterations, res.Step, err)
		}
		// The best basis that the run saw is a start like any other: the evidence decides.
		f.step, err = res.Step/4, nil
	}
	if err == nil && !final && res.Status == difalt.Canceled {
		if err = ctx.Err(); err == nil {
			err = ErrLeft
		}
	}
	return res, err
}

// drive is difalt.Run by Config.Drive.
func (f *fitter) drive(ctx context.Context, p *difalt.Problem, net *consensus.Network, o difalt.Options) (*difalt.Result, error) {
	s, err := difalt.NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return f.c.Drive(ctx, s)
}

// search returns the result of the lowest objective among those that a few iterations
// lead to from several starts, the spectral one and random ones that all nodes draw
// alike. The objective has several minima, and none of the starts always leads to the
// best.
func (f *fitter) search(ctx context.Context, p *difalt.Problem, rank int, ridge float64) (best *difalt.Result, err error) {
	lowest, d := 0.0, p.Nodes[0].Features()
	for k := range max(f.c.Starts, 1) {
		if k > 0 {
			again := *p
			again.U0 = slices.Repeat([]*kernel.Basis{random(d, rank, f.c.Options.Seed, k)}, len(p.Nodes))
			p = &again
		}
		res, err := f.run(ctx, p, rank, ridge, min(searchIterations, f.c.Options.Iterations), false)
		if err != nil {
			return nil, err
		}
		if res.Status != difalt.Diverged {
			f.step = res.Step
		}
		z := f.zeros(1)
		for g, tasks := range p.Nodes {
			z[g][0] = objective(tasks, res.U[g], res.B[g], ridge)
		}
		sum, err := f.sum(ctx, z)
		if err != nil {
			return nil, err
		}
		if k == 0 || sum[0] < lowest {
			best, lowest = res, sum[0]
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

// project sets p to u' z.
func project(p, z []float64, u *kernel.Basis) {
	for j := range p {
		p[j] = floats.Dot(z, u.Col(j))
	}
}

// addOuter adds p p' to the square matrix gram.
func addOuter(gram, p []float64) {
	for i, v := range p {
		floats.AddScaled(gram[i*len(p):][:len(p)], v, p)
	}
}
