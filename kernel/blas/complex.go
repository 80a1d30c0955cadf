package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Complex matrices are computed with as real ones of twice as many columns: every entry is its real part
// and its imaginary part, as Go stores it. C += op(A) B is then one real product of the stored op(A), m x
// 2k, and of a 2k x 2n matrix with the block
//
//	 re  im
//	-im  re
//
// for each entry of B. Its second row is negated where the conjugate of op(A) is wanted. It is built while a
// block of B is packed, and takes the four multiplications of the definition. Three multiplications would
// bound the error of an imaginary part only by the size of the real part.
//
// Let u be the unit roundoff of float64, or float32, g = 2k u / (1 - 2k u), and alpha = 1. Then an entry of
// A B errs like sums of 2k real products. The error of its real part is at most g sum(|re a||re b| + |im
// a||im b|). The error of its imaginary part is at most g sum(|re a||im b| + |im a||re b|). Another real
// alpha multiplies the sums. A complex alpha is multiplied into the entries of one factor first, with at
// most 2u |alpha| for each |re b| + |im b|, or |re a| + |im a|. Smaller products are computed otherwise,
// with the same bounds: see zdirect.go and zfew.go.

// A pairing is how the right factor of a complex product becomes a real one: its entries, or their
// conjugates, times alpha. Such a product counts its columns and its depth in reals.
type pairing[F tile.Float] struct {
	on        bool
	conjugate bool // of the entries of the right factor
	across    bool // the left factor is the conjugate of the stored matrix, so that -i stands for i
	re, im    F    // alpha
}

// paired returns the pairing of a factor, or of its conjugate, times alpha.
func paired[F tile.Float](alpha complex128, conjugate bool) pairing[F] {
	return pairing[F]{on: true, conjugate: conjugate, re: F(real(alpha)), im: F(imag(alpha))}
}

// times returns alpha times an entry, or times its conjugate.
func (q *pairing[F]) times(re, im F) (F, F) {
	if q.conjugate {
		im = -im
	}
	if q.im == 0 && q.re == 1 {
		return re, im
	}
	if q.im == 0 && q.re == -1 { // no infinite part times 0
		return -re, -im
	}
	return F(q.re*re) - F(q.im*im), F(q.re*im) + F(q.im*re)
}

// multiply overwrites y by its products with alpha.
func (q *pairing[F]) multiply(y []F) {
	switch {
	case q.im == 0 && q.re == 1:
	case q.im == 0 && q.re == -1: // no infinite part times 0
		for k := range y {
			y[k] = -y[k]
		}
	default:
		tile.TimesComplex(y, q.re, q.im)
	}
}

// diagonal returns the first column of C of the entry on the diagonal in row i, and rowOf the row for which
// it is a column.
func (p *product[F]) diagonal(i int) int {
	if p.pairs.on {
		return 2 * i
	}
	return i
}

func (p *product[F]) rowOf(column int) int {
	if p.pairs.on {
		return column / 2
	}
	return column
}

// packPairs copies a block of at most a panel of the right factor, each entry as its block of four reals. A
// transposed factor is transposed first, and other factors alpha than 1 and -1 are multiplied into a copy.
func (p *product[F]) packPairs(panel []F, width int, b block) {
	terms, scaled := b.depth/2, p.pairs.im != 0 || p.pairs.re != 1 && p.pairs.re != -1
	if !p.b.transposed && !scaled {
		p.pairs.pack(panel, width, p.b.data[b.at/2*p.b.stride+b.column:], p.b.stride, terms, b.columns)
		return
	}
	memory := borrow[F](terms * b.columns)
	defer giveBack(memory)
	own := (*memory)[:terms*b.columns]
	if p.b.transposed {
		from := p.b.data[b.column/2*p.b.stride+b.at:]
		tile.TransposeComplex(own, b.columns, from, p.b.stride, b.columns/2, terms)
	} else {
		for k := range terms {
			copy(own[k*b.columns:][:b.columns], p.b.data[(b.at/2+k)*p.b.stride+b.column:])
		}
	}
	of := p.pairs
	if scaled {
		im := of.im
		if of.conjugate {
			im = -im // of the numbers whose conjugates are packed
		}
		tile.TimesComplex(own, of.re, im)
		of.re, of.im = 1, 0
	}
	of.pack(panel, width, own, b.columns, terms, b.columns)
}

// pack copies rows of complex numbers, of some reals, to rows of a panel; alpha is 1 or -1.
func (q *pairing[F]) pack(panel []F, width int, from []F, stride, rows, reals int) {
	signs := q.signs()
	tile.PackComplex(panel, width, from, stride, rows, reals, &signs)
}

// signs returns the signs that entries have in a panel: of their real and imaginary parts in one row, and of
// imaginary and real parts in the row below.
func (q *pairing[F]) signs() tile.PairSigns[F] {
	re, im := q.re, q.re
	if q.conjugate {
		im = -im
	}
	if q.across {
		return tile.NewPairSigns(re, im, im, -re)
	}
	return tile.NewPairSigns(re, im, -im, re)
}

