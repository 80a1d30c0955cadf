// Package measure times the kernel against what the machine could do: one whole
// iteration over all tasks, a streaming read of the same bytes, and the peak of fused
// multiply-adds, in turns and in one run, so that a noisy machine disturbs all of
// them alike.
package measure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/memory"
	"github.com/difalt/difalt/kernel"
)

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

// ParseShapes returns the shapes of a comma-separated list of names, and of sizes such as
// 600x30x600x4: tasks, samples, features and rank.
func ParseShapes(list string) ([]Shape, error) { return parseList(list, parseShape) }

// parseList parses the parts of a list with commas.
func parseList[T any](list string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for part := range strings.SplitSeq(list, ",") {
		v, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func parseShape(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	sizes := strings.Split(name, "x")
	if len(sizes) != 4 {
		return Shape{}, fmt.Errorf("unknown shape %q: want a list of %s, or sizes as in 600x30x600x4: tasks, samples, features and rank", name, strings.Join(names, ","))
	}
	s := Shape{Name: name}
	for i, n := range []*int{&s.Tasks, &s.Samples, &s.Features, &s.Rank} {
		v, err := strconv.ParseUint(sizes[i], 10, 31)
		if err != nil || v == 0 {
			return s, fmt.Errorf("shape %q: %q is not a positive number below 2^31", name, sizes[i])
		}
		*n = int(v)
	}
	if s.Rank > s.Features {
		return s, fmt.Errorf("shape %q: rank %d is more than the %d features", name, s.Rank, s.Features)
	}
	return s, nil
}

// CheckMemory returns an error if the samples of a shape, or what is made of them, cannot
// fit in memory.
func (s Shape) CheckMemory(storage Storage) error {
	t, n, d, r := float64(s.Tasks), float64(s.Samples), float64(s.Features), float64(s.Rank)
	need := t * n * (8*d + 8)
	if storage.Tasks == kernel.Float32 {
		need = t * n * (4*d + 8)
	}
	if storage.Reduce {
		need += t * (2*n*d + 8*n*(r+1) + 8*d)
	}
	return memory.Check(need+8*4*d*r, fmt.Sprintf("%d tasks of %d samples with %d features (%s, %s)", s.Tasks, s.Samples, s.Features, s.Name, storage.Name))
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
