package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// The routines of this file move reflectors to where Dorgqr, Dorglq, Dormqr and Dormlq expect them. gonum's
// own forms of them would call gonum's Dorgqr and so on, whatever is registered; see reflectors.

// Dlarft sets t to the triangular factor T of the product H = I - V T V' of k reflectors of length n. The
// reflectors are in the columns or rows of v, first to last or, with lapack.Backward, last to first.
func (*solvers) Dlarft(
	direct lapack.Direct, store lapack.StoreV, n, k int, v []float64, ldv int, tau []float64, t []float64,
	ldt int,
) {
	rows, columns := n, k
	if store == lapack.RowWise {
		rows, columns = k, n
	}
	if direct != lapack.Forward || store != lapack.ColumnWise && store != lapack.RowWise || k < 1 || n < k ||
		!inside(v, rows, columns, ldv) || len(tau) < k || !inside(t, k, k, ldt) {
		own.Implementation.Dlarft(direct, store, n, k, v, ldv, tau, t, ldt)
		return
	}
	memory := borrow[float64](k * (n + k))
	defer giveBack(memory)
	unit, gram := (*memory)[:n*k], (*memory)[n*k:]
	for j := range k {
		clear(unit[j*n:][:j])
		unit[j*n+j] = 1
		for i := j + 1; i < n; i++ {
			if store == lapack.ColumnWise {
				unit[j*n+i] = v[i*ldv+j]
			} else {
				unit[j*n+i] = v[j*ldv+i]
			}
		}
	}
	Implementation{}.Dsyrk(blas.Lower, blas.NoTrans, k, n, 1, unit, n, 0, gram, k)
	for j, tj := range tau[:k] { // as setT, but nothing is written below the diagonal
		for i := range j {
			sum := 0.0
			for p := i; p < j; p++ {
				sum += float64(t[i*ldt+p] * gram[j*k+p])
			}
			t[i*ldt+j] = -tj * sum
		}
		t[j*ldt+j] = tj
	}
}

// Dorgbr generates the matrix Q or P' of Dgebrd for a matrix that had k columns (Q) or k rows (P').
//
// On entry the m x n matrix a holds the reflectors, as Dgebrd leaves them, and tau their factors. On return
// it holds m rows and n columns of Q or of P'.
func (*solvers) Dorgbr(vect lapack.GenOrtho, m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	q := vect == lapack.GenerateQ
	order, reflections := n, min(n, k) // of P'
	if q {
		order, reflections = m, min(m, k)
	}
	if !q && vect != lapack.GeneratePT || reflections <= oneByOne || lwork < min(m, n) || len(work) < lwork ||
		!inside(a, m, n, lda) || len(tau) < reflections || q && (n > m || n < min(m, k)) ||
		!q && (m > n || m < min(n, k)) {
		own.Implementation.Dorgbr(vect, m, n, k, a, lda, tau, work, lwork)
		return
	}
	switch {
	case q && m >= k:
		own.Dorgqr(m, n, k, a, lda, tau[:k], work, lwork)
	case !q && k < n:
		own.Dorglq(m, n, k, a, lda, tau, work, lwork)
	case q:
		shiftColumns(order, a, lda)
		own.Dorgqr(m-1, m-1, m-1, a[lda+1:], lda, tau[:m-1], work, lwork)
	default:
		for i := n - 1; i > 0; i-- { // one row down
			clear(a[i*lda:][:i])
			copy(a[i*lda+i:i*lda+n], a[(i-1)*lda+i:])
		}
		clear(a[:n])
		a[0] = 1
		own.Dorglq(n-1, n-1, n-1, a[lda+1:], lda, tau, work, lwork)
	}
	own.Implementation.Dorgbr(vect, m, n, k, a, lda, tau, work, -1) // sets work[0]
}

// shiftColumns moves reflectors that begin below the subdiagonal one column to the right. It sets the first
// row and column to those of the unit matrix.
func shiftColumns(n int, a []float64, lda int) {
	clear(a[:n])
	a[0] = 1
	for i := 1; i < n; i++ {
		row := a[i*lda:][:n]
		copy(row[1:i], row[:i-1])
		row[0] = 0
	}
}

