package blas

import "gonum.org/v1/gonum/blas"

// Dgelqf computes the factors L and Q of an m x n matrix A = L Q.
//
// On return a holds L on and below the diagonal and, behind it, the min(m, n) reflectors whose product is Q';
// tau holds their factors, work[0] the best length of work.
func (l Lapack) Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	k := min(m, n)
	sound := 0 < k && lwork >= m && len(work) >= lwork && inside(a, m, n, lda) && len(tau) >= k
	switch {
	case !sound: // gonum panics, or returns the best length
		l.Implementation.Dgelqf(m, n, a, lda, tau, work, lwork)
		return
	case factorsByPanels(k, n, fewReflectors):
		l.factorise(orthogonal{a: a, lda: lda, tau: tau[:k], length: n, k: k, byRows: true}, m, work)
	default:
		l.Dgelq2(m, n, a, lda, tau, work)
	}
	l.Implementation.Dgelqf(m, n, a, lda, tau, work, -1) // sets work[0]
}

// Dorglq generates the first m rows of Q, the transpose of a product of k reflectors.
//
// On entry the first k rows of the m x n matrix a hold the reflectors, as Dgelqf leaves them, and tau their
// factors. On return a holds the rows of Q.
func (l Lapack) Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	sound := 0 < m && m <= n && 0 <= k && k <= m && lwork >= m && len(work) >= lwork && inside(a, m, n, lda) &&
		len(tau) >= k
	switch {
	case !sound: // gonum panics, or returns the best length
		l.Implementation.Dorglq(m, n, k, a, lda, tau, work, lwork)
		return
	case generatesByPanels(k):
		q := orthogonal{a: a, lda: lda, tau: tau[:k], length: n, k: k, byRows: true}
		q.generate(m)
	default:
		l.Dorgl2(m, n, k, a, lda, tau, work)
	}
	l.Implementation.Dorglq(m, n, k, a, lda, tau, work, -1) // sets work[0]
}

// Dormlq overwrites the m x n matrix C by Q C, Q'C, C Q or C Q'. The k reflectors of Q' are in the rows of a
// and in tau, as Dgelqf leaves them; a has m columns, or n if Q is on the right.
func (l Lapack) Dormlq(
	s blas.Side, tA blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int,
	work []float64, lwork int,
) {
	length, vectors := m, n
	if s == blas.Right {
		length, vectors = n, m
	}
	if !applies(s, tA, m, n, k) || !inside(a, k, length, lda) || !inside(c, m, n, ldc) ||
		len(tau) < k || lwork < vectors || len(work) < lwork {
		if min(m, n, k) > 0 && k <= panelColumns && lwork >= vectors && len(work) >= lwork {
			l.Dorml2(s, tA, m, n, k, a, lda, tau, c, ldc, work)
			lwork = -1 // sets work[0]
		}
		l.Implementation.Dormlq(s, tA, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	q := orthogonal{a: a, lda: lda, tau: tau, length: length, k: k, byRows: true}
	q.apply(s, other(tA), m, n, c, ldc)
	work[0] = float64(reflectorMemory + vectors*reductionBlock)
}

// other returns Trans for NoTrans and NoTrans for Trans.
func other(t blas.Transpose) blas.Transpose {
	if t == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}
