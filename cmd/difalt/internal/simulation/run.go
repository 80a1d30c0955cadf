// Package simulation runs the methods of package difalt on synthetic problems: trials of several methods on
// equal data, with a model of the time for communication, and the traces, summaries and figures of the
// results.
//
// [Run] computes the trials of a [Setting]. Everything but the measured times is a function of the setting
// and of the number of the trial. How many trials, workers and methods a run has makes no
// difference.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// A Run computes trials of a setting.
type Run struct {
	Setting Setting
	Trials  int // their number

	// Workers is the number of threads; 0 stands for GOMAXPROCS. Whole trials run in parallel while there are
	// enough of them, and otherwise the nodes of one trial. Results do not depend on it, but the measured
	// seconds do: trials in parallel share caches and memory bandwidth.
	Workers int
	// Progress receives the share of the work that is done, from several goroutines. It may be nil.
	Progress func(share float64)

	iterations atomic.Int64 // that are done
}

// Do computes the trials, and returns them in ascending order. With an error, also at the end of the
// context, it returns the trials before the first one that is not finished.
func (r *Run) Do(ctx context.Context) ([]Trial, error) {
	if err := r.Setting.Validate(); err != nil {
		return nil, err
	}
	all, errs := make([]Trial, r.Trials), make([]error, r.Trials)
	atOnce, threads := lanes(r.Workers, r.Trials, r.Setting.Nodes)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for i, err := int(next.Add(1))-1, error(nil); i < r.Trials && err == nil; i = int(next.Add(1)) - 1 {
				if err = ctx.Err(); err == nil {
					all[i], err = r.trial(ctx, i+1, threads)
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return all[:i], errs[i]
	}
	return all, nil
}

// progress reports iterations that are done.
func (r *Run) progress(iterations int) {
	if done := r.iterations.Add(int64(iterations)); r.Progress != nil {
		r.Progress(float64(done) / float64(r.Trials*len(r.Setting.Methods)*r.Setting.Iterations))
	}
}

// manyNodes keep the threads of a trial busy, and take much memory: such trials run one after the other.
const manyNodes = 1000

// lanes returns the number of trials that run in parallel, and the threads of each. 0 workers stand for
// GOMAXPROCS.
func lanes(workers, trials, nodes int) (atOnce, threads int) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	atOnce = max(1, min(workers, trials))
	if nodes > manyNodes {
		atOnce = 1
	}
	return atOnce, workers / atOnce
}

// trial computes one trial. Every method begins with its own initialisation.
func (r *Run) trial(ctx context.Context, number, threads int) (Trial, error) {
	s := &r.Setting
	t := Trial{Number: number}
	problem, weights, err := s.draw(ctx, number, threads)
	if err == nil && s.Reference == Pooled {
		problem.Truth, err = s.minimiser(ctx, number, threads)
	}
	if err != nil {
		return t, fmt.Errorf("trial %d: %w", number, err)
	}
	for _, name := range s.Methods {
		c := Curve{Method: name}
		if err := r.curve(ctx, &c, threads, problem, weights); err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("trial %d, method %s: %w", number, name, err)
			}
			return t, err
		}
		t.Curves = append(t.Curves, c)
	}
	return t, nil
}

// curve runs the method of a curve and fills its rows.
func (r *Run) curve(ctx context.Context, c *Curve, threads int, p *difalt.Problem, w *topology.Weights) error {
	s := &r.Setting
	variant, err := ParseVariant(c.Method)
	if err != nil {
		return err
	}
	net, err := consensus.New(w, nil)
	if err != nil {
		return err
	}
	o := s.options(variant, threads)
	o.Observer = func(rec *difalt.Record) error {
		c.Rows = append(c.Rows, newRow(rec))
		r.progress(min(rec.Iteration, 1))
		return nil
	}
	res, err := difalt.Run(ctx, p, net, o)
	c.Diverged = errors.Is(err, difalt.ErrDiverged)
	if err != nil && !c.Diverged {
		return err
	}
	r.progress(o.Iterations - res.Iterations)
	if len(c.Rows) == 0 {
		return nil
	}
	for i := range c.Rows {
		c.Rows[i].addStart(res.Initial)
	}
	for i, seconds := range s.Time.communication(c) {
		c.Rows[i].Seconds += seconds
	}
	return nil
}

// A purpose distinguishes streams of random numbers.
type purpose uint64

const (
	forGraph purpose = iota + 1
	forData
	forStart
)

// derive returns the seed for one purpose of one trial. The streams of different trials and purposes are
// unrelated: more trials, methods or workers change none of them.
func derive(seed uint64, trial int, p purpose) uint64 {
	return mix(mix(mix(seed)^uint64(trial)) ^ uint64(p))
}

// mix is the output function of SplitMix64, a bijection of 64-bit words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
