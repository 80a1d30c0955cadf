// Package qr computes the thin QR factorisation of tall matrices over the
// caller's memory, with the sign convention that the diffusion iteration needs:
// the diagonal of R is positive, so that equal matrices have equal factors and
// nodes that agree before the projection agree after it (Alg. 3, line 14).
package qr

import "github.com/difalt/difalt/kernel/blas"

const (
	badShape = "qr: need m >= n >= 0"
	badWork  = "qr: work too short"
)

// WorkLen returns the length of the workspace that Factor needs for n columns.
func WorkLen(n int) int { return n }

// Factor overwrites the m x n matrix a (column-major, column stride lda, m >= n)
// by the orthonormal factor Q of a = Q R and stores the upper triangle of R,
// R(i,j) = r[j*ldr+i] for i <= j < n. The diagonal of R is not negative; entries
// below the diagonal of r are not touched. work needs WorkLen(n) entries.
//
// Q has orthonormal columns to rounding also when the columns of a are dependent;
// a zero or dependent column shows as a zero or tiny diagonal entry of R. Squares of
// the entries must not overflow, and what a column has beyond the ones before it
// must be zero or have a square that does not underflow: 1e-140 to 1e150 is safe.
// With NaN or Inf in a the result holds NaN.
//
// Factor does not allocate and never forms the m x m matrix. a, r and work must
// not overlap. It panics when a shape does not fit.
func Factor(a []float64, lda, m, n int, r []float64, ldr int, work []float64) {
	if n < 0 || m < n {
		panic(badShape)
	}
	if len(work) < WorkLen(n) {
		panic(badWork)
	}
	blas.Factor(a, lda, m, n, n, r, ldr, work)
	blas.FormQ(a, lda, m, n, work)
	for k := range n {
		if r[k*ldr+k] >= 0 {
			continue
		}
		for i := range m {
			a[k*lda+i] = -a[k*lda+i]
		}
		for j := k; j < n; j++ {
			r[j*ldr+k] = -r[j*ldr+k]
		}
	}
}
