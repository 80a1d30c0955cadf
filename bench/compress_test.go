package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// BenchmarkCompressed is a step of one task with more samples than features, on its samples and on the
// d+1 rows of Tasks.Compressed, and the compression itself.
func BenchmarkCompressed(b *testing.B) {
	for _, s := range []struct{ n, d, r int }{{100, 20, 4}, {1000, 20, 4}, {5000, 100, 5}} {
		rng := rand.New(rand.NewPCG(seed, 0))
		builder, row := kernel.NewBuilder(s.d, []int{s.n}, kernel.Float64), make([]float64, s.d)
		for i := range s.n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			builder.SetRow(0, i, row, rng.NormFloat64())
		}
		tasks, u := builder.Tasks(), kernel.NewBasis(s.d, s.r)
		for j := range s.r {
			u.Col(j)[j] = 1
		}
		name := fmt.Sprintf("samples=%d/features=%d/rank=%d", s.n, s.d, s.r)
		step := func(b *testing.B, tasks *kernel.Tasks) {
			g, ws := kernel.NewGroup(tasks, s.r), kernel.NewWorkspace(tasks.MaxSamples(), s.d, s.r)
			for b.Loop() {
				g.Step(u, 0, ws)
			}
		}
		b.Run(name+"/on=samples", func(b *testing.B) { step(b, tasks) })
		b.Run(name+"/on=compressed", func(b *testing.B) { step(b, tasks.Compressed()) })
		b.Run(name+"/compress", func(b *testing.B) {
			for b.Loop() {
				tasks.Compressed()
			}
		})
	}
}
