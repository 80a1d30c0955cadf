package mixed

import (
	"runtime"
	"sync"

	"github.com/difalt/difalt/internal/fault"
	"gonum.org/v1/gonum/floats"
)

// mostParts and leastParts bound the number of ranges of items whose sums are added in one order. Between
// these bounds partItems is the least number of items of a range.
const mostParts, leastParts, partItems = 16, 4, 3

// sumParts divides n items into ranges, at most 16, calls f for each, and returns the sum of the size numbers
// that f adds to part, which begins at 0. At most workers calls run at a time; 0 stands for GOMAXPROCS. The
// bits of the sum do not depend on workers. The error is that of the first range that has one.
func sumParts(workers, n, size int, f func(part []float64, from, to int) error) ([]float64, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	parts := min(max(n/partItems, min(n, leastParts)), mostParts)
	sum, buffers, errs := make([]float64, size), make([][]float64, min(workers, parts)), make([]error, parts)
	for i := range buffers {
		buffers[i] = make([]float64, size)
	}
	for first := 0; first < parts; first += len(buffers) { // so that no more sums are in memory than workers
		var jobs crew
		last := min(first+len(buffers), parts)
		for p := first; p < last; p++ {
			part := buffers[p-first]
			clear(part)
			jobs.run(func() { errs[p] = f(part, p*n/parts, (p+1)*n/parts) })
		}
		jobs.wait()
		for p := first; p < last; p++ {
			if errs[p] != nil {
				return nil, errs[p]
			}
			floats.Add(sum, buffers[p-first])
		}
	}
	return sum, nil
}

// A crew runs jobs in goroutines. A panic in one of them reaches the caller of wait, as a *fault.Panic with
// the stack of the job: a program that trains with others then informs them before it ends.
type crew struct {
	all   sync.WaitGroup
	lock  sync.Mutex
	fault *fault.Panic // of the first job that has panicked
}

// run starts a job.
func (c *crew) run(job func()) {
	c.all.Go(func() {
		defer func() {
			c.lock.Lock()
			defer c.lock.Unlock()
			if p := fault.Of(recover()); c.fault == nil {
				c.fault = p
			}
		}()
		job()
	})
}

// wait waits for all jobs, and panics if one has.
func (c *crew) wait() {
	if c.all.Wait(); c.fault != nil {
		panic(c.fault)
	}
}
