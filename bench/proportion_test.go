package bench

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
)

// BenchmarkProportion is a step of four tasks, over ranks and numbers of features: ps/ndr is
// the time for a sample, a feature and a column of the basis, which is the same for all but
// low ranks, whose limit is reading X, and high ones of few features, where least squares
// count. Whatever stands out is a cliff.
func BenchmarkProportion(b *testing.B) {
	const tasks, n = 4, 64
	for _, d := range []int{64, 256, 1024, 4096, 20000} {
		for _, r := range []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 16, 17, 20, 24, 28, 29, 32, 48, 64} {
			b.Run(fmt.Sprintf("features=%d/rank=%d/kernel=%s", d, r, kernel.Describe().Kernel), func(b *testing.B) {
				p := measure.NewProblem(measure.Shape{Tasks: tasks, Samples: n, Features: d, Rank: r}, seed)
				g := kernel.NewGroup(p.Pack(1, kernel.Float64)[0], r)
				ws := kernel.NewWorkspace(n, d, r)
				for b.Loop() {
					g.Step(p.U, 0, ws)
				}
				b.ReportMetric(1e3*perOp(b)/float64(tasks*n*d*r), "ps/ndr")
			})
		}
	}
}
