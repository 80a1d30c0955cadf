package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// SolveInUnits computes b = argmin |A b - y|^2 for a matrix of n x r, n >= r, whose columns may have
// different units: all columns and y are divided by powers of two to be of one size, which loses no digit. It
// returns false, and leaves b, unless the columns are then independent by the tolerance of Tolerance and b is
// finite.
//
// Solve requires more: no column is small beside the others. Where A is a computed product, a column
// that is small so is rounding, and has no unit.
func (ws *Workspace) SolveInUnits(b []float64, a *blas64.GeneralCols, y []float64) (res Result, ok bool) {
	n, r := a.Rows, a.Cols
	ld := tile.Pad(n + r)
	m := blas64.GeneralCols{Rows: n, Cols: r, Stride: ld, Data: ws.f}
	rest := ws.r[2*r*r+r:] // fullRank takes what is before
	units, x := rest[:r], rest[r:2*r]
	for j := range r {
		if units[j], ok = normalize(ws.f[j*ld:][:n], column(*a, j)); !ok {
			return Result{}, false
		}
	}
	rhs := ws.f[r*ld:][:n]
	unit, ok := normalize(rhs, y[:n])
	if !ok {
		return Result{}, false
	}
	lo, hi, squares := tile.LeastSquares(x, ws.e, m.Data, ld, n, r, rhs, ws.work, 0)
	_, _, f, ldf := tile.Eliminated(ws.work, n, r)
	if lo <= tile.SetApart(n, r)*hi || !ws.fullRank(f, ldf, r, hi, Tolerance(n, r)) || !inRange(x, rhs, lo) {
		return Result{}, false
	}
	for j, v := range x {
		x[j] = math.Ldexp(v, int(unit-units[j]))
	}
	if !(tile.MaxAbs(x) <= math.MaxFloat64) {
		return Result{}, false
	}
	copy(b, x)
	return Result{Rank: r, Squares: math.Ldexp(squares, 2*int(unit))}, true
}

// normalize stores x divided by a power of two, and returns the exponent: the largest entry becomes 1 to 2.
// It returns false for NaN and infinity.
func normalize(to, x []float64) (exponent float64, ok bool) {
	size := tile.MaxAbs(x)
	if !(size <= math.MaxFloat64) {
		return 0, false
	}
	scale := PowerOfTwo(size)
	for i, v := range x {
		to[i] = v / scale
	}
	return math.Logb(scale), true
}