// Dormbr overwrites the m x n matrix C by Q C, Q'C, C Q or C Q', or by such products with P in place of Q.
// The reflectors of Q or P are in a and tau, as Dgebrd leaves them for a matrix of k columns (Q) or k rows
// (P).
func (*solvers) Dormbr(
	vect lapack.ApplyOrtho, s blas.Side, tA blas.Transpose, m, n, k int, a []float64, lda int, tau,
	c []float64, ldc int, work []float64, lwork int,
) {
	q := vect == lapack.ApplyQ
	order, vectors := m, n
	if s == blas.Right {
		order, vectors = n, m
	}
	reflections := min(order, k)
	ok := (q || vect == lapack.ApplyP) && (s == blas.Left || s == blas.Right) &&
		(tA == blas.NoTrans || tA == blas.Trans)
	if !ok || m <= 0 || n <= 0 || reflections <= panelColumns || lwork < vectors || len(work) < lwork ||
		len(tau) < reflections ||
		!inside(c, m, n, ldc) || q && !inside(a, order, reflections, lda) || !q && !inside(a, reflections, order, lda) {
		own.Implementation.Dormbr(vect, s, tA, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	// The reflectors of the shorter side begin beside the diagonal: they leave the first row or column of C.
	if q && order < k || !q && order <= k {
		if s == blas.Left {
			m, c = m-1, c[ldc:]
		} else {
			n, c = n-1, c[1:]
		}
		if q {
			a = a[lda:]
		} else {
			a = a[1:]
		}
		k = order - 1
	}
	if q {
		own.Dormqr(s, tA, m, n, k, a, lda, tau[:k], c, ldc, work, lwork)
	} else {
		own.Dormlq(s, other(tA), m, n, k, a, lda, tau, c, ldc, work, lwork)
	}
}

// Dorghr generates the matrix Q of Dgehrd.
//
// On entry the n x n matrix a holds the reflectors that Dgehrd leaves in rows and columns ilo to ihi, and tau
// their factors. On return it holds Q.
func (*solvers) Dorghr(n, ilo, ihi int, a []float64, lda int, tau, work []float64, lwork int) {
	order := ihi - ilo
	if !generatesByPanels(order) || ilo < 0 || ihi >= n || lwork < order ||
		len(work) < lwork || !inside(a, n, n, lda) || len(tau) < n-1 {
		own.Implementation.Dorghr(n, ilo, ihi, a, lda, tau, work, lwork)
		return
	}
	shiftColumns(order+1, a[ilo*(lda+1):], lda)
	for i := range n { // the unit matrix outside of the rows and columns ilo+1 to ihi
		row := a[i*lda:][:n]
		if i <= ilo || i > ihi {
			clear(row)
			row[i] = 1
			continue
		}
		clear(row[:ilo+1])
		clear(row[ihi+1:])
	}
	own.Dorgqr(order, order, order, a[(ilo+1)*(lda+1):], lda, tau[ilo:ihi], work, lwork)
}

// Dormhr overwrites the m x n matrix C by Q C, Q'C, C Q or C Q' for the Q of Dgehrd. Its reflectors are in
// rows and columns ilo to ihi of a, and in tau.
func (*solvers) Dormhr(
	s blas.Side, tA blas.Transpose, m, n, ilo, ihi int, a []float64, lda int, tau, c []float64, ldc int,
	work []float64, lwork int,
) {
	order, vectors := m, n
	if s == blas.Right {
		order, vectors = n, m
	}
	reflections := ihi - ilo
	if s != blas.Left && s != blas.Right || m <= 0 || n <= 0 || reflections <= panelColumns || ilo < 0 ||
		ihi >= order || lwork < vectors || len(work) < lwork ||
		!inside(a, order, order, lda) || !inside(c, m, n, ldc) ||
		len(tau) != order-1 {
		own.Implementation.Dormhr(s, tA, m, n, ilo, ihi, a, lda, tau, c, ldc, work, lwork)
		return
	}
	from := a[(ilo+1)*lda+ilo:]
	if s == blas.Left {
		own.Dormqr(s, tA, reflections, n, reflections, from, lda, tau[ilo:ihi], c[(ilo+1)*ldc:], ldc, work, lwork)
	} else {
		own.Dormqr(s, tA, m, reflections, reflections, from, lda, tau[ilo:ihi], c[ilo+1:], ldc, work, lwork)
	}
}

// Dorgtr generates the matrix Q of Dsytrd for one triangle of a symmetric matrix.
//
// On entry the n x n matrix a holds the reflectors, and tau their factors. On return it holds Q.
func (*solvers) Dorgtr(ul blas.Uplo, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if ul != blas.Lower || n-1 <= oneByOne || lwork < n-1 || len(work) < lwork || !inside(a, n, n, lda) ||
		len(tau) < n-1 {
		own.Implementation.Dorgtr(ul, n, a, lda, tau, work, lwork) // of an upper triangle, by Dlarft backward
		return
	}
	shiftColumns(n, a, lda)
	own.Dorgqr(n-1, n-1, n-1, a[lda+1:], lda, tau[:n-1], work, lwork)
}
