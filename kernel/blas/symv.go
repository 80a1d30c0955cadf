package blas

import (
	"runtime"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dsymv computes y = alpha A x + beta y for a symmetric n x n matrix A. It reads every entry once from memory.
//
// On entry a holds the triangle ul of A, x and y hold the vectors. On return y is overwritten.
func (i Implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if n < tune().symvOrder || !vectorized() || !isTriangle(ul) || alpha == 0 || !inside(a, n, n, lda) || !holds(x, n, incX) || !holds(y, n, incY) {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	v := symmetricVector{ul: ul, n: n, a: a, lda: lda}
	parts := v.parts()
	memory := borrow[float64]((2 + parts) * n)
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
		of := v
		inTurn(runtime.GOMAXPROCS(0), parts, false, func(i int) { of.add(sums[i*n:][:n], of.cut(i, parts), of.cut(i+1, parts)) })
		for i := 1; i < parts; i++ {
			for k, s := range sums[i*n:][:n] {
				sums[k] += s
			}
		}
	}
	if beta != 0 {
		for k, v := range gather(old, y, n, incY) {
			sums[k] += beta * v
		}
	}
	scatter(y, sums[:n], incY)
}

// A symmetricVector is a product of a symmetric matrix, with one triangle in a, and a vector.
type symmetricVector struct {
	ul  blas.Uplo
	n   int
	a   []float64
	lda int
	x   []float64
}

// parts returns the number of parts of the product, each with a vector of sums: several for a matrix that
// exceeds the second-level cache of a core.
func (v *symmetricVector) parts() int {
	if v.n*v.n/2 < sharedByVectors/4 {
		return 1
	}
	return 4
}

// cut returns the first row of part i of several parts of nearly the same number of entries.
func (v *symmetricVector) cut(i, parts int) int {
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
func (v *symmetricVector) add(sums []float64, lo, hi int) {
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
		var products [tile.Width]float64
		tile.RowDots(products[:], v.a[row*v.lda+first:], v.lda, v.x[first:], rows, last-first)
		tile.AddRows(sums[first:], v.a[row*v.lda+first:], v.lda, v.x[row:], rows, last-first)
		for k, p := range products[:rows] {
			sums[row+k] += p
		}
	}
}

// addCorner adds the products of a block on the diagonal.
func (v *symmetricVector) addCorner(sums []float64, row, rows int) {
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
