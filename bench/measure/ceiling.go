package measure

import (
	"math"
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/ceiling"
)

// A Ceiling is what the machine can do at most with the workers of a pool: read a
// number of bytes once, and multiply and add.
type Ceiling struct {
	pool *kernel.Pool
	data []float64
	part int    // of one worker
	out  []slot // what the workers computed, so that it is not optimised away

	read, multiplyAdd func(worker int)
}

// A slot is a result of one worker on a cache line of its own.
type slot struct {
	value float64
	_     [7]float64
}

// multiplyAddRounds is the length of a call of MultiplyAdd.
const multiplyAddRounds = 100_000

// NewCeiling returns the ceilings for reading so many bytes.
func NewCeiling(pool *kernel.Pool, bytes int) *Ceiling {
	workers := pool.Workers()
	// A Basis has the memory that the kernel gives to samples.
	c := &Ceiling{pool: pool, data: kernel.NewBasis(max(bytes/8, workers), 1).Data(), out: make([]slot, workers)}
	for i := range c.data {
		c.data[i] = 1 // backs the pages by memory
	}
	c.part = len(c.data) / workers
	one := func(w int) { c.out[w].value = ceiling.Read(c.data[w*c.part:][:c.part]) }
	four := func(w int) { c.out[w].value = ceiling.Read4(c.data[w*c.part:][:c.part]) }
	c.multiplyAdd = func(w int) { c.out[w].value = ceiling.MultiplyAdd(multiplyAddRounds) }
	c.read = one
	if c.sweep(four) < c.sweep(one) {
		c.read = four
	}
	return c
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

// Read reads the bytes once: each worker its part, in one stream or in four,
// whichever was faster when c was made.
func (c *Ceiling) Read() { c.pool.Run(c.read) }

// MultiplyAdd multiplies and adds in registers on all workers and returns the
// number of floating-point operations.
func (c *Ceiling) MultiplyAdd() (flops float64) {
	c.pool.Run(c.multiplyAdd)
	return c.out[0].value * float64(len(c.out))
}
