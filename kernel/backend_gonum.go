package kernel

import (
	"math"

	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// gonumBackend computes Alg. 3, lines 7 to 11, operation by operation, with blas64 and lapack64: the
// specification of the tiles and the reference of their tests. It computes with the BLAS and LAPACK that are
// registered there, by UseBLAS for instance.
type gonumBackend struct{}

// gonumWork is the scratch memory of a gonumBackend.
type gonumWork struct {
	x, a, qr []float64 // X_t in float64; A_t = X_t U; [A_t; sqrt(ridge) I] and its QR factors; all by rows
	c, e, v  []float64 // Q'y; e_t = A_t b_t - y_t; X_t' e_t
	tau      []float64
	work     []float64
	integers []int
}

func newGonumWork(n, d, r int) *gonumWork {
	return &gonumWork{
		x: make([]float64, n*d), a: make([]float64, n*r), qr: make([]float64, (n+r)*r),
		c: make([]float64, n+r), e: make([]float64, n), v: make([]float64, d),
		tau: make([]float64, r), work: make([]float64, 64*(n+r)), integers: make([]int, r),
	}
}

func (gonumBackend) step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	k := ws.gonum
	transposed := blas64.General{Rows: u.r, Cols: u.d, Stride: u.stride, Data: u.data}
	sum := blas64.General{Rows: u.r, Cols: u.d, Stride: u.stride, Data: c.grad.data} // transposed as well
	for t := c.lo; t < c.hi; t++ {
		b, from := vector(g.B[t*g.r:][:g.r]), g.fit
		x := k.samples(from, t)
		a := rowMajor(x.Rows, u.r, k.a)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, transposed, 0, a)
		g.Status[t] = k.solve(b.Data, a, from.Y(t), ridge, ws)
		if gradient && g.grad != g.fit {
			from = g.grad
			x = k.samples(from, t)
			a = rowMajor(x.Rows, u.r, k.a)
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, transposed, 0, a)
		}
		if x.Rows == 0 {
			continue
		}
		e, v := vector(k.e[:x.Rows]), vector(k.v[:u.d])
		copy(e.Data, from.Y(t))
		blas64.Gemv(blas.NoTrans, 1, a, b, -1, e)
		c.objective += blas64.Dot(e, e)
		if gradient {
			blas64.Gemv(blas.Trans, 1, x, e, 0, v)
			blas64.Ger(1, b, v, sum)
		}
	}
}

// solve computes b = argmin |A b - y|^2 + ridge |b|^2 by Householder reflectors. Where R may not have full
// rank, and for fewer rows than columns, package lstsq decides, as for the tiles.
func (k *gonumWork) solve(b []float64, a blas64.General, y []float64, ridge float64, ws *Workspace) lsq.Status {
	n, r := a.Rows, a.Cols
	m := n
	if ridge > 0 {
		m += r
	}
	if m >= r {
		qr, c := rowMajor(m, r, k.qr), rowMajor(m, 1, k.c)
		clear(qr.Data[n*r:])
		copy(qr.Data, a.Data)
		clear(c.Data[n:])
		copy(c.Data, y)
		for j := range m - n {
			qr.Data[(n+j)*r+j] = math.Sqrt(ridge)
		}
		lapack64.Geqrf(qr, k.tau[:r], k.work, len(k.work))
		lapack64.Ormqr(blas.Left, blas.Trans, qr, k.tau[:r], c, k.work, len(k.work))
		top := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: r, Stride: r, Data: qr.Data}
		const doubt = 1e-12 // far above the tolerance of package lstsq
		if lapack64.Trtrs(blas.NoTrans, top, rowMajor(r, 1, c.Data)) &&
			lapack64.Trcon(lapack.MaxColumnSum, top, k.work, k.integers[:r]) > doubt && tile.MaxAbs(c.Data[:r]) <= math.MaxFloat64 {
			copy(b, c.Data)
			return lsq.OK
		}
	}
	columns := ws.products(n, r)
	for i := range n {
		for j, v := range a.Data[i*r:][:r] {
			columns.Data[j*columns.Stride+i] = v
		}
	}
	return lsq.Status(lstsq.Solve(b, &columns, y, ridge, lstsq.Tolerance(n, r), 0, ws.lsq).Status)
}

// samples returns X_t of a task.
func (k *gonumWork) samples(t *Tasks, task int) blas64.General {
	n, at := t.rows[task], t.first[task]*t.stride
	if n == 0 { // the last row of a View may end before the next would begin
		return blas64.General{Cols: t.d, Stride: t.stride}
	}
	if t.storage == Float64 {
		return blas64.General{Rows: n, Cols: t.d, Stride: t.stride, Data: t.x64[at:]}
	}
	x := rowMajor(n, t.d, k.x)
	for i := range n {
		for j, v := range t.x32[at+i*t.stride:][:t.d] {
			x.Data[i*t.d+j] = float64(v)
		}
	}
	return x
}

func rowMajor(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: data[:rows*cols]}
}

func vector(data []float64) blas64.Vector { return blas64.Vector{N: len(data), Inc: 1, Data: data} }
