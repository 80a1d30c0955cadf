package blas

import "github.com/difalt/difalt/internal/tile"

// A vectorOperation is an operation of level 1.
type vectorOperation uint8

const (
	addScaled    vectorOperation = iota // y += alpha x
	scaleVector                         // x *= alpha
	turnBoth                            // x, y = alpha x + beta y, gamma x + delta y
	exchangeBoth                        // x, y = y, x
	innerSum                            // x'y
	absoluteSum                         // the sum of the absolute values of x
	squareSum                           // x'x, in float64
	// The vectors of the following ones are complex numbers, as pairs of reals; alpha and beta are a number.
	addScaledPairs
	scaleComplex
	innerPairs
	innerConjugate // x*y
)

// passes returns how often each operation reads or writes an entry of a vector, or another number for which
// it takes as long.
func (o vectorOperation) passes() int {
	return [...]int{
		addScaled: 3, scaleVector: 2, turnBoth: 4, exchangeBoth: 4, innerSum: 2, absoluteSum: 2, squareSum: 2,
		addScaledPairs: 3, scaleComplex: 2, innerPairs: 2, innerConjugate: 2,
	}[o]
}

// sums reports whether the operation has a sum.
func (o vectorOperation) sums() bool {
	switch o {
	case innerSum, absoluteSum, squareSum, innerPairs, innerConjugate:
		return true
	}
	return false
}

// longVector is the least number of reals of a vector whose operations are computed in pieces, which several
// threads may share. Its sums are sums of those of pieces, for any number of threads.
const longVector = 1 << 15

// pieceOfVector is the number of reals of a piece.
const pieceOfVector = 1 << 12

// A longVectors is an operation on long vectors of one length.
type longVectors[F tile.Float] struct {
	operation    vectorOperation
	x, y         []F
	alpha, beta  F
	gamma, delta F // of turnBoth
}

// compute carries the operation out, and returns its sum: both parts of a complex one.
func (l *longVectors[F]) compute() (re, im float64) {
	t := tune().vectors.teamFor((l.operation.passes() * len(l.x)) >> kind[F]())
	if t.threads == 1 && !l.operation.sums() {
		return l.part(0, len(l.x))
	}
	pieces := (len(l.x) + pieceOfVector - 1) / pieceOfVector
	if t.threads == 1 {
		for i := range pieces {
			x, y := l.piece(i)
			re, im = re+x, im+y
		}
		return re, im
	}
	of := *l // a copy, so that vectors on one thread need no memory of the heap
	memory := borrow[float64](2 * pieces)
	defer giveBack(memory)
	sums, parts := *memory, t.parts(4, pieces)
	cut := func(k int) int { return (k*pieces + parts - 1) / parts } // the caller begins first, and has more
	t.run(parts, func(k int) {
		for i := cut(k+1) - 1; i >= cut(k); i-- { // as team.backwards
			sums[2*i], sums[2*i+1] = of.piece(i)
		}
	})
	for i := range pieces {
		re, im = re+sums[2*i], im+sums[2*i+1]
	}
	return re, im
}

// piece carries the operation out on piece i, and returns its sum.
func (l *longVectors[F]) piece(i int) (re, im float64) {
	return l.part(i*pieceOfVector, min((i+1)*pieceOfVector, len(l.x)))
}

// part carries the operation out on reals lo to hi, and returns their sum.
func (l *longVectors[F]) part(lo, hi int) (re, im float64) {
	x, y := l.x[lo:hi], l.x[lo:hi]
	if l.y != nil {
		y = l.y[lo:hi]
	}
	switch l.operation {
	case addScaled:
		tile.AddScaled(y, x, l.alpha)
	case scaleVector:
		tile.Scale(x, l.alpha)
	case turnBoth:
		tile.Turn(x, y, &[4]F{l.alpha, l.beta, l.gamma, l.delta})
	case exchangeBoth:
		tile.Swap(x, y)
	case innerSum:
		return float64(tile.InnerProduct(x, y)), 0
	case absoluteSum:
		return float64(tile.Absolutes(x)), 0
	case squareSum:
		return tile.Squares(as[float32](x)), 0
	case addScaledPairs:
		tile.AddComplex(y, x, l.alpha, l.beta, false)
	case scaleComplex:
		tile.TimesComplex(x, l.alpha, l.beta)
	case innerPairs, innerConjugate:
		a, b := tile.DotComplex(x, y, l.operation == innerConjugate)
		return float64(a), float64(b)
	}
	return 0, 0
}

