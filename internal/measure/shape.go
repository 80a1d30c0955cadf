// Package measure times an iteration of the kernel over all tasks beside the limits of the machine: a
// streaming read of its bytes, and the peak of fused multiply-adds. They take turns in one run, so that
// a noisy machine disturbs all of them alike.
package measure

import "slices"

// A Shape is a size of problem: tasks of n samples and d features on a basis of
// rank r.
type Shape struct {
	Name                           string
	Tasks, Samples, Features, Rank int
}

// Shapes returns the shapes of the benchmarks: the two settings of the paper's
// simulations, many small tasks, and wide tasks that do not fit in cache (1 GB).
func Shapes() []Shape {
	return []Shape{
		{"paper1", 600, 30, 600, 4},
		{"paper2", 100, 50, 100, 10},
		{"many", 5000, 25, 128, 5},
		{"wide", 1000, 64, 2048, 16},
	}
}

// ShapeOf returns the shape of a name in Shapes. It panics without one.
func ShapeOf(name string) Shape {
	all := Shapes()
	return all[slices.IndexFunc(all, func(s Shape) bool { return s.Name == name })]
}

// Bytes returns the size of all X_t in float64, without padding.
func (s Shape) Bytes() int { return 8 * s.Tasks * s.Samples * s.Features }

// Flops returns the floating-point operations that an iteration needs: X_t U, the
// Householder least squares (of the rows, where there are fewer of them than columns), the
// residual, X_t' e, and the update of the gradient.
func (s Shape) Flops() float64 {
	n, d, r := float64(s.Samples), float64(s.Features), float64(s.Rank)
	short, long := min(n, r), max(n, r)
	leastSquares := 2*short*short*(long-short/3) + 4*n*r + short*short
	return float64(s.Tasks) * (2*n*d*r + leastSquares + 2*n*r + 2*n*d + 2*d*r)
}
