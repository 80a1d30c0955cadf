package mixed

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/internal/fault"
	"gonum.org/v1/gonum/floats"
)

// mostParts and leastParts bound the number of ranges of items whose sums are added in one order. Between
// these bounds partItems is the least number of items of a range.
const mostParts, leastParts, partItems = 16, 4, 3

// sumParts divides n items into ranges, at most 16, calls f for each, and returns the sum of the size numbers
// that f adds to part, which begins at 0. At most workers calls run at a time; 0 stands for GOMAXPROCS. The
// bits of the sum do not depend on workers. The error is the error of the first range that has one.
func sumParts(workers, n, size int, f func(part []float64, from, to int) error) ([]float64, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	parts := min(max(n/partItems, min(n, leastParts)), mostParts)
	workers = min(workers, parts)
	s := &partSum{sum: make([]float64, size), turns: make([]chan struct{}, parts+1), ended: make(chan struct{})}
	for p := range s.turns {
		s.turns[p] = make(chan struct{})
	}
	close(s.turns[0])
	var jobs crew
	work := func(worker int) {
		part, done := make([]float64, size), false
		defer func() {
			if !done {
				s.end()
			}
		}()
		for p := worker; p < parts; p += workers {
			var err error
			if !s.failed.Load() {
				clear(part)
				err = f(part, p*n/parts, (p+1)*n/parts)
			}
			if !s.add(p, part, err) {
				break
			}
		}
		done = true
	}
	for worker := 1; worker < workers; worker++ {
		jobs.run(func() { work(worker) })
	}
	if workers > 0 {
		jobs.do(func() { work(0) }) // a stack that has grown before
	}
	jobs.wait()
	if s.err != nil {
		return nil, s.err
	}
	return s.sum, nil
}

// A partSum adds parts in their order.
type partSum struct {
	sum    []float64
	turns  []chan struct{} // closed when all parts before are in the sum
	failed atomic.Bool     // a part has an error: other ones are not computed any more
	err    error           // of the first part that has one
	ended  chan struct{}   // closed when a worker has panicked
	once   sync.Once
}

// add adds a part, or keeps its error, in its turn. It reports false where a worker has panicked.
func (s *partSum) add(p int, part []float64, err error) bool {
	select {
	case <-s.turns[p]:
	case <-s.ended:
		return false
	}
	switch {
	case s.err != nil:
	case err != nil:
		s.err = err
		s.failed.Store(true)
	default:
		floats.Add(s.sum, part)
	}
	close(s.turns[p+1])
	return true
}

// end ends the waits of all workers.
func (s *partSum) end() { s.once.Do(func() { close(s.ended) }) }

// A crew runs jobs in goroutines. A panic in one of them reaches the caller of wait, as a *fault.Panic with
// the stack of the job: a program that trains with others then informs them before it ends.
type crew struct {
	all   sync.WaitGroup
	lock  sync.Mutex
	fault *fault.Panic // of the first job that has panicked
}

// run starts a job.
func (c *crew) run(job func()) { c.all.Go(func() { c.do(job) }) }

// do does a job.
func (c *crew) do(job func()) {
	defer func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		if p := fault.Of(recover()); c.fault == nil {
			c.fault = p
		}
	}()
	job()
}

// wait waits for all jobs, and panics if one has.
func (c *crew) wait() {
	if c.all.Wait(); c.fault != nil {
		panic(c.fault)
	}
}
