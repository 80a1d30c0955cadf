package blas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
)

// A peer is an implementation that benchmarks measure beside others, in turns.
type peer struct {
	name string
	gblas.Float64Level3
	lapack lapack.Float64
}

// peers are ours and gonum's; builds with -tags openblas add that.
var peers = []peer{
	{"ours", blas.Implementation{}, blas.Lapack{}},
	{"gonum", reference.Implementation{}, lapackreference.Implementation{}},
}

func BenchmarkLevel3(b *testing.B) {
	for _, s := range [][3]int{{2, 11, 11}, {8, 8, 8}, {187, 321, 321}, {187, 187, 321}, {4, 321, 321}, {321, 5, 321}, {81, 81, 81}, {321, 321, 321}} {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 1))
		x, y, c := random(rng, max(m, k), max(m, k), 0), random(rng, max(n, k), max(n, k), 0), random(rng, max(m, n), max(m, n), 0)
		tri, _ := positive(rng, max(m, n), 0, gblas.Upper)
		for i := range tri.data {
			if tri.data[i] != tri.data[i] {
				tri.data[i] = 0
			}
		}
		work := tri.clone()
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
			{"potrf", n * n * n / 3, func(p *peer) {
				copy(work.data, tri.data)
				p.lapack.Dpotrf('U', n, work.data, work.stride)
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
