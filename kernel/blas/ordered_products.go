package blas

import "gonum.org/v1/gonum/blas"

// The routines of this file are gonum's, with the bits of amd64: see ordered.

// Zhemm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a Hermitian A.
func (o ordered) Zhemm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	done := multiplySymmetric(
		true, s, ul, m, n, pair64(alpha), pairs64(a), lda, pairs64(b), ldb, pair64(beta), pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zhemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsymm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric A.
func (o ordered) Zsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	done := multiplySymmetric(
		false, s, ul, m, n, pair64(alpha), pairs64(a), lda, pairs64(b), ldb, pair64(beta), pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zherk computes a triangle of the Hermitian C = alpha A A* + beta C, or C = alpha A*A + beta C.
func (o ordered) Zherk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []complex128, lda int, beta float64, c []complex128,
	ldc int,
) {
	done := multiplyTransposed(
		true, false, ul, tA, n, k, pair[float64]{re: alpha}, pairs64(a), lda, nil, 0, pair[float64]{re: beta},
		pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Zsyrk computes a triangle of the symmetric C = alpha A A' + beta C, or C = alpha A'A + beta C.
func (o ordered) Zsyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, beta complex128,
	c []complex128,
	ldc int,
) {
	done := multiplyTransposed(
		false, false, ul, tA, n, k, pair64(alpha), pairs64(a), lda, nil, 0, pair64(beta), pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Zher2k computes a triangle of the Hermitian C = alpha A B* + conj(alpha) B A* + beta C.
func (o ordered) Zher2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta float64, c []complex128, ldc int,
) {
	done := multiplyTransposed(
		true, true, ul, tA, n, k, pair64(alpha), pairs64(a), lda, pairs64(b), ldb, pair[float64]{re: beta},
		pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsyr2k computes a triangle of the symmetric C = alpha A B' + alpha B A' + beta C.
func (o ordered) Zsyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	done := multiplyTransposed(
		false, true, ul, tA, n, k, pair64(alpha), pairs64(a), lda, pairs64(b), ldb, pair64(beta), pairs64(c), ldc,
	)
	if !done {
		o.Implementation.Zsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ztrmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A), for a triangular A.
func (o ordered) Ztrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	p := triangleInPairs(s, ul, tA, d, m, n, pair64(alpha), pairs64(a), lda, pairs64(b), ldb)
	if !p.valid() {
		o.Implementation.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	p.multiply()
}

// Ztrsm computes X of op(A) X = alpha B or, with A on the right, of X op(A) = alpha B, for a triangular A.
func (o ordered) Ztrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	p := triangleInPairs(s, ul, tA, d, m, n, pair64(alpha), pairs64(a), lda, pairs64(b), ldb)
	if !p.valid() {
		o.Implementation.Ztrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	p.solve()
}

// Chemm is Zhemm in complex64.
func (o ordered) Chemm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	done := multiplySymmetric(
		true, s, ul, m, n, pair32(alpha), pairs32(a), lda, pairs32(b), ldb, pair32(beta), pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Chemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csymm is Zsymm in complex64.
func (o ordered) Csymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	done := multiplySymmetric(
		false, s, ul, m, n, pair32(alpha), pairs32(a), lda, pairs32(b), ldb, pair32(beta), pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Csymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Cherk is Zherk in complex64.
func (o ordered) Cherk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []complex64, lda int, beta float32, c []complex64,
	ldc int,
) {
	done := multiplyTransposed(
		true, false, ul, tA, n, k, pair[float32]{re: alpha}, pairs32(a), lda, nil, 0, pair[float32]{re: beta},
		pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Cherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Csyrk is Zsyrk in complex64.
func (o ordered) Csyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, beta complex64, c []complex64,
	ldc int,
) {
	done := multiplyTransposed(
		false, false, ul, tA, n, k, pair32(alpha), pairs32(a), lda, nil, 0, pair32(beta), pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Csyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Cher2k is Zher2k in complex64.
func (o ordered) Cher2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta float32, c []complex64, ldc int,
) {
	done := multiplyTransposed(
		true, true, ul, tA, n, k, pair32(alpha), pairs32(a), lda, pairs32(b), ldb, pair[float32]{re: beta},
		pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Cher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csyr2k is Zsyr2k in complex64.
func (o ordered) Csyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	done := multiplyTransposed(
		false, true, ul, tA, n, k, pair32(alpha), pairs32(a), lda, pairs32(b), ldb, pair32(beta), pairs32(c), ldc,
	)
	if !done {
		o.Implementation.Csyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ctrmm is Ztrmm in complex64.
func (o ordered) Ctrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	p := triangleInPairs(s, ul, tA, d, m, n, pair32(alpha), pairs32(a), lda, pairs32(b), ldb)
	if !p.valid() {
		o.Implementation.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	p.multiply()
}

// Ctrsm is Ztrsm in complex64.
func (o ordered) Ctrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	p := triangleInPairs(s, ul, tA, d, m, n, pair32(alpha), pairs32(a), lda, pairs32(b), ldb)
	if !p.valid() {
		o.Implementation.Ctrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	p.solve()
}
