package kernel

import (
	"math"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const (
	// R has full rank beyond doubt if its reciprocal condition number is above gonumDoubt, and gonumMargin r
	// times the tolerance of package leastsq: the estimate in the 1-norm is at most r times too large, and
	// rarely more than 3 times.
	gonumDoubt  = 1e-12
	gonumMargin = 10
)

// gonumBackend computes with blas64 and lapack64, operation by operation: the specification of the tiles and
// the reference of their tests. It calls the BLAS and LAPACK that are registered there, by Use of
// package kernel/blas for instance.
var gonumBackend = backend{name: gonumName, newChunk: newGonumChunk}

// A gonumChunk computes its tasks with blas64 and lapack64, one task after the other.
type gonumChunk struct {
	partial
	oneWorker
	integers []int // for lapack64.Trcon
}

func newGonumChunk(t *Tasks, lo, hi, r int) chunk {
	return &gonumChunk{partial: newPartial(t, lo, hi, r), integers: make([]int, r)}
}

// gonumWork is the scratch memory of a gonumChunk for tasks of n samples.
type gonumWork struct {
	x, a, qr []float64 // X_t in float64; A_t = X_t U; [A_t; sqrt(ridge) I] and its QR factors; all by rows
	c, e, v  []float64 // Q'y; e_t = A_t b_t - y_t; X_t' e_t
	tau      []float64
	work     []float64
}

// pieces returns the lengths of the fields of gonumWork, in order.
func (c *gonumChunk) pieces() [8]int {
	n, d, r := c.rows, c.grad.d, c.grad.r
	return [...]int{n * d, n * r, (n + r) * r, n + r, n, d, r, 64 * (n + r)}
}

func (c *gonumChunk) needs() size {
	s := c.size()
	for _, n := range c.pieces() {
		s.scratch += tile.Pad(n)
	}
	return s
}

func (c *gonumChunk) solve(j *job) {
	g, t, u, scratch := j.g, j.g.tasks, j.u, j.ws.scratch
	var w gonumWork
	for i, piece := range []*[]float64{&w.x, &w.a, &w.qr, &w.c, &w.e, &w.v, &w.tau, &w.work} {
		*piece = carve(&scratch, c.pieces()[i])
	}
	transposed := blas64.General{Rows: u.r, Cols: u.d, Stride: u.stride, Data: u.data}
	sum := blas64.General{Rows: u.r, Cols: u.d, Stride: u.stride, Data: c.grad.data} // transposed as well
	for task := c.lo; task < c.hi; task++ {
		b, x := vector(g.b[task*g.r:][:g.r]), t.general(task, w.x)
		a := rowMajor(x.Rows, u.r, w.a)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, transposed, 0, a)
		if j.work.coefficients {
			g.status[task] = c.solveTask(j, task, b.Data, a, &w)
		}
		if x.Rows == 0 {
			continue
		}
		e, v := vector(w.e[:x.Rows]), vector(w.v)
		copy(e.Data, t.Y(task))
		blas64.Gemv(blas.NoTrans, 1, a, b, -1, e)
		c.objective += blas64.Dot(e, e)
		if j.work.gradient {
			blas64.Gemv(blas.Trans, 1, x, e, 0, v)
			blas64.Ger(1, b, v, sum)
		}
	}
}

// solveTask computes b = argmin |A b - y|^2 + ridge |b|^2 by Householder reflectors. Where R may not have
// full rank, and for fewer rows than columns, package leastsq decides, as it does for the tiles.
func (c *gonumChunk) solveTask(j *job, task int, b []float64, a blas64.General, w *gonumWork) lsq.Status {
	n, r, y := a.Rows, a.Cols, j.g.tasks.Y(task)
	tolerance := j.g.tasks.tolerance(task, r)
	m := n
	if j.ridge > 0 {
		m += r
	}
	if m >= r {
		qr, qy := rowMajor(m, r, w.qr), rowMajor(m, 1, w.c)
		clear(qr.Data[n*r:])
		copy(qr.Data, a.Data)
		clear(qy.Data[n:])
		copy(qy.Data, y)
		for k := range m - n {
			qr.Data[(n+k)*r+k] = math.Sqrt(j.ridge)
		}
		// With the least work gonum applies the reflectors one by one: v0.17 applies blocks of them wrongly.
		lapack64.Geqrf(qr, w.tau, w.work, r)
		lapack64.Ormqr(blas.Left, blas.Trans, qr, w.tau, qy, w.work, 1)
		top := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: r, Stride: r, Data: qr.Data}
		doubt := max(gonumDoubt, gonumMargin*float64(r)*tolerance)
		if lapack64.Trtrs(blas.NoTrans, top, rowMajor(r, 1, qy.Data)) &&
			lapack64.Trcon(lapack.MaxColumnSum, top, w.work, c.integers) > doubt &&
			tile.MaxAbs(qy.Data[:r]) <= math.MaxFloat64 {
			copy(b, qy.Data)
			return lsq.OK
		}
	}
	columns := j.ws.products(n, r)
	for i := range n {
		for k, v := range a.Data[i*r:][:r] {
			columns.Data[k*columns.Stride+i] = v
		}
	}
	res, _ := leastsq.Solve(b, &columns, y, j.ridge, tolerance, 0, j.ws.lsq)
	return lsq.Status(res.Status)
}

// general returns X_t of a task: float32 samples as float64 in memory.
func (t *Tasks) general(task int, memory []float64) blas64.General {
	var x samples
	x.take(t, task, 0, t.rows[task])
	if x.n == 0 {
		return blas64.General{Cols: x.d, Stride: x.stride}
	}
	if x.storage == Float64 {
		return blas64.General{Rows: x.n, Cols: x.d, Stride: x.stride, Data: x.x64}
	}
	wide := rowMajor(x.n, x.d, memory)
	for i := range x.n {
		for j, v := range x.x32[i*x.stride:][:x.d] {
			wide.Data[i*x.d+j] = float64(v)
		}
	}
	return wide
}

func rowMajor(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: data[:rows*cols]}
}

func vector(data []float64) blas64.Vector { return blas64.Vector{N: len(data), Inc: 1, Data: data} }
