package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dsymv computes y = alpha A x + beta y for a symmetric n x n matrix A. It reads every entry once from
// memory.
//
// On entry a holds the triangle ul of A, x and y hold the vectors. On return y is overwritten.
func (*routines) Dsymv(
	ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64,
	y []float64, incY int,
) {
	if n < symvFrom(ul) || !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		fallback{}.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is Dsymv in float32.
func (*routines) Ssymv(
	ul blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32,
	y []float32, incY int,
) {
	if n < symvFrom(ul) || !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		fallback{}.Ssymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// symvFrom returns the least order of a symmetric matrix that tiles multiply by a vector in less time than
// gonum.
func symvFrom(ul blas.Uplo) int {
	if ul == blas.Lower {
		return symvLower
	}
	return symvUpper
}

// symv computes Dsymv or Ssymv and returns true, or returns false where gonum computes it.
func symv[F tile.Float](
	ul blas.Uplo, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int,
) bool {
	if symvWay(ul, n, alpha, a, lda, x, incX, y, incY) == byGonum {
		return false
	}
	var v symmetricVector[F] // a literal would be copied before its stores end
	v.ul, v.n, v.a, v.lda = ul, n, a, lda
	parts := v.parts()
	memory := borrow[F]((2 + parts) * tile.Pad(n))
	defer giveBack(memory)
	v.x = (*memory)[:n]
	old := (*memory)[n : 2*n]
	sums := (*memory)[2*tile.Pad(n):]
	if alpha == 1 {
		v.x = gather(v.x, x, n, incX)
	} else {
		for k, e := range gather(old, x, n, incX) {
			v.x[k] = alpha * e
		}
	}
	if parts == 1 {
		clear(sums[:n])
		v.add(sums, 0, n)
	} else {
		v.share(teamOver[F](n*n/2, false), sums, parts)
	}
	if beta != 0 {
		for k, e := range gather(old, y, n, incY) {
			sums[k] += F(beta * e)
		}
	}
	scatter(y, sums[:n], incY)
	return true
}

// symvWay returns how a symmetric matrix is multiplied by a vector.
func symvWay[F tile.Float](ul blas.Uplo, n int, alpha F, a []F, lda int, x []F, incX int, y []F, incY int) way {
	switch {
	case !isTriangle(ul) || n <= 0 || alpha == 0 || !inside(a, n, n, lda):
		return byGonum
	case !holds(x, n, incX) || !holds(y, n, incY):
		return byGonum
	case !vectorized():
		return byGonum
	}
	return byVector
}

// share adds the products to sums on several threads, which take parts of the rows in turn.
func (v *symmetricVector[F]) share(t team, sums []F, parts int) {
	of := *v // a copy, so that products on one thread need no memory of the heap
	t.run(parts, func(i int) {
		own := sums[i*tile.Pad(of.n):][:of.n]
		clear(own) // by the thread that adds to them
		of.add(own, of.cut(i, parts), of.cut(i+1, parts))
	})
	for i := 1; i < parts; i++ {
		tile.AddScaled(sums[:of.n], sums[i*tile.Pad(of.n):][:of.n], 1)
	}
}

// A symmetricVector is a product of a symmetric matrix, with one triangle in a, and a vector.
type symmetricVector[F tile.Float] struct {
	ul  blas.Uplo
	n   int
	a   []F
	lda int
	x   []F // alpha times the vector
}

// parts returns the number of parts of the product, each with a vector of sums: four for a matrix that
// exceeds the second-level cache of a core.
func (v *symmetricVector[F]) parts() int {
	switch entries := v.n * v.n / 2; {
	case entries < sharedSums:
		return 1
	case entries < sharedByVectors/4:
		return 2
	}
	return 4
}

// cut returns the first row of part i of several parts, which have nearly as many entries as each other.
func (v *symmetricVector[F]) cut(i, parts int) int {
	if i == 0 {
		return 0
	}
	if i == parts {
		return v.n
	}
	row, entries := 0, 0
	for all := v.n * v.n / 2 / parts * i; row < v.n && entries < all; row += tile.Width {
		if v.ul == blas.Lower {
			entries += tile.Width * row
		} else {
			entries += tile.Width * (v.n - row)
		}
	}
	return min(row, v.n)
}

// add adds the products of the stored entries in rows lo to hi, which cut returns, to sums.
func (v *symmetricVector[F]) add(sums []F, lo, hi int) {
	row := lo
	for ; row+tile.Width <= hi; row += tile.Width {
		tile.SymmetricRows(sums, v.a, v.lda, v.x, v.ul == blas.Upper, row, v.n)
	}
	if row < hi {
		v.addRows(sums, row, hi-row)
	}
}

// addRows is tile.SymmetricRows for the last rows, fewer than tile.Width.
func (v *symmetricVector[F]) addRows(sums []F, row, rows int) {
	v.addCorner(sums[row:], row, rows)
	first, last := 0, row // the columns beside the square on the diagonal
	if v.ul == blas.Upper {
		first, last = row+rows, v.n
	}
	if first == last {
		return
	}
	var products [tile.Width]F
	beside := v.a[row*v.lda+first:]
	tile.RowDots(products[:], beside, v.lda, v.x[first:], rows, last-first)
	tile.AddRows(sums[first:], beside, v.lda, v.x[row:], rows, last-first)
	for k, p := range products[:rows] {
		sums[row+k] += p
	}
}

// addCorner adds the products of a square on the diagonal.
func (v *symmetricVector[F]) addCorner(sums []F, row, rows int) {
	x, a := v.x[row:][:rows], v.a[row*(v.lda+1):]
	for i := range rows {
		from, end := 0, i
		if v.ul == blas.Upper {
			from, end = i+1, rows
		}
		sum := a[i*(v.lda+1)] * x[i]
		for j := from; j < end; j++ {
			e := a[i*v.lda+j]
			sum += F(e * x[j])
			sums[j] += F(e * x[i])
		}
		sums[i] += sum
	}
}
