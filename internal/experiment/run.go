package experiment

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/difalt/difalt/difalt"
)

// A Run computes the trials First to Last of a setting.
type Run struct {
	Setting     Setting
	First, Last int // trial numbers, from 1

	// Workers is the number of threads; 0 stands for GOMAXPROCS. Whole trials run in
	// parallel while there are enough of them, since they never wait for one another;
	// otherwise the nodes of a trial do. Results do not depend on it, but for the
	// measured seconds of computation: trials that run side by side share caches and
	// memory bandwidth, which makes them longer where a node's data outgrow its cache.
	// The communication that is modelled on top outweighs them by far.
	Workers int
	// Deliver is called with every finished trial in ascending order, by one goroutine
	// at a time. An error ends the run.
	Deliver func(*Trial) error
	// Progress is called with the number of iterations done since its last call, by
	// several goroutines. It may be nil.
	Progress func(iterations int)
}

// Do computes the trials. When the context ends it returns its error and, if none
// was delivered, what there is of the first trial.
func (r *Run) Do(ctx context.Context) (unfinished *Trial, err error) {
	if err := r.Setting.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := &queue{run: r, next: r.First, deliver: r.First, finished: map[int]*Trial{}}
	lanes, threads := r.split()
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			for number := q.take(); number <= r.Last && ctx.Err() == nil; number = q.take() {
				t, err := r.trial(ctx, number, threads)
				if err == nil {
					err = q.put(t)
				} else if number == r.First {
					unfinished = t
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return unfinished, context.Cause(ctx)
}

// split returns how many trials run at once, and the threads of each.
func (r *Run) split() (lanes, threads int) {
	workers := r.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	lanes = max(1, min(workers, r.Last-r.First+1))
	return lanes, workers / lanes
}

// A queue hands out trial numbers and puts the finished trials back in order.
type queue struct {
	run *Run

	mu       sync.Mutex
	next     int // to hand out
	deliver  int // to deliver
	finished map[int]*Trial
}

func (q *queue) take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	return q.next - 1
}

func (q *queue) put(t *Trial) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished[t.Number] = t
	for t := q.finished[q.deliver]; t != nil; t = q.finished[q.deliver] {
		delete(q.finished, q.deliver)
		q.deliver++
		if err := q.run.Deliver(t); err != nil {
			return err
		}
	}
	return nil
}

// trial computes one trial: every method from the same initial estimate.
func (r *Run) trial(ctx context.Context, number, threads int) (*Trial, error) {
	s := &r.Setting
	t := &Trial{Number: number}
	problem, weights, step, err := s.Start(ctx, number, threads)
	if err != nil {
		return t, err
	}
	agreement, err := s.Agreement(number)
	if err != nil {
		return t, err
	}
	net := &difalt.Network{Weights: weights, Agreement: agreement}
	o := s.Options(threads)
	o.Step = step
	for _, name := range s.Methods {
		o, net := o, net
		if name == Auto {
			net = &difalt.Network{Weights: weights}
			if o, net.Agreement, err = difalt.Auto(problem, weights, o); err != nil {
				return t, fmt.Errorf("trial %d: %w", number, err)
			}
			net.Agreement.Seed = agreement.Seed
		} else if o.Method, err = difalt.ParseMethod(name); err != nil {
			return t, err
		}
		t.Curves = append(t.Curves, Curve{Method: name})
		if err := r.curve(ctx, &t.Curves[len(t.Curves)-1], number, problem, net, o); err != nil {
			return t, err
		}
	}
	return t, nil
}

// curve runs one method and records its rows.
func (r *Run) curve(ctx context.Context, c *Curve, trial int, p *difalt.Problem, net *difalt.Network, o difalt.Options) error {
	clock := newClock(r.Setting.Time, derive(r.Setting.Seed, trial, forJitter), c.Method)
	c.Rows = make([]Row, 0, o.Iterations+1)
	o.Observer = func(rec *difalt.Record) {
		c.Rows = append(c.Rows, newRow(rec, clock.advance(rec.Traffic)))
		if rec.Iteration > 0 {
			r.progress(1)
		}
	}
	res, err := difalt.Run(ctx, p, net, o)
	if err != nil {
		return fmt.Errorf("trial %d, method %s: %w", trial, c.Method, err)
	}
	if res.Status == difalt.Canceled {
		return ctx.Err()
	}
	c.Diverged = res.Status == difalt.Diverged
	r.progress(o.Iterations - res.Iterations)
	return nil
}

func (r *Run) progress(iterations int) {
	if r.Progress != nil && iterations > 0 {
		r.Progress(iterations)
	}
}

func newRow(rec *difalt.Record, communication float64) Row {
	return Row{
		Iteration: rec.Iteration,
		SDFirst:   rec.SDNode1, SDMax: rec.SDMax, SDMean: rec.SDMean,
		Disagreement: rec.Disagreement, Objective: rec.Objective,
		Rounds: rec.Traffic.Rounds, Messages: rec.Traffic.Messages, Bytes: rec.Traffic.Bytes,
		Seconds: rec.Compute.Seconds() + communication,
	}
}
