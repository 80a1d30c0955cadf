package blas

import (
	"math"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// This file has gonum's products and systems of complex matrices with the bits that its assembly for amd64
// computes: see ordered. Go computes products of complex64 in float64, and that assembly in float32.

// A pair is a complex number with parts of type F, as it lies in memory.
type pair[F tile.Float] struct{ re, im F }

// pairs64 and pairs32 return complex numbers as pairs.
func pairs64(x []complex128) []pair[float64] {
	return unsafe.Slice((*pair[float64])(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func pairs32(x []complex64) []pair[float32] {
	return unsafe.Slice((*pair[float32])(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// pair64 and pair32 return a complex number as a pair.
func pair64(v complex128) pair[float64] { return pair[float64]{real(v), imag(v)} }

func pair32(v complex64) pair[float32] { return pair[float32]{real(v), imag(v)} }

func (a pair[F]) number() complex128 { return complex(float64(a.re), float64(a.im)) }

func pairOf[F tile.Float](v complex128) pair[F] { return pair[F]{F(real(v)), F(imag(v))} }

func (a pair[F]) isZero() bool { return a.re == 0 && a.im == 0 }

func (a pair[F]) isOne() bool { return a.re == 1 && a.im == 0 }

func (a pair[F]) negative() pair[F] { return pair[F]{-a.re, -a.im} }

func (a pair[F]) plus(b pair[F]) pair[F] { return pair[F]{a.re + b.re, a.im + b.im} }

func (a pair[F]) minus(b pair[F]) pair[F] { return pair[F]{a.re - b.re, a.im - b.im} }

// conjugateIf returns the conjugate of a number, or the number.
func (a pair[F]) conjugateIf(on bool) pair[F] {
	if on {
		a.im = -a.im
	}
	return a
}

// times returns the product of two numbers as Go computes it.
func (a pair[F]) times(b pair[F]) pair[F] { return pairOf[F](timesRounded(a.number(), b.number())) }

// product returns the product of two numbers with its real products rounded to F.
func (a pair[F]) product(b pair[F]) pair[F] {
	return pair[F]{F(a.re*b.re) - F(a.im*b.im), F(a.re*b.im) + F(a.im*b.re)}
}

// over returns the quotient of two numbers as Go computes it on amd64, by Smith's method (Comm. ACM 5, 1962).
func (a pair[F]) over(b pair[F]) pair[F] {
	n, m := a.number(), b.number()
	re, im := real(m), imag(m)
	if !(math.Abs(re) >= math.Abs(im)) { // -i n over -i m
		n, re, im = complex(imag(n), -real(n)), im, -re
	}
	ratio := im / re
	denominator := re + float64(ratio*im)
	q := complex((real(n)+float64(imag(n)*ratio))/denominator, (imag(n)-float64(real(n)*ratio))/denominator)
	if real(q) != real(q) || imag(q) != imag(q) { // Go corrects infinities
		q = a.number() / m
	}
	return pairOf[F](q)
}

// scalePairsBy multiplies numbers by another one, unless this is one.
func scalePairsBy[F tile.Float](by pair[F], x []pair[F]) {
	if by.isOne() {
		return
	}
	for i, v := range x {
		x[i] = v.times(by)
	}
}

// addMultiple adds the products of by and numbers x to y.
func addMultiple[F tile.Float](by pair[F], x, y []pair[F]) {
	for i, v := range x {
		y[i] = y[i].plus(by.product(v))
	}
}

// pairReals returns numbers as reals.
func pairReals[F tile.Float](x []pair[F]) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// longDot is the least number of products in float32 whose sum the tiles add.
const longDot = 16

// dotInPairs returns the sum of products of x, or their conjugates, and y, as two sums of every second
// product. In float64 the last products, fewer than four, belong to one. In float32 gonum's assembly has
// orders that depend on addresses, and this is the order of all processors.
func dotInPairs[F tile.Float](conjugate bool, x, y []pair[F]) pair[F] {
	var sums [2]pair[F]
	inTwo := len(x)
	if kind[F]() == 0 {
		inTwo &^= 3
	} else if len(x) >= longDot {
		re, im := tile.DotComplex(pairReals(x), pairReals(y[:len(x)]), conjugate)
		return pair[F]{re, im}
	}
	for k, v := range x {
		if k == inTwo {
			sums[0], sums[1] = sums[0].plus(sums[1]), pair[F]{}
		}
		to := &sums[0]
		if k < inTwo {
			to = &sums[k%2]
		}
		*to = to.plus(v.conjugateIf(conjugate).product(y[k]))
	}
	return sums[0].plus(sums[1])
}

// An entryMatrix is a complex matrix by rows.
type entryMatrix[F tile.Float] struct {
	data   []pair[F]
	stride int
}

// row returns entries from from to to of row i.
func (m entryMatrix[F]) row(i, from, to int) []pair[F] {
	return m.data[i*m.stride+from : i*m.stride+to]
}

func (m entryMatrix[F]) at(i, j int) pair[F] { return m.data[i*m.stride+j] }

// has reports whether all entries of a matrix of that size are in memory.
func (m entryMatrix[F]) has(rows, columns int) bool {
	return m.stride >= max(1, columns) && len(m.data) >= (rows-1)*m.stride+columns
}

// pairsOf returns a matrix with the given distance of rows.
func pairsOf[F tile.Float](data []pair[F], stride int) entryMatrix[F] {
	return entryMatrix[F]{data, stride}
}

// An entryTriangle is the stored triangle of a symmetric or Hermitian matrix, or a triangular matrix.
type entryTriangle[F tile.Float] struct {
	entryMatrix[F]
	ul blas.Uplo
	n  int
}

// span returns the columns of row i of the triangle, and beside those without the diagonal.
func (t *entryTriangle[F]) span(i int) (from, to int) {
	if t.ul == blas.Upper {
		return i, t.n
	}
	return 0, i + 1
}

func (t *entryTriangle[F]) beside(i int) (from, to int) {
	if t.ul == blas.Upper {
		return i + 1, t.n
	}
	return 0, i
}

// A symmetricPairs is C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric
// or a Hermitian A.
type symmetricPairs[F tile.Float] struct {
	a           entryTriangle[F]
	b, c        entryMatrix[F]
	m, n        int
	alpha, beta pair[F]
	hermitian   bool
}

func (p *symmetricPairs[F]) diagonal(i int) pair[F] {
	v := p.a.at(i, i)
	if p.hermitian {
		v.im = 0
	}
	return v
}

// scaled returns v plus beta times an entry of C.
func (p *symmetricPairs[F]) scaled(v, c pair[F]) pair[F] {
	if p.beta.isZero() {
		return v
	}
	return v.plus(p.beta.times(c))
}

func (p *symmetricPairs[F]) onLeft() {
	for i := range p.m {
		row, by := p.c.row(i, 0, p.n), p.alpha.times(p.diagonal(i))
		for j, v := range p.b.row(i, 0, p.n) {
			row[j] = p.scaled(by.times(v), row[j])
		}
		for k := range p.m {
			if k == i {
				continue
			}
			var v pair[F]
			if stored := (k > i) == (p.a.ul == blas.Upper); stored {
				v = p.a.at(i, k)
			} else {
				v = p.a.at(k, i).conjugateIf(p.hermitian)
			}
			addMultiple(p.alpha.times(v), p.b.row(k, 0, p.n), row)
		}
	}
}

func (p *symmetricPairs[F]) onRight() {
	for i := range p.m {
		b, c := p.b.row(i, 0, p.n), p.c.row(i, 0, p.n)
		for step := range p.n {
			j := step
			if p.a.ul == blas.Upper {
				j = p.n - 1 - step
			}
			by, sum := p.alpha.times(b[j]), pair[F]{}
			for k, to := p.a.beside(j); k < to; k++ {
				v := p.a.at(j, k)
				c[k] = c[k].plus(by.times(v))
				sum = sum.plus(b[k].times(v.conjugateIf(p.hermitian)))
			}
			c[j] = p.scaled(by.times(p.diagonal(j)).plus(p.alpha.times(sum)), c[j])
		}
	}
}

// A squarePairs is a triangle of C = alpha A A' + beta C or, with a transposition, C = alpha A'A + beta C;
// with a second factor, of C = alpha A B' + alpha B A' + beta C or C = alpha A'B + alpha B'A + beta C. If C
// is Hermitian, A* stands for A', and the conjugate of the second alpha for alpha.
type squarePairs[F tile.Float] struct {
	a, b        entryMatrix[F]
	twice       bool // with a second factor
	c           entryTriangle[F]
	transposed  bool
	k           int
	alpha, beta pair[F]
	hermitian   bool
}

func (p *squarePairs[F]) compute() {
	for i := range p.c.n {
		if p.transposed {
			p.rowByRows(i)
		} else {
			p.rowByDots(i)
		}
		if p.hermitian {
			p.c.data[i*p.c.stride+i].im = 0
		}
	}
}

// rowByDots computes a row as inner products of rows of the factors.
func (p *squarePairs[F]) rowByDots(i int) {
	from, to := p.c.span(i)
	row := p.c.row(i, from, to)
	for at, old := range row {
		j := from + at
		var v pair[F]
		if p.twice {
			v = p.alpha.times(dotInPairs(p.hermitian, p.b.row(j, 0, p.k), p.a.row(i, 0, p.k)))
			second := dotInPairs(p.hermitian, p.a.row(j, 0, p.k), p.b.row(i, 0, p.k))
			v = v.plus(p.alpha.conjugateIf(p.hermitian).times(second))
		} else {
			v = p.alpha.times(dotInPairs(p.hermitian, p.a.row(j, 0, p.k), p.a.row(i, 0, p.k)))
		}
		switch {
		case p.beta.isZero():
		case p.beta.isOne():
			v = v.plus(old)
		default:
			v = v.plus(p.beta.times(old))
		}
		row[at] = v
	}
}

// rowByRows computes a row as a sum of multiples of rows of the factors.
func (p *squarePairs[F]) rowByRows(i int) {
	from, to := p.c.span(i)
	row := p.c.row(i, from, to)
	if p.beta.isZero() {
		clear(row)
	} else {
		scalePairsBy(p.beta, row)
	}
	for j := range p.k {
		v := p.a.at(j, i)
		if !p.twice {
			p.addRow(p.alpha, v, p.a.row(j, from, to), row)
			continue
		}
		p.addRow(p.alpha, v, p.b.row(j, from, to), row)
		p.addRow(p.alpha.conjugateIf(p.hermitian), p.b.at(j, i), p.a.row(j, from, to), row)
	}
}

func (p *squarePairs[F]) addRow(alpha, v pair[F], x, row []pair[F]) {
	if !v.isZero() {
		addMultiple(alpha.times(v.conjugateIf(p.hermitian)), x, row)
	}
}

// A trianglePairs is a product B = alpha op(A) B or B = alpha B op(A), or a system op(A) X = alpha B or
// X op(A) = alpha B, for a triangular A and an m x n matrix B, which the result overwrites.
type trianglePairs[F tile.Float] struct {
	a     entryTriangle[F]
	b     entryMatrix[F]
	side  blas.Side
	op    blas.Transpose
	diag  blas.Diag
	m, n  int
	alpha pair[F]
}

// valid reports whether the arguments are right, and something is to do.
func (p *trianglePairs[F]) valid() bool {
	return isSide(p.side) && isTriangle(p.a.ul) && known(p.op) && isDiagonal(p.diag) && min(p.m, p.n) > 0 &&
		!p.alpha.isZero() && p.a.has(p.a.n, p.a.n) && p.b.has(p.m, p.n)
}

// entry returns an entry of A, or its conjugate where op takes conjugates.
func (p *trianglePairs[F]) entry(i, j int) pair[F] {
	return p.a.at(i, j).conjugateIf(p.op == blas.ConjTrans)
}

// rowOf returns a row of B.
func (p *trianglePairs[F]) rowOf(i int) []pair[F] { return p.b.row(i, 0, p.n) }

// place returns row or column number step of A of those that are taken from the first, or from the last.
func (p *trianglePairs[F]) place(step int, first bool) int {
	if first {
		return step
	}
	return p.a.n - 1 - step
}

// multiply computes the product.
func (p *trianglePairs[F]) multiply() {
	upper, transposed := p.a.ul == blas.Upper, p.op != blas.NoTrans
	if p.side == blas.Right {
		for i := range p.m {
			for step := range p.n {
				p.multiplyColumn(p.rowOf(i), p.place(step, upper == transposed))
			}
		}
		return
	}
	for step := range p.m {
		i := p.place(step, upper != transposed)
		from, to := p.a.beside(i)
		row := p.rowOf(i)
		for j := from; j < to && transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(p.alpha.times(v), row, p.rowOf(j))
			}
		}
		by := p.alpha
		if p.diag == blas.NonUnit {
			by = by.times(p.entry(i, i))
		}
		scalePairsBy(by, row)
		for j := from; j < to && !transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(p.alpha.times(v), p.rowOf(j), row)
			}
		}
	}
}

// multiplyColumn multiplies entry j of a row of B by A on the right.
func (p *trianglePairs[F]) multiplyColumn(row []pair[F], j int) {
	from, to := p.a.beside(j)
	if p.op == blas.NoTrans {
		by := p.alpha.times(row[j])
		if by.isZero() {
			return
		}
		row[j] = by
		if p.diag == blas.NonUnit {
			row[j] = by.times(p.a.at(j, j))
		}
		addMultiple(by, p.a.row(j, from, to), row[from:to])
		return
	}
	v := row[j]
	if p.diag == blas.NonUnit {
		v = v.times(p.entry(j, j))
	}
	v = v.plus(dotInPairs(p.op == blas.ConjTrans, p.a.row(j, from, to), row[from:to]))
	row[j] = p.alpha.times(v)
}

// solve computes the solution of the system.
func (p *trianglePairs[F]) solve() {
	upper, transposed := p.a.ul == blas.Upper, p.op != blas.NoTrans
	if p.side == blas.Right {
		for i := range p.m {
			if !transposed {
				scalePairsBy(p.alpha, p.rowOf(i))
			}
			for step := range p.n {
				p.solveColumn(p.rowOf(i), p.place(step, upper != transposed))
			}
		}
		return
	}
	one := pair[F]{re: 1}
	for step := range p.m {
		i := p.place(step, upper == transposed)
		from, to := p.a.beside(i)
		row := p.rowOf(i)
		if !transposed {
			scalePairsBy(p.alpha, row)
		}
		for j := from; j < to && !transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(v.negative(), p.rowOf(j), row)
			}
		}
		if p.diag == blas.NonUnit {
			scalePairsBy(one.over(p.entry(i, i)), row)
		}
		for j := from; j < to && transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(v.negative(), row, p.rowOf(j))
			}
		}
		if transposed {
			scalePairsBy(p.alpha, row)
		}
	}
}

