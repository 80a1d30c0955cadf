// Package measure times an iteration of the kernel over all tasks beside the limits of the machine: a
// streaming read of the same bytes, and the peak of fused multiply-adds. They take turns in one run, so that
// a noisy machine disturbs all of them alike.
package measure

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/difalt/difalt/kernel"
)

// A Row is one measurement of the iteration over all tasks.
type Row struct {
	Shape   string `json:"shape"`
	Storage string `json:"storage"` // "f64", "f32" or "f16"
	Kernel  string `json:"kernel"`
	Workers int    `json:"workers"`
	// IterationMS is the time of an iteration, and ReadMS that of a streaming read of the bytes of X:
	// milliseconds, medians of one run. For f16, X is the original in float64.
	IterationMS float64 `json:"iteration_ms"`
	ReadMS      float64 `json:"read_ms"`
	// ReadShare is ReadMS / IterationMS, FMAShare the share of the peak of fused
	// multiply-adds of Workers workers, measured in the same turns.
	ReadShare float64 `json:"read_share"`
	FMAShare  float64 `json:"fma_share"`
	// Schedule is how the kernel prefetched; see kernel.Executor.
	Schedule string `json:"schedule,omitempty"`
	// Allocs is the number of heap allocations in an iteration.
	Allocs float64 `json:"allocs"`
}

// RoofShare is the share of the roofline: no iteration takes less time than the read of
// the samples, nor than the arithmetic at its peak. Limit names the longer of the two.
func (r Row) RoofShare() float64 { return max(r.ReadShare, r.FMAShare) }

// Limit is "read" or "fma".
func (r Row) Limit() string {
	if r.FMAShare > r.ReadShare {
		return "fma"
	}
	return "read"
}

// A Config lists the measurements of Run.
type Config struct {
	Shapes   []Shape
	Storages []Storage
	Workers  []int
	Seconds  float64 // of measuring, for each row
	Seed     uint64
}

// A Storage is what an iteration reads.
type Storage struct {
	Name   string // "f64", "f32" or "f16"
	Tasks  kernel.Storage
	Reduce bool // to a copy in 16 bits: an iteration between two anchors of mixed precision
}

// Storages returns all of them.
func Storages() []Storage {
	return []Storage{{"f64", kernel.Float64, false}, {"f32", kernel.Float32, false}, {"f16", kernel.Float64, true}}
}

// ParseWorkers returns the numbers of a comma-separated list, each at least 1 and at
// most the number of processors, if that is known.
func ParseWorkers(list string, processors int) ([]int, error) {
	return parseList(list, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil || n < 1:
			return 0, fmt.Errorf("%q is not a positive number", s)
		case processors > 0 && n > processors:
			return 0, fmt.Errorf("%d workers: this process may use %d processors", n, processors)
		}
		return n, nil
	})
}

// Run measures every combination of shape, storage and workers and passes the rows
// to emit, in this order, as they come.
func Run(ctx context.Context, c Config, emit func(Row) error) error {
	for _, shape := range c.Shapes {
		problem := NewProblem(shape, c.Seed)
		for _, storage := range c.Storages {
			nodes := problem.Pack(1, storage.Tasks)
			for _, workers := range c.Workers {
				row, err := measureRow(ctx, problem, nodes, storage, workers, c.Seconds)
				if err != nil {
					return err
				}
				if err := emit(row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// PeakFlops are enough floating-point operations to measure their peak.
const PeakFlops = 1e8

func measureRow(ctx context.Context, p *Problem, nodes []*kernel.Tasks, storage Storage, workers int, seconds float64) (Row, error) {
	row := Row{
		Shape:   p.Name,
		Storage: storage.Name,
		Kernel:  kernel.Describe().Kernel,
		Workers: workers,
	}
	it := NewIteration(p, nodes, workers)
	defer it.Close()
	if storage.Reduce {
		it.Reduce()
	}
	row.Schedule = it.Schedule()
	length := time.Duration(seconds * float64(time.Second))
	ms, err := InTurns(ctx, length, it.Step, it.Read, it.Arithmetic(PeakFlops))
	if err != nil {
		return row, err
	}
	row.IterationMS = ms[0]
	row.ReadMS = ms[1]
	row.ReadShare = row.ReadMS / row.IterationMS
	row.FMAShare = p.Flops() / row.IterationMS / (PeakFlops / ms[2])
	row.Allocs = allocations(it.Step)
	return row, nil
}

// allocations returns the heap allocations of a call of f. The runtime counts those of
// the whole process, its own among them: what f allocates is what every batch of calls
// has, in whole numbers as in testing.AllocsPerRun.
func allocations(f func()) float64 {
	const batches, calls = 3, 20
	fewest := uint64(math.MaxUint64)
	for range batches {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			f()
		}
		runtime.ReadMemStats(&after)
		fewest = min(fewest, (after.Mallocs-before.Mallocs)/calls)
	}
	return float64(fewest)
}

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
