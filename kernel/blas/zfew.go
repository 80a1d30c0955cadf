package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A product of few rows or few columns is a product of reals here: of the larger factor, as it is stored, and
// of a copy of the smaller one. Packed for other tiles the larger factor would be copied four times.
//
// The rows of the smaller factor, or of its transpose, are few; those of the larger one are many. Their
// products with each other are C or its transpose.

// fewPairs is a product C = alpha op(A) op(B) + beta C of few rows or columns.
type fewPairs[F tile.Float] struct {
	few, many operand[F]
	rows, of  int // of few and many
	depth     int
	alpha     complex128
	beta      pairing[F]
	set       bool // beta is 0
	turned    bool // C is the product of many and few
	c         []F
	ldc       int
}

// enough reports whether a product of few rows or columns, and of some terms, saves time without packing.
func (f fewSizes) enough(few, terms int) bool {
	return few <= f.most && terms >= max(f.depths*few, f.depth)
}

// isFew reports whether a complex product takes less time without packing the larger factor: it has few rows,
// or few columns.
func (z *complexProduct[F]) isFew() bool {
	switch {
	case z.part != blas.All || max(z.m, z.n)*z.k < fewEntries:
		return false
	case z.m > z.n:
		return !z.a.transposed && fewByRowsTurned.enough(z.n, z.k)
	}
	return z.b.transposed && fewByRows.enough(z.m, z.k)
}

// byFew computes C = alpha op(A) op(B) + beta C.
func (z *complexProduct[F]) byFew(beta complex128) {
	p := fewPairs[F]{
		few: z.a, many: z.b.transpose(), rows: z.m, of: z.n, depth: z.k, alpha: z.alpha,
		beta: paired[F](beta, false), set: beta == 0, c: z.c, ldc: z.ldc,
	}
	if z.m > z.n {
		p.few, p.many, p.turned = z.b.transpose(), z.a, true
		p.rows, p.of = z.n, z.m
	}
	p.byRows()
}

// transpose returns the transpose of an operand.
func (o operand[F]) transpose() operand[F] {
	o.transposed = !o.transposed
	return o
}

// rowOf returns row i of the smaller factor, or its conjugate if the factor is one, times alpha. It may be in
// memory, which has the rows of a transposed factor.
func (p *fewPairs[F]) rowOf(memory []F, i int) []F {
	length := 2 * p.depth
	row := memory[i*length:][:length]
	switch {
	case p.few.transposed:
	case p.alpha == 1:
		return p.few.data[i*p.few.stride:][:length]
	default:
		copy(row, p.few.data[i*p.few.stride:])
	}
	by := p.alpha
	if p.few.conjugate {
		by = complex(real(by), -imag(by))
	}
	q := paired[F](by, false)
	q.multiply(row)
	return row
}

// transposeFew copies the rows of the smaller factor to memory if it is transposed.
func (p *fewPairs[F]) transposeFew(memory []F) {
	if p.few.transposed {
		tile.TransposeComplex(memory, 2*p.depth, p.few.data, p.few.stride, p.depth, p.rows)
	}
}

// combineParts sets sums of rows times real parts to sums of rows, or of their conjugates, times complex
// numbers; byIm are the sums of the rows times the imaginary parts, or times their negatives.
func combineParts[F tile.Float](byRe, byIm []F, conjugate, negative bool) {
	sign := F(1)
	if negative {
		sign = -1
	}
	signs := tile.NewPairSigns(1, 1, -sign, sign)
	if conjugate {
		signs = tile.NewPairSigns(1, -1, sign, sign)
	}
	tile.CombinePairs(byRe, byIm, &signs)
}

// byRows computes C, or its transpose, from products of rows of the larger factor and, for each row of the
// smaller one, of two rows: one for the real parts, one for the imaginary ones.
func (p *fewPairs[F]) byRows() {
	all, length := 2*p.rows*p.depth, 2*p.depth
	size := 3 * all
	if !p.turned {
		size += 4 * p.rows * p.of
	}
	memory := borrow[F](size)
	defer giveBack(memory)
	both := (*memory)[all : 3*all]
	p.transposeFew(*memory)
	signs := p.twoRows()
	for i := range p.rows {
		tile.TurnPairs(both[2*i*length:], both[(2*i+1)*length:], p.rowOf(*memory, i), &signs)
	}
	if p.turned {
		beta := F(1)
		if p.set {
			beta = 0
		} else {
			for i := range p.of {
				p.beta.multiply(p.c[i*p.ldc:][:2*p.rows])
			}
		}
		gemm(true, blas.NoTrans, blas.Trans, p.of, 2*p.rows, length, 1, p.many.data, p.many.stride, both, length,
			beta, p.c, p.ldc)
		return
	}
	sums, others := (*memory)[3*all:][:2*p.rows*p.of], (*memory)[3*all+2*p.rows*p.of:]
	gemm(true, blas.NoTrans, blas.Trans, p.of, 2*p.rows, length, 1, p.many.data, p.many.stride, both, length,
		0, sums, 2*p.rows)
	if p.set {
		tile.TransposeComplex(p.c, p.ldc, sums, 2*p.rows, p.of, p.rows)
		return
	}
	tile.TransposeComplex(others, 2*p.of, sums, 2*p.rows, p.of, p.rows)
	p.store(others)
}

// twoRows returns the signs of two rows for each row of the smaller factor: the numbers, and the numbers with
// their parts swapped. Their products with a row of the larger factor are the real and the imaginary part.
func (p *fewPairs[F]) twoRows() tile.PairSigns[F] {
	few, many := F(1), F(1)
	if p.few.conjugate {
		few = -1
	}
	if p.many.conjugate {
		many = -1
	}
	return tile.NewPairSigns(1, -few*many, few, many)
}

// store sets C to rows of products, plus beta C.
func (p *fewPairs[F]) store(products []F) {
	length := 2 * p.of
	for i := range p.rows {
		row, of := p.c[i*p.ldc:][:length], products[i*length:][:length]
		if p.set {
			copy(row, of)
			continue
		}
		p.beta.multiply(row)
		tile.AddScaled(row, of, 1)
	}
}
