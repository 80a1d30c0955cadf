// Package reduce adds up numbers over many items on several goroutines.
package reduce

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// parts is the number of ranges of items. Their sums are added in one order.
const parts = 16

// Sum divides n items into 16 ranges, calls f for each that has items, and returns the sum of the size
// numbers that f adds to part, which begins at 0. At most workers calls run at a time; 0 stands for
// GOMAXPROCS. The bits of the sum do not depend on workers. The error is that of the first range
// that has one.
func Sum(workers, n, size int, f func(part []float64, from, to int) error) ([]float64, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wait sync.WaitGroup
	errs, sums, running := make([]error, parts), make([][]float64, parts), make(chan bool, workers)
	for p := range parts {
		running <- true
		wait.Go(func() {
			sums[p] = make([]float64, size)
			if from, to := p*n/parts, (p+1)*n/parts; from < to {
				errs[p] = f(sums[p], from, to)
			}
			<-running
		})
	}
	wait.Wait()
	for p, err := range errs {
		if err != nil {
			return nil, err
		}
		if p > 0 {
			floats.Add(sums[0], sums[p])
		}
	}
	return sums[0], nil
}
