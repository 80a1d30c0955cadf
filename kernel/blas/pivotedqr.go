package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dgeqp3 computes the factors Q and R of A P for an m x n matrix A and a permutation P of its columns.
//
// On entry columns j with jpvt[j] other than -1 come first, as they stand; the largest of the other columns
// come next. On return a and tau are as Dgeqrf leaves them, column j of A P is column jpvt[j] of A, and
// work[0] is the best length of work.
func (*solvers) Dgeqp3(m, n int, a []float64, lda int, jpvt []int, tau, work []float64, lwork int) {
	k := min(m, n)
	if k <= 0 || lwork < 3*n+1 || len(work) < lwork || !inside(a, m, n, lda) || len(jpvt) != n || len(tau) < k ||
		!columnsOrFree(jpvt) {
		own.Implementation.Dgeqp3(m, n, a, lda, jpvt, tau, work, lwork) // it panics, or has nothing to do
		return
	}
	fixed := 0
	for j, p := range jpvt {
		jpvt[j] = j
		if p == -1 && n > 1 {
			continue
		}
		if j != fixed {
			Implementation{}.Dswap(m, a[j:], lda, a[fixed:], lda)
			jpvt[j], jpvt[fixed] = jpvt[fixed], j
		}
		fixed++
	}
	if first := min(m, fixed); first > 0 {
		own.Dgeqrf(m, first, a, lda, tau[:first], work, lwork)
		if first < n {
			own.Dormqr(blas.Left, blas.Trans, m, n-first, first, a, lda, tau[:first], a[first:], lda, work, lwork)
		}
	}
	if fixed < k {
		var p pivoted
		p.load(m, n-fixed, fixed, a[fixed:], lda)
		p.factor(jpvt[fixed:], tau[fixed:k])
		tile.Transpose(a[fixed:], lda, p.columns, p.stride, n-fixed, m)
		p.release()
	}
	work[0] = float64(2*n + (n+1)*reductionBlock)
}

// columnsOrFree reports whether every entry is -1 or names a column.
func columnsOrFree(jpvt []int) bool {
	for _, p := range jpvt {
		if p < -1 || p >= len(jpvt) {
			return false
		}
	}
	return true
}

// A pivoted is an m x n matrix whose columns are exchanged while its rows from done on become triangular. It
// is stored by columns: reflections, their products with columns, and exchanges go along memory.
//
// The columns of a panel are reflected one after the other. A product V'F brings the columns behind the panel
// up to date when it is complete; until then they have only the rows that are complete (Dlaqps of LAPACK).
// The last columns are brought up to date after each reflection.
type pivoted struct {
	m, n, done int
	stride     int
	columns    []float64 // column j is row j
	updates    []float64 // F: row i is tau times the products of reflection i of a panel and all columns
	norms      []float64 // of the part of a column that is not yet triangular
	exact      []float64 // norms, when they were last computed from the columns
	row, sums  []float64 // changes of the row that is complete; products of a reflection and those before it
	doubtful   []int     // columns whose norms have lost their digits
	memory     *[]float64
}

// pivotedPanel is the number of reflections of a panel, and of the last columns. lapack64.Geqp3 of 100 x 30
// to 1400 x 350.
const pivotedPanel = 32

