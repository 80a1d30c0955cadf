//go:build !linux

package blas_test

import "time"

var start = time.Now()

// processTime returns the elapsed time, which is the CPU time of one thread on a quiet machine.
func processTime() time.Duration { return time.Since(start) }
