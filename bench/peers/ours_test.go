//go:build linux

package peers

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// ours is this project's kernel as a peer. Its variant float32 stores X in single precision, read is the
// streaming read of X and fma the arithmetic at the peak of multiply-adds, which bound every peer from below
// (they have no answer), and "" is the default.
func ours(p *problem, threads int, variant string) (iterate, export func(*answer), err error) {
	if err := kernel.CheckEnvironment(); err != nil {
		return nil, nil, err
	}
	// What start leaves behind would be as large as X.
	defer debug.FreeOSMemory()
	pool := kernel.NewPool(threads)
	switch variant {
	case "", "float32":
		storage := kernel.Float64
		if variant == "float32" {
			storage = kernel.Float32
		}
		group := kernel.NewGroup(pack(p, storage), p.R)
		executor := kernel.NewExecutor(pool, []*kernel.Group{group})
		u := []*kernel.Basis{kernel.BasisOf(mat.NewDense(p.D, p.R, p.U))}
		iterate = func(*answer) { executor.Step(u, 0) }
		export = func(a *answer) {
			copy(a.B, group.B)
			mat.NewDense(p.D, p.R, a.Grad).Copy(group.Grad)
		}
		return iterate, export, nil
	case "read":
		ceiling := measure.NewCeiling(pool, pack(p, kernel.Float64))
		return func(*answer) { ceiling.Read() }, nil, nil
	case "fma":
		shape := measure.Shape{Tasks: p.Tasks, Samples: p.N, Features: p.D, Rank: p.R}
		arithmetic := measure.NewCeiling(pool).Arithmetic(shape.Flops())
		return func(*answer) { arithmetic() }, nil, nil
	}
	return nil, nil, fmt.Errorf("variant %q: want float32, read, fma or gonum", variant)
}

// pack copies the samples into the kernel's layout and releases the originals.
func pack(p *problem, storage kernel.Storage) *kernel.Tasks {
	b := kernel.NewBuilder(p.D, slices.Repeat([]int{p.N}, p.Tasks), storage)
	for i, y := range p.Y {
		b.SetRow(i/p.N, i%p.N, p.X[i*p.D:][:p.D], y)
	}
	p.X, p.Y = nil, nil
	return b.Tasks()
}

// A gonumPeer is the iteration as a careful Go programmer writes it on blas64 and lapack64,
// with all memory allocated once. It shares the tasks of a problem between threads.
type gonumPeer struct {
	p       *problem
	u       blas64.General
	workers []*worker
}

// A worker is the memory of one thread.
type worker struct {
	lo, hi  int // its tasks
	a, qr   blas64.General
	c       blas64.General // Q'y
	e, v    blas64.Vector
	tau     []float64
	work    []float64
	grad    blas64.General
	answers []float64 // B of the running iteration
}

// newGonum returns the iteration of a problem on a number of threads.
func newGonum(p *problem, threads int) *gonumPeer {
	it := &gonumPeer{p: p, u: general(p.D, p.R, p.U)}
	for w := range threads {
		it.workers = append(it.workers, &worker{
			lo: p.Tasks * w / threads, hi: p.Tasks * (w + 1) / threads,
			a: general(p.N, p.R, nil), qr: general(p.N, p.R, nil), c: general(p.N, 1, nil), grad: general(p.D, p.R, nil),
			e: vector(make([]float64, p.N)), v: vector(make([]float64, p.D)),
			tau: make([]float64, p.R), work: make([]float64, 64*(p.N+p.R)),
		})
	}
	return it
}

func (it *gonumPeer) iterate(a *answer) {
	var wg sync.WaitGroup
	for _, w := range it.workers[1:] {
		w.answers = a.B
		wg.Go(func() { it.tasks(w) })
	}
	it.workers[0].answers = a.B
	it.tasks(it.workers[0])
	wg.Wait()
	copy(a.Grad, it.workers[0].grad.Data)
	for _, w := range it.workers[1:] {
		blas64.Axpy(1, vector(w.grad.Data), vector(a.Grad))
	}
}

func (it *gonumPeer) tasks(w *worker) {
	n, d, r := it.p.N, it.p.D, it.p.R
	clear(w.grad.Data)
	for t := w.lo; t < w.hi; t++ {
		x := general(n, d, it.p.X[t*n*d:][:n*d])
		y := it.p.Y[t*n:][:n]
		b := vector(w.answers[t*r:][:r])
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, it.u, 0, w.a)

		copy(w.qr.Data, w.a.Data)
		copy(w.c.Data, y)
		lapack64.Geqrf(w.qr, w.tau, w.work, len(w.work))
		lapack64.Ormqr(blas.Left, blas.Trans, w.qr, w.tau, w.c, w.work, len(w.work))
		top := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: r, Data: w.qr.Data, Stride: r}
		copy(b.Data, w.c.Data[:r])
		blas64.Trsv(blas.NoTrans, top, b)

		copy(w.e.Data, y)
		blas64.Gemv(blas.NoTrans, 1, w.a, b, -1, w.e)
		blas64.Gemv(blas.Trans, 1, x, w.e, 0, w.v)
		blas64.Ger(1, w.v, b, w.grad)
	}
}

func general(rows, cols int, data []float64) blas64.General {
	if data == nil {
		data = make([]float64, rows*cols)
	}
	return blas64.General{Rows: rows, Cols: cols, Data: data, Stride: cols}
}

func vector(data []float64) blas64.Vector {
	return blas64.Vector{N: len(data), Data: data, Inc: 1}
}

// moduleVersion returns the version of a module that this program was built with.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
