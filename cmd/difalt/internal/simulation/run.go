// Package simulation runs simulations of Dif-AltGDmin and of the methods beside it:
// synthetic problems, trials of several methods from the same start, a model of the time
// that communication takes, and the traces, summaries and figures that come out.
//
// A [Setting] says what is computed and [Run] computes it. Everything but the
// measured times is a function of the setting and the trial's number: neither the
// number of trials, nor the workers, nor the other methods of the run matter.
package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A Run computes the trials First to Last of a setting.
type Run struct {
	Setting     Setting
	First, Last int // trial numbers, from 1

	// Workers is the number of threads; 0 stands for GOMAXPROCS. Whole trials run in
	// parallel while there are enough of them, since they never wait for one another;
	// otherwise, and where nodes are many, the nodes of a trial do. Results do not depend on it, but for the
	// measured seconds of computation: trials that run side by side share caches and
	// memory bandwidth, which makes them longer where a node's data outgrow its cache.
	// The communication that is modelled on top outweighs them by far.
	Workers int
	// Deliver is called with every finished trial in ascending order, by the goroutine
	// of Do. An error ends the run.
	Deliver func(*Trial) error
	// Progress is called with the number of iterations done since its last call, by several
	// goroutines. It may be nil.
	Progress func(iterations int)
}

// Do computes the trials. When the context ends it returns its error.
func (r *Run) Do(ctx context.Context) error {
	if err := r.Setting.Validate(); err != nil {
		return err
	}
	if r.Progress == nil {
		r.Progress = func(int) {}
	}
	type outcome struct {
		trial *Trial
		err   error
	}
	outcomes := make([]chan outcome, max(0, r.Last-r.First+1))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	atOnce, threads := lanes(r.Workers, r.Last-r.First+1, r.Setting.Nodes)
	var next atomic.Int64
	for range atOnce {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(outcomes); i = int(next.Add(1)) - 1 {
				o := outcome{err: ctx.Err()}
				if o.err == nil {
					o.trial, o.err = r.trial(ctx, r.First+i, threads)
				}
				outcomes[i] <- o
			}
		})
	}
	for i := range outcomes {
		o := <-outcomes[i]
		if o.err == nil {
			o.err = r.Deliver(o.trial)
		}
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// manyNodes are enough to keep the threads of a trial busy, and take so much memory that
// trials run one after the other.
const manyNodes = 1000

// lanes returns how many of the trials run at once with so many threads (0 stands for
// GOMAXPROCS), and the threads of each.
func lanes(workers, trials, nodes int) (atOnce, threads int) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	if atOnce = max(1, min(workers, trials)); nodes > manyNodes {
		atOnce = 1
	}
	return atOnce, workers / atOnce
}

// trial computes one trial: every method from its own initialisation, which the methods
// of the paper have in common.
func (r *Run) trial(ctx context.Context, number, threads int) (*Trial, error) {
	s := &r.Setting
	t := &Trial{Number: number}
	problem, weights, err := s.draw(ctx, number, threads)
	if err == nil && s.Reference == Pooled {
		problem.Truth, err = s.minimiser(ctx, number, threads)
	}
	if err != nil {
		return t, fmt.Errorf("trial %d: %w", number, err)
	}
	for _, name := range s.Methods {
		t.Curves = append(t.Curves, Curve{Method: name})
		if err := r.curve(ctx, &t.Curves[len(t.Curves)-1], number, threads, problem, weights); err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("trial %d, method %s: %w", number, name, err)
			}
			return t, err
		}
	}
	return t, nil
}

func (r *Run) curve(ctx context.Context, c *Curve, trial, threads int, p *difalt.Problem, weights *topology.Weights) error {
	s := &r.Setting
	if c.Method == Pooled {
		s = s.pooled()
		one, w, err := s.draw(ctx, trial, threads)
		if err != nil {
			return err
		}
		one.Truth = p.Truth
		p, weights = one, w
	}
	net, err := s.Network(weights, trial)
	if err != nil {
		return err
	}
	o := s.Options(threads)
	switch c.Method {
	case Auto:
		o, err = difalt.Auto(ctx, p, net, o)
	case Pooled:
		o.Method = difalt.Accelerated
	default:
		o, err = s.methodOptions(c.Method, threads)
	}
	if err != nil {
		return err
	}
	c.Rows = make([]Row, 0, o.Iterations+1)
	o.Observer = func(rec *difalt.Record) error {
		c.Rows = append(c.Rows, NewRow(rec))
		r.Progress(min(rec.Iteration, 1))
		return nil
	}
	selection := net.Traffic() // what Auto has sent to select a method
	res, err := difalt.Run(ctx, p, net, o)
	if c.Diverged = errors.Is(err, difalt.ErrDiverged); err != nil && !c.Diverged {
		return err
	}
	if res.Status == difalt.Canceled {
		return ctx.Err()
	}
	r.Progress(o.Iterations - res.Iterations)
	before := selection.Plus(res.InitTraffic)
	for i := range c.Rows {
		row := &c.Rows[i]
		row.Rounds, row.Messages, row.Bytes = row.Rounds+before.Rounds, row.Messages+before.Messages, row.Bytes+before.Bytes
	}
	if len(c.Rows) > 0 {
		for i, seconds := range s.communication(trial, c) {
			c.Rows[i].Seconds += seconds + res.InitCompute.Seconds()
		}
	}
	return nil
}

