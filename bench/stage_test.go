package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/blas/blas64"
)

// A task is one task of a shape, in cache: what the stages of the kernel work on.
type task struct {
	measure.Shape
	x        []float64
	ldx, lda int
	u        *kernel.Basis
	a        []float64 // X U
	y, b, v  []float64
}

func newTask(s measure.Shape) *task {
	p := measure.NewProblem(s, seed)
	k := &task{
		Shape: s, ldx: tile.Stride(s.Features), lda: tile.Pad(s.Samples), u: p.U,
		y: make([]float64, s.Samples), b: make([]float64, s.Rank),
	}
	k.x = make([]float64, s.Samples*k.ldx)
	k.a = make([]float64, k.lda*s.Rank)
	k.v = make([]float64, 8*k.ldx)
	x := make([]float64, s.Samples*s.Features)
	p.Source.Task(0, x, k.y)
	for i := range s.Samples {
		copy(k.x[i*k.ldx:], x[i*s.Features:][:s.Features])
	}
	k.mulBasis()
	return k
}

func (k *task) mulBasis() {
	tile.MulBasis(k.a, k.lda, k.x, k.ldx, k.u.Data(), k.u.Stride(), k.Samples, k.Features, k.Rank, nil)
}

// products returns X U.
func (k *task) products() blas64.GeneralCols {
	return blas64.GeneralCols{Rows: k.Samples, Cols: k.Rank, Stride: k.lda, Data: k.a}
}

// eachShape runs a stage on a task of every shape; the stage returns the operation
// and its flops. reads tells whether it reads X.
func eachShape(b *testing.B, reads bool, stage func(*task) (run func(), flops int)) {
	pool := kernel.NewPool(1)
	defer pool.Close()
	c := measure.NewCeiling(pool)
	for _, s := range measure.Shapes() {
		b.Run(fmt.Sprintf("shape=%s/kernel=%s", s.Name, kernel.Describe().Kernel), func(b *testing.B) {
			run, flops := stage(newTask(s))
			for b.Loop() {
				run()
			}
			report(b, float64(flops), c, run)
			if reads {
				reportBytes(b, 8*s.Samples*s.Features)
			}
		})
	}
}

// BenchmarkMulBasis is X_t U, of which package tile measures the packed form.
func BenchmarkMulBasis(b *testing.B) {
	eachShape(b, true, func(k *task) (func(), int) {
		return k.mulBasis, 2 * k.Samples * k.Features * k.Rank
	})
}

// BenchmarkLeastSquares is b_t = (X_t U)^+ y_t from X_t U.
func BenchmarkLeastSquares(b *testing.B) {
	eachShape(b, false, func(k *task) (func(), int) {
		ws := lsq.NewWorkspace(k.Samples, k.Rank)
		return func() {
			lsq.Solve(k.b, k.products(), k.y, lsq.Options{}, ws)
		}, 2*k.Rank*k.Rank*k.Samples + 4*k.Samples*k.Rank
	})
}

// BenchmarkMulTransposed is X_t' e_t.
func BenchmarkMulTransposed(b *testing.B) {
	eachShape(b, true, func(k *task) (func(), int) {
		return func() {
			tile.MulTransposed(k.v, k.x, k.ldx, k.y, k.Samples, k.Features, nil)
		}, 2 * k.Samples * k.Features
	})
}

// BenchmarkRankUpdate adds v_t b_t' of eight tasks to the gradient.
func BenchmarkRankUpdate(b *testing.B) {
	const m = 8
	eachShape(b, false, func(k *task) (func(), int) {
		g := kernel.NewBasis(k.Features, k.Rank)
		coef := make([]float64, m*k.Rank)
		return func() {
			tile.RankUpdate(g.Data(), g.Stride(), k.v, k.ldx, coef, k.Rank, m, k.Features, k.Rank)
		}, 2 * m * k.Features * k.Rank
	})
}

// BenchmarkOrthonormalize is the thin QR of a node's d x r matrix.
func BenchmarkOrthonormalize(b *testing.B) {
	eachShape(b, false, func(k *task) (func(), int) {
		u := kernel.NewBasis(k.Features, k.Rank)
		rr, work := make([]float64, k.Rank*k.Rank), make([]float64, qr.WorkLen(k.Rank))
		return func() {
			u.CopyFrom(k.u)
			u.Orthonormalize(rr, work)
		}, 4 * k.Rank * k.Rank * k.Features
	})
}

// BenchmarkMix is the averaging of all nodes, ten rounds.
func BenchmarkMix(b *testing.B) {
	for _, net := range []struct {
		nodes, d, r int
		edge        float64
	}{{20, 600, 4, 0.5}, {100, 100, 10, 0.1}} {
		name := fmt.Sprintf("nodes=%d/features=%d/rank=%d/rounds=10/kernel=%s", net.nodes, net.d, net.r,
			kernel.Describe().Kernel)
		b.Run(name, func(b *testing.B) {
			graph := must[*topology.Graph](b)(topology.ErdosRenyi(net.nodes, net.edge, seed))
			exchange := must[consensus.Exchange](b)(network(b, graph, topology.Metropolis).Agree(10, nil))
			z := make([]consensus.Message, net.nodes)
			for i := range z {
				z[i].Basis = synth.Gaussian(net.d, net.r, synth.Stream(seed, uint64(i)))
			}
			ctx := context.Background()
			for b.Loop() {
				if err := exchange.Average(ctx, z, consensus.Float64); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
		})
	}
}
