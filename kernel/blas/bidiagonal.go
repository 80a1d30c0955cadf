package blas

import (
	"math"

	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// A bidiagonal is an upper bidiagonal matrix with the rotations that diagonalize it. Rotations of its rows
// are applied to the rows of left, and rotations of its columns to the rows of right.
type bidiagonal struct {
	d, e        []float64 // the diagonal, and the entries above it
	left, right *turned
	negligible  float64 // entries above the diagonal up to here are zero
}

// tolerance is the relative error of a singular value that is not worth another step: as in LAPACK.
const tolerance = 98.7 * 0x1p-53

// diagonalize overwrites d by the singular values, descending, by implicit QR steps, without a shift where
// small values would lose relative precision by it (Demmel and Kahan, 1990; Dbdsqr of LAPACK). It returns
// false if they do not converge.
func (b *bidiagonal) diagonalize() bool {
	n := len(b.d)
	whole := chain{b.d, b.e, 0, n, true}
	least, _ := whole.bound(-1)
	b.negligible = max(tolerance*least/math.Sqrt(float64(n)), 6*float64(n*n)*safeMin)
	steps, most := 0, 6*n*n
	last := chain{down: true} // the last one that took a step
	for hi := n; hi > 1; {
		if steps > most {
			return false
		}
		lo, size := b.block(hi)
		if lo == hi-1 {
			hi--
			continue
		}
		c := chain{b.d, b.e, lo, hi, last.down}
		if lo == hi-2 {
			b.pair(c)
			hi -= 2
			continue
		}
		if lo >= last.hi || hi <= last.lo { // another block: from its larger end to its smaller one
			c.down = math.Abs(b.d[lo]) >= math.Abs(b.d[hi-1])
			last.down = c.down
		}
		least, small := c.bound(tolerance)
		if e := c.above(c.length() - 2); math.Abs(*e) <= tolerance*math.Abs(*c.diagonal(c.length() - 1)) {
			small = e
		}
		if small != nil {
			*small = 0
			continue
		}
		last = c
		steps += hi - lo + 1
		if shift := b.shift(c, least/size); shift == 0 {
			b.plainStep(c)
		} else {
			b.shiftedStep(c, shift)
		}
		if e := c.above(c.length() - 2); math.Abs(*e) <= b.negligible {
			*e = 0
		}
	}
	b.left.apply()
	b.right.apply()
	for i, v := range b.d {
		if v < 0 {
			b.d[i] = -v
			reference.Implementation{}.Dscal(b.right.n, -1, b.right.row(i), 1)
		}
	}
	sortRows(b.d, true, b.left, b.right)
	return true
}

// turnUpper takes e as entries below the diagonal, and rotates rows to bring them above it.
func (b *bidiagonal) turnUpper() {
	n := len(b.d)
	c, s := b.left.begin(0, n-1, true)
	for i := range n - 1 {
		at := n - 2 - i
		c[at], s[at], b.d[i] = own.Dlartg(b.d[i], b.e[i])
		b.e[i] = s[at] * b.d[i+1]
		b.d[i+1] *= c[at]
	}
}

// block returns the beginning of the block that ends before hi and has no zero above its diagonal, and its
// largest entry.
func (b *bidiagonal) block(hi int) (lo int, size float64) {
	size = math.Abs(b.d[hi-1])
	for lo = hi - 1; lo > 0; lo-- {
		e := math.Abs(b.e[lo-1])
		if e <= b.negligible {
			b.e[lo-1] = 0
			break
		}
		size = max(size, math.Abs(b.d[lo-1]), e)
	}
	return lo, size
}

// A chain is a block, from the first diagonal entry down or from the last one up.
type chain struct {
	d, e   []float64
	lo, hi int
	down   bool
}

func (c *chain) length() int { return c.hi - c.lo }

// diagonal returns entry i on the diagonal, in the direction of the chain.
func (c *chain) diagonal(i int) *float64 {
	if c.down {
		return &c.d[c.lo+i]
	}
	return &c.d[c.hi-1-i]
}

// above returns the entry between the diagonal entries i and i+1.
func (c *chain) above(i int) *float64 {
	if c.down {
		return &c.e[c.lo+i]
	}
	return &c.e[c.hi-2-i]
}

// bound returns a lower bound of the singular values. If an entry above the diagonal is at most a multiple
// of the bound up to there, it returns the first of these entries instead.
func (c *chain) bound(multiple float64) (least float64, small *float64) {
	mu := math.Abs(*c.diagonal(0))
	least = mu
	for i := range c.length() - 1 {
		e := c.above(i)
		if math.Abs(*e) <= multiple*mu {
			return 0, e
		}
		mu = math.Abs(*c.diagonal(i + 1)) * (mu / (mu + math.Abs(*e)))
		least = min(least, mu)
	}
	return least, nil
}

// shift returns the shift of the next QR step, or 0 if a shift would lose relative precision or have no
// effect.
func (b *bidiagonal) shift(c chain, ratio float64) float64 {
	if float64(len(b.d))*tolerance*ratio <= max(0x1p-53, tolerance/100) {
		return 0
	}
	n := c.length()
	shift, _ := own.Dlas2(*c.diagonal(n - 2), *c.above(n - 2), *c.diagonal(n - 1))
	if first := math.Abs(*c.diagonal(0)); first > 0 && (shift/first)*(shift/first) < 0x1p-53 {
		return 0
	}
	return shift
}

// rotations are the cosines and sines of a step: c1 and s1 of the side that turns first for each entry, c2
// and s2 of the second side.
type rotations struct{ c1, s1, c2, s2 []float64 }

// rotations adds a sweep for a step on a chain to the vectors of both sides, and returns it, to be set.
func (b *bidiagonal) rotations(c chain) (r rotations) {
	first, second := b.right, b.left
	if !c.down {
		first, second = second, first
	}
	r.c1, r.s1 = first.begin(c.lo, c.length()-1, c.down)
	r.c2, r.s2 = second.begin(c.lo, c.length()-1, c.down)
	return r
}

// plainStep is a QR step without a shift.
func (b *bidiagonal) plainStep(c chain) {
	n, r := c.length(), b.rotations(c)
	c1, c2, s2 := 1.0, 1.0, 0.0
	for i := range n - 1 {
		var s1, size float64
		c1, s1, size = own.Dlartg(*c.diagonal(i)*c1, *c.above(i))
		if i > 0 {
			*c.above(i - 1) = s2 * size
		}
		c2, s2, *c.diagonal(i) = own.Dlartg(c2*size, *c.diagonal(i + 1)*s1)
		at := n - 2 - i
		r.c1[at], r.s1[at], r.c2[at], r.s2[at] = c1, s1, c2, s2
	}
	h := *c.diagonal(n - 1) * c1
	*c.diagonal(n - 1), *c.above(n - 2) = h*c2, h*s2
}

// shiftedStep is a QR step that chases the bulge of a shift.
func (b *bidiagonal) shiftedStep(c chain, shift float64) {
	n, r := c.length(), b.rotations(c)
	d := *c.diagonal(0)
	f, g := (math.Abs(d)-shift)*(math.Copysign(1, d)+shift/d), *c.above(0)
	for i := range n - 1 {
		d, next, e := c.diagonal(i), c.diagonal(i+1), c.above(i)
		c1, s1, size := own.Dlartg(f, g)
		if i > 0 {
			*c.above(i - 1) = size
		}
		f, *e = float64(c1**d)+float64(s1**e), float64(c1**e)-float64(s1**d)
		g = s1 * *next
		*next *= c1
		c2, s2, size := own.Dlartg(f, g)
		*d = size
		f, *next = float64(c2**e)+float64(s2**next), float64(c2**next)-float64(s2**e)
		if i < n-2 {
			after := c.above(i + 1)
			g = s2 * *after
			*after *= c2
		}
		at := n - 2 - i
		r.c1[at], r.s1[at], r.c2[at], r.s2[at] = c1, s1, c2, s2
	}
	*c.above(n - 2) = f
}

// pair diagonalizes a block of two entries.
func (b *bidiagonal) pair(c chain) {
	c.down = true
	r, d, e := b.rotations(c), b.d[c.lo:c.hi], &b.e[c.lo]
	d[1], d[0], r.s1[0], r.c1[0], r.s2[0], r.c2[0] = own.Dlasv2(d[0], *e, d[1])
	*e = 0
}

// Dbdsqr computes the singular values of a bidiagonal matrix, and applies the rotations that diagonalize it
// to VT, U and C, as gonum does. It returns false if the iterations do not converge, and for a matrix with
// NaN or infinity, for which gonum's iterations do not end.
func (*solvers) Dbdsqr(
	ul blas.Uplo, n, ncvt, nru, ncc int, d, e, vt []float64, ldvt int, u []float64, ldu int, c []float64,
	ldc int, work []float64,
) (ok bool) {
	if hasInfinite(n, d, e) {
		return false
	}
	sound := isTriangle(ul) && n > 0 && min(ldvt, ldu, ldc) >= 1 && len(d) >= n && len(e) >= n-1
	if sound && ncvt == 0 && nru == 0 && ncc == 0 && len(work) >= 4*(n-1) {
		return own.bidiagonalValues(d[:n], e[:n-1])
	}
	return own.Implementation.Dbdsqr(ul, n, ncvt, nru, ncc, d, e, vt, ldvt, u, ldu, c, ldc, work)
}
