// Package measure times the kernel against what the machine could do: one whole
// iteration over all tasks, a streaming read of the same bytes, and the peak of fused
// multiply-adds, in turns and in one run, so that a noisy machine disturbs all of
// them alike.
package measure

import (
	"fmt"
	"strings"
)

// A Shape is a size of problem: tasks of n samples and d features on a basis of
// rank r.
type Shape struct {
	Name     string `json:"name"`
	Tasks    int    `json:"tasks"`
	Samples  int    `json:"samples"`
	Features int    `json:"features"`
	Rank     int    `json:"rank"`
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

// ParseShapes returns the shapes of a comma-separated list of names.
func ParseShapes(list string) ([]Shape, error) {
	var shapes []Shape
	var names []string
	for _, s := range Shapes() {
		names = append(names, s.Name)
	}
next:
	for name := range strings.SplitSeq(list, ",") {
		for _, s := range Shapes() {
			if s.Name == strings.TrimSpace(name) {
				shapes = append(shapes, s)
				continue next
			}
		}
		return nil, fmt.Errorf("unknown shape %q: want a list of %s", name, strings.Join(names, ","))
	}
	return shapes, nil
}

// Bytes returns the size of all X_t in float64, without padding.
func (s Shape) Bytes() int { return 8 * s.Tasks * s.Samples * s.Features }

// Flops returns the floating-point operations that an iteration needs: X_t U, the
// Householder least squares, the residual, X_t' e, and the update of the gradient.
func (s Shape) Flops() float64 {
	n, d, r := float64(s.Samples), float64(s.Features), float64(s.Rank)
	leastSquares := 2*r*r*(n-r/3) + 4*n*r + r*r
	return float64(s.Tasks) * (2*n*d*r + leastSquares + 2*n*r + 2*n*d + 2*d*r)
}
