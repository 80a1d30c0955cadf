package blas

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dgels solves least squares problems min |B - op(A) X| of full rank or, with fewer equations than unknowns,
// finds the solution of the least norm.
//
// On entry the m x n matrix a holds A, and b the right sides, in max(m, n) rows of nrhs columns. On return
// a holds the factors of A, and b the solutions X. Dgels returns false, and no solution, if A does not
// have full rank.
func (*solvers) Dgels(
	tA blas.Transpose, m, n, nrhs int, a []float64, lda int, b []float64, ldb int, work []float64,
	lwork int,
) bool {
	k, long := min(m, n), max(m, n)
	if !known(tA) || nrhs <= 0 || k <= 0 || lwork < k+max(k, nrhs) || len(work) < lwork ||
		!inside(a, m, n, lda) || !inside(b, long, nrhs, ldb) {
		return own.Implementation.Dgels(tA, m, n, nrhs, a, lda, b, ldb, work, lwork)
	}
	equations := m
	if tA != blas.NoTrans {
		equations = n
	}
	sizeA := own.Dlange(lapack.MaxAbs, m, n, a, lda, nil)
	sizeB := own.Dlange(lapack.MaxAbs, equations, nrhs, b, ldb, nil)
	if sizeA == 0 {
		own.Dlaset(blas.All, long, nrhs, 0, 0, b, ldb)
		return true
	}
	scaleA, scaleB := scalesOf(sizeA), scalesOf(sizeB)
	rescale(-scaleA, m, n, a, lda)
	rescale(-scaleB, equations, nrhs, b, ldb)
	tau, rest := work[:k], work[k:lwork]
	ul, reflected := blas.Upper, func(t blas.Transpose) {
		own.Dormqr(blas.Left, t, m, nrhs, n, a, lda, tau, b, ldb, rest, len(rest))
	}
	if m >= n {
		own.Dgeqrf(m, n, a, lda, tau, rest, len(rest))
	} else {
		own.Dgelqf(m, n, a, lda, tau, rest, len(rest))
		ul, reflected = blas.Lower, func(t blas.Transpose) {
			own.Dormlq(blas.Left, t, n, nrhs, m, a, lda, tau, b, ldb, rest, len(rest))
		}
	}
	t := blas.NoTrans
	if tA != blas.NoTrans {
		t = blas.Trans
	}
	leftQ := (m >= n) == (t == blas.NoTrans) // op(A) is Q R or Q L', not R' Q' or L Q
	if leftQ {
		reflected(other(t))
	}
	if !own.Dtrtrs(ul, t, blas.NonUnit, k, nrhs, a, lda, b, ldb) {
		return false
	}
	unknowns := k
	if !leftQ {
		unknowns = long
		if long > k {
			own.Dlaset(blas.All, long-k, nrhs, 0, 0, b[k*ldb:], ldb)
		}
		reflected(other(t))
	}
	rescale(scaleB-scaleA, unknowns, nrhs, b, ldb)
	own.Implementation.Dgels(tA, m, n, nrhs, a, lda, b, ldb, work, -1) // sets work[0]
	return true
}

// scalesOf returns the exponent e such that division by 2^e makes a matrix moderate, where size is its
// largest entry. It is 0 if the matrix is moderate already, or not finite.
func scalesOf(size float64) int {
	if size == 0 || moderate(size) || !(size <= math.MaxFloat64) {
		return 0
	}
	_, e := math.Frexp(size)
	return e
}

// rescale multiplies a matrix by 2^e.
func rescale(e, m, n int, a []float64, lda int) {
	if e == 0 {
		return
	}
	for i := range m {
		for j, v := range a[i*lda:][:n] {
			a[i*lda+j] = math.Ldexp(v, e)
		}
	}
}
