package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// solve overwrites x by the solution of op(A) times it: some unknowns at a time, by loops where they depend
// on each other.
func (s *storedPairs[F]) solve(tA blas.Transpose, unit bool, x, memory []F) {
	p := s.system(tA, unit, x, memory)
	r := s.runs()
	for k := range 3 {
		if p.backwards {
			k = 2 - k
		}
		for done := r[k]; done < r[k+1]; done += together {
			lo, hi := done, min(done+together, r[k+1])
			if p.backwards {
				lo, hi = r[k]+r[k+1]-hi, r[k]+r[k+1]-lo
			}
			if tA == blas.NoTrans {
				p.byDots(lo, hi)
			} else {
				p.byAdding(lo, hi)
			}
		}
	}
}

// system returns the system of op(A) and x, with memory.
func (s *storedPairs[F]) system(tA blas.Transpose, unit bool, x, memory []F) pairSystem[F] {
	p := pairSystem[F]{storedPairs: s, transposed: tA != blas.NoTrans, unit: unit, x: x}
	p.conjugate, p.backwards = tA == blas.ConjTrans, s.upper() != p.transposed
	p.re, p.im = memory[:len(x)], memory[len(x):2*len(x)]
	if p.transposed {
		clear(p.re)
		clear(p.im)
	} else {
		forDots(p.re, p.im, x)
	}
	return p
}

// A pairSystem is a system op(A) x = b for a complex triangle A. For A, re and im are x for inner products;
// for other op(A) they are sums of rows of A, times the parts of unknowns.
type pairSystem[F tile.Float] struct {
	*storedPairs[F]
	transposed, conjugate, unit, backwards bool
	x, re, im                              []F
}

// quotient returns the quotient of two complex numbers with the bits that Go computes. It is faster than the
// division of Go unless the quotient is NaN.
func quotient[F tile.Float](re, im, v, w F) (F, F) {
	a, b, c, d := float64(re), float64(im), float64(v), float64(w)
	var x, y float64
	if math.Abs(c) >= math.Abs(d) {
		ratio := d / c
		by := c + float64(ratio*d)
		x, y = (a+float64(b*ratio))/by, (b-float64(a*ratio))/by
	} else {
		ratio := c / d
		by := d + float64(ratio*c)
		x, y = (float64(a*ratio)+b)/by, (float64(b*ratio)-a)/by
	}
	if x != x || y != y {
		q := complex(a, b) / complex(c, d)
		x, y = real(q), imag(q)
	}
	return F(x), F(y)
}

// byDots solves for unknowns lo to hi of A x = b, which wait for products of rows and others.
func (p *pairSystem[F]) byDots(lo, hi int) {
	var sums [2 * together]F
	p.dots(sums[:], lo, hi)
	own := p.x[2*lo : 2*hi]
	for k := range own {
		own[k] -= sums[k]
	}
	p.corner(false, lo, hi)
	forDots(p.re[2*lo:], p.im[2*lo:], own)
}

// byAdding solves for unknowns lo to hi of op(A) x = b, and adds their rows to the sums for others.
func (p *pairSystem[F]) byAdding(lo, hi int) {
	for i := lo; i < hi; i++ {
		v, w := combined(p.re, p.im, 2*i, p.conjugate)
		p.x[2*i], p.x[2*i+1] = p.x[2*i]-v, p.x[2*i+1]-w
	}
	p.corner(false, lo, hi)
	p.add(lo, hi)
}

// others returns the columns of rows lo to hi of a triangle beside their square on the diagonal.
func (s *storedPairs[F]) others(lo, hi int) (first, last int) {
	if s.upper() {
		return hi, s.n
	}
	return 0, lo
}

// rowsFrom returns the rows of a triangle from row i and a column on, as reals, and their distance. It grows
// from row to row if they are packed.
func (s *storedPairs[F]) rowsFrom(i, column int) (rows []F, distance, growth int) {
	at := s.origin(i)
	return s.data[2*(at+column):], 2 * (s.origin(i+1) - at), 2 * s.growth()
}

// dots sets sums to the products of rows lo to hi and others.
func (p *pairSystem[F]) dots(sums []F, lo, hi int) {
	if p.layout == bandedRows {
		rows := inReals(p.beside(lo, hi))
		rows.Dots(sums, p.re, p.im)
		return
	}
	if first, last := p.others(lo, hi); first < last {
		rows, distance, growth := p.rowsFrom(lo, first)
		tile.RowDotPairs(sums, rows, distance, growth, p.re[2*first:], p.im[2*first:], hi-lo, 2*(last-first))
	}
}

// add adds rows lo to hi, times their unknowns, to the sums for others.
func (p *pairSystem[F]) add(lo, hi int) {
	if p.layout == bandedRows {
		rows := inReals(p.beside(lo, hi))
		rows.Add(p.x[2*lo:], p.re, p.im)
		return
	}
	if first, last := p.others(lo, hi); first < last {
		rows, distance, growth := p.rowsFrom(lo, first)
		re, im := p.re[2*first:], p.im[2*first:]
		tile.AddRowPairs(re, im, rows, distance, growth, p.x[2*lo:], hi-lo, 2*(last-first))
	}
}

