package measure

import (
	"math"
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/ceiling"
)

// A Ceiling is what the machine can do at most with the workers of a pool: read the
// samples of some tasks once, and multiply and add.
type Ceiling struct {
	pool  *kernel.Pool
	nodes []*kernel.Tasks
	out   []slot // what the workers computed, so that it is not optimised away
	read  func(worker int)
}

// A slot is a result of one worker on a cache line of its own.
type slot struct {
	value float64
	_     [7]float64
}

// NewCeiling returns the ceilings for reading the samples of nodes, if there are any.
func NewCeiling(pool *kernel.Pool, nodes ...*kernel.Tasks) *Ceiling {
	c := &Ceiling{pool: pool, nodes: nodes, out: make([]slot, pool.Workers())}
	one := func(w int) { c.sweepPart(w, false) }
	four := func(w int) { c.sweepPart(w, true) }
	c.read = one
	if c.sweep(four) < c.sweep(one) {
		c.read = four
	}
	return c
}

// sweepPart reads a worker's part of the samples.
func (c *Ceiling) sweepPart(worker int, four bool) {
	for _, tasks := range c.nodes {
		c.out[worker].value += tasks.Sweep(worker, len(c.out), four)
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

// Arithmetic returns a function that does so many floating-point operations at the peak
// of multiply-adds, as many on each worker, up to a few hundred.
func (c *Ceiling) Arithmetic(flops float64) func() {
	rounds := int(math.Ceil(flops / float64(len(c.out)) / ceiling.MultiplyAdd(1)))
	run := func(w int) { c.out[w].value = ceiling.MultiplyAdd(rounds) }
	return func() { c.pool.Run(run) }
}
