package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Small complex products are computed here without blocks: the right factor is packed in one piece.

// isSmall reports whether a product needs no blocks: its packed right factor stays in the first-level cache.
// Many rows of a few columns take longer to pack.
func (z *complexProduct[F]) isSmall() bool {
	narrow := z.n < narrowPairs && z.k > narrowPairTerms
	return z.n*z.k <= smallPairs && !narrow && isSmall(z.m, z.n, z.k, z.a.stride/2, 0)
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

// packWhole packs the right factor of a small product in one piece.
func (p *product[F]) packWhole(to []F) { p.packPairs(to, p.n, block{columns: p.n, depth: p.k}) }

// small computes a small complex product.
func (p *product[F]) small() {
	memory := borrow[F](p.n * p.k)
	p.packWhole(*memory)
	tile.Panels(p.c, p.ldc, p.a.data, p.leftLayout(), *memory, p.n, tile.PanelWidth[F](), p.m, p.k, p.n, p.update)
	giveBack(memory)
}

// smallTriangle computes a triangle of a small product plus beta C, with a real diagonal if C is Hermitian:
// squares on the diagonal in separate memory, and the entries beside them in C.
func (z *complexProduct[F]) smallTriangle(hermitian bool, beta complex128) {
	const side = tile.SquareRows
	p := z.ofReals(false)
	memory := borrow[F](p.n * (side + p.k))
	defer giveBack(memory)
	squares, right := (*memory)[:p.n*side], (*memory)[p.n*side:]
	p.packWhole(right)
	p.update.Beta = F(real(beta))
	if imag(beta) != 0 { // C is symmetric
		z.scaleTriangle(beta)
		beta, p.update.Beta = 1, 1
	}
	upper := z.part == blas.Upper
	tile.TriangleOf(upper, 2, p.c, p.ldc, squares, p.a.data, p.leftLayout(), right, p.n, z.n, p.k, p.update)
	for i := 0; i < z.n; i += side {
		addHalf(hermitian, z.part, min(side, z.n-i), squares[2*i*side:], 2*side, beta, z.c[i*(z.ldc+2):], z.ldc)
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
