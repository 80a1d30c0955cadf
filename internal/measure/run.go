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
	Storage string `json:"storage"` // "f64" or "f32"
	Kernel  string `json:"kernel"`
	Workers int    `json:"workers"`
	// IterationMS is the time of an iteration, ReadMS that of a streaming read of as
	// many bytes as X has, both in milliseconds and medians of one run.
	IterationMS float64 `json:"iteration_ms"`
	ReadMS      float64 `json:"read_ms"`
	// ReadShare is ReadMS / IterationMS, FMAShare the share of the peak of fused
	// multiply-adds of so many workers.
	ReadShare float64 `json:"read_share"`
	FMAShare  float64 `json:"fma_share"`
	// Allocs is the number of heap allocations in an iteration.
	Allocs float64 `json:"allocs"`
}

// Config says what Run measures.
type Config struct {
	Shapes   []Shape
	Storages []kernel.Storage
	Workers  []int
	Seconds  float64 // of measuring, for each row
	Seed     uint64
}

// StorageName returns the short name of a storage: f64 or f32.
func StorageName(s kernel.Storage) string {
	return strings.Replace(s.String(), "float", "f", 1)
}

// ParseStorages returns the storages of a comma-separated list of f64 and f32.
func ParseStorages(list string) ([]kernel.Storage, error) {
	var storages []kernel.Storage
	for name := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(name) {
		case "f64":
			storages = append(storages, kernel.Float64)
		case "f32":
			storages = append(storages, kernel.Float32)
		default:
			return nil, fmt.Errorf("unknown storage %q: want a list of f64,f32", name)
		}
	}
	return storages, nil
}

// ParseWorkers returns the numbers of a comma-separated list, each at least 1 and at
// most the number of processors, if that is known.
func ParseWorkers(list string, processors int) ([]int, error) {
	var workers []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive number", s)
		}
		if processors > 0 && n > processors {
			return nil, fmt.Errorf("%d workers: this process may use %d processors", n, processors)
		}
		workers = append(workers, n)
	}
	return workers, nil
}

// Run measures every combination of shape, storage and workers and passes the rows
// to emit, in this order, as they come.
func Run(ctx context.Context, c Config, emit func(Row) error) error {
	for _, shape := range c.Shapes {
		problem := NewProblem(shape, c.Seed)
		for _, storage := range c.Storages {
			nodes := problem.Pack(1, storage)
			for _, workers := range c.Workers {
				row, err := measureRow(ctx, problem, nodes, workers, c.Seconds)
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

func measureRow(ctx context.Context, p *Problem, nodes []*kernel.Tasks, workers int, seconds float64) (Row, error) {
	row := Row{
		Shape:   p.Name,
		Storage: StorageName(nodes[0].Storage()),
		Kernel:  kernel.Info().Kernel,
		Workers: workers,
	}
	it := NewIteration(p, nodes, workers)
	defer it.Close()
	length := time.Duration(seconds * float64(time.Second))
	flops := 0.0
	ms, err := InTurns(ctx, length, it.Step, it.Read, func() { flops = it.MultiplyAdd() })
	if err != nil {
		return row, err
	}
	row.IterationMS = ms[0]
	row.ReadMS = ms[1]
	row.ReadShare = row.ReadMS / row.IterationMS
	row.FMAShare = p.Flops() / row.IterationMS / (flops / ms[2])
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
