package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A complex product is computed here from its factors as they are stored: no right factor is built of blocks
// of four reals. An entry of A is two factors of the same numbers of B, and the sums of the products with
// imaginary parts are swapped in the end. Only the transpose of B is copied, and a factor of a complex alpha.

// directDepth is the largest number of terms of a sum that is computed at a time, and directSide the order of
// the squares on the diagonal of a triangle that are computed whole. Zgemm 8x400 by 400x300, Zherk 12 to 60.
const directDepth, directSide = 256, 12

// directRows is the largest number of rows of a product that needs no blocks, whatever its columns and terms.
// One of more rows has at most directRight entries of B. Zgemm of 40 x 100 by 100 x 100 to 400 x 400 by 400 x
// 400.
const directRows, directRight = 48, 1 << 14

// isDirect reports whether a product takes less time without blocks.
func (z *complexProduct[F]) isDirect() bool { return z.m <= directRows || z.n*z.k <= directRight }

// A directProduct is C = alpha op(A) op(B) + beta C, for complex numbers as pairs of reals.
type directProduct[F tile.Float] struct {
	m, n, k      int // n in reals
	a            []F
	down, across int // between rows of op(A), and between columns
	b            []F
	ldb          int
	c            []F
	ldc          int
	update       tile.Update[F]
	signs        tile.PairSigns[F]
}

// direct returns the product, with a copy of B in memory if that is needed. A beta that is no real number is
// multiplied into C.
func (z *complexProduct[F]) direct(beta complex128, memory []F) (p directProduct[F]) {
	p.update = tile.Update[F]{Alpha: 1, Beta: F(real(beta))}
	if imag(beta) != 0 {
		z.scaleTriangle(beta)
		p.update.Beta = 1
	}
	sign := F(1)
	switch {
	case imag(z.alpha) != 0: // it is multiplied into the copy of B
	case real(z.alpha) == -1: // no infinite part times 0
		sign = -1
	default:
		p.update.Alpha = F(real(z.alpha))
	}
	signA, signB := sign, F(1)
	if z.a.conjugate {
		signA = -sign
	}
	if z.b.conjugate {
		signB = -1
	}
	p.signs = tile.NewPairSigns(sign, sign*signB, -signA*signB, signA)
	p.m, p.n, p.k, p.a, p.c, p.ldc = z.m, 2*z.n, z.k, z.a.data, z.c, z.ldc
	p.down, p.across = z.a.stride, 2
	if z.a.transposed {
		p.down, p.across = 2, z.a.stride
	}
	p.b, p.ldb = z.b.data, z.b.stride
	if z.copiesRight() {
		p.b, p.ldb = z.copyRight(memory), p.n
	}
	return p
}

// copiesRight reports whether a product without blocks needs a copy of B.
func (z *complexProduct[F]) copiesRight() bool {
	row := z.k == 1 && z.b.stride == 2 // a column is a row in memory
	return z.b.transposed && !row || imag(z.alpha) != 0
}

// copyRight copies op(B) by rows, times alpha if that is no real number.
func (z *complexProduct[F]) copyRight(memory []F) []F {
	length := 2 * z.n
	to := memory[:z.k*length]
	if z.b.transposed {
		tile.TransposeComplex(to, length, z.b.data, z.b.stride, z.n, z.k)
	} else {
		tile.CopyRows(to, length, z.b.data, z.b.stride, length, z.k)
	}
	if im := imag(z.alpha); im != 0 {
		if z.b.conjugate {
			im = -im // of the numbers whose conjugates are factors
		}
		tile.TimesComplex(to, F(real(z.alpha)), F(im))
	}
	return to
}

// rightMemory borrows memory for the copy of B, and more.
func (z *complexProduct[F]) rightMemory(more int) *[]F {
	if z.copiesRight() {
		more += 2 * z.n * z.k
	}
	return borrow[F](more)
}

// computeDirect computes C = alpha op(A) op(B) + beta C without blocks, on one thread or more.
func (z *complexProduct[F]) computeDirect(beta complex128) {
	if z.isTurned() {
		z.turned(beta)
		return
	}
	memory := z.rightMemory(0)
	defer giveBack(memory)
	p := z.direct(beta, *memory)
	const columns = 16 // of a part, in reals, or more
	t := teamFor[F](4*z.m*z.n*z.k, false)
	if t.threads == 1 {
		p.compute(p.c, p.ldc, 0, p.m, 0, p.n, p.update)
		return
	}
	of, byRows := p, p.m >= p.n
	whole, unit := p.n, columns
	if byRows {
		whole, unit = p.m, directSide
	}
	parts := t.parts(4, whole/unit)
	t.run(parts, func(i int) {
		lo, hi := i*whole/parts/unit*unit, (i+1)*whole/parts/unit*unit
		if i == parts-1 {
			hi = whole
		}
		if byRows {
			of.compute(of.c[lo*of.ldc:], of.ldc, lo, hi, 0, of.n, of.update)
		} else {
			of.compute(of.c[lo:], of.ldc, 0, of.m, lo, hi, of.update)
		}
	})
}

