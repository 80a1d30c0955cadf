package blas

import "gonum.org/v1/gonum/blas"

// Dgelqf computes the factors L and Q of an m x n matrix A = L Q.
//
// On return a holds L on and below the diagonal and, behind it, the min(m, n) reflectors whose product is Q';
// tau holds their factors, work[0] the best length of work.
func (*solvers) Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	k := min(m, n)
	switch {
	case isWorkQuery(m, n, lda, work, lwork): // nothing else is computed
	case k <= 0 || lwork < m || len(work) < lwork || !inside(a, m, n, lda) || len(tau) < k:
		own.Implementation.Dgelqf(m, n, a, lda, tau, work, lwork) // it panics, or has nothing to do
		return
	case factorsByPanels(k, n, m-k, fewReflectors):
		own.factorise(orthogonal{a: a, lda: lda, tau: tau[:k], length: n, k: k, byRows: true}, m, work)
	default:
		own.Dgelq2(m, n, a, lda, tau, work)
	}
	work[0] = float64(m * reductionBlock)
}

// Dorglq generates the first m rows of Q, the transpose of a product of k reflectors.
//
// On entry the first k rows of the m x n matrix a hold the reflectors, as Dgelqf leaves them, and tau their
// factors. On return a holds the rows of Q.
func (*solvers) Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	shaped := 0 < m && m <= n && 0 <= k && k <= m
	switch {
	case shaped && isWorkQuery(m, n, lda, work, lwork): // nothing else is computed
	case !shaped || lwork < m || len(work) < lwork || !inside(a, m, n, lda) || len(tau) < k:
		own.Implementation.Dorglq(m, n, k, a, lda, tau, work, lwork) // it panics, or has nothing to do
		return
	case generatesByPanels(k) && !fewSquare(k, n) && n >= vectorsForPanels:
		q := orthogonal{a: a, lda: lda, tau: tau[:k], length: n, k: k, byRows: true}
		q.generate(m)
	default:
		own.Dorgl2(m, n, k, a, lda, tau, work)
	}
	work[0] = float64(m * reductionBlock)
}

// Dormlq overwrites the m x n matrix C by Q C, Q'C, C Q or C Q'. The k reflectors of Q' are in the rows of a
// and in tau, as Dgelqf leaves them; a has m columns, or n if Q is on the right.
func (*solvers) Dormlq(
	s blas.Side, tA blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int,
	work []float64, lwork int,
) {
	q := orthogonal{a: a, lda: lda, tau: tau, k: k, byRows: true}
	vectors := q.applyTo(s, m, n)
	switch q.way(s, tA, m, n, c, ldc, work, lwork) {
	case refused:
		own.Implementation.Dormlq(s, tA, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	case singly:
		own.applyEach(s, other(tA), m, n, &q, c, ldc, work)
	case vectorByVector:
		q.reflectVectors(s, other(tA), m, n, c, ldc)
	case inPanels:
		q.apply(s, other(tA), m, n, c, ldc)
	}
	work[0] = float64(reflectorMemory + vectors*reductionBlock)
}

// other returns Trans for NoTrans and NoTrans for Trans.
func other(t blas.Transpose) blas.Transpose {
	if t == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}
