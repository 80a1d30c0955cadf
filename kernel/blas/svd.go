package blas

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
)

// Dgesvd computes the singular values s of an m x n matrix A, descending, and its left and right singular
// vectors: all with lapack.SVDAll, the first min(m, n) with lapack.SVDStore, none with lapack.SVDNone.
//
// On entry a holds A. On return a is overwritten, u holds left vectors in its columns, vt right ones in its
// rows, and work[0] the best length of work. Dgesvd returns false if the iterations do not converge, and at
// once for a matrix with NaN or infinity, whose values are set to NaN.
//
// Rows and columns may have different units: the smallest values and their vectors then keep all digits (see
// units).
func (*solvers) Dgesvd(
	jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int, vt []float64,
	ldvt int, work []float64, lwork int,
) (ok bool) {
	d := svd{p: max(m, n), q: min(m, n), s: s, wide: m < n}
	d.u = blas64.General{Rows: m, Cols: d.vectors(jobU, m), Stride: ldu, Data: u}
	d.vt = blas64.General{Rows: d.vectors(jobVT, n), Cols: n, Stride: ldvt, Data: vt}
	few := d.few()
	if lwork == -1 && !few && d.shaped(lda) && len(work) > 0 {
		work[0] = d.leastWork()
		return true
	}
	if !d.valid(a, lda, work, lwork) {
		return own.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	memory := borrow[float64](d.memory())
	defer giveBack(memory)
	d.rest = *memory
	whole := blas64.General{Rows: m, Cols: n, Stride: lda, Data: a}
	d.sizes = rowSizes(d.take(m), whole)
	size := slices.Max(d.sizes)
	if !(size <= math.MaxFloat64) {
		fill(s[:d.q], math.NaN())
		return false
	}
	if few && (d.isVector() || !haveUnits(whole, d.sizes)) {
		return own.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	scale := scalesOf(size)
	rescale(-scale, m, n, a, lda)
	ok = d.compute(whole, work)
	rescale(scale, 1, d.q, s, d.q)
	work[0] = d.leastWork()
	return ok
}

// few reports whether gonum's reductions and rotations need no more time.
func (d *svd) few() bool {
	most := panelColumns
	if d.u.Cols == 0 && d.vt.Rows == 0 { // values alone
		most = oneByOne
	}
	return !vectorized() && d.q <= most
}

// isVector reports whether A is one row or column: its value is its norm, in any order of its entries and
// whatever their units.
func (d *svd) isVector() bool { return d.q == 1 }

// vector computes the singular value of one column or row, and its vectors: the signs are those of a
// reflection to a first entry of the other sign, and of a value that becomes positive.
func (d *svd) vector(a blas64.General) {
	inc := a.Stride
	if d.wide {
		inc = 1
	}
	var i Implementation
	first, norm := a.Data[0], i.Dnrm2(d.p, a.Data, inc)
	d.s[0] = norm
	long, apart, short := d.u.Data, d.u.Stride, d.vt.Data
	wantLong, wantShort := d.u.Cols == 1, d.vt.Rows == 1
	if d.wide {
		long, apart, short, wantLong, wantShort = short, 1, long, wantShort, wantLong
	}
	sign := 1.0
	alone := d.p == 1 || i.Dnrm2(d.p-1, a.Data[inc:], inc) == 0 // no reflection is needed
	if !d.wide && alone == math.Signbit(first) && norm > 0 {
		sign = -1
	}
	if wantShort {
		short[0] = sign
	}
	if !wantLong {
		return
	}
	for k := range d.p {
		v := 0.0
		switch {
		case norm > 0:
			v = a.Data[k*inc] / norm * sign
		case k == 0:
			v = 1
		}
		long[k*apart] = v
	}
}

// leastWork returns the least length of work. It is also the best one, as other memory is borrowed.
func (d *svd) leastWork() float64 { return float64(max(3*d.q+d.p, 5*d.q)) }

// vectors returns the number of vectors of a job, -1 if the job is unknown.
func (d *svd) vectors(j lapack.SVDJob, all int) int {
	switch j {
	case lapack.SVDAll:
		return all
	case lapack.SVDStore:
		return d.q
	case lapack.SVDNone:
		return 0
	}
	return -1
}

// shaped reports whether sizes and distances of rows are valid, and there is something to compute.
func (d *svd) shaped(lda int) bool {
	n, u, vt := d.vt.Cols, &d.u, &d.vt
	return d.q > 0 && lda >= n && min(u.Cols, vt.Rows) >= 0 && u.Stride >= max(1, u.Cols) && vt.Stride >= 1 &&
		(vt.Rows == 0 || vt.Stride >= n)
}

// valid reports whether the arguments are valid and there is something to compute. gonum refuses invalid
// ones.
func (d *svd) valid(a []float64, lda int, work []float64, lwork int) bool {
	m, n, u, vt := d.u.Rows, d.vt.Cols, &d.u, &d.vt
	return d.shaped(lda) && float64(lwork) >= d.leastWork() && len(work) >= lwork && inside(a, m, n, lda) &&
		len(d.s) >= d.q && (u.Cols == 0 || inside(u.Data, m, u.Cols, u.Stride)) &&
		(vt.Rows == 0 || inside(vt.Data, vt.Rows, n, vt.Stride))
}

// An svd is a call of Dgesvd for a matrix of p x q, p >= q, or its transpose if wide.
type svd struct {
	p, q  int
	wide  bool
	s     []float64
	u, vt blas64.General // without columns or rows if they are not wanted
	t, b  blas64.General // T, and B with its reflections: T or R
	units units
	sizes []float64 // of the rows of the caller's matrix
	tau   []float64 // of R
	tauQ  []float64
	tauP  []float64

	buffer, rest []float64 // memory
}

// The blocks of gonum's reductions, and the memory of its block reflectors.
const (
	reductionBlock  = 32
	reflectorMemory = 64 * 64
)

// memory returns the length of rest at the start.
func (d *svd) memory() int {
	long := max(d.u.Cols, d.vt.Rows, d.q)
	return (d.p+4*d.q)*rowStride(d.q) + d.p*rowStride(long) + 2*d.p + 5*d.q + d.workLength()
}

func (d *svd) workLength() int { return reflectorMemory + 2*(d.p+d.q)*reductionBlock }

func (d *svd) take(n int) []float64 {
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

// rowStride is the distance of rows of n entries: no power of two.
func rowStride(n int) int {
	if n%64 == 0 {
		n += tile.Width
	}
	return n
}

func (d *svd) matrix(rows, cols int) blas64.General {
	stride := rowStride(cols)
	return blas64.General{Rows: rows, Cols: cols, Stride: stride, Data: d.take(rows * stride)}
}

// copyTo copies a matrix, or its transpose.
func copyTo(to, from blas64.General, transposed bool) {
	if transposed {
		tile.Transpose(to.Data, to.Stride, from.Data, from.Stride, from.Rows, from.Cols)
		return
	}
	if from.Rows > 0 && to.Stride == from.Cols && from.Stride == from.Cols {
		copy(to.Data[:from.Rows*from.Cols], from.Data)
		return
	}
	for i := range from.Rows {
		copy(to.Data[i*to.Stride:][:from.Cols], from.Data[i*from.Stride:])
	}
}

// compute reduces the tall matrix T, or its small factor, to a bidiagonal B. It diagonalizes B by rotations
// of unit matrices, and multiplies these by the reflections.
//
// It takes the steps of LAPACK and gonum, so that vectors have the same signs as there. The small factor of a
// wide matrix A = L Q' is L = R'. Without a small factor the bidiagonal of A is lower.
func (d *svd) compute(a blas64.General, work []float64) bool {
	if d.isVector() && max(d.u.Cols, d.vt.Rows) <= 1 {
		d.vector(a)
		return true
	}
	e := work[1 : d.q+1]
	d.reduce(a, e)
	if d.u.Cols == 0 && d.vt.Rows == 0 { // by qd steps, which take no rotations
		return own.bidiagonalValues(d.s[:d.q], e[:d.q-1])
	}
	c := bidiagonal{d: d.s[:d.q], e: e[:d.q-1]}
	c.left, c.right = newTurned(min(d.u.Cols, d.q)), newTurned(min(d.vt.Rows, d.q))
	defer c.left.release()
	defer c.right.release()
	if d.wide && !d.tall() {
		c.turnUpper()
	}
	if !c.diagonalize() {
		return false
	}
	if d.u.Cols > 0 {
		d.vectorsTo(d.u, d.u.Cols, c.left, true)
	}
	if d.vt.Rows > 0 {
		d.vectorsTo(d.vt, d.vt.Rows, c.right, false)
	}
	return true
}

// tall reports whether R is much smaller than T, as LAPACK decides.
func (d *svd) tall() bool { return d.p >= int(float64(d.q)*1.6) }

// reduce computes B, in s and e, and the reflections that make it.
func (d *svd) reduce(a blas64.General, e []float64) {
	p, q := d.p, d.q
	d.buffer, d.tau, d.tauQ, d.tauP = d.take(d.workLength()), d.take(q), d.take(q), d.take(q)
	d.t = d.matrix(p, q)
	copyTo(d.t, a, d.wide)
	rows, columns := d.sizes, d.take(q)
	if d.wide {
		rows, columns = rowSizes(d.take(p), d.t), d.sizes
	}
	d.b = d.t
	if d.tall() {
		if !d.isVector() {
			d.units.rows = descending(rows)
		}
		exchangeRows(d.t, d.units.rows)
		own.Dgeqrf(p, q, d.t.Data, d.t.Stride, d.tau, d.buffer, len(d.buffer))
		d.takeFactor()
		rows = rowSizes(rows, d.b)
	}
	if d.tall() || !d.wide {
		columns = columnSizes(columns, d.b)
	}
	d.units.sort(d.b, rows, columns)
	own.Dgebrd(d.b.Rows, q, d.b.Data, d.b.Stride, d.s, e, d.tauQ, d.tauP, d.buffer, len(d.buffer))
}

// takeFactor sets B to R, or to L = R' of a wide matrix, with zeros beside the triangle.
func (d *svd) takeFactor() {
	q := d.q
	d.b = d.matrix(q, q)
	copyTo(d.b, blas64.General{Rows: q, Cols: q, Stride: d.t.Stride, Data: d.t.Data}, d.wide)
	for i := range q {
		row := d.b.Data[i*d.b.Stride:][:q]
		if d.wide {
			clear(row[i+1:])
		} else {
			clear(row[:i])
		}
	}
}

// multiply overwrites the first rows of V by Q V, for the reflections in the columns of q.
func (d *svd) multiply(q blas64.General, tau []float64, v blas64.General) {
	own.Dormqr(
		blas.Left, blas.NoTrans, q.Rows, v.Cols, len(tau), q.Data, q.Stride, tau, v.Data, v.Stride,
		d.buffer, len(d.buffer),
	)
}

// vectorsTo computes left or right vectors, as many as are wanted, by the reflections of B's columns or rows,
// and by those of R if the vectors have the length p.
func (d *svd) vectorsTo(to blas64.General, count int, turned *turned, left bool) {
	length, long := d.q, left != d.wide
	if long {
		length = d.p
	}
	v := d.matrix(length, count)
	clear(v.Data)
	for i := d.q; i < min(count, length); i++ {
		v.Data[i*(v.Stride+1)] = 1
	}
	tile.Transpose(v.Data, v.Stride, turned.rows, turned.stride, d.q, d.q)
	if transposed := d.wide && !d.tall(); left != transposed {
		d.multiply(d.b, d.tauQ, v)
		restoreRows(v, d.units.reducedRows)
	} else {
		d.multiplyByRows(v)
		restoreRows(v, d.units.columns)
	}
	if long && d.tall() {
		d.multiply(d.t, d.tau, v)
		restoreRows(v, d.units.rows)
	}
	copyTo(to, v, !left)
}

// multiplyByRows overwrites the first rows of V by P V. The reflections of P are rows of B; in the transpose
// they are columns, and begin at its row 1. Two rows have one reflection of one entry, which changes nothing.
func (d *svd) multiplyByRows(v blas64.General) {
	if d.q <= 2 {
		return
	}
	columns := d.matrix(d.q, d.q)
	copyTo(columns, blas64.General{Rows: d.q, Cols: d.q, Stride: d.b.Stride, Data: d.b.Data}, true)
	below := func(m blas64.General) blas64.General {
		m.Rows, m.Data = m.Rows-1, m.Data[m.Stride:]
		return m
	}
	d.multiply(below(columns), d.tauP[:d.q-1], below(v))
}
