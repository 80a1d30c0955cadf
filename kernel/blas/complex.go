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
// for each entry of B. It is built while a block of B is packed, and takes the four multiplications of the
// definition. Three multiplications would bound the error of an imaginary part only by the size of the real
// part.
//
// With u the unit roundoff of float64, or float32, g = 2k u / (1 - 2k u) and alpha = 1, the real part of an
// entry of A B errs by at most g sum(|re a||re b| + |im a||im b|), and the imaginary part by at most g
// sum(|re a||im b| + |im a||re b|), as sums of 2k real products do. Another alpha is multiplied into an
// entry first, with at most 2u |alpha| for each |re b| + |im b|.

// A pairing is how the right factor of a complex product becomes a real one: its entries, or their
// conjugates, times alpha. The numbers of columns and the depth of such a product are those in reals.
type pairing[F tile.Float] struct {
	on, conjugate bool
	re, im        F // alpha
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
	if q.re == 1 && q.im == 0 {
		return re, im
	}
	return q.re*re - q.im*im, q.re*im + q.im*re
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

// packPairs copies a block of at most a panel of the right factor, each entry as its block of four reals.
func (p *product[F]) packPairs(panel []F, width int, b block) {
	q := p.pairs
	if p.b.transposed {
		for j := 0; j < b.columns; j += 2 {
			from := p.b.data[(b.column+j)/2*p.b.stride+b.at:][:b.depth]
			for k, to := 0, j; k < b.depth; k += 2 {
				re, im := q.times(from[k], from[k+1])
				panel[to], panel[to+1] = re, im
				panel[to+width], panel[to+width+1] = -im, re
				to += 2 * width
			}
		}
		return
	}
	for k := 0; k < b.depth; k += 2 {
		from := p.b.data[(b.at+k)/2*p.b.stride+b.column:][:b.columns]
		upper, lower := panel[k*width:][:len(from)], panel[(k+1)*width:][:len(from)]
		if q.conjugate || q.re != 1 || q.im != 0 {
			for j := 0; j+1 < len(from); j += 2 {
				upper[j], upper[j+1] = q.times(from[j], from[j+1])
				lower[j], lower[j+1] = -upper[j+1], upper[j]
			}
			continue
		}
		for len(from) >= 4 && len(upper) >= 4 && len(lower) >= 4 {
			v, u, l := (*[4]F)(from), (*[4]F)(upper), (*[4]F)(lower)
			*u = *v
			l[0], l[1], l[2], l[3] = -v[1], v[0], -v[3], v[2]
			from, upper, lower = from[4:], upper[4:], lower[4:]
		}
		if len(from) > 0 {
			upper[0], upper[1], lower[0], lower[1] = from[0], from[1], -from[1], from[0]
		}
	}
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
	p := product[F]{
		a: z.a.factor, b: z.b.factor, m: z.m, n: 2 * z.n, k: 2 * z.k, alpha: 1, c: z.c, ldc: z.ldc,
		part: z.part, set: set, alone: true, pairs: paired[F](z.alpha, z.b.conjugate),
	}
	if z.a.transposed || z.a.conjugate {
		stride := rowStride(2 * z.k)
		memory := borrow[F](z.m * stride)
		defer giveBack(memory)
		copyPairs(*memory, stride, z.a, z.m, z.k)
		p.a = factor[F]{*memory, stride, false}
	}
	p.compute()
}

// computeWith computes C = alpha op(A) op(B) + beta C.
func (z *complexProduct[F]) computeWith(beta complex128) {
	if beta != 0 && beta != 1 {
		area := product[F]{n: 2 * z.n, part: z.part, pairs: pairing[F]{on: true}}
		for i := range z.m {
			from, to := area.span(i)
			scalePairs(z.c[i*z.ldc+from:i*z.ldc+to], beta)
		}
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

// copyPairs stores op(M), of m x n entries, by rows.
func copyPairs[F tile.Float](to []F, ldt int, o operand[F], m, n int) {
	const together = 8 // rows of M', whose entries are in lines of the cache that are used whole
	down, across := o.stride, 2
	if o.transposed {
		down, across = 2, o.stride
	}
	for at := 0; at < m; at += together {
		rows := min(together, m-at)
		for j := range n {
			from := o.data[at*down+j*across:]
			for i := range rows {
				re, im := from[i*down], from[i*down+1]
				if o.conjugate {
					im = -im
				}
				k := (at+i)*ldt + 2*j
				to[k], to[k+1] = re, im
			}
		}
	}
}

// splitPairs returns the real and the imaginary parts of n complex numbers, inc apart, times another one.
func splitPairs[F tile.Float](memory, x []F, n, inc int, by complex128) (re, im []F) {
	q, at := paired[F](by, false), max(0, (1-n)*inc)
	re, im = memory[:n], memory[n:2*n]
	for i := range re {
		re[i], im[i] = q.times(x[2*at], x[2*at+1])
		at += inc
	}
	return re, im
}

// turnedPairs returns n complex numbers, inc apart, or their conjugates, and i times them.
func turnedPairs[F tile.Float](memory, x []F, n, inc int, conjugate bool) (pairs, turned []F) {
	q, at := paired[F](1, conjugate), max(0, (1-n)*inc)
	pairs, turned = memory[:2*n], memory[2*n:4*n]
	for i := 0; i < len(pairs); i += 2 {
		re, im := q.times(x[2*at], x[2*at+1])
		pairs[i], pairs[i+1] = re, im
		turned[i], turned[i+1] = -im, re
		at += inc
	}
	return pairs, turned
}

// Each row of A is read twice, for the real and the imaginary parts of a vector, the second time from the
// first-level cache: rowsOfPairs rows together, and columnsOfPairs reals of each of them where columns can
// be apart.
const rowsOfPairs, columnsOfPairs = 4, 1024

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
