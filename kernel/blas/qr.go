package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dgeqrf computes the factors Q and R of an m x n matrix A = Q R.
//
// On return a holds R on and above the diagonal and, below it, the min(m, n) reflectors whose product is Q;
// tau holds their factors, work[0] the best length of work.
func (*solvers) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	k := min(m, n)
	switch {
	case isWorkQuery(m, n, lda, work, lwork): // nothing else is computed
	case k <= 0 || lwork < n || len(work) < lwork || !inside(a, m, n, lda) || len(tau) != k:
		own.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork) // it panics, or has nothing to do
		return
	case factorsByPanels(k, m, n-k, fewForQR):
		own.factorise(orthogonal{a: a, lda: lda, tau: tau, length: m, k: k}, n, work)
	default:
		own.Dgeqr2(m, n, a, lda, tau, work)
	}
	work[0] = float64(n * reductionBlock)
}

// isWorkQuery reports whether a valid call of a routine for an m x n matrix requests the best length of work
// alone.
func isWorkQuery(m, n, lda int, work []float64, lwork int) bool {
	return lwork == -1 && m > 0 && n > 0 && lda >= n && len(work) > 0
}

// factorsByPanels reports whether k reflectors of the given length are computed in panels, before they change
// other vectors; fewer than few are not. A few others take less time after each reflector.
func factorsByPanels(k, length, others, few int) bool {
	switch {
	case k > oneByOne:
		return true
	case others > 0 && k+others < vectorsForPanels:
		return false
	}
	return k >= few && vectorized() && (k <= panelColumns || length >= fewRowsForPanels)
}

// generatesByPanels reports whether the product of k reflectors is computed in panels.
func generatesByPanels(k int) bool { return k >= fewReflectors && (k > oneByOne || vectorized()) }

// fewSquare reports whether k reflectors of the given length are few, and nearly as many as their entries.
// They then take less time one after the other than in a panel.
func fewSquare(k, length int) bool { return k <= squareReflectors && 2*length < 3*k }

// factorise is Dgeqrf of a matrix of n columns or, by rows, Dgelqf of one of n rows.
func (*solvers) factorise(q orthogonal, n int, work []float64) {
	r := newReflectors(q.length, n)
	defer r.release()
	panels := (q.k + panelColumns - 1) / panelColumns
	width := tile.Pad((q.k + panels - 1) / panels)
	for j := 0; j < q.k; j += width {
		vectors, from := min(width, q.k-j), q.a[j*(q.lda+1):]
		r.load(from, q.lda, q.length-j, vectors, q.byRows)
		done := r.factor(q.tau[j : j+vectors])
		r.store(from, q.lda, q.byRows)
		if done < vectors {
			own.oneByOne(q, j+done, j+vectors, work)
			r.load(from, q.lda, q.length-j, vectors, q.byRows)
		}
		rest := n - j - vectors
		switch {
		case rest <= 0:
		case q.byRows:
			r.setUnit(q.tau[j:])
			r.applyRight(blas.NoTrans, from[vectors*q.lda:], q.lda, rest)
		default:
			r.setUnit(q.tau[j:])
			r.applyLeft(blas.Trans, from[vectors:], q.lda, rest)
		}
	}
}

// oneByOne factors the vectors from lo to hi as gonum does, which scales.
func (*solvers) oneByOne(q orthogonal, lo, hi int, work []float64) {
	a, tau := q.a[lo*(q.lda+1):], q.tau[lo:]
	tau = tau[:min(hi-lo, q.length-lo)]
	if q.byRows {
		own.Dgelq2(hi-lo, q.length-lo, a, q.lda, tau, work)
		return
	}
	own.Dgeqr2(q.length-lo, hi-lo, a, q.lda, tau, work)
}

// Dorgqr generates the first n columns of the product Q of k reflectors.
//
// On entry the first k columns of the m x n matrix a hold the reflectors, as Dgeqrf leaves them, and tau
// their factors. On return a holds the columns of Q.
func (*solvers) Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	shaped := 0 < n && n <= m && 0 <= k && k <= n
	switch {
	case shaped && isWorkQuery(m, n, lda, work, lwork): // nothing else is computed
	case !shaped || lwork < n || len(work) < lwork || !inside(a, m, n, lda) || len(tau) != k:
		own.Implementation.Dorgqr(m, n, k, a, lda, tau, work, lwork) // it panics, or has nothing to do
		return
	case generatesByPanels(k) && !fewSquare(k, m):
		q := orthogonal{a: a, lda: lda, tau: tau, length: m, k: k}
		q.generate(n)
	default:
		own.Dorg2r(m, n, k, a, lda, tau, work[:n])
	}
	work[0] = float64(n * reductionBlock)
}

// Dormqr overwrites the m x n matrix C by Q C, Q'C, C Q or C Q'. The k reflectors of Q are in the columns
// of a and in tau, as Dgeqrf leaves them; a has m rows, or n if Q is on the right.
func (*solvers) Dormqr(
	s blas.Side, tA blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int,
	work []float64, lwork int,
) {
	q := orthogonal{a: a, lda: lda, tau: tau, k: k}
	vectors := q.applyTo(s, m, n)
	switch q.way(s, tA, m, n, c, ldc, work, lwork) {
	case refused:
		own.Implementation.Dormqr(s, tA, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	case singly:
		own.applyEach(s, tA, m, n, &q, c, ldc, work)
	case vectorByVector:
		q.reflectVectors(s, tA, m, n, c, ldc)
	case inPanels:
		q.apply(s, tA, m, n, c, ldc)
	}
	work[0] = float64(reflectorMemory + vectors*reductionBlock)
}