// compute computes rows from row to toRow, and columns from column to toColumn, of the product to C.
func (p *directProduct[F]) compute(c []F, ldc, row, toRow, column, toColumn int, u tile.Update[F]) {
	if row >= toRow || column >= toColumn {
		return
	}
	depth := even(p.k, directDepth, wholeLine)
	for at := 0; at < p.k; at += depth {
		tile.ComplexProduct(c, ldc, p.a[row*p.down+at*p.across:], p.down, p.across, p.b[at*p.ldb+column:], p.ldb,
			toRow-row, min(depth, p.k-at), toColumn-column, u, &p.signs)
		u.Beta = 1
	}
}

// directTriangle computes a triangle of C without blocks, with a real diagonal if C is Hermitian: squares on
// the diagonal in separate memory, and the entries beside them in C.
func (z *complexProduct[F]) directTriangle(hermitian bool, beta complex128) {
	const length = 2 * directSide
	memory := z.rightMemory(length * z.n)
	defer giveBack(memory)
	squares, right := (*memory)[:length*z.n], (*memory)[length*z.n:]
	if imag(beta) != 0 { // C is symmetric
		z.scaleTriangle(beta)
		beta = 1
	}
	p := z.direct(beta, right)
	t := teamFor[F](2*z.n*z.n*z.k, false)
	blocks := (z.n + directSide - 1) / directSide
	if t.threads == 1 {
		for i := range blocks {
			p.rowsOfTriangle(z.part, hermitian, i*directSide, squares, beta)
		}
		return
	}
	of, part := p, z.part
	t.run(blocks, func(i int) { of.rowsOfTriangle(part, hermitian, i*directSide, squares, beta) })
}

// rowsOfTriangle computes the rows of a triangle from row i on that have one square on the diagonal.
func (p *directProduct[F]) rowsOfTriangle(part blas.Uplo, hermitian bool, i int, squares []F, beta complex128) {
	const length = 2 * directSide
	end := min(i+directSide, p.m)
	square := squares[i*length:]
	p.compute(square, length, i, end, 2*i, 2*end, tile.Update[F]{Alpha: p.update.Alpha})
	addHalf(hermitian, part, end-i, square, length, beta, p.c[i*(p.ldc+2):], p.ldc)
	from, to := 2*end, p.n
	if part == blas.Lower {
		from, to = 0, 2*i
	}
	if from < to {
		p.compute(p.c[i*p.ldc+from:], p.ldc, i, end, from, to, p.update)
	}
}

// addHalf computes a triangle of C = X + beta C for an n x n matrix X, with a real diagonal if C is
// Hermitian. Strides are in reals.
func addHalf[F tile.Float](
	hermitian bool, ul blas.Uplo, n int, x []F, ldx int, beta complex128, c []F, ldc int,
) {
	q := paired[F](beta, false)
	for i := range n {
		from, to := 0, 2*(i+1)
		if ul == blas.Upper {
			from, to = 2*i, 2*n
		}
		row, sums := c[i*ldc+from:i*ldc+to], x[i*ldx+from:][:to-from]
		if hermitian { // the imaginary part is not read
			c[i*(ldc+2)+1] = 0
		}
		switch {
		case beta == 0:
			copy(row, sums)
		case beta == 1:
			for k, v := range sums {
				row[k] += v
			}
		default:
			for k := 0; k+1 < len(row); k += 2 {
				re, im := q.times(row[k], row[k+1])
				row[k], row[k+1] = re+sums[k], im+sums[k+1]
			}
		}
		if hermitian {
			c[i*(ldc+2)+1] = 0
		}
	}
}

// isTurned reports whether a product without blocks takes less time as the transpose of C: it has few
// columns, which fill a part of a vector, and A has long rows.
func (z *complexProduct[F]) isTurned() bool {
	return z.a.transposed && z.n <= turnedPairColumns<<kind[F]() && z.m >= turnedPairRows && z.k >= turnedPairTerms*z.n
}

// turned computes C = alpha op(A) op(B) + beta C as the transpose of alpha op(B)' op(A)' + beta C'.
func (z *complexProduct[F]) turned(beta complex128) {
	length := 2 * z.m
	memory := borrow[F](2 * length * z.n)
	defer giveBack(memory)
	if imag(beta) != 0 {
		z.scaleTriangle(beta)
		beta = 1
	}
	of := complexProduct[F]{z.b.transpose(), z.a.transpose(), z.n, z.m, z.k, z.alpha, *memory, length, blas.All}
	of.computeDirect(0)
	if beta == 0 {
		tile.TransposeComplex(z.c, z.ldc, *memory, length, z.n, z.m)
		return
	}
	sums := (*memory)[length*z.n:]
	tile.TransposeComplex(sums, 2*z.n, *memory, length, z.n, z.m)
	by := F(real(beta))
	for i := range z.m {
		row := z.c[i*z.ldc:][:2*z.n]
		for j, v := range sums[i*2*z.n:][:len(row)] {
			row[j] = v + F(by*row[j])
		}
	}
}
