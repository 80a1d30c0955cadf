package lsq

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

const eps = 0x1p-52

// minimumNorm solves problems that have no unique solution, or none that orthogonalize
// can be trusted with, by a decomposition of M = [A; rho I], rho^2 = ridge, or of M = A'
// where that is the tall one. Directions along which M is at most max(n, r) eps times its
// Frobenius norm count as null: they would bring rounding errors only. It returns OK
// when there is none in [A; rho I], and otherwise Underdetermined for fewer samples than
// columns, RankDeficient for more.
func (ws *Workspace) minimumNorm(b []float64, a blas.ColumnMajor, y []float64, ridge float64) Status {
	n, r := a.Rows, a.Cols
	clear(b)
	scale, yscale := 0.0, tile.MaxAbs(y[:n])
	for j := range r {
		scale = max(scale, tile.MaxAbs(a.Data[j*a.Stride:][:n]))
	}
	if !(scale <= math.MaxFloat64 && yscale <= math.MaxFloat64) {
		return NotFinite
	}
	scale, yscale = powerOfTwo(scale), powerOfTwo(yscale)
	rank := 0
	if n < r && ridge == 0 {
		ws.solveWide(b, a, y, scale, yscale)
	} else {
		rank = ws.solveTall(b, a, y, scale, yscale, math.Sqrt(ridge)/scale)
	}
	for k := range b {
		b[k] *= yscale / scale
	}
	if !(tile.MaxAbs(b) <= math.MaxFloat64) {
		clear(b)
		return NotFinite
	}
	switch {
	case rank == r:
		return OK
	case n < r:
		return Underdetermined
	}
	return RankDeficient
}

// solveTall solves for M = [A; rho I], and returns its rank.
func (ws *Workspace) solveTall(b []float64, a blas.ColumnMajor, y []float64, scale, yscale, rho float64) int {
	m := a.Rows
	if rho > 0 {
		m += a.Cols
	}
	d := ws.decomposition(m, a.Cols)
	d.pivoted(float64(max(a.Rows, a.Cols))*eps, func() { d.load(a, y, scale, yscale, rho) })
	d.solve(b)
	return d.rank
}

// solveWide solves for M = A'. Most often it has full rank, which reflectors without
// pivoting show as well as R of orthogonalize does.
func (ws *Workspace) solveWide(b []float64, a blas.ColumnMajor, y []float64, scale, yscale float64) {
	d := ws.decomposition(a.Cols, a.Rows)
	d.loadTransposed(a, scale)
	lo, hi := d.unpivoted()
	if lo > suspect*hi {
		d.solveTransposed(b, y, yscale)
		if tile.MaxAbs(b)*suspect*hi <= tile.MaxAbs(y[:a.Rows])/yscale {
			return
		}
	}
	d.pivoted(float64(max(a.Rows, a.Cols))*eps, func() { d.loadTransposed(a, scale) })
	d.solveTransposed(b, y, yscale)
}

// powerOfTwo returns the power of two at or below x, and 1 for 0: dividing by it loses
// no digit.
func powerOfTwo(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Ldexp(1, math.Ilogb(x))
}
