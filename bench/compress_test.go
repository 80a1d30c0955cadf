package bench

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/kernel"
)

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
