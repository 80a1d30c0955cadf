package blas

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// Dsterf computes the eigenvalues of a symmetric tridiagonal matrix, ascending.
//
// On entry d holds the diagonal and e the entries next to it. On return d holds the eigenvalues, and e
// nothing of use. Dsterf returns false if they are not all found. For a matrix with NaN or infinity it does
// so without a try.
//
// gonum v0.17 panics, or scales wrong entries, where a part of the matrix is tiny or huge.
func (*solvers) Dsterf(n int, d, e []float64) (ok bool) {
	if n <= 0 || len(d) < n || len(e) < n-1 {
		return own.Implementation.Dsterf(n, d, e)
	}
	d, e = d[:n], e[:n-1]
	size := max(largest(1, n, d, n), largest(1, n-1, e, n))
	if !(size <= math.MaxFloat64) {
		return false
	}
	steps := 60 * n // for all eigenvalues; two for each are usual
	for from := 0; from < n; {
		to := from
		for to+1 < n && math.Abs(e[to]) > math.Sqrt(math.Abs(d[to]))*math.Sqrt(math.Abs(d[to+1]))*0x1p-53 {
			to++
		}
		if to > from && !own.rootFree(d[from:to+1], e[from:to], &steps) {
			return false
		}
		from = to + 1
	}
	slices.Sort(d)
	return true
}

// rootFree is Dsterf for a matrix without zeros next to its diagonal, not sorted: QL steps on the squares of
// these entries (Pal, Walker and Kahan; Parlett 1980, 8-15), from the smaller end of the diagonal on. It
// counts steps down.
func (*solvers) rootFree(d, e []float64, steps *int) bool {
	n := len(d)
	_, exponent := math.Frexp(max(largest(1, n, d, n), largest(1, n-1, e, n)))
	if math.Abs(d[n-1]) < math.Abs(d[0]) {
		slices.Reverse(d)
		slices.Reverse(e)
	}
	for i := range d {
		d[i] = math.Ldexp(d[i], -exponent)
	}
	for i, v := range e {
		v = math.Ldexp(v, -exponent)
		e[i] = v * v
	}
	for first := 0; first < n; {
		m := first
		for m+1 < n && e[m] > 0x1p-106*math.Abs(d[m]*d[m+1]) {
			m++
		}
		if m+1 < n {
			e[m] = 0
		}
		switch {
		case m == first:
			first++
			continue
		case m == first+1:
			d[first], d[m] = own.Dlae2(d[first], math.Sqrt(e[first]), d[m])
			first += 2
			continue
		case *steps == 0:
			return false
		}
		*steps--
		squareStep(d[first:m+1], e[first:m])
	}
	for i := range d {
		d[i] = math.Ldexp(d[i], exponent)
	}
	return true
}

// squareStep is one QL step.
func squareStep(d, e []float64) {
	m := len(e)
	root := math.Sqrt(e[0])
	shift := (d[1] - d[0]) / (2 * root)
	shift = d[0] - root/(shift+math.Copysign(rounded.Hypot(shift, 1), shift))
	c, s, g := 1.0, 0.0, d[m]-shift
	p := g * g
	for i := m - 1; i >= 0; i-- {
		square := e[i]
		r := p + square
		if i < m-1 {
			e[i+1] = s * r
		}
		before, old := c, g
		c, s = p/r, square/r
		g = float64(c*(d[i]-shift)) - float64(s*old)
		d[i+1] = old + (d[i] - g)
		if c != 0 {
			p = g * g / c
		} else {
			p = before * square
		}
	}
	e[0], d[0] = s*p, shift+g
}
