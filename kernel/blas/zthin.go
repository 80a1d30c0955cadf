package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A thinVector is y = alpha op(A) x + beta y for a matrix A of many rows of few complex numbers, computed as
// a product of reals: rows of complex numbers would be too short for the tiles.
type thinVector[F tile.Float] struct {
	m, n        int
	a           []F
	lda         int // in reals
	x, y        []F
	incX, incY  int
	alpha, beta complex128
	conjugate   bool
}

// isThinVector reports whether products of reals take less time for m rows of n complex numbers.
func isThinVector(m, n int) bool { return n <= thinColumns && m >= thinRows*n }

// compute computes y.
func (v *thinVector[F]) compute(tA blas.Transpose) {
	switch {
	case tA != blas.NoTrans && v.n == 1:
		v.column()
	case tA != blas.NoTrans:
		v.columns()
	default:
		v.rows()
	}
}

// rows computes y from the reals of A and two rows: for the real parts of sums, and for the imaginary ones.
func (v *thinVector[F]) rows() {
	length := 2 * v.n
	memory := borrow[F](3*length + 2*v.m)
	both, sums := (*memory)[length:3*length], (*memory)[3*length:][:2*v.m]
	x := gatherPairs(*memory, v.x, v.n, v.incX, v.alpha, false)
	forDots(both, both[length:], x)
	inPlace, to, beta := v.incY == 1 && (v.beta == 0 || v.beta == 1), sums, F(0)
	if inPlace {
		to, beta = v.y, F(real(v.beta))
	}
	gemm(true, blas.NoTrans, blas.Trans, v.m, 2, length, 1, v.a, v.lda, both, length, beta, to, 2)
	if !inPlace {
		scatterPairs(v.y, sums, v.incY, v.beta)
	}
	giveBack(memory)
}

// columns computes y for op(A) other than A: a product of two rows, the real and the imaginary parts of x,
// and the reals of A.
func (v *thinVector[F]) columns() {
	memory := borrow[F](4*v.m + 4*v.n)
	defer giveBack(memory)
	parts, sums := (*memory)[2*v.m:4*v.m], (*memory)[4*v.m:4*v.m+4*v.n]
	if v.incX == 1 {
		tile.SplitPairs(parts[:v.m], parts[v.m:], v.x[:2*v.m])
	} else {
		at, re, im := 2*firstEntry(v.m, v.incX), parts[:v.m], parts[v.m:]
		for i := range re {
			pair := v.x[at:][:2]
			re[i], im[i] = pair[0], pair[1]
			at += 2 * v.incX
		}
	}
	gemm(true, blas.NoTrans, blas.NoTrans, 2, 2*v.n, v.m, 1, parts, v.m, v.a, v.lda, 0, sums, 2*v.n)
	combineParts(sums[:2*v.n], sums[2*v.n:], v.conjugate, false)
	v.store(sums[:2*v.n])
}

// column is columns for one column: an inner product.
func (v *thinVector[F]) column() {
	memory := borrow[F](4 * v.m)
	x := gatherPairs(*memory, v.x, v.m, v.incX, 1, false)
	column := gatherPairs((*memory)[2*v.m:], v.a, v.m, v.lda/2, 1, false)
	x[0], x[1] = tile.DotComplex(column, x, v.conjugate)
	v.store(x[:2])
	giveBack(memory)
}

// store sets y to alpha times sums, which it overwrites, plus beta y.
func (v *thinVector[F]) store(sums []F) {
	alpha := paired[F](v.alpha, false)
	alpha.multiply(sums)
	scatterPairs(v.y, sums, v.incY, v.beta)
}
