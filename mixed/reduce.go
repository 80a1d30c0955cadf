package mixed

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// parts is the number of ranges of items. Their sums are added in one order.
const parts = 16

// sumParts divides n items into 16 ranges, calls f for each that has items, and returns the sum of the size
// numbers that f adds to part, which begins at 0. At most workers calls run at a time; 0 stands for
// GOMAXPROCS. The bits of the sum do not depend on workers. The error is that of the first range
// that has one.
func sumParts(workers, n, size int, f func(part []float64, from, to int) error) ([]float64, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	sum, buffers, errs := make([]float64, size), make([][]float64, min(workers, parts)), make([]error, parts)
	for first := 0; first < parts; first += len(buffers) { // so that no more sums are in memory than workers
		var wait sync.WaitGroup
		last := min(first+len(buffers), parts)
		for p := first; p < last; p++ {
			if from, to := p*n/parts, (p+1)*n/parts; from < to {
				wait.Go(func() {
					buffers[p-first] = make([]float64, size)
					errs[p] = f(buffers[p-first], from, to)
				})
			}
		}
		wait.Wait()
		for p := first; p < last; p++ {
			if errs[p] != nil {
				return nil, errs[p]
			}
			if part := buffers[p-first]; part != nil {
				floats.Add(sum, part)
				buffers[p-first] = nil
			}
		}
	}
	return sum, nil
}
