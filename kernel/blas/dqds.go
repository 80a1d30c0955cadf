package blas

import (
	"math"
	"slices"
)

// A qdArray is a bidiagonal matrix as the squares q of its diagonal and e of the entries beside it.
type qdArray struct{ q, e []float64 }

// qdSteps computes the singular values of a bidiagonal matrix by qd steps with shifts, each to almost full
// relative precision (Fernando and Parlett 1994; the shifts of Parlett and Marques 2000, as in Dlasq2 of
// LAPACK). A step takes a shift from all squares of singular values of a block.
type qdSteps struct {
	qdArray         // the matrix
	last    qdArray // the matrix before the last step

	values []float64 // squares of singular values: those of a block are in its place

	lo, hi int       // the block is the entries from lo to hi
	rest   []qdBlock // the other ones
	first  int       // hi before values were found, for the next shift

	shifted, lost float64 // the shifts of the block so far, and what rounding has lost of their sum
	largest       float64 // a bound of q
	smallest      float64 // the least e of the last step
	qdEnd

	shift    float64 // of the last step
	kind     qdShift
	fraction float64 // of the least value, for a shift that is guessed
}

// A qdBlock is a block that has to wait, with the shifts that were taken from its squares. The arrays change
// places with every step.
type qdBlock struct {
	lo, hi    int
	shifted   float64
	now, last qdArray
}

// A qdEnd has intermediate results d of a step: d0 belongs to the last entry, d1 and d2 to the two before it.
// least0 is the least d, least1 the least without d0, and least2 without d0 and d1.
type qdEnd struct{ d0, d1, d2, least0, least1, least2 float64 }

const (
	negligibleSquare = (100 * 0x1p-53) * (100 * 0x1p-53)
	stepsPerValue    = 100 // two are usual
)

