package blas

import (
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// reflectors are Q = I - V T V', the product of n reflections I - tau v v'. Row i of v[:,j] is zero for i < j
// and one for i = j.
//
// gonum v0.17 computes T of too few rows where a reflection has more zeros at its end than the reflection
// before it (lapack/gonum/dlarft.go): dummy variables have such reflections. So no tier leaves a product of
// more reflections than gonum applies one by one to gonum.
type reflectors struct {
	rows, n int
	ld      int
	v       []float64 // by rows
	all     []float64 // v behind columns of zeros, which make their number a multiple of tile.Width
	before  int       // the number of columns of zeros
	t       [panelColumns * panelColumns]float64
	gram    [panelColumns * panelColumns]float64 // V'V
	w, sums [panelColumns]float64
	work    []float64 // of applyLeft and applyRight
}

var reflectorsPool = sync.Pool{New: func() any { return new(reflectors) }}

// newReflectors returns memory for reflectors of a number of rows, to be applied to vectors of a number.
func newReflectors(rows, vectors int) *reflectors {
	r := reflectorsPool.Get().(*reflectors)
	v, work := rows*panelColumns, 2*panelColumns*rowStride(max(vectors, panelColumns))
	r.all, r.work = slices.Grow(r.all[:0], v)[:v], slices.Grow(r.work[:0], work)[:work]
	return r
}

// release keeps the memory for other reflectors.
func (r *reflectors) release() { reflectorsPool.Put(r) }

// load copies n columns of a matrix by rows, or n rows of one if transposed. Zeros are before the columns:
// most reflections of 9 to 15 columns then change one vector of a row, and the first ones two.
func (r *reflectors) load(a []float64, lda, rows, n int, transposed bool) {
	r.rows, r.n, r.ld = rows, n, tile.Pad(n)
	r.before = r.ld - n
	r.v = r.all[r.before:]
	for at := 0; at < rows*r.ld && r.before > 0; at += r.ld {
		*(*[tile.Width]float64)(r.all[at:]) = [tile.Width]float64{}
	}
	if transposed {
		tile.Transpose(r.v, r.ld, a, lda, n, rows)
		return
	}
	for i := range rows {
		copy(r.v[i*r.ld:][:n], a[i*lda:])
	}
}

// store copies the panel back to where load found it.
func (r *reflectors) store(a []float64, lda int, transposed bool) {
	if transposed {
		tile.Transpose(a, lda, r.v, r.ld, r.rows, r.n)
		return
	}
	for i := range r.rows {
		copy(a[i*lda:][:r.n], r.v[i*r.ld:])
	}
}

// setUnit replaces R by the zeros and ones of V, and computes T.
func (r *reflectors) setUnit(tau []float64) {
	for i := range min(r.n, r.rows) {
		row := r.v[i*r.ld:][:r.n]
		clear(row[i:])
		row[i] = 1
	}
	Implementation{}.Dsyrk(blas.Lower, blas.Trans, r.n, r.rows, 1, r.v, r.ld, 0, r.gram[:], panelColumns)
	setT(r.t[:], panelColumns, r.gram[:], panelColumns, tau[:r.n])
}

// setT sets the upper triangle T of a product of reflections and the zeros below it, for the lower triangle
// of V'V (Schreiber and Van Loan, 1989).
func setT(t []float64, ldt int, gram []float64, ldg int, tau []float64) {
	for j, tj := range tau {
		products := gram[j*ldg:][:j]
		for i := range j {
			sum, row := 0.0, t[i*ldt:][:j]
			for k := i; k < j; k++ {
				sum += float64(row[k] * products[k])
			}
			t[i*ldt+j] = -tj * sum
		}
		clear(t[j*ldt:][:j])
		t[j*ldt+j] = tj
	}
}

// applyLeft overwrites a matrix C of r.rows rows by Q C, or by Q'C.
func (r *reflectors) applyLeft(tA blas.Transpose, c []float64, ldc, columns int) {
	ldw := rowStride(columns)
	products, sums := r.work, r.work[r.n*ldw:] // V'C, and -T times it
	multiply(blas.Trans, blas.NoTrans, r.n, columns, r.rows, 1, r.v, r.ld, c, ldc, 0, products, ldw)
	multiply(tA, blas.NoTrans, r.n, columns, r.n, -1, r.t[:], panelColumns, products, ldw, 0, sums, ldw)
	multiply(blas.NoTrans, blas.NoTrans, r.rows, columns, r.n, 1, r.v, r.ld, sums, ldw, 1, c, ldc)
}

// applyRight overwrites a matrix C of r.rows columns by C Q, or by C Q'.
func (r *reflectors) applyRight(tA blas.Transpose, c []float64, ldc, rows int) {
	products, sums := r.work, r.work[rows*panelColumns:] // C V, and -T after it
	multiply(blas.NoTrans, blas.NoTrans, rows, r.n, r.rows, 1, c, ldc, r.v, r.ld, 0, products, panelColumns)
	multiply(blas.NoTrans, tA, rows, r.n, r.n, -1, products, panelColumns, r.t[:], panelColumns, 0, sums, panelColumns)
	multiply(blas.NoTrans, blas.Trans, rows, r.rows, r.n, 1, sums, panelColumns, r.v, r.ld, 1, c, ldc)
}

// firstColumns sets C to the first n columns of Q, or its rows to them if transposed.
func (r *reflectors) firstColumns(c []float64, ldc int, transposed bool) {
	top := r.work // -T V1', for the first rows V1 of V
	multiply(blas.NoTrans, blas.Trans, r.n, r.n, r.n, -1, r.t[:], panelColumns, r.v, r.ld, 0, top, panelColumns)
	if transposed {
		multiply(blas.Trans, blas.Trans, r.n, r.rows, r.n, 1, top, panelColumns, r.v, r.ld, 0, c, ldc)
	} else {
		multiply(blas.NoTrans, blas.NoTrans, r.rows, r.n, r.n, 1, r.v, r.ld, top, panelColumns, 0, c, ldc)
	}
	for j := range r.n {
		c[j*(ldc+1)]++
	}
}

// multiply computes C = alpha op(A) op(B) + beta C within a larger computation.
func multiply(
	tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if !gemm(false, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		Implementation{}.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// factor factors the panel in v: R above the diagonal and on it, V below it. Every reflection is one pass
// over the rows, which also computes the products that the next one needs. It returns the number of columns
// that are factored: fewer than n if the squares of a column are not safe from overflow and underflow.
func (r *reflectors) factor(tau []float64) int {
	clear(r.sums[:])
	if r.rows > 1 { // the products of the first column
		below := r.v[r.ld:]
		Implementation{}.Dgemv(blas.Trans, r.rows-1, r.n, 1, below, r.ld, below, r.ld, 0, r.sums[r.before:], 1)
	}
	for j := range tau {
		at := r.before + j // the column of all
		pivot := r.all[j*r.ld:][:r.ld]
		if j == r.rows-1 {
			tau[j] = 0
			return j + 1
		}
		alpha, norm := pivot[at], r.sums[at]+float64(pivot[at]*pivot[at])
		if !safeReflection(r.sums[at], norm) {
			return j
		}
		beta := -math.Copysign(math.Sqrt(norm), alpha)
		scale := 1 / (alpha - beta) // at most 2^450
		tau[j] = (beta - alpha) / beta
		clear(r.w[:at+1])
		for k := at + 1; k < r.ld; k++ {
			r.w[k] = float64(tau[j] * (pivot[k] + float64(scale*r.sums[k])))
			pivot[k] -= r.w[k]
		}
		pivot[at] = beta
		below := r.all[(j+1)*r.ld:]
		if j == r.n-1 {
			for i := range r.rows - j - 1 {
				below[i*r.ld+at] *= scale
			}
			return r.n
		}
		tile.Reflect(below, r.ld, at, &r.w, &r.sums, scale, 1, r.ld) // the next pivot, which is in no product
		tile.Reflect(below[min(r.ld, len(below)):], r.ld, at, &r.w, &r.sums, scale, r.rows-j-2, r.ld)
	}
	return len(tau)
}

// An orthogonal is the product Q of k reflections of vectors of a length. Dgeqrf leaves them in the columns
// of a matrix below the diagonal. Dgelqf leaves the reflections of Q' in the rows behind the diagonal.
type orthogonal struct {
	a         []float64
	lda       int
	tau       []float64
	length, k int
	byRows    bool
}

// A reflecting is how Dormqr, Dormlq and their forms for single reflectors apply reflectors.
type reflecting uint8

const (
	// refused: gonum panics because of the arguments, or has nothing to do.
	refused reflecting = iota
	// asked: the best length of work is wanted, and nothing else.
	asked
	// singly: one reflector after the other.
	singly
	// vectorByVector: one reflector after the other, for few vectors.
	vectorByVector
	// inPanels: panels of reflectors.
	inPanels
)

// applyTo sets the length of the reflectors that are applied to an m x n matrix on a side. It returns the
// number of vectors that they change.
func (q *orthogonal) applyTo(s blas.Side, m, n int) (vectors int) {
	if s == blas.Right {
		m, n = n, m
	}
	q.length = m
	return n
}

// way returns how the reflectors are applied to an m x n matrix C, after applyTo.
func (q *orthogonal) way(
	s blas.Side, t blas.Transpose, m, n int, c []float64, ldc int, work []float64, lwork int,
) reflecting {
	rows, columns, vectors := q.length, q.k, m+n-q.length
	factors := len(q.tau) == q.k
	if q.byRows {
		rows, columns = q.k, q.length
		factors = len(q.tau) >= q.k
	}
	switch {
	case !isSide(s) || t != blas.NoTrans && t != blas.Trans || min(m, n, q.k) <= 0 || q.k > q.length:
		return refused
	case q.lda < columns || ldc < n || len(work) == 0:
		return refused
	case lwork == -1:
		return asked
	case !factors || lwork < vectors || len(work) < lwork || !inside(q.a, rows, columns, q.lda) ||
		!inside(c, m, n, ldc):
		return refused
	case vectorized() && q.isFew(vectors):
		return vectorByVector
	case vectors <= squareVectors && fewSquare(q.k, q.length):
		return singly
	case q.k > panelColumns || q.k >= fewReflectors && q.length >= tallReflectors && vectorized():
		return inPanels
	}
	return singly
}

// load copies the reflections from number j on to r, as many as one application takes, and returns how many.
func (q *orthogonal) load(r *reflectors, j int) int {
	n := min(panelColumns, q.k-j)
	r.load(q.a[j*(q.lda+1):], q.lda, q.length-j, n, q.byRows)
	r.setUnit(q.tau[j:])
	return n
}

// apply overwrites the m x n matrix C by op(Q) C, or by C op(Q).
func (q *orthogonal) apply(s blas.Side, tA blas.Transpose, m, n int, c []float64, ldc int) {
	vectors := n
	if s == blas.Right {
		vectors = m
	}
	r := newReflectors(q.length, vectors)
	defer r.release()
	blocks := (q.k + panelColumns - 1) / panelColumns
	for b := range blocks {
		if (s == blas.Left) == (tA == blas.NoTrans) { // the last reflections come first
			b = blocks - 1 - b
		}
		j := b * panelColumns
		q.load(r, j)
		if s == blas.Left {
			r.applyLeft(tA, c[j*ldc:], ldc, n)
		} else {
			r.applyRight(tA, c[j:], ldc, m)
		}
	}
}

// generate overwrites the matrix that holds the reflections by the first n columns of Q, or its rows by the
// first n rows of Q'.
func (q *orthogonal) generate(n int) {
	r := newReflectors(q.length, n)
	defer r.release()
	for j := q.k; j < n; j++ { // unit vectors, to be reflected
		q.clearVector(j, 0, q.length)
		q.a[j*(q.lda+1)] = 1
	}
	for j := (q.k - 1) / panelColumns * panelColumns; j >= 0; j -= panelColumns {
		columns := q.load(r, j)
		if rest := n - j - columns; rest > 0 {
			if q.byRows {
				r.applyRight(blas.Trans, q.a[(j+columns)*q.lda+j:], q.lda, rest)
			} else {
				r.applyLeft(blas.NoTrans, q.a[j*q.lda+j+columns:], q.lda, rest)
			}
		}
		r.firstColumns(q.a[j*(q.lda+1):], q.lda, q.byRows)
		for i := range columns {
			q.clearVector(j+i, 0, j)
		}
	}
}

// clearVector sets the entries from lo to hi of vector j to zero.
func (q *orthogonal) clearVector(j, lo, hi int) {
	if q.byRows {
		clear(q.a[j*q.lda+lo : j*q.lda+hi])
		return
	}
	for i := lo; i < hi; i++ {
		q.a[i*q.lda+j] = 0
	}
}
