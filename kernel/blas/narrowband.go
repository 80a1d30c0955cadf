package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A narrowBand is a system op(A) x = b for a triangle A with few diagonals beside the main one, in the order
// of its solution: unknown i is at first + i apart of x, and needs the most before it. Entry (i, j) is at
// corner + i down + j across of a.
type narrowBand[F tile.Float] struct {
	a, x          []F
	n, most       int
	corner, first int
	down, across  int
	apart         int
	unit          bool
}

// solveBand overwrites x by the solution for a triangle ul with k diagonals beside the main one, and returns
// true; or it returns false where gonum takes no more time, or arguments are wrong.
func solveBand[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []F, lda int, x []F, incX int,
) bool {
	from := fromDiagonals.solution.of(tA)
	if tA != blas.NoTrans && d == blas.Unit {
		from = unitDiagonals
	}
	if k >= from && n*k >= entriesOfBands.solution {
		if s := bandedTriangle(ul, n, k, a, lda); s.triangular(false, tA, d, x, incX) {
			return true
		}
	}
	return solveNarrow(ul, tA, d, n, k, a, lda, x, incX)
}

// solveNarrow is solveBand for few diagonals, by loops.
func solveNarrow[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []F, lda int, x []F, incX int,
) bool {
	lower := (ul == blas.Lower) == (tA == blas.NoTrans)
	if lower && (d == blas.Unit || k > narrowDiagonals) || !vectorized() {
		return false
	}
	if (lower || d == blas.Unit) && n*k < moreNarrowEntries {
		return false
	}
	if s := bandedTriangle(ul, n, k, a, lda); !s.sound || !known(tA) || !isDiagonal(d) || !holds(x, n, incX) {
		return false
	}
	b := narrowBand[F]{a: a, x: x, n: n, most: k, unit: d == blas.Unit}
	b.down, b.across, b.first, b.apart = lda-1, 1, firstEntry(n, incX), incX
	if ul == blas.Lower {
		b.corner = k
	}
	if tA != blas.NoTrans {
		b.down, b.across = b.across, b.down
	}
	if !lower { // the last unknown is known first
		b.corner, b.first = b.corner+(n-1)*lda, b.first+(n-1)*incX
		b.down, b.across, b.apart = -b.down, -b.across, -b.apart
	}
	b.solve()
	return true
}

// solve overwrites x by the solution. Only the last two products of an unknown wait for those before it.
func (b *narrowBand[F]) solve() {
	a, x, down, across, apart := b.a, b.x, b.down, b.across, b.apart
	at, diagonal := b.first, b.corner
	for i := range b.n {
		left := min(i, b.most)
		v, entry, from := x[at], diagonal-left*across, at-left*apart
		if left > 2 {
			var even, odd F
			for ; left > 2; left -= 2 {
				even += F(a[entry] * x[from])
				odd += F(a[entry+across] * x[from+apart])
				entry += 2 * across
				from += 2 * apart
			}
			v -= even + odd
		}
		for range left {
			v -= F(a[entry] * x[from])
			entry += across
			from += apart
		}
		if !b.unit {
			if pivot := a[diagonal]; exactInverse(pivot) { // an inverse waits for no unknown
				v *= 1 / pivot
			} else {
				v /= pivot
			}
		}
		x[at] = v
		at += apart
		diagonal += down + across
	}
}
