package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// A Candidate is a setting that cross-validation compares.
type Candidate struct {
	Rank      int
	MeanRidge float64 // of the pooled ridge regression that is the shared mean; 0 without one
	Ridge     float64 // on b_t
	RMSE      float64 // in cross-validation; 0 if there was none
}

// maxPasses bounds how often a trial is run again with a better ridge.
const maxPasses = 3

// Trials that are worse than the best by more than this part of its error, with a ridge
// that they have chosen themselves, are given up.
const hopeless = 0.02

// Errors in cross-validation that differ by less than this part of them are the same but
// for chance: of such strengths the largest is taken.
const equallyGood = 1e-3

// A trial is a rank and a mean strength that all ridges on b_t are tried with. U
// depends on the ridge that was used in the iterations, so that trying every
// strength of the grid would take a run for each. Instead, U is found with one
// strength in every fold, all strengths are compared on that U, and this is
// repeated with the best of them, from the U of before, until it is the one that was used.
type trial struct {
	Candidate           // Ridge is the one in use
	used      int       // its index in the grid
	settled   bool      // it is the best on its own U, or hopeless
	rmse      []float64 // of every strength of the grid
}

// choose returns the setting of the final run.
func (f *fitter) choose(ctx context.Context, grid []float64) (Candidate, error) {
	c := f.c
	first := Candidate{Rank: c.Options.Rank, Ridge: c.Ridge}
	if !c.NoMean {
		first.MeanRidge = f.pooled.ridge
	}
	if !c.Tune && !c.TuneRidge {
		return first, nil
	}
	trials := f.trials(first, grid)
	if err := f.findStarts(ctx, trials); err != nil {
		return first, err
	}
	runs := maxPasses * len(trials) * f.folds
	best := trials[0]
	for pass := range maxPasses {
		var open []*trial
		for _, t := range trials {
			if t.settled = t.settled || pass > 1 && t.RMSE > (1+hopeless)*best.RMSE; !t.settled {
				open = append(open, t)
			}
		}
		if len(open) == 0 {
			break
		}
		done := pass * len(trials) * f.folds
		err := f.compareAll(ctx, open, grid, func(k int) { f.progress("cross-validation", done+k, runs) })
		if err != nil {
			return Candidate{}, err
		}
		best = slices.MinFunc(trials, func(a, b *trial) int { return cmp.Compare(a.RMSE, b.RMSE) })
	}
	// Of those equally good, the largest ridge, which then holds b_t back better than a
	// small rank does.
	equally := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.RMSE > best.RMSE*(1+equallyGood) })
	best = slices.MaxFunc(equally, func(a, b *trial) int {
		return cmp.Or(cmp.Compare(a.Ridge, b.Ridge), cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.RMSE, a.RMSE))
	})
	f.progress("cross-validation", runs, runs)
	for _, t := range trials {
		for g, rmse := range t.rmse {
			f.report.Tried = append(f.report.Tried, Candidate{t.Rank, t.MeanRidge, grid[g], rmse})
		}
	}
	return best.Candidate, nil
}

// findStarts sets where the trials of every rank start in every fold, at first at what
// search finds in all training rows: a basis for all folds is near that of each.
func (f *fitter) findStarts(ctx context.Context, trials []*trial) error {
	f.found = make([][]*kernel.Basis, f.c.Options.Rank)
	f.warm = make([][][]*kernel.Basis, f.c.Options.Rank)
	p := f.problem(-1, trials[0].MeanRidge)
	for _, t := range trials {
		if f.found[t.Rank-1] != nil {
			continue
		}
		u, err := f.search(ctx, p, t.Candidate)
		if err != nil {
			return fmt.Errorf("starts at rank %d and ridge %v: %w", t.Rank, t.Ridge, err)
		}
		f.found[t.Rank-1] = u
		f.warm[t.Rank-1] = make([][]*kernel.Basis, f.folds)
		for fold := range f.folds {
			f.warm[t.Rank-1][fold] = u
		}
	}
	return nil
}

// trials returns what to compare, simpler models first.
func (f *fitter) trials(first Candidate, grid []float64) []*trial {
	ranks, means := []int{first.Rank}, []float64{first.MeanRidge}
	if f.c.Tune {
		ranks = nil
		for r := 1; r <= first.Rank; r++ {
			ranks = append(ranks, r)
		}
	}
	if f.c.Tune && !f.c.NoMean {
		means = f.pooled.around()
	}
	var trials []*trial
	for _, r := range ranks {
		for _, mean := range means {
			t := &trial{used: len(grid) * 2 / 3}
			t.Rank, t.MeanRidge, t.Ridge = r, mean, grid[t.used]
			trials = append(trials, t)
		}
	}
	return trials
}

