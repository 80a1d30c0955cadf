package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
)

// LaneBounds are the bounds of Sound.
type LaneBounds struct{ apart, product float64 }

// NewLaneBounds returns the bounds for problems of at most n samples, with the rows of a ridge, and r
// columns, and for a tolerance of Solve.
func NewLaneBounds(n, r int, tol float64) LaneBounds {
	others := float64(max(r-1, 1))
	return LaneBounds{tile.SetApart(n, r), tol * tol * rounded.Power(others, 1-r)}
}

// Sound reports whether the problem of lane l certainly has full rank and did not over- or underflow. It
// applies the range tests of Solve but only the first rank test; Solve decides the remaining problems.
func (b LaneBounds) Sound(x *tile.LaneResults, l int) bool {
	lo, hi, size := x.Lo[l], x.Hi[l], x.Size[l]
	return lo > b.apart*hi && x.Product[l] >= b.product && lo > smallest && hi < largest &&
		size <= math.MaxFloat64 && size*lo > smallest
}
