package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// storedPairs are storedRows of complex numbers, as pairs of reals.
type storedPairs[F tile.Float] struct{ storedRows[F] }

// pairTriangle returns the rows of a triangle of an n x n matrix.
func pairTriangle[F tile.Float](ul blas.Uplo, n int, a []F, lda int) (s storedPairs[F]) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, stride: lda}
	s.setTriangle(ul, n)
	s.sound = isTriangle(ul) && n > 0 && insidePairs(a, n, n, lda)
	return s
}

// packedPairs is pairTriangle for packed rows.
func packedPairs[F tile.Float](ul blas.Uplo, n int, a []F) (s storedPairs[F]) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, layout: packedRows}
	s.setTriangle(ul, n)
	s.sound = isTriangle(ul) && n > 0 && len(a) >= n*(n+1)
	return s
}

// bandedPairs is pairTriangle for a band of k diagonals beside the main one.
func bandedPairs[F tile.Float](ul blas.Uplo, n, k int, a []F, lda int) (s storedPairs[F]) {
	s.storedRows = storedRows[F]{data: a, m: n, n: n, layout: bandedRows, stride: lda}
	s.setTriangle(ul, k)
	s.sound = isTriangle(ul) && n > 0 && k >= 0 && lda > k && len(a) >= 2*((n-1)*lda+k+1)
	return s
}

