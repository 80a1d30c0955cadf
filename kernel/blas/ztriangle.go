package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A complexTriangle is a system op(A) X = B, or X op(A) = B, for m x n matrices X and B and a triangular A;
// or the products op(A) B and B op(A).
type complexTriangle[F tile.Float] struct {
	a              operand[F]
	b              []F
	ldb            int // in reals
	m, n           int
	right          bool // A is on the right
	lower          bool // op(A) is a lower triangle
	unit, multiply bool // ones on the diagonal; compute the product
}

// triangularPairs solves a system or, to multiply, computes a product, and returns true; or it returns false
// where gonum does.
func triangularPairs[F tile.Float](
	multiply bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128,
	a []F, lda int, b []F, ldb int,
) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	switch {
	case !isSide(s) || !isTriangle(ul) || !known(tA) || !isDiagonal(d) || min(m, n) <= 0 || alpha == 0:
		return false
	case !insidePairs(a, order, order, lda) || !insidePairs(b, m, n, ldb):
		return false
	case !vectorized() && (multiply || d == blas.Unit || invertiblePairs(order, a, lda)):
		return false
	}
	if alpha != 1 {
		for i := range m {
			scalePairs(b[2*i*ldb:][:2*n], alpha)
		}
	}
	if isTinyPairs(s == blas.Right, m, n) {
		tinyPairs(multiply, s == blas.Right, ul == blas.Lower, tA, d == blas.Unit, m, n, a, lda, b, ldb)
		return true
	}
	t := complexTriangle[F]{
		a: operandOf(tA, a, lda), b: b, ldb: 2 * ldb, m: m, n: n, right: s == blas.Right,
		lower: (ul == blas.Lower) == (tA == blas.NoTrans), unit: d == blas.Unit, multiply: multiply,
	}
	t.share()
	return true
}

// order returns the order of A, and sides the number of right sides.
func (t *complexTriangle[F]) order() int {
	if t.right {
		return t.n
	}
	return t.m
}

func (t *complexTriangle[F]) sides() int {
	if t.right {
		return t.m
	}
	return t.n
}

// share is compute for all unknowns, on several threads if that pays: they take right sides in turn. The
// number of parts changes no bit.
func (t *complexTriangle[F]) share() {
	order, sides := t.order(), t.sides()
	by := teamFor[F](2*order*order*sides, false)
	parts := by.parts(2, sides/sidesOfAPart)
	if by.threads == 1 || parts == 1 {
		t.compute(0, order)
		return
	}
	of := *t // a copy, so that triangles on one thread need no memory of the heap
	by.run(parts, func(i int) {
		lo, hi := cutSides[F](of.right, sides, i, parts), cutSides[F](of.right, sides, i+1, parts)
		part := of
		if of.right {
			part.b, part.m = of.b[lo*of.ldb:], hi-lo
		} else {
			part.b, part.n = of.b[2*lo:], hi-lo
		}
		part.compute(0, order)
	})
}

// An unknowns is the range of some unknowns of a triangle.
type unknowns struct{ lo, hi int }

func (u unknowns) count() int { return u.hi - u.lo }

// compute overwrites the part of B of the unknowns from lo to hi by their part of X, or of the product. A
// triangle of more than complexBlock unknowns is cut in two. The product of one half of them and of the block
// beside the triangles is added to the part of the other half, or subtracted.
func (t *complexTriangle[F]) compute(lo, hi int) {
	if hi-lo <= complexBlock {
		t.block(lo, hi-lo)
		return
	}
	cut := lo + ((hi-lo)/2+wholeLine-1)&^(wholeLine-1)
	known, other := unknowns{lo, cut}, unknowns{cut, hi}
	if t.lower == t.right { // the unknowns at the end are known first
		known, other = other, known
	}
	if t.multiply { // the steps of a solution backwards
		t.compute(other.lo, other.hi)
		t.add(1, other, known)
		t.compute(known.lo, known.hi)
		return
	}
	t.compute(known.lo, known.hi)
	t.add(-1, other, known)
	t.compute(other.lo, other.hi)
}

// add adds alpha times the product of some unknowns, and their block of op(A), to the part of B of others.
func (t *complexTriangle[F]) add(alpha complex128, to, from unknowns) {
	z := complexProduct[F]{
		a: t.a.block(to.lo, from.lo), b: operand[F]{factor[F]{t.b[t.at(from.lo):], t.ldb, false}, false},
		m: to.count(), n: t.n, k: from.count(), alpha: alpha, c: t.b[t.at(to.lo):], ldc: t.ldb, part: blas.All,
	}
	if t.right {
		z.a, z.b, z.m, z.n = z.b, t.a.block(from.lo, to.lo), t.m, to.count()
	}
	z.compute(false)
}

// at returns the place in B of the first number of an unknown.
func (t *complexTriangle[F]) at(unknown int) int {
	if t.right {
		return 2 * unknown
	}
	return unknown * t.ldb
}

