package blas

import (
	"runtime"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dsymv computes y = alpha A x + beta y for a symmetric n x n matrix A. It reads every entry once from
// memory.
//
// On entry a holds the triangle ul of A, x and y hold the vectors. On return y is overwritten.
func (i Implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if n < symvOrder || !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is Dsymv in float32.
func (i Implementation) Ssymv(ul blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Ssymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// symv computes Dsymv or Ssymv and returns true, or returns false where gonum computes it.
func symv[F tile.Float](ul blas.Uplo, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int) bool {
	if !vectorized() || !isTriangle(ul) || n <= 0 || alpha == 0 || !inside(a, n, n, lda) || !holds(x, n, incX) || !holds(y, n, incY) {
		return false
	}
	v := symmetricVector[F]{ul: ul, n: n, a: a, lda: lda}
	parts := v.parts()
	memory := borrow[F]((2 + parts) * n)
	defer giveBack(memory)
	xs, old, sums := (*memory)[:n], (*memory)[n:2*n], (*memory)[2*n:]
	from := max(0, (1-n)*incX)
	for k := range n {
		xs[k] = alpha * x[from+k*incX]
	}
	v.x = xs
	clear(sums)
	if parts == 1 {
		v.add(sums, 0, n)
	} else {
		v.share(sums, parts)
	}
	if beta != 0 {
		for k, v := range gather(old, y, n, incY) {
			sums[k] += beta * v
		}
	}
	scatter(y, sums[:n], incY)
	return true
}

// share adds the products to sums on several threads, which take parts of the rows in turn.
func (v *symmetricVector[F]) share(sums []F, parts int) {
	of := *v // a copy, so that products on one thread need no memory of the heap
	inTurn(runtime.GOMAXPROCS(0), parts, false, func(i int) {
		of.add(sums[i*of.n:][:of.n], of.cut(i, parts), of.cut(i+1, parts))
	})
	for i := 1; i < parts; i++ {
		for k, s := range sums[i*of.n:][:of.n] {
			sums[k] += s
		}
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

// parts returns the number of parts of the product, each with a vector of sums: several for a matrix that
// exceeds the second-level cache of a core.
func (v *symmetricVector[F]) parts() int {
	if v.n*v.n/2 < sharedByVectors/4 {
		return 1
	}
	return 4
}

// cut returns the first row of part i of several parts of nearly the same number of entries.
func (v *symmetricVector[F]) cut(i, parts int) int {
	row, entries := 0, 0
	for all := v.n * v.n / 2 / parts * i; row < v.n && entries < all; row += tile.Width {
		if v.ul == blas.Lower {
			entries += tile.Width * row
		} else {
			entries += tile.Width * (v.n - row)
		}
	}
	if i == parts {
		return v.n
	}
	return min(row, v.n)
}

// add adds the products of the stored entries in rows lo to hi, lo a multiple of Width, to sums.
func (v *symmetricVector[F]) add(sums []F, lo, hi int) {
	for row := lo; row < hi; row += tile.Width {
		rows := min(tile.Width, v.n-row)
		v.addCorner(sums[row:], row, rows)
		first, last := 0, row // the columns beside the block on the diagonal
		if v.ul == blas.Upper {
			first, last = row+rows, v.n
		}
		if first == last {
			continue
		}
		var products [tile.Width]F
		mirrorRows(products[:], sums[first:], v.a[row*v.lda+first:], v.lda, v.x[first:], v.x[row:], rows, last-first)
		for k, p := range products[:rows] {
			sums[row+k] += p
		}
	}
}

// mirrorRows computes the products of rows with x, and adds multiples of them to y.
func mirrorRows[F tile.Float](products, y, a []F, lda int, x, by []F, rows, n int) {
	if kind[F]() == 0 {
		tile.MirrorRows(as[float64](products), as[float64](y), as[float64](a), lda, as[float64](x), as[float64](by), rows, n)
		return
	}
	tile.RowDots(products, a, lda, x, rows, n)
	tile.AddRows(y, a, lda, by, rows, n)
}

// addCorner adds the products of a block on the diagonal.
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
			sum += e * x[j]
			sums[j] += e * x[i]
		}
		sums[i] += sum
	}
}