// corner solves for unknowns lo to hi, which wait for each other only; or it multiplies them by their square
// on the diagonal.
func (p *pairSystem[F]) corner(multiply bool, lo, hi int) {
	if p.layout != byStride {
		p.loops(multiply, lo, hi)
		return
	}
	var factors [2 * together]F
	r := pairRows[F]{multiply: multiply, lower: !p.backwards, order: hi - lo}
	r.a.data, r.a.stride = p.data[2*(p.origin(lo)+lo):], 2*p.stride
	r.a.transposed, r.a.conjugate = p.transposed, p.conjugate
	exact := p.unit || r.pivots(factors[:])
	if !p.unit && exact {
		r.d = factors[:2*(hi-lo)]
	}
	r.apply(exact, p.x[2*lo:], 2, 1)
}

// loops is corner for packed rows or a band, row by row.
func (p *pairSystem[F]) loops(multiply bool, lo, hi int) {
	for k := range hi - lo {
		i := lo + k
		if p.backwards != multiply {
			i = hi - 1 - k
		}
		at := p.origin(i)
		from, end := p.square(i, lo, hi)
		pivot, entries, beside := p.data[2*(at+i):][:2], p.data[2*(at+from):2*(at+end)], p.x[2*from:2*end]
		re, im := p.x[2*i], p.x[2*i+1]
		switch {
		case p.transposed && multiply:
			p.addEntries(beside, entries, re, im)
			re, im = p.timesPivot(pivot, re, im)
		case p.transposed:
			re, im = p.overPivot(pivot, re, im)
			p.addEntries(beside, entries, -re, -im)
		case multiply:
			v, w := productOfEntries(entries, beside)
			re, im = p.timesPivot(pivot, re, im)
			re, im = re+v, im+w
		default:
			v, w := productOfEntries(entries, beside)
			re, im = p.overPivot(pivot, re-v, im-w)
		}
		p.x[2*i], p.x[2*i+1] = re, im
	}
}

// productOfEntries returns the product of some complex numbers and others, as two sums.
func productOfEntries[F tile.Float](x, y []F) (re, im F) {
	var even, evenIm F
	for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
		even += F(x[0]*y[0]) - F(x[1]*y[1])
		evenIm += F(x[0]*y[1]) + F(x[1]*y[0])
		re += F(x[2]*y[2]) - F(x[3]*y[3])
		im += F(x[2]*y[3]) + F(x[3]*y[2])
	}
	if len(x) >= 2 && len(y) >= 2 {
		even += F(x[0]*y[0]) - F(x[1]*y[1])
		evenIm += F(x[0]*y[1]) + F(x[1]*y[0])
	}
	return even + re, evenIm + im
}

// addEntries adds entries of op(A), times a number, to y.
func (p *pairSystem[F]) addEntries(y, entries []F, re, im F) {
	turned, turnedIm := -im, re // i times the number, or -i
	if p.conjugate {
		turned, turnedIm = im, -re
	}
	for ; len(entries) >= 2 && len(y) >= 2; entries, y = entries[2:], y[2:] {
		y[0] += F(entries[0]*re) + F(entries[1]*turned)
		y[1] += F(entries[0]*im) + F(entries[1]*turnedIm)
	}
}

// timesPivot returns the product of a number and an entry of the diagonal, and overPivot the quotient.
func (p *pairSystem[F]) timesPivot(pivot []F, re, im F) (F, F) {
	if p.unit {
		return re, im
	}
	v, w := conjugateIf(p.conjugate, pivot)
	return timesPair(v, w, re, im)
}

func (p *pairSystem[F]) overPivot(pivot []F, re, im F) (F, F) {
	if p.unit {
		return re, im
	}
	v, w := conjugateIf(p.conjugate, pivot)
	if inverse, inverseIm, exact := pairInverse(v, w); exact {
		return timesPair(inverse, inverseIm, re, im)
	}
	return quotient(re, im, v, w)
}

// multiply overwrites x by its product with op(A), some rows at a time.
func (p *pairSystem[F]) multiply() {
	for done := 0; done < p.n; done += together {
		lo, hi := done, min(done+together, p.n)
		if p.upper() { // the rows of an incomplete block are longest, and the other lengths whole
			lo, hi = max(0, p.n-done-together), p.n-done
		}
		var sums [2 * together]F
		if p.transposed {
			p.add(lo, hi)
		} else {
			p.dots(sums[:], lo, hi)
		}
		p.corner(true, lo, hi)
		for k, v := range sums[:2*(hi-lo)] {
			p.x[2*lo+k] += v
		}
	}
	if p.transposed {
		combineParts(p.re[:2*p.n], p.im, p.conjugate, false)
		tile.AddScaled(p.x[:2*p.n], p.re[:2*p.n], 1)
	}
}
