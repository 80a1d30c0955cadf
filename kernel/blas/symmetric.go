package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// symmetricBlock is the order up to which a symmetric matrix is copied to multiply by it: a larger one is cut
// into two of them and what is between.
const symmetricBlock = 64

// A symmetric adds alpha A B, or alpha B A, to C for the symmetric A of which a has a triangle.
type symmetric[F tile.Float] struct {
	right, upper bool // B A; a has the upper triangle
	a            []F
	lda          int
	alpha        F
	ldb, ldc     int
}

// add does so for the block of an order from entry (first, first) of A on. b and c begin at these rows, or
// columns where A is on the right, and sides is the number of columns, or rows.
func (s *symmetric[F]) add(first, order, sides int, b, c []F) {
	if order <= symmetricBlock {
		pool := poolOf[F]()
		w := pool.Get().(*buffers[F])
		defer pool.Put(w)
		s.mirror(w.left[:], first, order)
		s.multiply(factor[F]{w.left[:], leftStride, false}, order, order, sides, b, c)
		return
	}
	half := order / 2
	rest := order - half
	nextB, nextC := half*s.ldb, half*s.ldc
	if s.right {
		nextB, nextC = half, half
	}
	b2, c2 := b[nextB:], c[nextC:]
	between := factor[F]{s.a, s.lda, !s.upper}.from(first, first+half)
	s.add(first, half, sides, b, c)
	s.add(first+half, rest, sides, b2, c2)
	across := between
	across.transposed = !across.transposed
	if s.right {
		between, across = across, between
	}
	s.multiply(between, half, rest, sides, b2, c)
	s.multiply(across, rest, half, sides, b, c2)
}

// multiply adds alpha op(M) B, or alpha B op(M), to C, which has m rows or columns; B has k.
func (s *symmetric[F]) multiply(f factor[F], m, k, sides int, b, c []F) {
	p := product[F]{a: f, b: factor[F]{b, s.ldb, false}, m: m, n: sides, k: k, alpha: s.alpha, c: c, ldc: s.ldc, part: blas.All}
	if s.right {
		p.a, p.b, p.m, p.n = p.b, p.a, sides, m
	}
	p.compute()
}

// mirror copies a block on the diagonal with both its triangles.
func (s *symmetric[F]) mirror(to []F, first, order int) {
	for i := range order {
		row := s.a[(first+i)*s.lda+first:]
		from, end := 0, i+1
		if s.upper {
			from, end = i, order
		}
		for j, v := range row[from:end] {
			to[i*leftStride+from+j] = v
			to[(from+j)*leftStride+i] = v
		}
	}
}