// load copies a matrix whose first rows are complete.
func (p *pivoted) load(m, n, complete int, a []float64, lda int) {
	stride, panel := rowStride(m), 0
	if n > pivotedPanel {
		panel = pivotedPanel
	}
	p.m, p.n, p.done, p.stride = m, n, complete, stride
	p.memory = borrow[float64](n*stride + panel*n + 3*n + panel)
	rest := *p.memory
	take := func(n int) []float64 {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	p.columns, p.updates = take(n*stride), take(panel*n)
	p.norms, p.exact, p.row, p.sums = take(n), take(n), take(n), take(panel)
	tile.Transpose(p.columns, stride, a, lda, m, n)
	for j := range n {
		p.remember(j)
	}
}

// release keeps the memory for another matrix.
func (p *pivoted) release() { giveBack(p.memory) }

// remember computes the norm of the part of a column that is not yet triangular.
func (p *pivoted) remember(j int) {
	p.norms[j] = Implementation{}.Dnrm2(p.m-p.done, p.columns[j*p.stride+p.done:], 1)
	p.exact[j] = p.norms[j]
}

// factor makes the matrix triangular.
func (p *pivoted) factor(jpvt []int, tau []float64) {
	first := 0
	for p.n-first > pivotedPanel && first < len(tau) {
		reflections := min(pivotedPanel, len(tau)-first)
		k := 0
		for ; k < reflections && len(p.doubtful) == 0; k++ {
			p.reflect(first, k, jpvt, tau)
		}
		p.update(first, k)
		first += k
		p.rememberDoubtful()
	}
	for ; first < len(tau); first++ {
		p.reflectAll(first, jpvt, tau)
		p.rememberDoubtful()
	}
}

// rememberDoubtful computes the norms that have lost their digits again.
func (p *pivoted) rememberDoubtful() {
	for _, j := range p.doubtful {
		p.remember(j)
	}
	p.doubtful = p.doubtful[:0]
}

// reflectAll moves the largest column to place at, computes the reflection that makes it triangular, and
// reflects the columns behind it.
func (p *pivoted) reflectAll(at int, jpvt []int, tau []float64) {
	p.exchange(at, 0, jpvt)
	v, others := p.columns[at*p.stride+p.done:], p.n-at-1
	tau[at] = p.reflector(v)
	if others > 0 {
		own.reflect(blas.Right, others, p.m-p.done, v, 1, tau[at], v[p.stride:], p.stride, p.row)
	}
	p.complete(at, tau)
}

// reflector overwrites the entries of a column from row done on by a reflection, and returns its factor.
func (p *pivoted) reflector(v []float64) (tau float64) {
	if length := p.m - p.done; length > 1 {
		v[0], tau = own.Dlarfg(length, v[0], v[1:], 1)
	}
	return tau
}

// complete takes a row of R as complete, after the reflection at a place.
func (p *pivoted) complete(at int, tau []float64) {
	p.done++
	if at < len(tau)-1 {
		p.shorten(at + 1)
	}
}

// reflect moves the largest column to place first+k, computes the reflection that makes it triangular, and
// completes row done.
func (p *pivoted) reflect(first, k int, jpvt []int, tau []float64) {
	var i Implementation
	at, length := first+k, p.m-p.done
	p.exchange(at, k, jpvt)
	panel, v := p.columns[first*p.stride+p.done:], p.columns[at*p.stride+p.done:]
	behind, others := p.updates[min(at+1, p.n-1):], p.n-at-1
	if k > 0 {
		i.Dgemv(blas.Trans, k, length, -1, panel, p.stride, p.updates[at:], p.n, 1, v, 1)
	}
	tau[at] = p.reflector(v)
	diagonal := v[0]
	if v[0] = 1; others > 0 {
		own, next := behind[k*p.n:], p.columns[(at+1)*p.stride+p.done:]
		i.Dgemv(blas.NoTrans, others, length, tau[at], next, p.stride, v, 1, 0, own, 1)
		if k > 0 {
			i.Dgemv(blas.NoTrans, k, length, -tau[at], panel, p.stride, v, 1, 0, p.sums, 1)
			i.Dgemv(blas.Trans, k, others, 1, behind, p.n, p.sums, 1, 1, own, 1)
		}
		i.Dgemv(blas.Trans, k+1, others, 1, behind, p.n, panel, p.stride, 0, p.row, 1)
		for j, change := range p.row[:others] {
			next[j*p.stride] -= change
		}
	}
	v[0] = diagonal
	p.complete(at, tau)
}

// exchange exchanges the column at a place and the largest of those from there on, and what is known of them
// after k reflections of a panel.
func (p *pivoted) exchange(at, k int, jpvt []int) {
	with := at + Implementation{}.Idamax(p.n-at, p.norms[at:], 1)
	if at == with {
		return
	}
	Implementation{}.Dswap(p.m, p.columns[at*p.stride:], 1, p.columns[with*p.stride:], 1)
	for i := range k {
		row := p.updates[i*p.n:]
		row[at], row[with] = row[with], row[at]
	}
	jpvt[at], jpvt[with] = jpvt[with], jpvt[at]
	p.norms[with], p.exact[with] = p.norms[at], p.exact[at]
}

// shorten subtracts the row that was completed from the norms of the columns from first on (LAPACK Working
// Note 176).
func (p *pivoted) shorten(first int) {
	const lost = 0x1p-26 // the square root of the rounding error
	for j := first; j < p.n; j++ {
		norm := p.norms[j]
		if norm == 0 {
			continue
		}
		share := p.columns[j*p.stride+p.done-1] / norm
		left := max(0, 1-float64(share*share))
		ratio := norm / p.exact[j]
		if left*ratio*ratio < lost {
			p.doubtful = append(p.doubtful, j)
		} else {
			p.norms[j] = norm * math.Sqrt(left)
		}
	}
}

// update brings the columns behind a panel of k reflections up to date.
func (p *pivoted) update(first, k int) {
	at, length := first+k, p.m-p.done
	if at >= p.n || length <= 0 {
		return
	}
	Implementation{}.Dgemm(blas.Trans, blas.NoTrans, p.n-at, length, k, -1, p.updates[at:], p.n,
		p.columns[first*p.stride+p.done:], p.stride, 1, p.columns[at*p.stride+p.done:], p.stride)
}
