package blas

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
)

// Forms of LAPACK's routines for few reflectors, and for small matrices, as gonum computes them, over
// Implementation whatever is registered with gonum. gonum's own have other bits on arm64, as they call
// math.Hypot. Arguments that are wrong are gonum's to refuse.

// Dlarfg computes the reflection I - tau v v' that leaves only the first entry of (alpha, x), beta. It
// overwrites x by v behind its first entry, which is 1.
func (*solvers) Dlarfg(n int, alpha float64, x []float64, incX int) (beta, tau float64) {
	const smallest = 0x1p-969 // whose inverse times the rounding error is a number
	if n <= 1 || incX <= 0 || !holds(x, n-1, incX) {
		return own.Implementation.Dlarfg(n, alpha, x, incX)
	}
	var i Implementation
	norm := i.Dnrm2(n-1, x, incX)
	if norm == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(rounded.Hypot(alpha, norm), alpha)
	times := 0
	for ; math.Abs(beta) < smallest; times++ {
		i.Dscal(n-1, 1/smallest, x, incX)
		beta /= smallest
		alpha /= smallest
	}
	if times > 0 {
		beta = -math.Copysign(rounded.Hypot(alpha, i.Dnrm2(n-1, x, incX)), alpha)
	}
	tau = (beta - alpha) / beta
	i.Dscal(n-1, 1/(alpha-beta), x, incX)
	for range times {
		beta *= smallest
	}
	return beta, tau
}

// Dlarf overwrites the m x n matrix C by H C or C H for the reflection H = I - tau v v'.
func (*solvers) Dlarf(
	s blas.Side, m, n int, v []float64, incV int, tau float64, c []float64, ldc int, work []float64,
) {
	length, others := m, n
	if s == blas.Right {
		length, others = n, m
	}
	if !isSide(s) || m <= 0 || n <= 0 || !holds(v, length, incV) || !inside(c, m, n, ldc) || len(work) < others {
		own.Implementation.Dlarf(s, m, n, v, incV, tau, c, ldc, work)
		return
	}
	if tau == 0 {
		return
	}
	at := max(0, incV) * (length - 1)
	for length > 0 && v[at] == 0 { // zeros at the end of v
		length--
		at -= incV
	}
	switch {
	case length == 0:
	case s == blas.Left:
		if n = own.Iladlc(length, n, c, ldc) + 1; n > 0 {
			nestedGemv(length, n, c, ldc, v, incV, work)
			nestedGer(length, n, -tau, v, incV, work, 1, c, ldc)
		}
	default:
		if m = own.Iladlr(m, length, c, ldc) + 1; m > 0 {
			var i Implementation
			i.Dgemv(blas.NoTrans, m, length, 1, c, ldc, v, incV, 0, work, 1)
			i.Dger(m, length, -tau, work, 1, v, incV, c, ldc)
		}
	}
}

// nestedGemv computes y = A'x as Dgemv does, and nestedGer computes Dger, where the other one follows or came
// before. Several threads take columns in one and rows in the other.
func nestedGemv(m, n int, a []float64, lda int, x []float64, incX int, y []float64) {
	const tA = blas.Trans
	if m*n < dotLength || gonumMultiplies(tA, m, n, 1) || !gemv(false, tA, m, n, 1, a, lda, x, incX, 0, y, 1) {
		Implementation{}.Dgemv(tA, m, n, 1, a, lda, x, incX, 0, y, 1)
	}
}

