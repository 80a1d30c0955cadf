package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// A triangle is a factor op(T) of a matrix, for the estimate of its condition number.
type triangle struct {
	ul     blas.Uplo
	t      blas.Transpose
	diag   blas.Diag
	n      int
	a      []float64
	lda    int
	norms  []float64 // of columns, for Dlatrs
	normed bool      // norms are there
}

// solve overwrites x with the solution of op(T) x = scale b, or of its transpose, b being in x, and returns
// the scale, as Dlatrs does: by Dtrsv, with a scale of 1, and by Dlatrs only where that overflows.
func (t *triangle) solve(l Lapack, transposed bool, x []float64) (scale float64) {
	const most = 0x1p960 // Dlatrs scales from 0x1p969 on
	tA := blas.NoTrans
	if transposed == (t.t == blas.NoTrans) {
		tA = blas.Trans
	}
	before := borrow[float64](t.n)
	defer giveBack(before)
	copy(*before, x[:t.n])
	Implementation{}.Dtrsv(t.ul, tA, t.diag, t.n, t.a, t.lda, x, 1)
	if tile.MaxAbs(x[:t.n]) <= most {
		return 1
	}
	copy(x, (*before)[:t.n])
	scale = l.Dlatrs(t.ul, tA, t.diag, t.normed, t.n, t.a, t.lda, x, t.norms)
	t.normed = true
	return scale
}

// reciprocal returns 1 / (anorm |A^-1|) for a norm and the product A of some factors, by Higham's estimate
// (Dlacn2), and 0 if A^-1 overflows. work gets 2n entries.
func (l Lapack) reciprocal(norm lapack.MatrixNorm, n int, anorm float64, work []float64, iwork []int, least float64, factors ...triangle) float64 {
	var state [3]int
	size := 0.0
	for kase := 0; ; {
		size, kase = l.Dlacn2(n, work[n:], work, iwork, size, kase, &state)
		if kase == 0 && size != 0 {
			return 1 / size / anorm
		}
		if kase == 0 {
			return 0
		}
		scale, transposed := 1.0, (kase == 2) == (norm == lapack.MaxColumnSum)
		for k := range factors {
			if transposed {
				k = len(factors) - 1 - k
			}
			scale *= factors[k].solve(l, transposed, work)
		}
		if scale != 1 {
			if scale == 0 || scale < tile.MaxAbs(work[:n])*least {
				return 0
			}
			l.Drscl(n, scale, work, 1)
		}
	}
}

// safeMin is the least number whose inverse is a number.
const safeMin = 0x1p-1022

// plain reports whether the arguments of a condition estimate are ones that gonum answers by itself: with a
// panic, or without a computation.
func plain(n int, a []float64, lda int, anorm float64, work []float64, iwork []int) bool {
	return n <= 0 || !inside(a, n, n, lda) || len(work) < 3*n || len(iwork) < n || !(anorm > 0 && anorm <= math.MaxFloat64)
}

// Dgecon estimates the reciprocal of the condition number of a matrix with the factors L and U in a.
func (l Lapack) Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if plain(n, a, lda, anorm, work, iwork) || norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum || len(work) < 4*n {
		return l.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork)
	}
	return l.reciprocal(norm, n, anorm, work, iwork, safeMin,
		triangle{ul: blas.Lower, t: blas.NoTrans, diag: blas.Unit, n: n, a: a, lda: lda, norms: work[2*n:]},
		triangle{ul: blas.Upper, t: blas.NoTrans, diag: blas.NonUnit, n: n, a: a, lda: lda, norms: work[3*n:]})
}

// Dpocon estimates the reciprocal of the condition number of a matrix with its Cholesky factor in a.
func (l Lapack) Dpocon(ul blas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if plain(n, a, lda, anorm, work, iwork) || ul != blas.Upper && ul != blas.Lower {
		return l.Implementation.Dpocon(ul, n, a, lda, anorm, work, iwork)
	}
	first := triangle{ul: ul, t: blas.NoTrans, diag: blas.NonUnit, n: n, a: a, lda: lda, norms: work[2*n:]}
	second := first
	if second.t = blas.Trans; ul == blas.Upper {
		first, second = second, first
	}
	return l.reciprocal(lapack.MaxColumnSum, n, anorm, work, iwork, safeMin, first, second)
}

// Dtrcon estimates the reciprocal of the condition number of a triangular matrix.
func (l Lapack) Dtrcon(norm lapack.MatrixNorm, ul blas.Uplo, diag blas.Diag, n int, a []float64, lda int, work []float64, iwork []int) float64 {
	if plain(n, a, lda, 1, work, iwork) || norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum ||
		ul != blas.Upper && ul != blas.Lower || diag != blas.Unit && diag != blas.NonUnit {
		return l.Implementation.Dtrcon(norm, ul, diag, n, a, lda, work, iwork)
	}
	anorm := l.Dlantr(norm, ul, diag, n, n, a, lda, work)
	if anorm <= 0 {
		return 0
	}
	return l.reciprocal(norm, n, anorm, work, iwork, safeMin*float64(n),
		triangle{ul: ul, t: blas.NoTrans, diag: diag, n: n, a: a, lda: lda, norms: work[2*n:]})
}

// fewForNorms is the number of columns below which gonum sums as fast.
const fewForNorms = 16

// Dlansy returns a norm of a symmetric matrix: the largest entry and the Frobenius norm as gonum does.
func (l Lapack) Dlansy(norm lapack.MatrixNorm, ul blas.Uplo, n int, a []float64, lda int, work []float64) float64 {
	if !vectorized() || norm != lapack.MaxRowSum && norm != lapack.MaxColumnSum || ul != blas.Upper && ul != blas.Lower ||
		n < fewForNorms || !inside(a, n, n, lda) || len(work) < n {
		return l.Implementation.Dlansy(norm, ul, n, a, lda, work)
	}
	sums := work[:n]
	clear(sums)
	for i := range n {
		diagonal, row, beside := a[i*(lda+1)], a[i*lda:][:i], sums[:i]
		if ul == blas.Upper {
			row, beside = a[i*lda:][i+1:n], sums[i+1:]
		}
		sums[i] += math.Abs(diagonal) + tile.AddAbs(beside, row, len(row))
	}
	return tile.MaxAbs(sums)
}