// An operand is op(M) of a complex matrix, as reals: M, or M' if transposed, or the conjugate of either.
type operand[F tile.Float] struct {
	factor[F]
	conjugate bool
}

// operandOf returns op(M) for a matrix whose rows are stride entries apart.
func operandOf[F tile.Float](t blas.Transpose, data []F, stride int) operand[F] {
	return operand[F]{factor[F]{data, 2 * stride, t != blas.NoTrans}, t == blas.ConjTrans}
}

// block returns the operand from row i and column j on.
func (o operand[F]) block(i, j int) operand[F] {
	if o.transposed {
		i, j = j, i
	}
	o.data = o.data[i*o.stride+2*j:]
	return o
}

// A complexProduct is C += alpha op(A) op(B), or a triangle of C: m x n, of depth k, all in entries.
type complexProduct[F tile.Float] struct {
	a, b    operand[F]
	m, n, k int
	alpha   complex128
	c       []F
	ldc     int // in reals
	part    blas.Uplo
}

// compute computes C += alpha op(A) op(B), or overwrites C with the product.
func (z *complexProduct[F]) compute(set bool) {
	p := z.ofReals(set)
	p.compute()
}

// ofReals returns the product as one of reals.
func (z *complexProduct[F]) ofReals(set bool) product[F] {
	by, entries := 1.0, z.alpha // of the sums, and of the entries of the right factor
	if imag(z.alpha) == 0 && real(z.alpha) != -1 {
		by, entries = real(z.alpha), 1
	}
	p := product[F]{
		a: z.a.factor, b: z.b.factor, m: z.m, n: 2 * z.n, k: 2 * z.k, c: z.c, ldc: z.ldc,
		part: z.part, alone: true, pairs: paired[F](entries, z.b.conjugate),
	}
	p.update = tile.Update[F]{Alpha: F(by), Beta: 1}
	if set {
		p.update.Beta = 0
	}
	p.pairs.across = z.a.conjugate
	return p
}

// computeWith computes C = alpha op(A) op(B) + beta C.
func (z *complexProduct[F]) computeWith(beta complex128) {
	if z.part == blas.All {
		switch {
		case z.isFew():
			z.byFew(beta)
			return
		case z.isDirect():
			z.computeDirect(beta)
			return
		}
	}
	if beta != 0 && beta != 1 {
		z.scaleTriangle(beta)
	}
	z.compute(beta == 0)
}

// scalePairs multiplies complex numbers by another one.
func scalePairs[F tile.Float](x []F, by complex128) {
	q := paired[F](by, false)
	for ; len(x) >= 2; x = x[2:] {
		x[0], x[1] = q.times(x[0], x[1])
	}
}

// gatherPairs returns n complex numbers, inc apart, or their conjugates, times another one.
func gatherPairs[F tile.Float](memory, x []F, n, inc int, by complex128, conjugate bool) []F {
	q, at, pairs := paired[F](by, conjugate), max(0, (1-n)*inc), memory[:2*n]
	if inc == 1 && by == 1 && !conjugate {
		copy(pairs, x)
		return pairs
	}
	if inc == 1 && by == 1 {
		for i := 0; i+1 < len(pairs); i += 2 {
			pairs[i], pairs[i+1] = x[i], -x[i+1]
		}
		return pairs
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		pairs[i], pairs[i+1] = q.times(x[2*at], x[2*at+1])
		at += inc
	}
	return pairs
}

// someOf returns entries lo to hi of n complex numbers, inc apart.
func someOf[F tile.Float](x []F, n, inc, lo, hi int) []F {
	if inc < 0 {
		return x[2*(hi-n)*inc:]
	}
	return x[2*lo*inc:]
}

// turnedPairs returns n complex numbers, inc apart, or their conjugates, and behind them i times these.
func turnedPairs[F tile.Float](memory, x []F, n, inc int, conjugate bool) []F {
	pairs, sign := gatherPairs(memory, x, n, inc, 1, false), F(1)
	if conjugate {
		sign = -1
	}
	signs := tile.NewPairSigns(1, sign, -sign, 1)
	tile.TurnPairs(pairs, memory[2*n:4*n], pairs, &signs)
	return memory[:4*n]
}

// insidePairs reports whether data has all entries of a complex matrix, and holdsPairs all entries of a
// vector.
func insidePairs[F tile.Float](data []F, rows, columns, stride int) bool {
	return stride >= max(1, columns) && len(data) >= 2*((rows-1)*stride+columns)
}

func holdsPairs[F tile.Float](x []F, n, inc int) bool {
	return inc != 0 && len(x)/2 > (n-1)*max(inc, -inc)
}

// doubles and singles return complex numbers as reals: twice as many.
func doubles(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func singles(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