// block is compute for at most complexBlock unknowns, by rows of B. With A on the right it transposes B for
// that.
func (t *complexTriangle[F]) block(lo, order int) {
	var factors [2 * complexBlock]F
	r := pairRows[F]{a: t.a.block(lo, lo), lower: t.lower, multiply: t.multiply, order: order}
	if t.right {
		r.a.transposed, r.lower = !r.a.transposed, !r.lower
	}
	exact := t.unit || r.pivots(factors[:])
	if !t.unit && exact {
		r.d = factors[:2*order]
	}
	if !t.right {
		r.apply(exact, t.b[lo*t.ldb:], t.ldb, t.n)
		return
	}
	stride := oddLines(2 * sidesTogether)
	memory := borrow[F](order * stride)
	defer giveBack(memory)
	rows, vector := *memory, tune().vectorBytes/int(unsafe.Sizeof(F(0)))/2
	for k := 0; k < t.m; k += sidesTogether {
		n, b := min(sidesTogether, t.m-k), t.b[k*t.ldb+2*lo:]
		whole := (n + vector - 1) / vector * vector
		for i := range order {
			clear(rows[i*stride+2*n : i*stride+2*whole])
		}
		tile.TransposeComplex(rows, stride, b, t.ldb, n, order)
		r.apply(exact, rows, stride, whole)
		tile.TransposeComplex(b, t.ldb, rows, stride, order, n)
	}
}

// pairRows are the rows of a complex triangle op(A) that are applied to rows of complex numbers.
type pairRows[F tile.Float] struct {
	a               operand[F]
	lower, multiply bool
	order           int
	d               []F // the factors of rows, or none for ones
}

// row returns the row of op(A) that needs i others.
func (r *pairRows[F]) row(i int) int {
	if r.lower {
		return i
	}
	return r.order - 1 - i
}

// steps returns the distances of rows and of columns of op(A), in reals.
func (r *pairRows[F]) steps() (down, across int) {
	if r.a.transposed {
		return 2, r.a.stride
	}
	return r.a.stride, 2
}

// pivots sets the factors of rows: the numbers on the diagonal or, for a solution, their inverses. It returns
// false if not all of these are exact.
func (r *pairRows[F]) pivots(factors []F) (exact bool) {
	for i := range r.order {
		pivot, to := r.a.data[r.row(i)*(r.a.stride+2):][:2], factors[2*i:][:2]
		if r.multiply {
			to[0], to[1] = pivot[0], pivot[1]
			continue
		}
		re, im, ok := pairInverse(pivot[0], pivot[1])
		if !ok {
			return false
		}
		to[0], to[1] = re, im
	}
	return true
}

// invertiblePairs reports whether the pivots have exact inverses: gonum multiplies by them.
func invertiblePairs[F tile.Float](order int, a []F, lda int) bool {
	for i := range order {
		pivot := a[2*i*(lda+1):][:2]
		if _, exact := pairSquare(pivot[0], pivot[1]); !exact {
			return false
		}
	}
	return true
}

// pairSquare returns the square of the size of a complex number. exact is false if to multiply by the inverse
// may round other than to divide does: the inverse is not finite, or it is denormal.
func pairSquare[F tile.Float](re, im F) (square float64, exact bool) {
	a, b := float64(re), float64(im)
	square = float64(a*a) + float64(b*b)
	if kind[F]() == 1 {
		return square, square >= 0x1p-248 && square <= 0x1p248
	}
	return square, square >= 0x1p-1000 && square <= 0x1p1000
}

// pairInverse returns the inverse of a complex number; see pairSquare.
func pairInverse[F tile.Float](re, im F) (x, y F, exact bool) {
	square, exact := pairSquare(re, im)
	inverse := 1 / square
	return F(float64(re) * inverse), F(-float64(im) * inverse), exact
}

// apply overwrites rows of B, of n numbers each, by the solution or the product.
func (r *pairRows[F]) apply(exact bool, b []F, ldb, n int) {
	down, across := r.steps()
	if !exact {
		r.divide(b, ldb, n)
		return
	}
	if !r.lower {
		down, across, ldb = -down, -across, -ldb
	}
	if r.multiply {
		tile.MultiplyComplexRows(b, ldb, r.a.data, down, across, r.d, r.a.conjugate, r.order, n)
	} else {
		tile.SolveComplexRows(b, ldb, r.a.data, down, across, r.d, r.a.conjugate, r.order, n)
	}
}

// divide is apply for a solution whose pivots have no exact inverses.
func (r *pairRows[F]) divide(b []F, ldb, n int) {
	down, across := r.steps()
	for i := range r.order {
		row := r.row(i)
		solution := b[row*ldb:][:2*n]
		for k := range i {
			from := r.row(k)
			re, im := r.entry(row*down + from*across)
			tile.AddComplex(solution, b[from*ldb:][:2*n], -re, -im, false)
		}
		re, im := r.entry(row * (r.a.stride + 2))
		for j := 0; j+1 < len(solution); j += 2 {
			solution[j], solution[j+1] = quotient(solution[j], solution[j+1], re, im)
		}
	}
}

// entry returns the number of op(A) at a place.
func (r *pairRows[F]) entry(at int) (re, im F) { return conjugateIf(r.a.conjugate, r.a.data[at:][:2]) }