// bidiagonalValues overwrites d by the singular values of the bidiagonal matrix with the diagonal d and the
// entries e beside it, descending. They are finite. It returns false if they are not found.
func (*solvers) bidiagonalValues(d, e []float64) bool {
	n := len(d)
	if n == 2 {
		d[1], d[0] = own.Dlas2(d[0], e[0], d[1])
		return true
	}
	size := max(largest(1, n, d, n), largest(1, n-1, e, max(n-1, 1)))
	if size == 0 {
		clear(d)
		return true
	}
	exponent := 484 - math.Ilogb(size) // squares do not overflow, and no square that matters underflows
	memory := borrow[float64](5 * n)
	defer giveBack(memory)
	part := func(i int) []float64 { return (*memory)[i*n:][:n] }
	z := qdSteps{qdArray: qdArray{part(0), part(1)}, last: qdArray{part(2), part(3)}, values: part(4)}
	z.e[n-1] = 0
	for i, v := range d {
		v = math.Ldexp(v, exponent)
		z.q[i] = v * v
	}
	for i, v := range e {
		v = math.Ldexp(v, exponent)
		z.e[i] = v * v
	}
	if !z.solve() {
		return false
	}
	for i, v := range z.values {
		d[i] = math.Ldexp(math.Sqrt(v), -exponent)
	}
	slices.SortFunc(d, func(x, y float64) int {
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return true
}

// solve computes the squares of the singular values, in any order.
func (z *qdSteps) solve() bool {
	z.hi = len(z.q) - 1
	z.reverseIfUpward()
	for range 2 {
		z.separate()
	}
	lo := 0
	for i, v := range z.e {
		if v == 0 {
			z.wait(lo, i)
			lo = i + 1
		}
	}
	for len(z.rest) > 0 {
		b := z.rest[len(z.rest)-1]
		z.rest = z.rest[:len(z.rest)-1]
		if !z.solveBlock(b) {
			return false
		}
	}
	return true
}

// reverseIfUpward turns the block round if its last entry is larger than its first one: steps find the
// smallest values at the end.
func (z *qdSteps) reverseIfUpward() bool {
	if 1.5*z.q[z.lo] >= z.q[z.hi] {
		return false
	}
	z.reverse()
	return true
}

func (z *qdSteps) reverse() {
	for _, a := range []qdArray{z.qdArray, z.last} {
		slices.Reverse(a.q[z.lo : z.hi+1])
		slices.Reverse(a.e[z.lo:z.hi])
	}
}

// separate takes a step without a shift on the whole matrix, and clears entries beside the diagonal that
// change no value (Li's test in LAPACK).
func (z *qdSteps) separate() {
	n := len(z.q)
	d := z.q[n-1]
	for i := n - 2; i >= 0; i-- {
		if z.e[i] <= negligibleSquare*d {
			z.e[i] = 0
			d = z.q[i]
		} else {
			d = z.q[i] * (d / (d + z.e[i]))
		}
	}
	to := z.last
	d = z.q[0]
	for i := range n - 1 {
		if z.e[i] <= negligibleSquare*d {
			z.e[i], to.q[i], to.e[i] = 0, d, 0
			d = z.q[i+1]
			continue
		}
		d = safeQuotients(d, z.q[i+1], z.e[i], &to.q[i], &to.e[i])
	}
	to.q[n-1], to.e[n-1] = d, 0
	z.qdArray, z.last = to, z.qdArray
}

// wait adds a block to the rest.
func (z *qdSteps) wait(lo, hi int) {
	z.rest = append(z.rest, qdBlock{lo, hi, z.shifted, z.qdArray, z.last})
}

// solveBlock computes the values of a block, but for parts of it that it adds to the rest.
func (z *qdSteps) solveBlock(b qdBlock) bool {
	z.lo, z.hi, z.shifted, z.lost, z.qdArray, z.last = b.lo, b.hi, b.shifted, 0, b.now, b.last
	turned := z.begin()
	for steps := range stepsPerValue * (b.hi - b.lo + 1) {
		z.first = z.hi
		if steps > 0 || !turned { // else the last step went the other way
			z.takeValues()
		}
		if z.hi < z.lo {
			return true
		}
		if (z.least0 <= 0 || z.hi < z.first) && z.reverseIfUpward() {
			z.largest = max(z.largest, z.q[z.lo], z.q[z.lo+1])
			z.least0 = 0
		}
		z.step()
		if steps%2 == 1 && z.hi-z.lo >= 3 && (z.smallest <= negligibleSquare*max(z.largest, z.shifted)) {
			z.split()
		}
	}
	return false
}

// begin sets the bounds of a new block. It turns the block round, and returns true, if its small values are
// in its upper part.
func (z *qdSteps) begin() (turned bool) {
	q, e := z.q[z.lo:z.hi+1], z.e[z.lo:z.hi]
	z.qdEnd, z.kind, z.fraction, z.shift = qdEnd{}, knownShift, 0, 0
	least, beside := q[len(q)-1], 0.0
	z.largest = least
	for i := len(e) - 1; i >= 0; i-- {
		if least >= 4*beside {
			least, beside = min(least, q[i+1]), max(beside, e[i])
		}
		z.largest = max(z.largest, q[i]+e[i])
	}
	if len(q) > 2 {
		d, smallest, at := q[0], q[0], 0
		for i, v := range e {
			d = q[i+1] * (d / (d + v))
			if d <= smallest {
				smallest, at = d, i+1
			}
		}
		turned = 2*at < len(e)-at && smallest <= q[len(q)-1]/2
	}
	if turned {
		z.reverse()
	}
	z.least0 = -max(0, least-float64(2*math.Sqrt(least)*math.Sqrt(beside))) // a bound: Gershgorin's discs
	return turned
}

// takeValues takes values from the end of the block, one or two at a time, while entries beside them are
// negligible.
func (z *qdSteps) takeValues() {
	q, e := z.q, z.e
	for z.hi >= z.lo {
		k := z.hi
		if k > z.lo+1 && !z.negligible(k-1, q[k]) && !z.negligible(k-2, 0) {
			return
		}
		if k == z.lo || k > z.lo+1 && z.negligible(k-1, q[k]) {
			z.values[k] = q[k] + z.shifted
			z.hi--
			continue
		}
		larger, smaller := squaresOfTwo(q[k-1], e[k-1], q[k])
		z.values[k-1], z.values[k] = larger+z.shifted, smaller+z.shifted
		z.hi -= 2
	}
}

// negligible reports whether entry i beside the diagonal changes no value. after is the square below it.
func (z *qdSteps) negligible(i int, after float64) bool {
	return z.e[i] <= negligibleSquare*(z.shifted+after) || z.last.e[i] <= negligibleSquare*z.q[i]
}

// squaresOfTwo returns the squares of the singular values of a block of two.
func squaresOfTwo(q0, e, q1 float64) (larger, smaller float64) {
	q0, q1 = max(q0, q1), min(q0, q1)
	t := float64((q0 - q1 + e) / 2)
	if e <= q1*negligibleSquare || t == 0 {
		return q0, q1
	}
	s := float64(q1 * (e / t))
	if s <= t {
		s = q1 * (e / float64(t*(1+math.Sqrt(1+s/t))))
	} else {
		s = q1 * (e / (t + float64(math.Sqrt(t)*math.Sqrt(t+s))))
	}
	t = q0 + (s + e)
	return t, q1 * (q0 / t)
}

// split cuts the block where entries beside the diagonal have become negligible, and goes on with its end.
func (z *qdSteps) split() {
	lo := z.lo
	for i := z.lo; i < z.hi-2; i++ {
		if z.last.e[i] <= negligibleSquare*z.q[i] || z.e[i] <= negligibleSquare*z.shifted {
			z.wait(lo, i)
			lo = i + 1
		}
	}
	if lo == z.lo {
		return
	}
	z.lo, z.largest = lo, slices.Max(z.q[lo:z.hi+1])
}
