package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// storedPairs are storedRows of complex numbers, as pairs of reals.
type storedPairs[F tile.Float] struct{ storedRows[F] }

// pairTriangle returns the rows of a triangle of an n x n matrix, packedPairs of packed ones, and bandedPairs
// of a band of k diagonals beside the main one. ok is false if the arguments are ones for which gonum panics.
func pairTriangle[F tile.Float](ul blas.Uplo, n int, a []F, lda int) (s storedPairs[F], ok bool) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, stride: lda}
	s.setTriangle(ul, n)
	return s, isTriangle(ul) && n > 0 && insidePairs(a, n, n, lda)
}

func packedPairs[F tile.Float](ul blas.Uplo, n int, a []F) (s storedPairs[F], ok bool) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, layout: packedRows}
	s.setTriangle(ul, n)
	return s, isTriangle(ul) && n > 0 && len(a) >= n*(n+1)
}

func bandedPairs[F tile.Float](ul blas.Uplo, n, k int, a []F, lda int) (s storedPairs[F], ok bool) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, layout: bandedRows, stride: lda}
	s.setTriangle(ul, k)
	return s, isTriangle(ul) && n > 0 && k >= 0 && lda > k && len(a) >= 2*((n-1)*lda+k+1)
}

// row returns the entries of row i that are stored, and the column of the first of them.
func (s *storedPairs[F]) row(i int) (first int, entries []F) {
	first, at, count := s.span(i)
	return first, s.data[2*at : 2*(at+count)]
}

// beside returns the entries of row i of a triangle beside the diagonal, the column of the first of them, and
// the entry on the diagonal.
func (s *storedPairs[F]) beside(i int) (first int, entries, diagonal []F) {
	first, entries = s.row(i)
	if s.above > 0 {
		return first + 1, entries[2:], entries[:2]
	}
	last := len(entries) - 2
	return first, entries[:last], entries[last:]
}

// conjugateIf returns a complex number as two reals, or its conjugate.
func conjugateIf[F tile.Float](conjugate bool, v []F) (re, im F) {
	if conjugate {
		return v[0], -v[1]
	}
	return v[0], v[1]
}

// timesPair returns the product of two complex numbers.
func timesPair[F tile.Float](re, im, x, y F) (F, F) {
	return F(re*x) - F(im*y), F(re*y) + F(im*x)
}

// addOuter adds alpha x y* to row i of a triangle.
func (s *storedPairs[F]) addOuter(i int, re, im F, x, y []F) {
	first, row := s.row(i)
	re, im = timesPair(re, im, x[2*i], x[2*i+1])
	tile.AddComplex(row, y[2*first:][:len(row)], re, im, true)
}

// rankOne adds alpha x x* to a triangle, for a real alpha, and rankTwo alpha x y* + conj(alpha) y x*. They
// leave a real diagonal, and return false where gonum computes them.
func (s *storedPairs[F]) rankOne(alpha F, x []F, incX int) bool {
	if alpha == 0 || !holdsPairs(x, s.n, incX) || !vectorized() {
		return false
	}
	memory := borrow[F](2 * s.n)
	defer giveBack(memory)
	xs := gatherPairs(*memory, x, s.n, incX, 1, false)
	for i := range s.n {
		s.addOuter(i, alpha, 0, xs, xs)
	}
	s.makeReal()
	return true
}

func (s *storedPairs[F]) rankTwo(alpha complex128, x []F, incX int, y []F, incY int) bool {
	if alpha == 0 || !holdsPairs(x, s.n, incX) || !holdsPairs(y, s.n, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](4 * s.n)
	defer giveBack(memory)
	xs, ys := gatherPairs(*memory, x, s.n, incX, 1, false), gatherPairs((*memory)[2*s.n:], y, s.n, incY, 1, false)
	re, im := F(real(alpha)), F(imag(alpha))
	for i := range s.n {
		s.addOuter(i, re, im, xs, ys)
		s.addOuter(i, re, -im, ys, xs)
	}
	s.makeReal()
	return true
}

// makeReal clears the imaginary parts of the diagonal.
func (s *storedPairs[F]) makeReal() {
	for i := range s.n {
		_, _, diagonal := s.beside(i)
		diagonal[1] = 0
	}
}

// hermitian computes y = alpha A x + beta y for the Hermitian matrix A of a triangle, whose diagonal is real.
// It returns false where gonum does.
func (s *storedPairs[F]) hermitian(alpha complex128, x []F, incX int, beta complex128, y []F, incY int) bool {
	if alpha == 0 || !holdsPairs(x, s.n, incX) || !holdsPairs(y, s.n, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](4 * s.n)
	defer giveBack(memory)
	xs, sums := gatherPairs(*memory, x, s.n, incX, alpha, false), (*memory)[2*s.n:4*s.n]
	clear(sums)
	for i := range s.n {
		first, row, diagonal := s.beside(i)
		re, im := tile.DotComplex(row, xs[2*first:][:len(row)], false)
		v, w := xs[2*i], xs[2*i+1]
		tile.AddComplex(sums[2*first:][:len(row)], row, v, w, true)
		sums[2*i] += re + F(diagonal[0]*v)
		sums[2*i+1] += im + F(diagonal[0]*w)
	}
	scatterPairs(y, sums, incY, beta)
	return true
}

