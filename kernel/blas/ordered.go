package blas

import (
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// An ordered is gonum's implementation with the bits that its assembly for amd64 computes, in portable Go:
// every product is rounded before it is added, in the order of that assembly. gonum's portable code has other
// orders, and the compiler for arm64 rounds a product and a sum once. It computes small operands there.
// Arguments that are wrong, and routines not named here, are gonum's.
type ordered struct{ reference.Implementation }

// Ddot returns x'y.
func (o ordered) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	switch {
	case n <= 0 || !holds(x, n, incX) || !holds(y, n, incY):
		return o.Implementation.Ddot(n, x, incX, y, incY)
	case incX == 1 && incY == 1:
		return tile.Dot(x[:n], y[:n])
	}
	return dotInTwo(n, x, firstEntry(n, incX), incX, y, firstEntry(n, incY), incY)
}

// Sdot returns x'y in float32.
func (o ordered) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if n <= 0 || !holds(x, n, incX) || !holds(y, n, incY) || incX == 1 && incY == 1 {
		return o.Implementation.Sdot(n, x, incX, y, incY)
	}
	var even, odd float32
	at, with := firstEntry(n, incX), firstEntry(n, incY)
	for k := range n {
		if k == n&^3 { // of the last entries there is one sum
			even += odd
			odd = 0
		}
		product := float32(x[at] * y[with])
		if k%2 == 1 && k < n&^3 {
			odd += product
		} else {
			even += product
		}
		at += incX
		with += incY
	}
	return even + odd
}

// firstEntry returns the place of the first of n entries that are inc apart.
func firstEntry(n, inc int) int { return max(0, (1-n)*inc) }

// dotInTwo returns the product of n entries of x and y from some places on, as two sums: of pairs of products
// the second one, and the last product of an odd number, belong to one.
func dotInTwo(n int, x []float64, at, incX int, y []float64, with, incY int) float64 {
	var first, second float64
	for k := range n {
		product := float64(x[at] * y[with])
		if k%2 == 0 && k < n-1 {
			first += product
		} else {
			second += product
		}
		at += incX
		with += incY
	}
	return first + second
}

// Daxpy adds alpha x to y.
func (o ordered) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if n <= 0 || !holds(x, n, incX) || !holds(y, n, incY) || alpha == 0 {
		o.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	addRounded(n, alpha, x, firstEntry(n, incX), incX, y, firstEntry(n, incY), incY)
}

// Saxpy adds alpha x to y in float32.
func (o ordered) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n <= 0 || !holds(x, n, incX) || !holds(y, n, incY) || alpha == 0 {
		o.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	addRounded(n, alpha, x, firstEntry(n, incX), incX, y, firstEntry(n, incY), incY)
}

// addRounded adds the products of alpha and n entries of x to entries of y, from some places on.
func addRounded[F tile.Float](n int, alpha F, x []F, at, incX int, y []F, to, incY int) {
	if incX == 1 && incY == 1 {
		row := y[to : to+n]
		for k, v := range x[at : at+n] {
			row[k] += F(alpha * v)
		}
		return
	}
	for range n {
		y[to] += F(alpha * x[at])
		at += incX
		to += incY
	}
}

// Dnrm2 returns the Euclidean norm of x.
func (o ordered) Dnrm2(n int, x []float64, incX int) float64 {
	if n < 2 || incX < 1 || !holds(x, n, incX) {
		return o.Implementation.Dnrm2(n, x, incX)
	}
	return entriesLength(n, x, incX)
}

// Snrm2 is Dnrm2 in float32.
func (o ordered) Snrm2(n int, x []float32, incX int) float32 {
	if n < 2 || incX < 1 || !holds(x, n, incX) {
		return o.Implementation.Snrm2(n, x, incX)
	}
	return entriesLength(n, x, incX)
}

// entriesLength returns the Euclidean norm of n entries, inc apart.
func entriesLength[F tile.Float](n int, x []F, inc int) F {
	var l rounded.Length[F]
	for at := 0; at < n*inc; at += inc {
		l.Add(x[at])
	}
	return l.Value()
}
