package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
)

// normal returns tasks with standard normal features and responses.
func normal(d int, samples []int, storage kernel.Storage) *kernel.Tasks {
	rng := rand.New(rand.NewPCG(seed, 0))
	b, row := kernel.NewBuilder(d, samples, storage), make([]float64, d)
	for t, n := range samples {
		for i := range n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			b.SetRow(t, i, row, rng.NormFloat64())
		}
	}
	return b.Tasks()
}

// ragged returns numbers of samples from 1 to 2n-1.
func ragged(tasks, n int) []int {
	rng, samples := rand.New(rand.NewPCG(seed, 1)), make([]int, tasks)
	for t := range samples {
		samples[t] = 1 + rng.IntN(2*n-1)
	}
	return samples
}

// BenchmarkStep is a step of shapes that BenchmarkIteration does not have: ns/task.
func BenchmarkStep(b *testing.B) {
	for _, s := range []struct {
		name           string
		tasks, n, d, r int
		ridge          float64
	}{
		{"tiny", 64, 4, 8, 1, 0}, {"tiny", 64, 10, 20, 2, 0}, {"tiny", 64, 10, 30, 4, 0},
		{"small", 64, 20, 50, 4, 0}, {"small", 64, 30, 64, 4, 0}, {"small", 64, 12, 100, 8, 0},
		{"rank 1", 64, 30, 600, 1, 0}, {"rank 8", 32, 30, 600, 8, 0}, {"rank 12", 32, 30, 600, 12, 0},
		{"rank 16", 16, 64, 500, 16, 0}, {"ragged", 64, 25, 128, 5, 0}, {"ridge", 64, 25, 128, 5, 1},
		{"fewer samples than columns", 64, 6, 100, 10, 0}, {"fewer tasks than workers", 1, 500, 400, 5, 0},
		{"tall", 8, 1000, 20, 4, 0}, {"wide", 2, 64, 20000, 16, 0},
	} {
		samples := slices.Repeat([]int{s.n}, s.tasks)
		if s.name == "ragged" {
			samples = ragged(s.tasks, s.n)
		}
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			b.Run(fmt.Sprintf("%s/n=%d/d=%d/r=%d/%v", s.name, s.n, s.d, s.r, storage), func(b *testing.B) {
				step(b, normal(s.d, samples, storage), s.r, s.ridge, runtime.GOMAXPROCS(0))
			})
		}
	}
}

// step measures steps of tasks on a random basis.
func step(b *testing.B, tasks *kernel.Tasks, r int, ridge float64, workers int) {
	pool := kernel.NewPool(workers)
	defer pool.Close()
	e := kernel.NewExecutor(pool, []*kernel.Group{kernel.NewGroup(tasks, r)})
	u := []*kernel.Basis{synth.Orthonormal(tasks.Features(), r, synth.Stream(seed, 2))}
	e.Step(u, ridge)
	for b.Loop() {
		e.Step(u, ridge)
	}
	b.ReportMetric(perOp(b)/float64(tasks.Len()), "ns/task")
	b.ReportAllocs()
}

// BenchmarkHuge is a step of one task whose rows the workers share. A step reads the samples twice: %read is
// its share of the speed of plain reads by the same workers.
func BenchmarkHuge(b *testing.B) {
	tasks := normal(200, []int{150_000}, kernel.Float64)
	for _, w := range workers() {
		b.Run(fmt.Sprintf("workers=%d", w), func(b *testing.B) {
			pool := kernel.NewPool(w)
			read := inTurns(b, measure.NewCeiling(pool, tasks).Read)[0]
			pool.Close()
			step(b, tasks, 5, 0, w)
			reportShare(b, 100*2*read*1e6/perOp(b), "%read")
		})
	}
}

// BenchmarkDeficient is a step in which each task has two equal columns of X_t U.
func BenchmarkDeficient(b *testing.B) {
	const d, r = 128, 5
	tasks, u := normal(d, slices.Repeat([]int{25}, 64), kernel.Float64), synth.Orthonormal(d, r, synth.Stream(seed, 2))
	copy(u.Col(1), u.Col(0))
	g := kernel.NewGroup(tasks, r)
	ws := kernel.NewWorkspace(g)
	for b.Loop() {
		g.Step(u, 0, ws)
	}
	if g.Status[0] != lsq.RankDeficient {
		b.Errorf("status %v", g.Status[0])
	}
	b.ReportMetric(perOp(b)/float64(tasks.Len()), "ns/task")
}

// BenchmarkOperations are the other operations on all samples of 600 tasks of 30 x 600, of rank 4.
func BenchmarkOperations(b *testing.B) {
	const d, r, n, tasks = 600, 4, 30, 600
	k, u := normal(d, slices.Repeat([]int{n}, tasks), kernel.Float64), synth.Orthonormal(d, r, synth.Stream(seed, 2))
	v, g := kernel.NewBasis(d, r), kernel.NewGroup(k, r)
	ws := kernel.NewWorkspace(g)
	x, y, first := make([]float64, tasks*n*d), make([]float64, tasks*n), []int{0}
	for t := range tasks {
		first = append(first, (t+1)*n)
	}
	for name, f := range map[string]func(){
		"GramProduct": func() { k.GramProduct(v, u, ws) },
		"Minimize":    func() { g.Minimize(u, 0, ws) },
		"Part":        func() { k.Part(0, 2) },
		"View":        func() { kernel.View(x, d, d, first, y) },
		"first step":  func() { kernel.NewGroup(k, r).Step(u, 0, ws) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			reportBytes(b, k.Bytes())
		})
	}
}

// BenchmarkOrthonormalizeTwice is the QR of columns that are far from orthogonal, which
// BenchmarkOrthonormalize does not take.
func BenchmarkOrthonormalizeTwice(b *testing.B) {
	for _, s := range [][2]int{{600, 4}, {100, 10}, {2048, 16}} {
		b.Run(fmt.Sprintf("d=%d/r=%d", s[0], s[1]), func(b *testing.B) {
			from, u := synth.Gaussian(s[0], s[1], synth.Stream(seed, 3)), kernel.NewBasis(s[0], s[1])
			for j := range s[1] {
				for i, v := range from.Col(0) {
					from.Col(j)[i] += 3 * v
				}
			}
			rr, work := make([]float64, s[1]*s[1]), make([]float64, qr.WorkLen(s[1]))
			for b.Loop() {
				u.CopyFrom(from)
				u.Orthonormalize(rr, work)
			}
		})
	}
}

// BenchmarkCompressed is a step of one task with more samples than features, on its samples and on the
// d+1 rows of Tasks.Compressed, and the compression itself.
func BenchmarkCompressed(b *testing.B) {
	for _, s := range []struct{ n, d, r int }{{100, 20, 4}, {1000, 20, 4}, {5000, 100, 5}} {
		tasks := normal(s.d, []int{s.n}, kernel.Float64)
		name := fmt.Sprintf("samples=%d/features=%d/rank=%d", s.n, s.d, s.r)
		b.Run(name+"/on=samples", func(b *testing.B) { step(b, tasks, s.r, 0, 1) })
		b.Run(name+"/on=compressed", func(b *testing.B) { step(b, tasks.Compressed(), s.r, 0, 1) })
		b.Run(name+"/compress", func(b *testing.B) {
			for b.Loop() {
				tasks.Compressed()
			}
		})
	}
}
