package blas

import (
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// panelColumns is the number of columns that are factored before their reflections are applied to the others.
const panelColumns = tile.ReflectWidth

const (
	// fewReflectors is the number of reflectors below which gonum applies them as fast.
	fewReflectors = 8
	// fewRowsForPanels is the number of rows below which gonum factors more than one panel as fast.
	fewRowsForPanels = 36
	// tallReflectors is the length below which gonum applies the reflectors of one panel as fast.
	tallReflectors = 256
)

// reflectors are Q = I - V T V', the product of n reflections I - tau v v'. Row i of v[:,j] is zero for i < j
// and one for i = j.
type reflectors struct {
	rows, n int
	ld      int
	v       []float64 // by rows
	t       [panelColumns * panelColumns]float64
	gram    [panelColumns * panelColumns]float64 // V'V
	w, sums [panelColumns]float64
	work    []float64 // of apply
}

var reflectorsPool = sync.Pool{New: func() any { return new(reflectors) }}

// newReflectors returns memory for reflectors of a number of rows, to be applied to a number of columns.
func newReflectors(rows, columns int) *reflectors {
	r := reflectorsPool.Get().(*reflectors)
	v, work := rows*panelColumns, 2*panelColumns*rowStride(columns)
	r.v, r.work = slices.Grow(r.v[:0], v)[:v], slices.Grow(r.work[:0], work)[:work]
	return r
}

// load copies n columns of a factored matrix, or one to be factored. Behind them v may hold anything.
func (r *reflectors) load(a []float64, lda, rows, n int) {
	r.rows, r.n, r.ld = rows, n, tile.Pad(n)
	for i := range rows {
		copy(r.v[i*r.ld:][:n], a[i*lda:])
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
	for j, tj := range tau[:r.n] {
		products := r.gram[j*panelColumns:][:j]
		for i := range j {
			sum, row := 0.0, r.t[i*panelColumns:][:j]
			for k := i; k < j; k++ {
				sum += row[k] * products[k]
			}
			r.t[i*panelColumns+j] = -tj * sum
		}
		clear(r.t[j*panelColumns:][:j])
		r.t[j*(panelColumns+1)] = tj
	}
}

// apply overwrites a matrix C by Q C, or by Q'C.
func (r *reflectors) apply(tA blas.Transpose, c []float64, ldc, columns int) {
	ldw := rowStride(columns)
	products, sums := r.work, r.work[r.n*ldw:] // V'C, and -T times it
	gemm(false, blas.Trans, blas.NoTrans, r.n, columns, r.rows, 1, r.v, r.ld, c, ldc, 0, products, ldw)
	gemm(false, tA, blas.NoTrans, r.n, columns, r.n, -1, r.t[:], panelColumns, products, ldw, 0, sums, ldw)
	gemm(false, blas.NoTrans, blas.NoTrans, r.rows, columns, r.n, 1, r.v, r.ld, sums, ldw, 1, c, ldc)
}

// factor factors the panel in v: R above the diagonal and on it, V below it. Every reflection is one pass
// over the rows, which also computes the products that the next one needs. It returns the number of columns
// that are factored: fewer than n if the squares of a column are not safe from overflow and underflow.
func (r *reflectors) factor(tau []float64) int {
	clear(r.sums[:])
	if r.rows > 1 { // the products of the first column
		below := r.v[r.ld:]
		gemv(blas.Trans, r.rows-1, r.n, 1, below, r.ld, below, r.ld, 0, r.sums[:], 1)
	}
	for j := range tau {
		pivot := r.v[j*r.ld:][:r.ld]
		if j == r.rows-1 {
			tau[j] = 0
			return j + 1
		}
		const least, most = 0x1p-900, 0x1p900
		alpha, norm := pivot[j], r.sums[j]+pivot[j]*pivot[j]
		if !(r.sums[j] >= least && norm <= most) {
			return j
		}
		beta := -math.Copysign(math.Sqrt(norm), alpha)
		scale := 1 / (alpha - beta)
		tau[j] = (beta - alpha) / beta
		clear(r.w[:j+1])
		for k := j + 1; k < r.n; k++ {
			r.w[k] = tau[j] * (pivot[k] + scale*r.sums[k])
			pivot[k] -= r.w[k]
		}
		pivot[j] = beta
		below := r.v[(j+1)*r.ld:]
		if j == r.n-1 {
			for i := range r.rows - j - 1 {
				below[i*r.ld+j] *= scale
			}
			return r.n
		}
		tile.Reflect(below, r.ld, j, &r.w, &r.sums, scale, 1, r.n) // the next pivot, which is in no product
		tile.Reflect(below[min(r.ld, len(below)):], r.ld, j, &r.w, &r.sums, scale, r.rows-j-2, r.n)
	}
	return len(tau)
}

// store copies the panel back.
func (r *reflectors) store(a []float64, lda int) {
	for i := range r.rows {
		copy(a[i*lda:][:r.n], r.v[i*r.ld:])
	}
}

// Dgeqrf computes the factors Q and R of a matrix, in a and tau.
func (l Lapack) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	k := min(m, n)
	if !vectorized() || k < fewReflectors || k > panelColumns && m < fewRowsForPanels || lwork < n || len(work) < lwork || !inside(a, m, n, lda) || len(tau) != k {
		l.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
		return
	}
	r := newReflectors(m, n)
	defer reflectorsPool.Put(r)
	panels := (k + panelColumns - 1) / panelColumns
	width := tile.Pad((k + panels - 1) / panels)
	for j := 0; j < k; j += width {
		columns, from := min(width, k-j), a[j*(lda+1):]
		r.load(from, lda, m-j, columns)
		done := r.factor(tau[j : j+columns])
		r.store(from, lda)
		if done < columns {
			l.Dgeqr2(m-j-done, columns-done, from[done*(lda+1):], lda, tau[j+done:j+columns], work)
			r.load(from, lda, m-j, columns)
		}
		if rest := n - j - columns; rest > 0 {
			r.setUnit(tau[j:])
			r.apply(blas.Trans, from[columns:], lda, rest)
		}
	}
	l.Implementation.Dgeqrf(m, n, a, lda, tau, work, -1) // sets work[0]
}

// Dormqr overwrites C by Q C, Q'C, C Q or C Q' for the Q of Dgeqrf: on the right as gonum's.
func (l Lapack) Dormqr(side blas.Side, tA blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int) {
	if !vectorized() || side != blas.Left || tA != blas.NoTrans && tA != blas.Trans || n <= 0 || k < fewReflectors || k > m ||
		k <= panelColumns && m < tallReflectors || !inside(a, m, k, lda) || !inside(c, m, n, ldc) ||
		len(tau) != k || lwork < n || len(work) < lwork {
		l.Implementation.Dormqr(side, tA, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	work[0] = float64(reflectorMemory + n*reductionBlock)
	r := newReflectors(m, n)
	defer reflectorsPool.Put(r)
	blocks := (k + panelColumns - 1) / panelColumns
	for b := range blocks {
		if tA == blas.NoTrans {
			b = blocks - 1 - b
		}
		j := b * panelColumns
		r.load(a[j*(lda+1):], lda, m-j, min(panelColumns, k-j))
		r.setUnit(tau[j:])
		r.apply(tA, c[j*ldc:], ldc, n)
	}
}
