// Package blas provides the few dense operations of which the kernel is made,
// behind one small set of functions. The fused tiles compute them by default;
// a build with -tags openblas uses OpenBLAS wherever measurement says that it is
// faster.
//
// Layouts are those of package kernel. Samples x are row-major with row stride
// ldx; bases u and gradients g are column-major with column stride ldu, ldg. Their
// vectors of d entries are padded with zeros to Pad(d), and the padding is read
// and written as if it were data. All other matrices are column-major or, where
// said, row-major, of any size.
//
// Arguments must not overlap unless a comment says that they may. All functions
// panic with a constant message when a shape does not fit. None allocates.
package blas

import "github.com/difalt/difalt/kernel/internal/tile"

// Pad returns the number of entries to which a vector of d entries is padded.
func Pad(d int) int { return tile.Pad(d) }

// Stride returns the recommended stride of vectors of d entries: at least
// Pad(d), and no multiple of 4096 bytes.
func Stride(d int) int { return tile.Stride(d) }

// Float is the storage type of samples. Arithmetic is float64 for both.
type Float = tile.Float

// MulBasis computes A = X U for the n samples x (n x d, row-major) and the basis
// u (d x r); a (n x r) is column-major.
//
// next is an address from which the caller will read soon, such as that of the
// samples it will use after these, or zero; it is a prefetch hint and never
// dereferenced. MulBasis asks for three quarters of as many bytes as x has (all of
// them if r > 6), MulTransposed for one quarter.
func MulBasis(a []float64, lda int, x []float64, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	checkMulBasis(a, lda, len(x), ldx, u, ldu, n, d, r)
	if n == 0 || r == 0 {
		return
	}
	tile.MulBasis(a, lda, x, ldx, u, ldu, n, d, r, next)
}

// MulBasis32 is MulBasis for samples stored as float32.
func MulBasis32(a []float64, lda int, x []float32, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	checkMulBasis(a, lda, len(x), ldx, u, ldu, n, d, r)
	if n == 0 || r == 0 {
		return
	}
	tile.MulBasis32(a, lda, x, ldx, u, ldu, n, d, r, next)
}

func checkMulBasis(a []float64, lda, lenX, ldx int, u []float64, ldu int, n, d, r int) {
	checkSamples(lenX, ldx, n, d)
	checkColumns(len(u), ldu, Pad(d), r)
	checkColumns(len(a), lda, n, r)
}

// Residual computes e = A b - y for a of n x r (column-major) and returns e'e.
// e and y may be the same slice.
func Residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	checkColumns(len(a), lda, n, r)
	if len(b) < r || len(y) < n || len(e) < n {
		panic(shortVector)
	}
	return tile.Residual(e, a, lda, b, y, n, r)
}

// MulTransposed computes v = X' e for the n samples x (n x d, row-major); v gets
// Pad(d) entries. next is as for MulBasis.
func MulTransposed(v, x []float64, ldx int, e []float64, n, d int, next uintptr) {
	checkMulTransposed(v, len(x), ldx, e, n, d)
	tile.MulTransposed(v, x, ldx, e, n, d, next)
}

// MulTransposed32 is MulTransposed for samples stored as float32.
func MulTransposed32(v []float64, x []float32, ldx int, e []float64, n, d int, next uintptr) {
	checkMulTransposed(v, len(x), ldx, e, n, d)
	tile.MulTransposed32(v, x, ldx, e, n, d, next)
}

func checkMulTransposed(v []float64, lenX, ldx int, e []float64, n, d int) {
	checkSamples(lenX, ldx, n, d)
	if len(e) < n || len(v) < Pad(d) {
		panic(shortVector)
	}
}

// RankUpdate computes G += sum_t v_t b_t' over t < m: g (d x r) is column-major,
// v_t = v[t*ldv:] has Pad(d) entries and b_t = b[t*ldb:] has r.
func RankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if m < 0 {
		panic(mLT0)
	}
	if d < 0 {
		panic(dLT0)
	}
	checkColumns(len(g), ldg, Pad(d), r)
	checkColumns(len(v), ldv, Pad(d), m)
	checkColumns(len(b), ldb, r, m)
	tile.RankUpdate(g, ldg, v, ldv, b, ldb, m, d, r)
}

