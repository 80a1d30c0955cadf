package tiertest

import "testing"

// Edge returns what copies slices of up to n float64, each in place of the one before, to the beginning or the end of
// memory beyond which nothing can be read.
func Edge(t testing.TB, n int) func(x []float64, front bool) []float64 {
	mem := Guarded(t, n)
	return func(x []float64, front bool) []float64 {
		at := mem[len(mem)-len(x):]
		if front {
			at = mem[:len(x):len(x)]
		}
		copy(at, x)
		return at
	}
}
