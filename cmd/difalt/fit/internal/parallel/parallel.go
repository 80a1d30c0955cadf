// Package parallel calls a function for many numbers on a few threads.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// For calls f(worker, 0), ..., f(worker, n-1) on the given number of workers, each a thread. It leaves out what is
// not begun when the context ends: callers look at that.
func For(ctx context.Context, workers, n int, f func(worker, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(worker, i)
			}
		})
	}
	wg.Wait()
}

// Workers returns the number of threads that an option stands for: of 0, GOMAXPROCS.
func Workers(option int) int {
	if option == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return option
}