func nestedGer(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if gonumAdds[float64](m, n) || !ger(false, m, n, alpha, x, incX, y, incY, a, lda) {
		Implementation{}.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// reflect is Dlarf for the vector v whose first entry is 1, in place of the number in memory.
func (*solvers) reflect(
	s blas.Side, m, n int, v []float64, incV int, tau float64, c []float64, ldc int, work []float64,
) {
	entry := v[0]
	v[0] = 1
	own.Dlarf(s, m, n, v, incV, tau, c, ldc, work)
	v[0] = entry
}

// Dgeqr2 is Dgeqrf, one reflector after the other.
func (*solvers) Dgeqr2(m, n int, a []float64, lda int, tau, work []float64) {
	k := min(m, n)
	if k <= 0 || !inside(a, m, n, lda) || len(tau) != k || len(work) < n {
		own.Implementation.Dgeqr2(m, n, a, lda, tau, work)
		return
	}
	for i := range k {
		v := a[i*(lda+1):]
		v[0], tau[i] = own.Dlarfg(m-i, v[0], a[min(i+1, m-1)*lda+i:], lda)
		if i < n-1 {
			own.reflect(blas.Left, m-i, n-i-1, v, lda, tau[i], v[1:], lda, work)
		}
	}
}

// Dgelq2 is Dgelqf, one reflector after the other.
func (*solvers) Dgelq2(m, n int, a []float64, lda int, tau, work []float64) {
	k := min(m, n)
	if k <= 0 || !inside(a, m, n, lda) || len(tau) < k || len(work) < m {
		own.Implementation.Dgelq2(m, n, a, lda, tau, work)
		return
	}
	for i := range k {
		v := a[i*(lda+1):]
		v[0], tau[i] = own.Dlarfg(n-i, v[0], a[i*lda+min(i+1, n-1):], 1)
		if i < m-1 {
			own.reflect(blas.Right, m-i-1, n-i, v, 1, tau[i], v[lda:], lda, work)
		}
	}
}

// Dorg2r is Dorgqr, one reflector after the other.
func (*solvers) Dorg2r(m, n, k int, a []float64, lda int, tau, work []float64) {
	if n <= 0 || n > m || k < 0 || k > n || !inside(a, m, n, lda) || len(tau) != k || len(work) < n {
		own.Implementation.Dorg2r(m, n, k, a, lda, tau, work)
		return
	}
	for i := range m {
		clear(a[i*lda+k : i*lda+n])
		if i >= k && i < n {
			a[i*(lda+1)] = 1
		}
	}
	for i := k - 1; i >= 0; i-- {
		v := a[i*(lda+1):]
		if i < n-1 {
			v[0] = 1
			own.Dlarf(blas.Left, m-i, n-i-1, v, lda, tau[i], v[1:], lda, work)
		}
		if i < m-1 {
			Implementation{}.Dscal(m-i-1, -tau[i], v[lda:], lda)
		}
		v[0] = 1 - tau[i]
		for j := range i {
			a[j*lda+i] = 0
		}
	}
}

// Dorgl2 is Dorglq, one reflector after the other.
func (*solvers) Dorgl2(m, n, k int, a []float64, lda int, tau, work []float64) {
	if m <= 0 || m > n || k < 0 || k > m || !inside(a, m, n, lda) || len(tau) < k || len(work) < m {
		own.Implementation.Dorgl2(m, n, k, a, lda, tau, work)
		return
	}
	for i := k; i < m; i++ {
		clear(a[i*lda:][:n])
		a[i*(lda+1)] = 1
	}
	for i := k - 1; i >= 0; i-- {
		v := a[i*(lda+1):]
		if i < n-1 {
			if i < m-1 {
				v[0] = 1
				own.Dlarf(blas.Right, m-i-1, n-i, v, 1, tau[i], v[lda:], lda, work)
			}
			Implementation{}.Dscal(n-i-1, -tau[i], v[1:], 1)
		}
		v[0] = 1 - tau[i]
		clear(a[i*lda:][:i])
	}
}

// Dorm2r is Dormqr, one reflector after the other.
func (*solvers) Dorm2r(
	s blas.Side, t blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64,
) {
	q := orthogonal{a: a, lda: lda, tau: tau, k: k}
	vectors := q.applyTo(s, m, n)
	if q.way(s, t, m, n, c, ldc, work, vectors) == refused {
		own.Implementation.Dorm2r(s, t, m, n, k, a, lda, tau, c, ldc, work)
		return
	}
	own.applyEach(s, t, m, n, &q, c, ldc, work)
}

// Dorml2 is Dormlq, one reflector after the other.
func (*solvers) Dorml2(
	s blas.Side, t blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64,
) {
	q := orthogonal{a: a, lda: lda, tau: tau, k: k, byRows: true}
	vectors := q.applyTo(s, m, n)
	if q.way(s, t, m, n, c, ldc, work, vectors) == refused {
		own.Implementation.Dorml2(s, t, m, n, k, a, lda, tau, c, ldc, work)
		return
	}
	own.applyEach(s, other(t), m, n, &q, c, ldc, work)
}

// applyEach is q.apply, one reflector after the other.
func (*solvers) applyEach(
	s blas.Side, t blas.Transpose, m, n int, q *orthogonal, c []float64, ldc int, work []float64,
) {
	inc, firstToLast := q.lda, (s == blas.Left) == (t == blas.Trans)
	if q.byRows {
		inc = 1
	}
	for step := range q.k {
		i := step
		if !firstToLast {
			i = q.k - 1 - step
		}
		v := q.a[i*(q.lda+1):]
		if s == blas.Left {
			own.reflect(s, m-i, n, v, inc, q.tau[i], c[i*ldc:], ldc, work)
		} else {
			own.reflect(s, m, n-i, v, inc, q.tau[i], c[i:], ldc, work)
		}
	}
}

// Dgebd2 is Dgebrd, one reflector after the other.
func (*solvers) Dgebd2(m, n int, a []float64, lda int, d, e, tauQ, tauP, work []float64) {
	k := min(m, n)
	if k <= 0 || !inside(a, m, n, lda) || len(work) < max(m, n) ||
		min(len(d), len(e)+1, len(tauQ), len(tauP)) < k {
		own.Implementation.Dgebd2(m, n, a, lda, d, e, tauQ, tauP, work)
		return
	}
	for i := range k {
		v := a[i*(lda+1):]
		switch {
		case m >= n:
			v[0], tauQ[i] = own.Dlarfg(m-i, v[0], a[min(i+1, m-1)*lda+i:], lda)
			d[i], tauP[i] = v[0], 0
			if i == n-1 {
				continue
			}
			own.reflect(blas.Left, m-i, n-i-1, v, lda, tauQ[i], v[1:], lda, work)
			v[1], tauP[i] = own.Dlarfg(n-i-1, v[1], a[i*lda+min(i+2, n-1):], 1)
			e[i] = v[1]
			if i < m-1 {
				own.reflect(blas.Right, m-i-1, n-i-1, v[1:], 1, tauP[i], v[lda+1:], lda, work)
			}
		default:
			v[0], tauP[i] = own.Dlarfg(n-i, v[0], a[i*lda+min(i+1, n-1):], 1)
			d[i], tauQ[i] = v[0], 0
			if i == m-1 {
				continue
			}
			own.reflect(blas.Right, m-i-1, n-i, v, 1, tauP[i], v[lda:], lda, work)
			w := v[lda:]
			w[0], tauQ[i] = own.Dlarfg(m-i-1, w[0], a[min(i+2, m-1)*lda+i:], lda)
			e[i] = w[0]
			own.reflect(blas.Left, m-i-1, n-i-1, w, lda, tauQ[i], w[1:], lda, work)
		}
	}
}

// Dpotf2 is Dpotrf, one column after the other.
func (*solvers) Dpotf2(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if !isTriangle(ul) || n <= 0 || !inside(a, n, n, lda) {
		return own.Implementation.Dpotf2(ul, n, a, lda)
	}
	var i Implementation
	for j := range n {
		column, inc := a[j:], lda // of U, or row j of L
		if ul == blas.Lower {
			column, inc = a[j*lda:], 1
		}
		v := a[j*(lda+1):]
		square := v[0]
		if j > 0 {
			square -= i.Ddot(j, column, inc, column, inc)
		}
		if !(square > 0) {
			v[0] = square
			return false
		}
		v[0] = math.Sqrt(square)
		rest := n - j - 1
		switch {
		case rest == 0:
		case ul == blas.Upper:
			if j > 0 {
				i.Dgemv(blas.Trans, j, rest, -1, a[j+1:], lda, column, lda, 1, v[1:], 1)
			}
			i.Dscal(rest, 1/v[0], v[1:], 1)
		default:
			if j > 0 {
				i.Dgemv(blas.NoTrans, rest, j, -1, a[(j+1)*lda:], lda, column, 1, 1, v[lda:], lda)
			}
			i.Dscal(rest, 1/v[0], v[lda:], lda)
		}
	}
	return true
}
