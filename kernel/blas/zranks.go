package blas

import "github.com/difalt/difalt/internal/tile"

// A triangle of a complex product of few terms, such as C + A A*, is changed row by row here: two terms at a
// time are columns of one factor times rows of the other one.

// isFewTerms reports whether a triangle of one product, or of two, is changed row by row.
func (z *complexProduct[F]) isFewTerms() bool {
	return z.k <= mostTerms && z.n >= rowsForTerms*z.k && vectorized()
}

// addTerms computes a triangle C += alpha op(A) op(B) or, with twice, C += alpha op(A) op(B) +
// conj(alpha) op(B)* op(A)*, without conjugates for a symmetric C.
func (z *complexProduct[F]) addTerms(hermitian, twice bool) {
	if hermitian {
		makeReal(z.c, z.ldc/2, z.n)
	}
	all, terms := tile.Pad(2*z.n), z.k
	if twice {
		terms *= 2
	}
	memory := borrow[F](2*terms*(all+z.n) + 4*z.k*z.n)
	defer giveBack(memory)
	vectors, by := (*memory)[:2*terms*all], (*memory)[2*terms*all:][:2*terms*z.n]
	q := termPairs[F]{n: z.n, ranks: terms, all: all, vectors: vectors, by: by}
	left, right := z.a.transpose(), z.b
	rest := (*memory)[2*terms*(all+z.n):]
	columns, rows := left.byRows(rest, z.k, z.n), right.byRows(rest[2*z.k*z.n:], z.k, z.n)
	for l := range z.k {
		x, y := columns.data[l*columns.stride:][:2*z.n], rows.data[l*rows.stride:][:2*z.n]
		q.set(l, x, y, columns.conjugate, rows.conjugate, z.alpha)
		if !twice {
			continue
		}
		if hermitian { // conj(alpha) times the conjugates of y by those of x
			q.set(z.k+l, y, x, !rows.conjugate, !columns.conjugate, complex(real(z.alpha), -imag(z.alpha)))
		} else {
			q.set(z.k+l, y, x, rows.conjugate, columns.conjugate, z.alpha)
		}
	}
	s := pairTriangle(z.part, z.n, z.c, z.ldc/2)
	for l := 0; l < terms; l += 2 {
		count := min(2, terms-l)
		s.addOuter(by[2*l*z.n:], vectors[2*l*all:][:2*count*all], 2*count, hermitian)
	}
}

// byRows returns an operand of some rows and columns that is not transposed, in memory if it is transposed.
func (o operand[F]) byRows(memory []F, rows, columns int) operand[F] {
	if o.transposed {
		tile.TransposeComplex(memory, 2*columns, o.data, o.stride, columns, rows)
		o.factor = factor[F]{memory, 2 * columns, false}
	}
	return o
}

// termPairs are terms of a product as vectors that are added to rows, of all reals each, and numbers for each
// row. Two terms follow each other in the numbers of a row.
type termPairs[F tile.Float] struct {
	n, ranks, all int
	vectors, by   []F
}

// set sets a term to alpha times a column and a row, or their conjugates.
func (q *termPairs[F]) set(term int, column, row []F, conjugateColumn, conjugateRow bool, alpha complex128) {
	re, im := F(1), F(1)
	if conjugateRow {
		im = -1
	}
	own, turned := q.vectors[2*term*q.all:][:q.all], q.vectors[(2*term+1)*q.all:][:q.all]
	signs := tile.NewPairSigns(re, im, -im, re)
	tile.TurnPairs(own, turned, row, &signs)
	clear(own[2*q.n:])
	clear(turned[2*q.n:])
	step, at := 4, 4*(term/2)*q.n
	if term == q.ranks-1 && term%2 == 0 { // alone
		step = 2
	} else {
		at += 2 * (term % 2)
	}
	by := paired[F](alpha, conjugateColumn)
	to := q.by[at:]
	if by.im == 0 { // no infinite part times 0
		im := by.re
		if conjugateColumn {
			im = -im
		}
		for i := 0; i+1 < len(column); i += 2 {
			pair := to[:2]
			pair[0], pair[1] = by.re*column[i], im*column[i+1]
			to = to[min(step, len(to)):]
		}
		return
	}
	for i := 0; i+1 < len(column); i += 2 {
		pair := to[:2]
		pair[0], pair[1] = by.times(column[i], column[i+1])
		to = to[min(step, len(to)):]
	}
}

// scaleTriangle multiplies a triangle of C by beta, and 0 clears it.
func (z *complexProduct[F]) scaleTriangle(beta complex128) {
	area, by := product[F]{n: 2 * z.n, part: z.part, pairs: pairing[F]{on: true}}, paired[F](beta, false)
	for i := range z.m {
		from, to := area.span(i)
		row := z.c[i*z.ldc+from : i*z.ldc+to]
		if beta == 0 {
			clear(row)
		} else {
			by.multiply(row)
		}
	}
}

// joined computes a triangle C = z + second + beta C for two products of stored factors of one shape, as one
// product of twice as many terms. The second alpha is the first one, or its conjugate. The columns of the
// left factor are those of A and of B, and the rows of the right one those of B and of A.
func (z *complexProduct[F]) joined(second *complexProduct[F], hermitian bool, beta complex128) {
	size := 2 * z.n * z.k
	memory := borrow[F](4 * size)
	defer giveBack(memory)
	rows := func(i int) []F { return (*memory)[i*size:][:size] }
	a, b := z.a.transpose(), z.b
	a.copyRows(rows(0), z.k, z.n)
	b.copyRows(rows(1), z.k, z.n)
	of, right := *z, 1
	if second.alpha == z.alpha {
		copy(rows(2), rows(0))
	} else {
		right = 2
		copy(rows(2), rows(1))
		copy(rows(3), rows(0))
		first, other := z.alpha, second.alpha
		if z.a.conjugate {
			first, other = other, first
		}
		byFirst, byOther := paired[F](first, false), paired[F](other, false)
		byFirst.multiply(rows(0))
		byOther.multiply(rows(1))
		of.alpha = 1
	}
	of.k = 2 * z.k
	of.a.factor = factor[F]{(*memory)[:2*size], 2 * z.n, true}
	of.b.factor = factor[F]{(*memory)[right*size:], 2 * z.n, false}
	of.triangle(hermitian, beta)
}

// copyRows copies an operand of some rows and columns to memory, by rows.
func (o operand[F]) copyRows(memory []F, rows, columns int) {
	if o.transposed {
		tile.TransposeComplex(memory, 2*columns, o.data, o.stride, columns, rows)
		return
	}
	tile.CopyRows(memory, 2*columns, o.data, o.stride, 2*columns, rows)
}
