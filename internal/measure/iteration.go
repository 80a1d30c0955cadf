package measure

import (
	"context"
	"math"
	"time"

	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
)

// An Iteration is everything that is timed on one set of tasks: the step, and the
// two ceilings over it with its workers.
type Iteration struct {
	*Ceiling
	executor *kernel.Executor
	groups   []*kernel.Group
	u        []*kernel.Basis
}

// NewIteration returns the iteration of a problem whose tasks were packed.
func NewIteration(p *Problem, nodes []*kernel.Tasks, workers int) *Iteration {
	it := new(Iteration)
	for _, tasks := range nodes {
		it.groups = append(it.groups, kernel.NewGroup(tasks, p.Rank))
		it.u = append(it.u, p.U.Clone()) // every node has its own
	}
	pool := kernel.NewPool(workers)
	it.executor = kernel.NewExecutor(pool, it.groups)
	it.Ceiling = NewCeiling(pool, nodes...)
	return it
}

// Step takes one iteration over all tasks: the least squares and the gradients.
func (it *Iteration) Step() { it.executor.Step(it.u, 0) }

// Close ends the workers.
func (it *Iteration) Close() { it.pool.Close() }

// A Problem is seeded data of a shape, and a random orthonormal start U that is not U*, so
// that the gradient does not vanish. Entries of X_t are float32, so that both storages
// hold equal numbers.
type Problem struct {
	Shape
	U      *kernel.Basis // where the iteration is taken
	Source *synth.Source
}

// NewProblem returns the problem of a shape and seed.
func NewProblem(s Shape, seed uint64) *Problem {
	data := synth.Data{Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Single: true}
	return &Problem{s, synth.Orthonormal(s.Features, s.Rank, synth.Stream(seed, math.MaxUint64)), data.Source(seed)}
}

// Pack draws all tasks into the kernel's layout, dealt out to a number of nodes in
// runs of equal length.
func (p *Problem) Pack(nodes int, storage kernel.Storage) []*kernel.Tasks {
	packed := make([]*kernel.Tasks, nodes)
	for g := range packed {
		packed[g] = p.Source.Pack(context.Background(), p.Tasks*g/nodes, p.Tasks*(g+1)/nodes, storage)
	}
	return packed
}

// A Ceiling is the most that the machine can do with the workers of a pool: read as many bytes as the samples
// of some tasks have, from other memory, and multiply and add.
type Ceiling struct {
	pool  *kernel.Pool
	bytes []float64
	out   []slot // what the workers computed, so that it is not optimised away
	read  func(worker int)
	ones  [512]float64 // times which the bytes are added up
}

// A slot is a result of one worker, which fills a cache line.
type slot struct {
	value float64
	_     [7]float64
}

// NewCeiling returns the ceilings for reading as many bytes as the samples of nodes have, if there are any.
func NewCeiling(pool *kernel.Pool, nodes ...*kernel.Tasks) *Ceiling {
	bytes := 0
	for _, tasks := range nodes {
		bytes += tasks.Bytes()
	}
	c := &Ceiling{pool: pool, bytes: make([]float64, bytes/8), out: make([]slot, pool.Workers())}
	for i := range c.bytes {
		c.bytes[i] = 1 // or all pages would be one page of zeros
	}
	for i := range c.ones {
		c.ones[i] = 1
	}
	one := func(w int) { c.readPart(w, 1) }
	four := func(w int) { c.readPart(w, 4) }
	c.read = one
	if c.sweep(four) < c.sweep(one) {
		c.read = four
	}
	return c
}

// readPart adds up a worker's part of the bytes, in one stream or in four through a quarter each.
func (c *Ceiling) readPart(worker, streams int) {
	n, workers := len(c.bytes), len(c.out)
	part := c.bytes[worker*n/workers : (worker+1)*n/workers]
	length := len(part) / streams
	var sums [4]float64
	for i := 0; i < length; i += len(c.ones) {
		k := min(len(c.ones), length-i)
		tile.RowDots(sums[:streams], part[i:], length, c.ones[:k], streams, k)
		for _, s := range sums {
			c.out[worker].value += s
		}
	}
}

// sweep returns the shortest time of a few calls of a way to read, after two that
// warm up.
func (c *Ceiling) sweep(read func(worker int)) time.Duration {
	best := time.Duration(math.MaxInt64)
	for i := range 7 {
		start := time.Now()
		c.pool.Run(read)
		if i >= 2 {
			best = min(best, time.Since(start))
		}
	}
	return best
}

// Read reads the samples once: each worker its part, in one stream or in four,
// whichever was faster when c was made.
func (c *Ceiling) Read() { c.pool.Run(c.read) }

// PeakFlops are enough floating-point operations to measure their peak.
const PeakFlops = 1e8

// Arithmetic returns a function that does the given number of floating-point operations, or up to a few
// hundred more, at the peak of multiply-adds. The workers share them.
func (c *Ceiling) Arithmetic(flops float64) func() {
	rounds := int(math.Ceil(flops / float64(len(c.out)) / tile.FMAPeak(1)))
	run := func(w int) { c.out[w].value = tile.FMAPeak(rounds) }
	return func() { c.pool.Run(run) }
}