// NewRow returns the row of a record, with what its iterations have sent and computed.
func NewRow(rec *difalt.Record) Row {
	return Row{
		Iteration: rec.Iteration,
		SDFirst:   rec.SDFirst, SDMax: rec.SDMax, SDMean: rec.SDMean,
		Disagreement: rec.Disagreement, Objective: rec.Objective,
		Rounds: rec.Traffic.Rounds, Messages: rec.Traffic.Messages, Bytes: rec.Traffic.Bytes,
		Seconds: rec.Compute.Seconds(),
	}
}

// purpose says what a stream of random numbers is for.
type purpose uint64

const (
	forGraph purpose = iota + 1
	forData
	forStart
	forJitter
	_ // of earlier versions: the seeds of the others stay as they were
	forLinks
)

// derive returns the seed for one purpose of one trial. Trials and purposes have
// unrelated streams, so that adding trials, methods or workers changes none.
func derive(seed uint64, trial int, p purpose) uint64 {
	return mix(mix(mix(seed)^uint64(trial)) ^ uint64(p))
}

// mix is the output function of SplitMix64: a bijection without visible structure
// between neighbouring inputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// CheckMemory returns an error if so many trials of the setting, with so many threads, cannot fit
// in memory. It counts what no run can do without: of samples on disk only the copies in 16
// bits and what goes with them.
func (s *Setting) CheckMemory(trials, workers int) error {
	if err := memory.CheckGraph(s.Nodes, topology.Degree(s.Graph, s.Nodes)); err != nil {
		return err
	}
	l, d, r, t, n := float64(s.Nodes), float64(s.Features), float64(s.Rank), float64(s.Tasks), float64(s.Samples)
	trial := 8*4*l*d*r + 8*2*t*r + 8*t*n
	if s.Folder == "" {
		trial += 8 * t * n * d
	}
	if s.MixedPrecision {
		trial += 2*t*n*d + 8*t*n*(r+1) + 8*t*d
	}
	atOnce, _ := lanes(workers, trials, s.Nodes)
	rows := float64(trials) * float64(len(s.Methods)) * float64(s.Iterations)
	return memory.Check(float64(atOnce)*trial+rows*float64(unsafe.Sizeof(Row{})),
		fmt.Sprintf("%d nodes, %d tasks of %d samples with %d features, rank %d, and curves of %d iterations, %d methods and %d trials",
			s.Nodes, s.Tasks, s.Samples, s.Features, s.Rank, s.Iterations, len(s.Methods), trials))
}

// Over runs one method of a trial at the nodes that t hosts, nil for all of them in this
// process, which then average round by round as the processes of a network do. It draws
// only the data of these nodes. When all are ready, begin is called; observe is called with
// every record. It returns the basis of every hosted node, as the SHA-256 of its numbers.
func (s *Setting) Over(ctx context.Context, trial int, method string, t wire.Transport, workers int, begin func(), observe func(*difalt.Record) error) (bases []string, err error) {
	weights, err := s.Mixing(trial)
	if err != nil {
		return nil, err
	}
	net, err := consensus.New(weights, t)
	if err != nil {
		return nil, err
	}
	p, err := s.Problem(ctx, trial, net.Hosted(), workers)
	if err != nil {
		return nil, err
	}
	o, err := s.methodOptions(method, workers)
	if err != nil {
		return nil, err
	}
	o.Agreement.RoundByRound = o.Agreement.Polynomial != consensus.Tree
	o.Observer = observe
	z := make([][]float64, len(net.Hosted()))
	for i := range z {
		z[i] = make([]float64, 1)
	}
	if err := net.Sum(ctx, z); err != nil {
		return nil, err
	}
	net.Commit()
	begin()
	res, err := difalt.Run(ctx, p, net, o)
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		return nil, err
	}
	if res.Status == difalt.Canceled {
		return nil, context.Canceled
	}
	for _, u := range res.U {
		bases = append(bases, hash(u))
	}
	return bases, nil
}

func hash(u *kernel.Basis) string {
	var b []byte
	_, r := u.Dims()
	for j := range r {
		b, _ = binary.Append(b, binary.LittleEndian, u.Col(j)) // to memory
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