// Factor computes p Householder reflectors of the m x n matrix a (column-major)
// and applies them to the columns to their right. On return column k < p of a
// holds v_k of H_k = I - v_k v_k'/h[k] (zero above row k), columns j >= p hold
// the last m-p rows of H_{p-1} ... H_0 a_j with zeros above them, and
// r[j*ldr+k] = R(k,j) for k < p, k <= j < n. Other entries of r are not touched.
// h[k] is zero, and H_k the identity, when the column is zero from row k on.
//
// Squares of the entries must not overflow nor, in a column that is not zero, all
// underflow. What is left of a column in later steps may be of any size.
func Factor(a []float64, lda, m, n, p int, r []float64, ldr int, h []float64) {
	if m < 0 {
		panic(mLT0)
	}
	if n < 0 {
		panic(nLT0)
	}
	if p < 0 || p > min(m, n) {
		panic(pBad)
	}
	checkColumns(len(a), lda, m, n)
	checkColumns(len(r), ldr, p, n)
	if len(h) < p {
		panic(shortVector)
	}
	tile.Factor(a, lda, m, n, p, r, ldr, h)
}

// FormQ overwrites the n reflectors left in a (m x n) by Factor with p = n by the
// first n columns of Q = H_0 ... H_{n-1}; the m x m matrix Q is never formed.
func FormQ(a []float64, lda, m, n int, h []float64) {
	if m < 0 {
		panic(mLT0)
	}
	if n < 0 {
		panic(nLT0)
	}
	if n > m {
		panic(pBad)
	}
	checkColumns(len(a), lda, m, n)
	if len(h) < n {
		panic(shortVector)
	}
	tile.FormQ(a, lda, m, n, h)
}

// Gram computes the upper triangle of S = A'A for the m x n matrix a (column-major):
// S(i,j) = s[j*lds+i] for i <= j < n. Entries below the diagonal of s are not touched.
func Gram(s []float64, lds int, a []float64, lda, m, n int) {
	checkColumns(len(a), lda, m, n)
	checkColumns(len(s), lds, n, n)
	tile.Gram(s, lds, a, lda, m, n)
}

// SolveUpper overwrites the m x n matrix a (column-major) by A R^-1 for the upper
// triangular R with R(i,j) = r[j*ldr+i] for i < j < n and R(j,j) = 1/inv[j]. What r
// holds on and below the diagonal is not read.
func SolveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	checkColumns(len(a), lda, m, n)
	checkColumns(len(r), ldr, n, n)
	if len(inv) < n {
		panic(shortVector)
	}
	tile.SolveUpper(a, lda, r, ldr, inv, m, n)
}

// Combine computes C = W Z with row-major operands: c is m x cols, w is m x n and
// z is n x cols.
func Combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	checkColumns(len(c), ldc, cols, m)
	checkColumns(len(w), ldw, n, m)
	checkColumns(len(z), ldz, cols, n)
	tile.Combine(c, ldc, w, ldw, z, ldz, m, n, cols)
}

// checkSamples checks n samples of d features in row-major order.
func checkSamples(lenX, ldx, n, d int) {
	if n < 0 {
		panic(nLT0)
	}
	if d < 0 {
		panic(dLT0)
	}
	if ldx < Pad(d) {
		panic(badStride)
	}
	if n > 0 && lenX < (n-1)*ldx+Pad(d) {
		panic(shortMatrix)
	}
}

// checkColumns checks a matrix of n vectors of m contiguous entries.
func checkColumns(length, ld, m, n int) {
	if m < 0 {
		panic(mLT0)
	}
	if n < 0 {
		panic(rLT0)
	}
	if ld < max(1, m) {
		panic(badStride)
	}
	if n > 0 && length < (n-1)*ld+m {
		panic(shortMatrix)
	}
}
