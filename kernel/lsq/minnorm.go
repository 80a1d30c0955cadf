package lsq

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// minimumNorm solves problems that have no unique solution, or none that LeastSquares can be
// trusted with, by a decomposition with pivoting of M = [A; rho I], rho^2 = ridge. Directions
// along which M is at most tolerance times its Frobenius norm count as null. It returns OK
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
	m, rho := n, math.Sqrt(ridge)/scale
	if rho > 0 {
		m += r
	}
	d := ws.decomposition(m, r)
	d.pivoted(tolerance(n, r), func() { d.load(a, y, scale, yscale, rho) })
	d.solve(b, ws)
	for k := range b {
		b[k] *= yscale / scale
	}
	if !(tile.MaxAbs(b) <= math.MaxFloat64) {
		clear(b)
		return NotFinite
	}
	return statusOf(d.rank, n, r)
}

// powerOfTwo returns the power of two at or below x, and 1 for 0: dividing by it loses
// no digit.
func powerOfTwo(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Ldexp(1, math.Ilogb(x))
}
