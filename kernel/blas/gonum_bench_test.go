package blas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// A peer is an implementation that benchmarks measure beside others, in turns.
type peer struct {
	name string
	gblas.Float64Level3
}

// peers are ours and gonum's; builds with -tags openblas add that.
var peers = []peer{
	{"ours", blas.Implementation{}},
	{"gonum", reference.Implementation{}},
}

func BenchmarkLevel3(b *testing.B) {
	for _, s := range [][3]int{{2, 11, 11}, {8, 8, 8}, {187, 321, 321}, {187, 187, 321}, {4, 321, 321}, {321, 5, 321}, {81, 81, 81}, {321, 321, 321}} {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 1))
		x, y, c := random(rng, max(m, k), max(m, k), 0), random(rng, max(n, k), max(n, k), 0), random(rng, max(m, n), max(m, n), 0)
		tri := random(rng, max(m, n), max(m, n), 0)
		for i := range max(m, n) {
			tri.data[i*(tri.stride+1)] += float64(m + n)
		}
		for _, t := range []struct {
			name  string
			flops int
			f     func(p *peer)
		}{
			{"gemmNN", 2 * m * n * k, func(p *peer) {
				p.Dgemm('N', 'N', m, n, k, 1, x.data, x.stride, y.data, y.stride, 0, c.data, c.stride)
			}},
			{"gemmNT", 2 * m * n * k, func(p *peer) {
				p.Dgemm('N', 'T', m, n, k, 1, x.data, x.stride, y.data, y.stride, 0, c.data, c.stride)
			}},
			{"gemmTN", 2 * m * n * k, func(p *peer) {
				p.Dgemm('T', 'N', m, n, k, 1, x.data, x.stride, y.data, y.stride, 0, c.data, c.stride)
			}},
			{"syrkT", n * n * k, func(p *peer) { p.Dsyrk('U', 'T', n, k, 1, y.data, y.stride, 0, c.data, c.stride) }},
			{"trsmLT", m * m * n, func(p *peer) {
				p.Dtrsm('L', 'U', 'T', 'N', m, n, 1, tri.data, tri.stride, c.data, c.stride)
			}},
		} {
			for i := range peers {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", t.name, m, n, k, peers[i].name), func(b *testing.B) {
					for b.Loop() {
						t.f(&peers[i])
					}
					b.ReportMetric(float64(t.flops)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
		}
	}
}