// The functions below carry out one operation each, on vectors of any length.

// addTimes adds alpha x to y, of x's length.
func addTimes[F tile.Float](alpha F, x, y []F) {
	if len(x) < longVector {
		tile.AddScaled(y, x, alpha)
		return
	}
	addTimesLong(alpha, x, y)
}

// addTimesLong is addTimes for long vectors. It is a separate function so that the compiler inlines addTimes.
func addTimesLong[F tile.Float](alpha F, x, y []F) {
	l := longVectors[F]{operation: addScaled, x: x, y: y, alpha: alpha}
	l.compute()
}

// scale multiplies x by a number.
func scale[F tile.Float](x []F, by F) {
	if len(x) < longVector {
		tile.Scale(x, by)
		return
	}
	l := longVectors[F]{operation: scaleVector, x: x, alpha: by}
	l.compute()
}

// turn changes x and y.
func turn[F tile.Float](x, y []F, t turning[F]) {
	if len(x) < longVector {
		tile.Turn(x, y, &[4]F{t.xx, t.xy, t.yx, t.yy})
		return
	}
	l := longVectors[F]{operation: turnBoth, x: x, y: y, alpha: t.xx, beta: t.xy, gamma: t.yx, delta: t.yy}
	l.compute()
}

// swap exchanges x and y.
func swap[F tile.Float](x, y []F) {
	if len(x) < longVector {
		tile.Swap(x, y)
		return
	}
	l := longVectors[F]{operation: exchangeBoth, x: x, y: y}
	l.compute()
}

// dot returns x'y.
func dot[F tile.Float](x, y []F) F {
	if len(x) < longVector {
		return tile.InnerProduct(x, y)
	}
	return dotOfLong(x, y)
}

// dotOfLong is dot for long vectors. It is a separate function so that the compiler inlines dot.
func dotOfLong[F tile.Float](x, y []F) F {
	l := longVectors[F]{operation: innerSum, x: x, y: y}
	sum, _ := l.compute()
	return F(sum)
}

// absolutes returns the sum of the absolute values of x.
func absolutes[F tile.Float](x []F) F {
	if len(x) < longVector {
		return tile.Absolutes(x)
	}
	l := longVectors[F]{operation: absoluteSum, x: x}
	sum, _ := l.compute()
	return F(sum)
}

// squares32 returns the sum of the squares of x.
func squares32(x []float32) float64 {
	if len(x) < longVector {
		return tile.Squares(x)
	}
	l := longVectors[float32]{operation: squareSum, x: x}
	sum, _ := l.compute()
	return sum
}

// addTimesPairs adds a complex number times x to y, of x's length.
func addTimesPairs[F tile.Float](re, im F, x, y []F) {
	if len(x) < longVector {
		tile.AddComplex(y, x, re, im, false)
		return
	}
	l := longVectors[F]{operation: addScaledPairs, x: x, y: y, alpha: re, beta: im}
	l.compute()
}

// timesPairs multiplies x by a complex number.
func timesPairs[F tile.Float](x []F, re, im F) {
	if len(x) < longVector {
		tile.TimesComplex(x, re, im)
		return
	}
	l := longVectors[F]{operation: scaleComplex, x: x, alpha: re, beta: im}
	l.compute()
}

// dotPairs returns x'y of complex numbers, or x*y.
func dotPairs[F tile.Float](x, y []F, conjugate bool) (re, im F) {
	if len(x) < longVector {
		return tile.DotComplex(x, y, conjugate)
	}
	l := longVectors[F]{operation: innerPairs, x: x, y: y}
	if conjugate {
		l.operation = innerConjugate
	}
	a, b := l.compute()
	return F(a), F(b)
}
