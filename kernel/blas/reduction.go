package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A reduction brings a p x q matrix A, p >= q, to the upper bidiagonal form Q'A P. In the memory of A it
// leaves the reflections that make Q below the diagonal, and those that make P behind the entry beside it.
type reduction struct {
	p, q int
	a    []float64
	lda  int

	d, e, tauQ, tauP []float64

	// Of one panel of columns, by rows: A is known to become A - V Y' - X U', where V has the reflections
	// of columns and U those of rows.
	left, right             []float64 // V then X, and Y then U
	leftStride, rightStride int
	width                   int // of a panel
}

// Dgebrd reduces an m x n matrix A to the bidiagonal matrix Q'A P, upper if m >= n and else lower.
//
// On return d holds its diagonal and e the entries next to it. a holds the reflectors whose products are Q
// and P, tauQ and tauP their factors, and work[0] the best length of work.
func (*solvers) Dgebrd(m, n int, a []float64, lda int, d, e, tauQ, tauP, work []float64, lwork int) {
	k := min(m, n)
	sound := k > 0 && lwork >= max(m, n) && len(work) >= lwork && inside(a, m, n, lda) &&
		min(len(d), len(e)+1, len(tauQ), len(tauP)) >= k
	switch {
	case !sound || !vectorized() && k > oneByOne:
		own.Implementation.Dgebrd(m, n, a, lda, d, e, tauQ, tauP, work, lwork)
		return
	case !vectorized() || k < fewForReduction:
		own.Dgebd2(m, n, a, lda, d, e, tauQ, tauP, work)
	case m >= n:
		own.bidiagonalize(m, n, a, lda, d, e, tauQ, tauP)
	default:
		stride := rowStride(m)
		memory := borrow[float64](n * stride)
		defer giveBack(memory)
		tile.Transpose(*memory, stride, a, lda, m, n)
		own.bidiagonalize(n, m, *memory, stride, d, e, tauP, tauQ)
		tile.Transpose(a, lda, *memory, stride, n, m)
	}
	own.Implementation.Dgebrd(m, n, a, lda, d, e, tauQ, tauP, work, -1) // sets work[0]
}

// bidiagonalize is Dgebrd for p >= q.
func (*solvers) bidiagonalize(p, q int, a []float64, lda int, d, e, tauQ, tauP []float64) {
	r := reduction{p: p, q: q, a: a, lda: lda, d: d, e: e, tauQ: tauQ, tauP: tauP}
	r.width = min(q, reductionColumns)
	r.leftStride, r.rightStride = rowStride(p), rowStride(q)
	memory := borrow[float64](2 * r.width * (r.leftStride + r.rightStride))
	defer giveBack(memory)
	r.left, r.right = (*memory)[:2*r.width*r.leftStride], (*memory)[2*r.width*r.leftStride:]
	for first := 0; first < q; first += r.width {
		r.panel(first, min(r.width, q-first))
	}
}

// panel reduces n columns from first on, and as many rows, and brings the rows and columns behind them up to
// date (Dlabrd of LAPACK).
func (r *reduction) panel(first, n int) {
	p, q, a := r.p-first, r.q-first, r.a[first*(r.lda+1):]
	v, x := vectorsOf(r.left, r.leftStride, r.width)
	y, u := vectorsOf(r.right, r.rightStride, r.width)
	tile.Transpose(v.data, v.stride, a, r.lda, p, n)
	for k := range n {
		at := first + k
		column := v.from(k, k, p)
		v.add(column, k, k, y.entries(k, k))
		x.add(column, k, k, u.entries(k, k))
		r.d[at], r.tauQ[at] = own.reflector(column)
		r.tauP[at], column[0] = 0, 1
		if k == q-1 {
			break
		}
		row, product := u.from(k, k+1, q), y.from(k, k+1, q)
		r.product(blas.Trans, p-k, q-k-1, a[k*r.lda+k+1:], column, product)
		y.add(product, k, k+1, v.products(k, k, column))
		u.add(product, k, k+1, x.products(k, k, column))
		tile.Scale(product, r.tauQ[at])

		copy(row, a[k*r.lda+k+1:])
		y.add(row, k+1, k+1, v.entries(k+1, k))
		u.add(row, k, k+1, x.entries(k, k))
		r.e[at], r.tauP[at] = own.reflector(row)
		row[0] = 1
		product = x.from(k, k+1, p)
		r.product(blas.NoTrans, p-k-1, q-k-1, a[(k+1)*(r.lda+1):], row, product)
		v.add(product, k+1, k+1, y.products(k+1, k+1, row))
		x.add(product, k, k+1, u.products(k, k+1, row))
		tile.Scale(product, r.tauP[at])
	}
	tile.Transpose(a, r.lda, v.data, v.stride, n, p)
	for k := range n {
		a[k*(r.lda+1)] = r.d[first+k]
		if k < q-1 {
			copy(a[k*r.lda+k+1:], u.from(k, k+1, q))
			a[k*r.lda+k+1] = r.e[first+k]
		}
	}
	if q > n {
		Implementation{}.Dgemm(
			blas.Trans, blas.NoTrans, p-n, q-n, 2*n, -1, r.left[n:], r.leftStride, r.right[n:], r.rightStride, 1,
			a[n*(r.lda+1):], r.lda,
		)
	}
}

// product computes the product of A or A', for an m x n part of A, and a vector.
func (r *reduction) product(tA blas.Transpose, m, n int, a, by, to []float64) {
	switch {
	case m*n >= sharedByVectors:
		Implementation{}.Dgemv(tA, m, n, 1, a, r.lda, by, 1, 0, to, 1)
	case tA == blas.NoTrans:
		tile.RowDots(to, a, r.lda, by, m, n)
	default:
		clear(to)
		tile.AddRows(to, a, r.lda, by, m, n)
	}
}

// panelVectors are vectors of a panel, as rows.
type panelVectors struct {
	data   []float64
	stride int
}

// vectorsOf returns two parts of a memory, of n vectors each.
func vectorsOf(memory []float64, stride, n int) (first, second panelVectors) {
	return panelVectors{data: memory, stride: stride}, panelVectors{data: memory[n*stride:], stride: stride}
}

// from returns the entries from lo to hi of vector k.
func (v *panelVectors) from(k, lo, hi int) []float64 { return v.data[k*v.stride+lo : k*v.stride+hi] }

// negatives are numbers of a panel, one for each vector.
type negatives [reductionColumns]float64

// entries returns entry i of the first n vectors, times -1.
func (v *panelVectors) entries(n, i int) (minus negatives) {
	for k := range n {
		minus[k] = -v.data[k*v.stride+i]
	}
	return minus
}

// products returns the products of the first n vectors, from entry lo on, and another one, times -1.
func (v *panelVectors) products(n, lo int, by []float64) (minus negatives) {
	if n > 0 {
		tile.RowDots(minus[:], v.data[lo:], v.stride, by, n, len(by))
	}
	for k := range n {
		minus[k] = -minus[k]
	}
	return minus
}

// add adds multiples of the first n vectors, from entry lo on.
func (v *panelVectors) add(to []float64, n, lo int, multiples negatives) {
	if n > 0 && len(to) > 0 {
		tile.AddRows(to, v.data[lo:], v.stride, multiples[:], n, len(to))
	}
}