// bandOfPairs is band of complex numbers.
func bandOfPairs[F tile.Float](m, n, kL, kU int, a []F, lda int) (s storedPairs[F]) {
	s.storedRows = storedRows[F]{data: a, m: m, n: n, layout: bandedRows, stride: lda, below: kL, above: kU}
	s.sound = min(kL, kU) >= 0 && min(m, n) > 0 && lda > kL+kU && len(a) > 2*(lda*(min(m, n+kL)-1)+kL+kU)
	return s
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

// spans returns the rows of run k as rows of reals, two for each complex number.
func (s *storedPairs[F]) spans(r *runs, k int, of part, backwards bool) (rows tile.Spans[F], ok bool) {
	rows, ok = s.storedRows.spans(r, k, of, backwards)
	return inReals(rows), ok
}

// inReals returns rows of complex numbers as rows of reals.
func inReals[F tile.Float](rows tile.Spans[F]) tile.Spans[F] {
	rows.At, rows.Step, rows.Growth = 2*rows.At, 2*rows.Step, 2*rows.Growth
	rows.First, rows.Forward, rows.End, rows.Ahead = 2*rows.First, 2*rows.Forward, 2*rows.End, 2*rows.Ahead
	return rows
}

// paddedPairs copies n complex numbers, inc apart, times by, to memory. It returns memory in the length of
// whole vectors of the tiles.
func paddedPairs[F tile.Float](memory, x []F, n, inc int, by complex128) []F {
	all := tile.Pad(2 * n)
	gatherPairs(memory, x, n, inc, by, false)
	clear(memory[2*n : all])
	return memory[:all]
}

// conjugates sets two vectors to the conjugates of n complex numbers, inc apart, and to i times these, with
// zeros behind them: the first one times the real part of a number, and the second one times its imaginary
// part, are the number times the conjugates.
func conjugates[F tile.Float](first, second, x []F, n, inc int) {
	if inc == 1 {
		signs := tile.NewPairSigns[F](1, -1, 1, 1)
		tile.TurnPairs(first, second, x[:2*n], &signs)
	} else {
		at := 2 * firstEntry(n, inc)
		for k := 0; k < 2*n; k += 2 {
			re, im := x[at], x[at+1]
			first[k], first[k+1] = re, -im
			second[k], second[k+1] = im, re
			at += 2 * inc
		}
	}
	clear(first[2*n:])
	clear(second[2*n:])
}

// forDots sets two vectors whose products with a row are the parts of the row's product with x: the
// conjugates of x, and x with its parts swapped.
func forDots[F tile.Float](re, im, x []F) {
	signs := tile.NewPairSigns[F](1, -1, 1, 1)
	tile.TurnPairs(re, im, x, &signs)
}

// combined returns the sum of rows times complex numbers, or of their conjugates, at a place: from their sums
// times the real parts, and times the imaginary ones.
func combined[F tile.Float](byRe, byIm []F, at int, conjugate bool) (re, im F) {
	if conjugate {
		return byRe[at] + byIm[at+1], byIm[at] - byRe[at+1]
	}
	return byRe[at] - byIm[at+1], byIm[at] + byRe[at+1]
}

// rankOne adds alpha x x* to a triangle, for a real alpha, and rankTwo alpha x y* + conj(alpha) y x*. They
// leave a real diagonal, and return false where gonum computes them.
func (s *storedPairs[F]) rankOne(alpha F, x []F, incX int) bool {
	if !s.sound || alpha == 0 || !holdsPairs(x, s.n, incX) || !vectorized() {
		return false
	}
	all := tile.Pad(2 * s.n)
	memory := borrow[F](3 * all)
	by, vectors := gatherPairs(*memory, x, s.n, incX, 1, false), (*memory)[all:3*all]
	tile.Scale(by, alpha)
	conjugates(vectors[:all], vectors[all:], x, s.n, incX)
	s.addOuter(by, vectors, 2, true)
	giveBack(memory)
	return true
}

// addOuter adds some vectors, one after the other, times the numbers of b for each row, to the rows of a
// triangle, and makes the diagonal of a Hermitian matrix real. Several threads take parts of the rows in turn
// if that pays.
func (s *storedPairs[F]) addOuter(b, vectors []F, count int, hermitian bool) {
	t := teamOver[F](2*s.entries(), false)
	if t.threads == 1 {
		s.addTo(0, s.m, b, vectors, count, hermitian)
		return
	}
	of, parts := *s, t.parts(4, s.m/rowsOfATile) // a copy, so that one thread needs no memory of the heap
	t.run(parts, func(i int) { of.addTo(of.cut(i, parts), of.cut(i+1, parts), b, vectors, count, hermitian) })
}

// addTo is addOuter for rows lo to hi.
func (s *storedPairs[F]) addTo(lo, hi int, b, vectors []F, count int, hermitian bool) {
	r := s.runs().within(lo, hi)
	for k := range 3 {
		if rows, ok := s.spans(&r, k, whole, false); ok {
			rows.AddOuter(b[count*r[k]:], vectors, count)
		}
	}
	if hermitian {
		s.makeReal(lo, hi)
	}
}

func (s *storedPairs[F]) rankTwo(alpha complex128, x []F, incX int, y []F, incY int) bool {
	if !s.sound || alpha == 0 || !holdsPairs(x, s.n, incX) || !holdsPairs(y, s.n, incY) || !vectorized() {
		return false
	}
	all := tile.Pad(2 * s.n)
	memory := borrow[F](6 * all)
	by, vectors := (*memory)[:4*s.n], (*memory)[2*all:6*all]
	xs := gatherPairs(vectors, x, s.n, incX, alpha, false)
	ys := gatherPairs(vectors[all:], y, s.n, incY, complex(real(alpha), -imag(alpha)), false)
	for k := range s.n {
		by[4*k], by[4*k+1] = xs[2*k], xs[2*k+1]
		by[4*k+2], by[4*k+3] = ys[2*k], ys[2*k+1]
	}
	conjugates(vectors[:all], vectors[all:2*all], y, s.n, incY)
	conjugates(vectors[2*all:3*all], vectors[3*all:], x, s.n, incX)
	s.addOuter(by, vectors, 4, true)
	giveBack(memory)
	return true
}

// makeReal clears the imaginary parts of the diagonal in rows lo to hi.
func (s *storedPairs[F]) makeReal(lo, hi int) {
	at, step, growth := s.origin(lo)+lo, s.origin(lo+1)-s.origin(lo)+1, s.growth()
	for range hi - lo {
		s.data[2*at+1] = 0
		at += step
		step += growth
	}
}

// A mirroring is how a triangle becomes a matrix: its other half has the conjugates of the entries, if
// hermitian, whose diagonal is real. The conjugate of the matrix has them in the stored half.
type mirroring struct{ hermitian, conjugate bool }

// hermitian computes y = alpha A x + beta y for the Hermitian matrix A of a triangle, whose diagonal is real.
// It returns false where gonum does.
func (s *storedPairs[F]) hermitian(alpha complex128, x []F, incX int, beta complex128, y []F, incY int) bool {
	if !s.sound || alpha == 0 || !holdsPairs(x, s.n, incX) || !holdsPairs(y, s.n, incY) || !vectorized() {
		return false
	}
	s.mirrored(mirroring{hermitian: true}, alpha, x, incX, beta, y, incY)
	return true
}

// mirrored computes y = alpha A x + beta y for the matrix of a triangle.
func (s *storedPairs[F]) mirrored(
	how mirroring, alpha complex128, x []F, incX int, beta complex128, y []F, incY int,
) {
	all := tile.Pad(2 * s.n)
	memory := borrow[F](6 * all)
	xs := paddedPairs(*memory, x, s.n, incX, alpha)
	re, im, own := (*memory)[all:2*all], (*memory)[2*all:3*all], (*memory)[3*all:4*all]
	if how.conjugate {
		signs := tile.NewPairSigns[F](1, 1, 1, -1)
		tile.TurnPairs(re, im, xs, &signs)
	} else {
		forDots(re, im, xs)
	}
	sums, others := cleared((*memory)[4*all:], all), cleared((*memory)[5*all:], all)
	s.dotsAndSums(&mirroredVectors[F]{own, xs, re, im}, sums, others)
	combineParts(sums[:2*s.n], others, how.hermitian != how.conjugate, false)
	s.addDiagonal(how.hermitian, own, sums, xs)
	scatterPairs(y, own[:2*s.n], incY, beta)
	giveBack(memory)
}

// mirroredVectors has the products of rows, the vector, and the vectors whose products with a row are the
// parts of a complex one.
type mirroredVectors[F tile.Float] struct{ own, x, re, im []F }

// dotsAndSums computes the products of all rows without the diagonal, and adds the rows times the parts of x
// to sums and others. Those of many entries have two parts with sums of their own, which several threads take
// in turn if that pays.
func (s *storedPairs[F]) dotsAndSums(v *mirroredVectors[F], sums, others []F) {
	if 2*s.entries() < sharedSums {
		s.dotsAndSumsOf(v, 0, s.m, sums, others)
		return
	}
	all, middle := len(sums), s.cut(1, 2)
	memory := borrow[F](2 * all)
	defer giveBack(memory)
	second, otherSecond := (*memory)[:all], (*memory)[all:]
	if t := teamOver[F](2*s.entries(), false); t.threads == 1 {
		s.dotsAndSumsOf(v, 0, middle, sums, others)
		clear(*memory)
		s.dotsAndSumsOf(v, middle, s.m, second, otherSecond)
	} else {
		of, with := *s, *v // copies, so that one thread needs no memory of the heap
		t.run(2, func(i int) {
			if i == 0 {
				of.dotsAndSumsOf(&with, 0, middle, sums, others)
				return
			}
			clear(second) // by the thread that adds to them
			clear(otherSecond)
			of.dotsAndSumsOf(&with, middle, of.m, second, otherSecond)
		})
	}
	tile.AddScaled(sums, second, 1)
	tile.AddScaled(others, otherSecond, 1)
}

// dotsAndSumsOf is dotsAndSums for rows lo to hi.
func (s *storedPairs[F]) dotsAndSumsOf(v *mirroredVectors[F], lo, hi int, sums, others []F) {
	r := s.runs().within(lo, hi)
	for k := range 3 {
		if rows, ok := s.spans(&r, k, strict, false); ok {
			rows.DotsAndAdd(v.own[2*r[k]:], v.x[2*r[k]:], v.re, v.im, sums, others)
		}
	}
}

// addDiagonal adds sums, and the diagonal times x, to y.
func (s *storedPairs[F]) addDiagonal(hermitian bool, y, sums, x []F) {
	at, step, growth := s.origin(0), s.origin(1)-s.origin(0)+1, s.growth()
	for i := 0; i < 2*s.n; i += 2 {
		d := s.data[2*at:][:2]
		if hermitian {
			y[i] += sums[i] + F(d[0]*x[i])
			y[i+1] += sums[i+1] + F(d[0]*x[i+1])
		} else {
			v, w := timesPair(d[0], d[1], x[i], x[i+1])
			y[i] += sums[i] + v
			y[i+1] += sums[i+1] + w
		}
		at += step
		step += growth
	}
}

// general computes y = alpha op(A) x + beta y for an m x n matrix A with a band. It returns false where gonum
// computes it.
func (s *storedPairs[F]) general(tA blas.Transpose, alpha complex128, x []F, incX int, beta complex128, y []F,
	incY int) bool {
	lenX, lenY := opShape(tA, s.n, s.m)
	if !s.sound || !known(tA) || alpha == 0 || !vectorized() || !holdsPairs(x, lenX, incX) ||
		!holdsPairs(y, lenY, incY) {
		return false
	}
	memory := borrow[F](3*tile.Pad(2*lenX) + 2*tile.Pad(2*lenY))
	xs := paddedPairs(*memory, x, lenX, incX, alpha)
	sums := s.product(tA, whole, lenY, xs, (*memory)[len(xs):])
	scatterPairs(y, sums[:2*lenY], incY, beta)
	giveBack(memory)
	return true
}

// product returns op(A) x, of some complex numbers, in memory.
func (s *storedPairs[F]) product(tA blas.Transpose, of part, count int, x, memory []F) []F {
	sums := cleared(memory, 2*count)
	memory = memory[len(sums):]
	r := s.runs()
	if tA == blas.NoTrans {
		re, im := memory[:len(x)], memory[len(x):2*len(x)]
		forDots(re, im, x)
		for k := range 3 {
			if rows, ok := s.spans(&r, k, of, false); ok {
				rows.Dots(sums[2*r[k]:], re, im)
			}
		}
		return sums[:2*count]
	}
	others := cleared(memory, 2*count)
	for k := range 3 {
		if rows, ok := s.spans(&r, k, of, false); ok {
			rows.Add(x[2*r[k]:], sums, others)
		}
	}
	combineParts(sums[:2*count], others, tA == blas.ConjTrans, false)
	return sums[:2*count]
}

// scatterPairs sets complex numbers of y, inc apart, to sums and beta times what they were, which is not read
// for beta = 0.
func scatterPairs[F tile.Float](y, sums []F, inc int, beta complex128) {
	if inc == 1 && beta == 0 {
		copy(y, sums)
		return
	}
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
	if !s.sound || !known(tA) || !isDiagonal(d) || !holdsPairs(x, s.n, inc) || !vectorized() {
		return false
	}
	all := tile.Pad(2 * s.n)
	memory := borrow[F](5 * all)
	xs := paddedPairs(*memory, x, s.n, inc, 1)
	switch {
	case !multiply:
		s.solve(tA, d == blas.Unit, xs, (*memory)[all:])
	case s.layout == byStride || s.layout == packedRows && tA != blas.NoTrans && s.n >= packedBlocks<<kind[F]():
		p := s.system(tA, d == blas.Unit, xs, (*memory)[all:])
		p.multiply()
	case d == blas.Unit:
		for i, v := range s.product(tA, strict, s.n, xs, (*memory)[all:]) {
			xs[i] += v
		}
	default:
		xs = s.product(tA, whole, s.n, xs, (*memory)[all:])
	}
	scatterPairs(x, xs[:2*s.n], inc, 0)
	giveBack(memory)
	return true
}
