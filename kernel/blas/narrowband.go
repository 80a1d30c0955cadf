package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// bandEntries are the least numbers of entries beside the main diagonal of a band where rows by vectors take
// less time than gonum's loops: the tiles of a band take as long to begin as gonum for some 100 entries.
type bandEntries struct {
	upper, lower      int // of symmetric bands
	general           byTranspose
	product, solution int
}

// symmetric returns the number of entries for the triangle ul of a symmetric band.
func (e *bandEntries) symmetric(ul blas.Uplo) int {
	if ul == blas.Lower {
		return e.lower
	}
	return e.upper
}

// The numbers were set by bands of 2 to 30 diagonals and 12 to 300 rows.
var (
	entriesOfBands = bandEntries{
		upper: 400, lower: 150, general: byTranspose{450, 280, 280}, product: 450, solution: 800,
	}
	entriesOfComplexBands = bandEntries{
		upper: 200, lower: 200, general: byTranspose{310, 310, 310}, product: 600, solution: 600,
	}
)

// Systems of a narrow band take less time by loops than gonum's from narrowEntries entries beside the main
// diagonal on. With a unit diagonal, or a lower triangle, they do from moreNarrowEntries on, and a lower
// triangle has at most narrowDiagonals diagonals then. Rows by vectors solve the transpose of a triangle with
// a unit diagonal from unitDiagonals on. blas64.Tbsv of 10 to 1000 unknowns and 1 to 40 diagonals.
const narrowEntries, moreNarrowEntries, narrowDiagonals, unitDiagonals = 60, 100, 10, 10

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

// hasEntries reports whether the rows of a band have at least some entries beside the main diagonal, and the
// band at least as many of them as entries.
func hasEntries(m, n, kL, kU, some, entries int) bool {
	beside := min(n, kL+kU)
	return beside >= some && min(m, n+kL)*beside >= entries
}