// solveColumn solves for entry j of a row of X, with A on the right.
func (p *trianglePairs[F]) solveColumn(row []pair[F], j int) {
	from, to := p.a.beside(j)
	v := row[j]
	if p.op != blas.NoTrans {
		if !p.alpha.isOne() {
			v = p.alpha.times(v)
		}
		v = v.minus(dotInPairs(p.op == blas.ConjTrans, p.a.row(j, from, to), row[from:to]))
	} else if v.isZero() {
		return
	}
	if p.diag == blas.NonUnit {
		v = v.over(p.entry(j, j))
	}
	row[j] = v
	if p.op == blas.NoTrans {
		addMultiple(v.negative(), p.a.row(j, from, to), row[from:to])
	}
}

// multiplySymmetric computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, and
// returns true. It returns false for arguments that gonum refuses, and for nothing to add.
func multiplySymmetric[F tile.Float](
	hermitian bool, s blas.Side, ul blas.Uplo, m, n int, alpha pair[F], a []pair[F], lda int, b []pair[F], ldb int,
	beta pair[F], c []pair[F], ldc int,
) bool {
	p := symmetricPairs[F]{b: pairsOf(b, ldb), c: pairsOf(c, ldc), m: m, n: n, alpha: alpha, beta: beta}
	p.a, p.hermitian = entryTriangle[F]{pairsOf(a, lda), ul, m}, hermitian
	if s == blas.Right {
		p.a.n = n
	}
	valid := isSide(s) && isTriangle(ul) && min(m, n) > 0 && !alpha.isZero() && p.a.has(p.a.n, p.a.n)
	if !valid || !p.b.has(m, n) || !p.c.has(m, n) {
		return false
	}
	if s == blas.Left {
		p.onLeft()
	} else {
		p.onRight()
	}
	return true
}

