package blas

import "math"

// step takes a step with the best shift known, or a smaller one if that exceeds the smallest value.
func (z *qdSteps) step() {
	const tol = 100 * 0x1p-53
	z.chooseShift()
	for failures := 0; ; failures++ {
		z.transform()
		none := z.shift == 0
		switch {
		case z.d0 != z.d0 && none: // squares have underflown
			z.transformSafely()
		case z.d0 != z.d0 || z.least0 < 0 && failures > 1:
			z.shift = 0
			continue
		case z.least0 >= 0:
		case z.least1 > 0 && z.last.e[z.hi-1] < tol*(z.shifted+z.d1) && math.Abs(z.d0) < tol*z.shifted:
			z.last.q[z.hi], z.least0 = 0, 0 // the value is the shift
		case z.least1 > 0: // all but the last value are larger, so that this shift is a good one
			z.shift = (z.shift + z.least0) * (1 - 0x1p-52)
			continue
		default:
			z.shift /= 4
			if z.kind == guessedShift {
				z.kind = failedShift
			}
			continue
		}
		break
	}
	z.qdArray, z.last = z.last, z.qdArray
	z.addShift()
}

// addShift adds the shift of a step to those of the block, with what their sum lost.
func (z *qdSteps) addShift() {
	if z.shift < z.shifted {
		z.lost += z.shift
		sum := z.shifted + z.lost
		z.lost -= sum - z.shifted
		z.shifted = sum
		return
	}
	sum := z.shifted + z.shift
	z.lost += z.shifted - (sum - z.shift)
	z.shifted = sum
}

// transform takes a step from the matrix to the one before it. If squares have underflown, its last d is NaN.
func (z *qdSteps) transform() {
	threshold := 0x1p-53 * (z.shifted + z.shift)
	if z.shift < threshold/2 {
		z.shift = 0
	}
	if z.shift != 0 {
		threshold = math.Inf(-1)
	}
	k, to := z.hi, z.last
	d := z.q[z.lo] - z.shift
	r := qdRun{d: d, least: d, smallest: math.Inf(1), shift: z.shift, threshold: threshold}
	r.take(z.q[z.lo+1:k-1], z.e[z.lo:], to.q[z.lo:], to.e[z.lo:])
	z.d2, z.least2 = r.d, r.least
	to.q[k-2], to.e[k-2] = r.takeOne(z.q[k-1], z.e[k-2])
	z.d1, z.least1 = r.d, r.least
	to.q[k-1], to.e[k-1] = r.takeOne(z.q[k], z.e[k-1])
	z.d0, z.least0 = r.d, r.least
	to.q[k], z.smallest = r.d, r.smallest
}

// A qdRun is a part of a step: its last d, the least d and the least e.
type qdRun struct{ d, least, smallest, shift, threshold float64 }

// take takes the step on entries e and the entries q behind them.
func (r *qdRun) take(q, e, toQ, toE []float64) {
	e, toQ, toE = e[:len(q)], toQ[:len(q)], toE[:len(q)]
	d, least, smallest := r.d, r.least, r.smallest
	for i, next := range q {
		sum := d + e[i]
		ratio := next / sum
		d = float64(d*ratio) - r.shift
		if d < r.threshold { // rounding beside the shifts
			d = 0
		}
		if d < least {
			least = d
		}
		toQ[i], toE[i] = sum, e[i]*ratio
		if toE[i] < smallest {
			smallest = toE[i]
		}
	}
	r.d, r.least, r.smallest = d, least, smallest
}

// takeOne is take for one entry, and returns the new ones. Its quotients do not overflow.
func (r *qdRun) takeOne(next, e float64) (toQ, toE float64) {
	toQ = r.d + e
	toE = next * (e / toQ)
	r.d = float64(next*(r.d/toQ)) - r.shift
	if r.d < r.threshold {
		r.d = 0
	}
	r.least, r.smallest = min(r.least, r.d), min(r.smallest, toE)
	return toQ, toE
}

// transformSafely is transform without a shift, where quotients could be of zeros.
func (z *qdSteps) transformSafely() {
	to, d := z.last, z.q[z.lo]
	z.qdEnd = qdEnd{d0: d, least0: d}
	z.smallest = math.Inf(1)
	for i := z.lo; i < z.hi; i++ {
		zero := d+z.e[i] == 0
		d = safeQuotients(d, z.q[i+1], z.e[i], &to.q[i], &to.e[i])
		least := min(z.least0, d)
		if zero {
			least = d
		}
		z.qdEnd = qdEnd{d0: d, d1: z.d0, d2: z.d1, least0: least, least1: z.least0, least2: z.least1}
		z.smallest = min(z.smallest, to.e[i])
	}
	to.q[z.hi] = d
}

// safeQuotients takes a step without a shift from d, the next q and e, where quotients could underflow. It
// returns the next d.
func safeQuotients(d, next, e float64, q, to *float64) float64 {
	sum := d + e
	*q = sum
	switch {
	case sum == 0:
		*to = 0
		return next
	case safeMin*next < sum && safeMin*sum < next:
		ratio := next / sum
		*to = e * ratio
		return d * ratio
	}
	*to = next * (e / sum)
	return next * (d / sum)
}
