package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// minimumNorm solves a problem without a unique solution, or whose solution by the tiles may be inaccurate.
// It uses the singular value decomposition A = sum_k s_k u_k v_k',
//
//	b = sum_k s_k/(s_k^2 + ridge) (u_k'y) v_k,
//
// of A or, where A has fewer rows than columns, of A'. Singular values of [A; sqrt(ridge) I] of at most tol
// times its Frobenius norm count as null. It returns OK if none counts. It returns NotFinite, with b = 0,
// for NaN or Inf and if b overflows. Otherwise it returns Underdetermined for fewer samples than columns and
// RankDeficient for more.
func (ws *Workspace) minimumNorm(b []float64, a blas64.GeneralCols, y []float64, ridge, tol float64) Result {
	n, r := a.Rows, a.Cols
	clear(b)
	scale, yscale := scales(a, y)
	if !(scale <= math.MaxFloat64 && yscale <= math.MaxFloat64) {
		return Result{Status: NotFinite}
	}
	wide := n < r
	d := ws.decomposition(ws.scaledMatrix(a, scale, wide))
	ok := d.compute()
	f := newFilter(d.values, r-d.m.Cols, math.Sqrt(ridge)/scale, tol)
	d.addSolution(b, ws.scaledVector(y, yscale), f, wide)
	f.restore(b, scale, yscale, ridge)
	switch {
	case !ok || !(tile.MaxAbs(b) <= math.MaxFloat64):
		clear(b)
		return Result{Status: NotFinite}
	case f.rank == r:
		return Result{Rank: r}
	}
	return Result{Status: deficient(n, r), Rank: f.rank}
}

// decomposition returns the decomposition of a matrix in memory of the workspace, to be computed.
func (ws *Workspace) decomposition(m blas64.GeneralCols) decomposition {
	c, rest := m.Cols, ws.r
	take := func(n int) (taken []float64) {
		taken, rest = rest[:n], rest[n:]
		return taken
	}
	return decomposition{
		m: m, scales: take(c), pivots: ws.pivots[:c], values: take(c), u: take(c * c), w: take(c * c), row: take(c),
	}
}

// A filter divides by s^2 + rho^2, where s is a singular value of A, and rho the root of the ridge, both in
// the unit of A. A rho above 1 may have overflowed: then numbers are in the unit of rho.
type filter struct {
	rho  float64
	rank int // the number of singular values of [A; rho I] that are not null
}

// newFilter returns the filter for the singular values of a matrix and a number of zeros, in descending
// order.
func newFilter(values []float64, zeros int, rho, tol float64) filter {
	f := filter{rho: rho}
	last, all := f.extended(0), math.Sqrt(float64(zeros))*f.extended(0)
	for _, s := range values {
		all = rounded.Hypot(all, f.extended(s))
	}
	for _, s := range values {
		if f.extended(s) > tol*all {
			f.rank++
		}
	}
	if last > tol*all {
		f.rank += zeros
	}
	return f
}

// extended returns the singular value of [A; rho I] that belongs to s, in the unit of the filter.
func (f filter) extended(s float64) float64 {
	if f.rho > 1 {
		return rounded.Hypot(s/f.rho, 1)
	}
	return rounded.Hypot(s, f.rho)
}

// factor returns s/(s^2 + rho^2), or rho^2 times that if rho is above 1.
func (f filter) factor(s float64) float64 {
	if f.rho > 1 {
		return s / (float64((s/f.rho)*(s/f.rho)) + 1)
	}
	size := f.extended(s)
	return s / size / size
}

// restore takes b out of the units of A and of y. Powers of two together lose nothing where one of them alone
// would overflow.
func (f filter) restore(b []float64, scale, yscale, ridge float64) {
	power, part := math.Ilogb(yscale)-math.Ilogb(scale), 1.0
	if f.rho > 1 { // b lacks scale^2 over the ridge
		fraction, exponent := math.Frexp(ridge)
		power, part = math.Ilogb(yscale)+math.Ilogb(scale)-exponent, fraction
	}
	for j, v := range b {
		b[j] = math.Ldexp(v/part, power)
	}
}

// scales returns the powers of two at or below the largest entries of a and y, NaN or Inf if an entry is.
func scales(a blas64.GeneralCols, y []float64) (scale, yscale float64) {
	for j := range a.Cols {
		scale = max(scale, tile.MaxAbs(column(a, j)))
	}
	return PowerOfTwo(scale), PowerOfTwo(tile.MaxAbs(y))
}

// scaledVector stores y/scale in ws.f, behind the columns of scaledMatrix, and returns it.
func (ws *Workspace) scaledVector(y []float64, scale float64) []float64 {
	to := ws.f[len(ws.f)-len(y):]
	for i, v := range y {
		to[i] = v / scale
	}
	return to
}

// scaledMatrix stores A/scale, or A'/scale, in ws.f and returns it.
func (ws *Workspace) scaledMatrix(a blas64.GeneralCols, scale float64, transposed bool) blas64.GeneralCols {
	m := blas64.GeneralCols{Rows: a.Rows, Cols: a.Cols, Stride: tile.Pad(a.Rows), Data: ws.f}
	from := a
	if transposed {
		m.Rows, m.Cols, m.Stride = a.Cols, a.Rows, a.Cols
		tile.Transpose(m.Data, m.Stride, a.Data, a.Stride, a.Cols, a.Rows)
		from = m
	}
	for j := range m.Cols {
		to := column(m, j)
		for i, v := range column(from, j) {
			to[i] = v / scale
		}
	}
	return m
}

func column(m blas64.GeneralCols, j int) []float64 { return m.Data[j*m.Stride:][:m.Rows] }

// PowerOfTwo returns the power of two at or below x, and 1 for 0: dividing by it loses no digit. It returns
// NaN and Inf as they are.
func PowerOfTwo(x float64) float64 {
	switch {
	case x == 0:
		return 1
	case !(x <= math.MaxFloat64):
		return x
	}
	return math.Ldexp(1, math.Ilogb(x))
}
