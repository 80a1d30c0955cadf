package kernel

import (
	"runtime"

	"github.com/difalt/difalt/internal/workers"
)

// A Pool shares fork-join loops that last microseconds between its caller and goroutines of the whole
// process. All pools and kernel/blas together have one fewer than GOMAXPROCS of these goroutines. They poll
// for the next loop for a moment, since starting goroutines and waiting for them can cost half of a small
// iteration, and then end.
//
// A Pool is used by one goroutine at a time, and not from within a job.
type Pool struct {
	job    *workers.Job
	size   int
	busy   bool
	closed bool
}

// MaxWorkers is the largest number of workers of a pool. Each has a workspace: with more of them a step would
// take longer on any machine that exists.
const MaxWorkers = 1024

// NewPool returns a pool of the given number of workers, the caller included; 0 stands for GOMAXPROCS, but at
// most MaxWorkers. It panics for a negative number, and for more than MaxWorkers.
func NewPool(size int) *Pool {
	if size < 0 {
		panic(noWorkers)
	}
	if size > MaxWorkers {
		panic(tooManyWorkers)
	}
	if size == 0 {
		size = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	return &Pool{job: workers.NewJob(size, jobEnded), size: size}
}

// Workers returns the number of workers, the caller included.
func (p *Pool) Workers() int { return p.size }

// Run calls f(w) for every worker w = 0, ..., Workers()-1 and returns when all calls have returned; f(0)
// runs on the calling goroutine, and so do others if no goroutine is free to help. Calls must not wait for
// each other. If calls panic, Run panics with the value of one of them after all have ended, and the pool
// stays usable. Run does not allocate if f is a stored function value.
func (p *Pool) Run(f func(worker int)) {
	p.mustBeMade()
	switch {
	case f == nil:
		panic(noJob)
	case p.closed:
		panic(poolClosed)
	case p.busy:
		panic(poolBusy)
	}
	p.busy = true
	defer p.free()
	p.job.Run(p.size-1, f)
}

func (p *Pool) free() { p.busy = false }

// mustBeMade panics unless NewPool made the pool.
func (p *Pool) mustBeMade() {
	if p == nil || p.job == nil {
		panic(notNewPool)
	}
}

// Close ends the use of a pool. It may be called again, but not from within a job.
func (p *Pool) Close() {
	p.mustBeMade()
	if p.busy {
		panic(poolBusy)
	}
	p.closed = true
}
