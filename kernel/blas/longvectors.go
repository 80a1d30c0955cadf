package blas

import (
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/tile"
)

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

// longVector is the least number of reals of a vector whose operations several threads may share. Its sums
// are sums of those of pieces, for any number of threads.
const longVector = 1 << 13

// mostOfAPiece is the largest number of reals of a piece. Pieces are halves of halves, so that two, four or
// eight threads have equal parts: where half of a vector fits in a second-level cache, a little more may not.
const mostOfAPiece = 1 << 13

// A longVectors is an operation on long vectors of one length.
type longVectors[F tile.Float] struct {
	operation    vectorOperation
	x, y         []F
	alpha, beta  F
	gamma, delta F // of turnBoth
}

// compute carries the operation out, and returns its sum: both parts of a complex one.
func (l *longVectors[F]) compute() (re, im float64) {
	n := len(l.x)
	t := tune().vectors.teamFor((l.operation.passes() * n) >> kind[F]())
	switch {
	case t.threads > 1:
		return l.share(t)
	case !l.operation.sums():
		return l.part(0, n)
	}
	for lo, piece := 0, l.piece(); lo < n; lo += piece {
		x, y := l.part(lo, min(lo+piece, n))
		re, im = re+x, im+y
	}
	return re, im
}

// piece returns the number of reals of a piece, or of some lines where the operation has no sum.
func (l *longVectors[F]) piece() int {
	const unit = 64
	if !l.operation.sums() {
		return unit
	}
	n := len(l.x)
	for n > mostOfAPiece {
		n = (n + 1) / 2
	}
	return (n + unit - 1) &^ (unit - 1)
}

// A sharedVectors is a longVectors that threads share.
type sharedVectors[F tile.Float] struct {
	longVectors[F]
	each, pieces, parts int
	sums                [][2]float64 // of the pieces
	compute             func(k int)  // the method part
}

// vectorsShared holds those of float64 and of float32 that are not in use.
var vectorsShared [2]sync.Pool

// share is compute by the threads of a team.
func (l *longVectors[F]) share(t team) (re, im float64) {
	s, ok := vectorsShared[kind[F]()].Get().(*sharedVectors[F])
	if !ok {
		s = new(sharedVectors[F])
		s.compute = s.part
	}
	s.longVectors, s.each = *l, l.piece()
	s.pieces = (len(l.x) + s.each - 1) / s.each
	s.parts = t.parts(4, s.pieces)
	s.sums = s.sums[:0]
	if l.operation.sums() {
		s.sums = slices.Grow(s.sums, s.pieces)[:s.pieces]
	}
	t.run(s.parts, s.compute)
	for _, sum := range s.sums {
		re, im = re+sum[0], im+sum[1]
	}
	s.longVectors = longVectors[F]{}
	vectorsShared[kind[F]()].Put(s)
	return re, im
}

// part computes the pieces of part k.
func (s *sharedVectors[F]) part(k int) {
	n := len(s.x)
	from, to := s.pieces*k/s.parts, s.pieces*(k+1)/s.parts
	if !s.operation.sums() {
		s.longVectors.part(from*s.each, min(to*s.each, n))
		return
	}
	for i := from; i < to; i++ {
		s.sums[i][0], s.sums[i][1] = s.longVectors.part(i*s.each, min((i+1)*s.each, n))
	}
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
