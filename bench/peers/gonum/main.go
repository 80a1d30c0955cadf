// Command gonum is the iteration as a careful Go programmer writes it on blas64 and
// lapack64, with all memory allocated once.
package main

import (
	"sync"

	"github.com/difalt/difalt/bench/peers/internal/protocol"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

func main() {
	version := "gonum " + protocol.ModuleVersion("gonum.org/v1/gonum")
	protocol.Main(version, func(p *protocol.Problem, threads int, _ string) (iterate, export func(*protocol.Answer), err error) {
		return newIteration(p, threads).iterate, nil, nil
	})
}

// An iteration shares the tasks of a problem between threads.
type iteration struct {
	p       *protocol.Problem
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

// newIteration returns the iteration of a problem on a number of threads.
func newIteration(p *protocol.Problem, threads int) *iteration {
	it := &iteration{p: p, u: general(p.D, p.R, p.U)}
	for w := range threads {
		it.workers = append(it.workers, &worker{
			lo:   p.Tasks * w / threads,
			hi:   p.Tasks * (w + 1) / threads,
			a:    general(p.N, p.R, nil),
			qr:   general(p.N, p.R, nil),
			c:    general(p.N, 1, nil),
			e:    vector(make([]float64, p.N)),
			v:    vector(make([]float64, p.D)),
			tau:  make([]float64, p.R),
			work: make([]float64, 64*(p.N+p.R)),
			grad: general(p.D, p.R, nil),
		})
	}
	return it
}

// iterate fills a.
func (it *iteration) iterate(a *protocol.Answer) {
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

func (it *iteration) tasks(w *worker) {
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
