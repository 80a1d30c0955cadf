package blas

import "math"

// A qdShift is how a shift was found.
type qdShift uint8

const (
	knownShift   qdShift = iota // from bounds of the smallest value
	guessedShift                // a fraction of an upper bound of it
	failedShift                 // guessed, and larger than it
)

// chooseShift sets the shift of the next step to a lower bound of the smallest square of a singular value,
// from the last step and the values that were found since (Parlett and Marques 2000; Dlasq4 of LAPACK). Where
// the bound is not certain, it is an estimate, which the step may have to replace.
func (z *qdSteps) chooseShift() {
	before := z.kind
	z.kind = knownShift
	switch found := z.first - z.hi; {
	case z.least0 <= 0:
		z.shift = -z.least0
	case found == 1:
		z.shift = z.afterOne()
	case found == 2:
		z.shift = z.afterTwo()
	case found > 2:
		z.shift = 0
	case z.least0 == z.d0 && z.least1 == z.d1:
		z.shift = z.fromGaps()
	case z.least0 == z.d0:
		z.shift = z.fromResidual(z.hi-1, z.d0, 0)
	case z.least0 == z.d1:
		z.shift = z.fromResidual(z.hi-2, z.d1, z.last.e[z.hi-1]/z.last.q[z.hi])
	case z.least0 == z.d2:
		last := z.last
		beside := last.e[z.hi-2] / last.q[z.hi-1] * (1 + last.e[z.hi-1]/last.q[z.hi])
		z.shift = z.fromResidual(z.hi-3, z.d2, beside)
	default:
		z.guess(before)
	}
}

// guess takes a fraction of the least d, a larger one from guess to guess.
func (z *qdSteps) guess(before qdShift) {
	switch before {
	case guessedShift:
		z.fraction += (1 - z.fraction) / 3
	case failedShift:
		z.fraction = 1. / 12
	default:
		z.fraction = 1. / 4
	}
	z.kind, z.shift = guessedShift, z.fraction*z.least0
}

// fromGaps returns a shift for a block whose last two d are the least ones, from the gaps to its other
// values.
func (z *qdSteps) fromGaps() float64 {
	q, e, k := z.q, z.e, z.hi
	b1 := float64(math.Sqrt(q[k]) * math.Sqrt(e[k-1]))
	b2 := float64(math.Sqrt(q[k-1]) * math.Sqrt(e[k-2]))
	a := q[k-1] + e[k-1]
	gap2 := z.least2 - a - float64(z.least2/4)
	gap1 := a - z.d0 - (b1 + b2)
	if gap2 > 0 && gap2 > b2 {
		gap1 = a - z.d0 - float64(b2/gap2*b2)
	}
	if gap1 > 0 && gap1 > b1 {
		return max(z.d0-float64(b1/gap1*b1), z.least0/2)
	}
	shift := max(0, z.d0-b1)
	if a > b1+b2 {
		shift = min(shift, a-(b1+b2))
	}
	return max(shift, z.least0/3)
}

const residualBound = 0.563

// fromResidual returns a shift from the residual of a Rayleigh quotient. Its vector belongs to d, and has the
// squares of the norm beside on one side of the entry of d, and those of beyond on the other.
func (z *qdSteps) fromResidual(from int, d, beside float64) float64 {
	norm, ok := beside, beside <= 1
	if from >= z.lo && ok {
		norm, ok = z.beyond(from, beside, residualBound)
	}
	norm = float64(norm * 1.05)
	if !ok || !(norm < residualBound) {
		return z.least0 / 4
	}
	return d * (1 - math.Sqrt(norm)) / (1 + norm)
}

// beyond adds the squares of the entries of a vector, from an entry up, to a sum, until they change it little
// or it exceeds a bound. It returns false if they do not fall.
func (z *qdSteps) beyond(from int, sum, bound float64) (float64, bool) {
	square := 1.0
	for i := from; i >= z.lo && square != 0; i-- {
		if z.e[i] > z.q[i] {
			return sum, false
		}
		before := square
		square = float64(square * (z.e[i] / z.q[i]))
		sum += square
		if i < from && 100*max(square, before) < sum || sum > bound {
			break
		}
	}
	return sum, true
}

// afterOne returns a shift where one value has just been found.
func (z *qdSteps) afterOne() float64 {
	switch {
	case z.least1 == z.d1 && z.least2 == z.d2:
		return z.afterSome(z.least1, z.least2/2)
	case z.least1 == z.d1:
		return z.least1 / 2
	}
	return z.least1 / 4
}

// afterTwo returns a shift where two values have just been found.
func (z *qdSteps) afterTwo() float64 {
	q, e, k := z.q, z.e, z.hi
	if z.least2 != z.d2 || 2*e[k-1] >= q[k-1] {
		return z.least2 / 4
	}
	return z.afterSome(z.least2, q[k-1]+e[k-2]-float64(math.Sqrt(q[k-2])*math.Sqrt(e[k-2])))
}

// afterSome returns a shift for the least d, given a bound of the next larger value.
func (z *qdSteps) afterSome(least, next float64) float64 {
	norm, ok := z.beyond(z.hi-1, 0, math.Inf(1))
	if !ok {
		return least / 3
	}
	b := math.Sqrt(1.05 * norm)
	a := least / (1 + float64(b*b))
	if gap := next - a; gap > 0 && gap > b*a {
		return max(least/3, a*(1-float64(1.01*a*(b/gap)*b)))
	}
	return max(least/3, a*(1-float64(1.01*b)))
}