// general computes y = alpha op(A) x + beta y for an m x n matrix A with a band. It returns false where gonum
// does.
func (s *storedPairs[F]) general(tA blas.Transpose, alpha complex128, x []F, incX int, beta complex128, y []F,
	incY int) bool {
	lenX, lenY := opShape(tA, s.n, s.m)
	if !known(tA) || alpha == 0 || !holdsPairs(x, lenX, incX) || !holdsPairs(y, lenY, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](2*lenX + 2*lenY)
	defer giveBack(memory)
	xs, sums := gatherPairs(*memory, x, lenX, incX, alpha, false), (*memory)[2*lenX:2*(lenX+lenY)]
	clear(sums)
	for i := range min(s.m, s.n+s.below) {
		first, row := s.row(i)
		if tA == blas.NoTrans {
			sums[2*i], sums[2*i+1] = tile.DotComplex(row, xs[2*first:][:len(row)], false)
		} else {
			tile.AddComplex(sums[2*first:][:len(row)], row, xs[2*i], xs[2*i+1], tA == blas.ConjTrans)
		}
	}
	scatterPairs(y, sums, incY, beta)
	return true
}

// scatterPairs sets complex numbers of y, inc apart, to sums and beta times what they were, which is not read
// for beta = 0.
func scatterPairs[F tile.Float](y, sums []F, inc int, beta complex128) {
	q, at := paired[F](beta, false), 2*firstEntry(len(sums)/2, inc)
	for ; len(sums) >= 2; sums = sums[2:] {
		re, im := sums[0], sums[1]
		if beta != 0 {
			v, w := q.times(y[at], y[at+1])
			re, im = re+v, im+w
		}
		y[at], y[at+1] = re, im
		at += 2 * inc
	}
}

// triangular solves op(A) x = b or, to multiply, computes op(A) x, for a triangle A and a vector of n
// entries, inc apart. It returns false where gonum does.
func (s *storedPairs[F]) triangular(multiply bool, tA blas.Transpose, d blas.Diag, x []F, inc int) bool {
	if !known(tA) || !isDiagonal(d) || !holdsPairs(x, s.n, inc) || !vectorized() {
		return false
	}
	memory := borrow[F](2 * s.n)
	defer giveBack(memory)
	xs := gatherPairs(*memory, x, s.n, inc, 1, false)
	for k := range s.n {
		i := k
		if ascending := (s.above > 0) == (multiply == (tA == blas.NoTrans)); !ascending {
			i = s.n - 1 - k
		}
		if multiply {
			s.multiplyRow(i, tA, d, xs)
		} else {
			s.solveRow(i, tA, d, xs)
		}
	}
	scatterPairs(x, xs, inc, 0)
	return true
}

// multiplyRow is a step of a product: row i of A as it is stored.
func (s *storedPairs[F]) multiplyRow(i int, tA blas.Transpose, d blas.Diag, x []F) {
	first, row, diagonal := s.beside(i)
	re, im := x[2*i], x[2*i+1]
	others := x[2*first:][:len(row)]
	if tA != blas.NoTrans {
		tile.AddComplex(others, row, re, im, tA == blas.ConjTrans)
	}
	if d == blas.NonUnit {
		v, w := conjugateIf(tA == blas.ConjTrans, diagonal)
		re, im = timesPair(v, w, re, im)
	}
	if tA == blas.NoTrans {
		v, w := tile.DotComplex(row, others, false)
		re, im = re+v, im+w
	}
	x[2*i], x[2*i+1] = re, im
}

// solveRow is a step of a solution: row i of A as it is stored.
func (s *storedPairs[F]) solveRow(i int, tA blas.Transpose, d blas.Diag, x []F) {
	first, row, diagonal := s.beside(i)
	re, im := x[2*i], x[2*i+1]
	others := x[2*first:][:len(row)]
	if tA == blas.NoTrans {
		v, w := tile.DotComplex(row, others, false)
		re, im = re-v, im-w
	}
	if d == blas.NonUnit {
		v, w := conjugateIf(tA == blas.ConjTrans, diagonal)
		quotient := complex(float64(re), float64(im)) / complex(float64(v), float64(w))
		re, im = F(real(quotient)), F(imag(quotient))
	}
	x[2*i], x[2*i+1] = re, im
	if tA != blas.NoTrans {
		tile.AddComplex(others, row, -re, -im, tA == blas.ConjTrans)
	}
}