// around returns the best strength of pooled ridge, and those that are ten times
// larger and smaller.
func (p *pooled) around() []float64 {
	at := 0
	for p.tried[at].Ridge != p.ridge {
		at++
	}
	means := []float64{p.ridge}
	for _, g := range []int{at + 2, at - 2} { // the grid has two strengths a decade
		if g >= 0 && g < len(p.tried) && !math.IsInf(p.tried[g].RMSE, 0) {
			means = append(means, p.tried[g].Ridge)
		}
	}
	return means
}

// If the features of all nodes take more than largeBytes, the fit is large: trials do not
// run in parallel, since each packs a copy of its own and keeps all threads busy alone,
// and only every eighth task takes part in them, or more so that leastTuned tasks remain.
// That many say as much about rank and strengths as all.
var largeBytes, leastTuned = 1 << 28, 2000

// tunedTasks chooses the tasks that take part in trials.
func (f *fitter) tunedTasks(ctx context.Context) error {
	z := f.zeros(2)
	f.eachRow(func(g, _ int) { z[g][0]++ })
	for g, tasks := range f.layout {
		z[g][1] = float64(len(tasks))
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	f.large = 8*int(sum[0])*f.Width() > largeBytes
	f.tuned, f.report.AllTasks = f.layout, int(sum[1])
	if step := min(8, f.report.AllTasks/leastTuned); f.large && step > 1 {
		f.tuned = make(dataset.Layout, len(f.layout))
		for g, tasks := range f.layout {
			for i := 0; i < len(tasks); i += step {
				f.tuned[g] = append(f.tuned[g], tasks[i])
			}
		}
	}
	z = f.zeros(1)
	for g, tasks := range f.tuned {
		z[g][0] = float64(len(tasks))
	}
	if sum, err = f.sum(ctx, z); err != nil {
		return err
	}
	f.report.TunedTasks = int(sum[0])
	return nil
}

// compareAll runs the trials in every fold and moves each to its best ridge.
func (f *fitter) compareAll(ctx context.Context, trials []*trial, grid []float64, progress func(done int)) error {
	sums, err := f.foldErrors(ctx, trials, grid, progress)
	if err != nil {
		return err
	}
	// In the order of the jobs, so that the bits do not depend on the workers.
	rows := len(trials) * len(grid) // where the number of rows is
	z := f.zeros(rows + 1)
	for g, tasks := range f.tuned {
		for _, k := range tasks {
			for _, i := range f.rows[k] {
				if f.train[i] {
					z[g][rows]++
				}
			}
		}
	}
	for j, perNode := range sums {
		for g, s := range perNode {
			for k, v := range s {
				z[g][j/f.folds*len(grid)+k] += v
			}
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	for i, t := range trials {
		t.move(sum[i*len(grid):][:len(grid)], grid, sum[rows])
	}
	return nil
}

// foldErrors runs the trials in every fold, and returns what compare says of each: by
// job (trial*folds + fold), node, and ridge of the grid. Where all nodes live in this
// process, folds run in parallel, each over a network of its own; with other processes
// one after the other, as these do it. In a fold every run starts from the U of the one
// before at its rank.
func (f *fitter) foldErrors(ctx context.Context, trials []*trial, grid []float64, progress func(done int)) ([][][]float64, error) {
	all := workersFor(f.c.Options.Workers)
	workers := min(all, f.folds)
	if f.large || !f.net.AllHosted() {
		workers = 1
	}
	// Trials of one mean follow one another, and share their problem.
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(trials[i].MeanRidge, trials[j].MeanRidge) })
	sums := make([][][]float64, len(trials)*f.folds)
	var mu sync.Mutex
	var failed error
	done := 0
	parallel(workers, f.folds, func(_, fold int) {
		var p *difalt.Problem
		for j, k := range order {
			mu.Lock()
			stop := failed != nil
			mu.Unlock()
			if stop {
				return
			}
			t := trials[k]
			if j == 0 || t.MeanRidge != trials[order[j-1]].MeanRidge {
				if p = nil; f.large {
					debug.FreeOSMemory() // or the copies of several trials pile up
				}
				p = f.problem(fold, t.MeanRidge)
			}
			u, sent, err := f.runTrial(ctx, t, p, fold, max(1, all/max(workers, 1)))
			if err == nil {
				sums[k*f.folds+fold] = f.compare(fold, t, u, grid)
			}
			mu.Lock()
			if err != nil {
				failed = err
			} else {
				f.sent = f.sent.Plus(sent)
				done++
				progress(done)
			}
			mu.Unlock()
		}
	})
	return sums, failed
}

// runTrial returns the bases of a trial without a fold, and what was sent over another
// network than that of the fit.
func (f *fitter) runTrial(ctx context.Context, t *trial, p *difalt.Problem, fold, workers int) (u []*kernel.Basis, sent consensus.Traffic, err error) {
	net := f.net
	if net.AllHosted() {
		if net, err = consensus.New(net.Weights(), nil); err != nil {
			return nil, sent, err
		}
	}
	warm := *p
	warm.U0 = f.warm[t.Rank-1][fold]
	res, err := f.run(ctx, seat{net, workers}, &warm, t.Candidate, f.c.Options.Iterations)
	if errors.Is(err, difalt.ErrDiverged) {
		err = fmt.Errorf("cross-validation at rank %d and ridge %v: %w", t.Rank, t.Ridge, err)
	}
	if err != nil {
		return nil, sent, err
	}
	f.warm[t.Rank-1][fold] = res.U
	if net != f.net {
		sent = net.Traffic()
	}
	return res.U, sent, nil
}

// move sets the errors of a trial and moves it to the ridge of the smallest.
func (t *trial) move(sums, grid []float64, rows float64) {
	t.rmse = make([]float64, len(grid))
	for g, s := range sums {
		t.rmse[g] = math.Sqrt(s / rows)
	}
	at := smallest(t.rmse, equallyGood)
	t.settled = at == t.used
	t.used, t.Ridge, t.RMSE = at, grid[at], t.rmse[at]
}

// compare returns, for every node and strength, the squared error on the rows of a
// fold, with b_t fitted to the training rows outside of it.
func (f *fitter) compare(fold int, t *trial, u []*kernel.Basis, grid []float64) [][]float64 {
	mean := f.mean(fold, t.MeanRidge)
	sums := f.zeros(len(grid))
	for g, tasks := range f.tuned {
		for _, k := range tasks {
			for i, v := range f.compareTask(f.rows[k], fold, u[g], mean, grid) {
				sums[g][i] += v
			}
		}
	}
	return sums
}

func (f *fitter) compareTask(rows []int, fold int, u *kernel.Basis, mean, grid []float64) []float64 {
	_, r := u.Dims()
	z, residual := make([]float64, f.Width()), f.residual(mean)
	scaled := func(i int, into []float64, stride int) (y float64) {
		y = residual(z, i)
		for j := range r {
			into[j*stride] = floats.Dot(z, u.Col(j))
		}
		return y
	}
	n := 0
	for _, i := range rows {
		if f.fold[i] >= 0 && f.fold[i] != fold {
			n++
		}
	}
	a, y := make([]float64, max(n, 1)*r), make([]float64, n)
	at := 0
	for _, i := range rows {
		if f.fold[i] >= 0 && f.fold[i] != fold {
			y[at] = scaled(i, a[at:], max(n, 1))
			at++
		}
	}
	b := make([]float64, len(grid)*r)
	ws := lsq.NewWorkspace(n, r)
	for g, ridge := range grid {
		lsq.Solve(b[g*r:][:r], blas.Matrix{Rows: n, Cols: r, Stride: max(n, 1), Data: a}, y, ridge, ws)
	}
	sums := make([]float64, len(grid))
	p := make([]float64, r)
	for _, i := range rows {
		if f.fold[i] == fold {
			yi := scaled(i, p, 1)
			for g := range grid {
				e := yi - floats.Dot(p, b[g*r:][:r])
				sums[g] += e * e
			}
		}
	}
	return sums
}

// spectrum sets the singular values of the coefficients at the largest rank that
// was tried, to show what the chosen one leaves out: the roots of the eigenvalues of
// sum_t b_t b_t'.
func (f *fitter) spectrum(ctx context.Context, p *difalt.Problem, chosen Candidate) (err error) {
	res := f.report.Result
	if !f.c.Spectrum {
		return nil
	}
	if f.c.Tune && chosen.Rank < f.c.Options.Rank && res.Status != difalt.Canceled {
		chosen.Rank = f.c.Options.Rank
		largest := *p
		largest.U0 = f.found[chosen.Rank-1]
		if res, err = f.run(ctx, seat{f.net, workersFor(f.c.Options.Workers)}, &largest, chosen, f.c.Options.Iterations); err != nil {
			return err
		}
	}
	r := chosen.Rank
	z := f.zeros(r * r)
	for g, b := range res.B {
		for ; len(b) > 0; b = b[r:] {
			addOuter(z[g], b[:r])
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	values := eigenvalues(sum, r)
	for j, v := range values {
		values[j] = math.Sqrt(max(v, 0))
	}
	f.report.Spectrum = values
	return nil
}