// multiplyTransposed computes a triangle of a product of A and its transpose, or of A and B, as
// multiplySymmetric returns. b is not read for the product of A alone.
func multiplyTransposed[F tile.Float](
	hermitian, twice bool, ul blas.Uplo, tA blas.Transpose, n, k int, alpha pair[F], a []pair[F], lda int,
	b []pair[F], ldb int, beta pair[F], c []pair[F], ldc int,
) bool {
	p := squarePairs[F]{a: pairsOf(a, lda), k: k, alpha: alpha, beta: beta, hermitian: hermitian}
	p.b, p.twice, p.transposed = pairsOf(b, ldb), twice, tA != blas.NoTrans
	p.c = entryTriangle[F]{pairsOf(c, ldc), ul, n}
	other := blas.Trans
	if hermitian {
		other = blas.ConjTrans
	}
	rows, columns := opShape(tA, n, k)
	valid := isTriangle(ul) && (tA == blas.NoTrans || tA == other) && min(n, k) > 0 && !alpha.isZero()
	if !valid || !p.a.has(rows, columns) || p.twice && !p.b.has(rows, columns) || !p.c.has(n, n) {
		return false
	}
	p.compute()
	return true
}

// triangleInPairs returns a product with a triangular matrix, or a system.
func triangleInPairs[F tile.Float](
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha pair[F], a []pair[F], lda int,
	b []pair[F], ldb int,
) *trianglePairs[F] {
	p := &trianglePairs[F]{b: pairsOf(b, ldb), side: s, op: tA, diag: d, m: m, n: n, alpha: alpha}
	p.a = entryTriangle[F]{pairsOf(a, lda), ul, m}
	if s == blas.Right {
		p.a.n = n
	}
	return p
}
