package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// Compressed tasks have the ranks, statuses and solutions of their samples, also where the number of samples
// decides the rank: with 100,000 of them a direction of 1e-12 or 1e-13 times the norm is rounding. One such
// task is shared by the workers, and its compressed form is alone; several compressed tasks are computed in
// lanes.
func TestCompressedRank(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, name := range append([]string{tile.Active().String()}, backends()...) {
			for _, c := range []struct {
				name    string
				n       int
				storage kernel.Storage
				second  func(c, e float64) float64 // entry of the second column
				want    lsq.Status
				b       []float64
			}{
				{"twice", 100_000, kernel.Float64, func(c, e float64) float64 { return c + 1e-12*e }, lsq.RankDeficient,
					[]float64{.5, .5}},
				{"small", 100_000, kernel.Float64, func(_, e float64) float64 { return 1e-13 * e }, lsq.RankDeficient,
					[]float64{1, 0}},
				{"small", 100_000, kernel.Float32, func(_, e float64) float64 { return 1e-13 * e }, lsq.RankDeficient,
					[]float64{1, 0}},
				{"small", 100, kernel.Float64, func(_, e float64) float64 { return 1e-12 * e },
					lsq.OK, []float64{1, 0}},
				{"small", 100, kernel.Float32, func(_, e float64) float64 { return 1e-12 * e },
					lsq.OK, []float64{1, 0}},
			} {
				t.Run(fmt.Sprintf("%s/%s/n=%d/%v", name, c.name, c.n, c.storage), func(t *testing.T) {
					use(t, name)
					for _, count := range []int{1, 8} {
						if count == 8 && c.n > 1000 && c.storage == kernel.Float32 {
							continue // takes long, and is the same compressed task as one alone
						}
						tasks := nearlyDependent(count, c.n, c.storage, c.second)
						u := kernel.NewBasis(2, 2)
						u.Col(0)[0], u.Col(1)[1] = 1, 1
						for _, k := range []*kernel.Tasks{tasks, tasks.Compressed(), tasks.Compressed().Compressed(),
							tasks.Compressed().Edit().Tasks()} {
							g := kernel.NewGroup(k, 2)
							g.Minimize(u, 0, nil)
							for task := range count {
								b := g.B[2*task:][:2]
								if g.Status[task] != c.want || !(floats.Distance(b, c.b, 2) < 1e-3) {
									t.Fatalf("%d tasks of %d rows: status %v, b = %v; want %v, %v", count, k.Samples(0),
										g.Status[task], b, c.want, c.b)
								}
							}
						}
					}
				})
			}
		}
	})
}

// nearlyDependent returns equal tasks of n samples with y = c for two features, c and second(c, e), of
// random c and e.
func nearlyDependent(count, n int, storage kernel.Storage, second func(c, e float64) float64) *kernel.Tasks {
	samples := make([]int, count)
	for task := range samples {
		samples[task] = n
	}
	b := kernel.NewBuilder(2, samples, storage)
	for task := range samples {
		rng := rand.New(rand.NewPCG(85, 86))
		for i := range n {
			c, e := float64(float32(rng.NormFloat64())), float64(float32(rng.NormFloat64()))
			b.SetRow(task, i, []float64{c, second(c, e)}, c)
		}
	}
	return b.Tasks()
}
