package lstsq

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
)

// minimumNorm solves a problem that has no unique solution, or none that the tiles can be trusted with, by
// the singular value decomposition of M = [A; sqrt(ridge) I], or of A' where A has fewer rows than columns.
// Singular values of at most tol times the Frobenius norm of M count as null. It returns OK if none counts,
// NotFinite, with b = 0, for NaN or Inf and if b overflows, and else Underdetermined for fewer samples than
// columns and RankDeficient for more.
func (ws *Workspace) minimumNorm(b []float64, a blas64.GeneralCols, y []float64, ridge, tol float64) Result {
	n, r := a.Rows, a.Cols
	clear(b)
	scale, yscale := scales(a, y)
	if !(scale <= math.MaxFloat64 && yscale <= math.MaxFloat64) {
		return Result{Status: NotFinite}
	}
	wide := n < r && ridge == 0
	m := ws.scaledMatrix(a, scale, math.Sqrt(ridge), wide)
	// By rows, the memory of M holds M' = U S V' with c rows.
	c := m.Cols
	values, left, right, work := ws.r[:c], ws.r[c:], ws.work[:c*m.Rows], ws.work[c*m.Rows:]
	ok := reference.Implementation{}.Dgesvd(lapack.SVDStore, lapack.SVDStore, c, m.Rows, m.Data, m.Stride,
		values, left, c, right, m.Rows, work, len(work))
	null := tol * floats.Norm(values, 2)
	scaled, solution := vector(ws.scaledVector(y, yscale)), vector(b)
	rank := 0
	for k, s := range values { // M b = y: b = sum_k u_k v_k'y / s_k, or for M = A' sum_k v_k u_k'y / s_k
		if !(s > null) {
			break
		}
		rank++
		u, v := blas64.Vector{N: c, Inc: c, Data: left[k:]}, right[k*m.Rows:]
		if wide {
			blas64.Axpy(blas64.Dot(u, scaled)/s, vector(v[:r]), solution)
		} else {
			blas64.Axpy(blas64.Dot(vector(v[:n]), scaled)/s, u, solution)
		}
	}
	for j := range b {
		b[j] *= yscale / scale
	}
	switch {
	case !ok || !(tile.MaxAbs(b) <= math.MaxFloat64):
		clear(b)
		return Result{Status: NotFinite}
	case rank == r:
		return Result{Rank: rank}
	}
	return Result{Status: deficient(n, r), Rank: rank}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

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

// scaledMatrix stores [A; rho I]/scale, or A'/scale, in ws.f and returns it.
func (ws *Workspace) scaledMatrix(a blas64.GeneralCols, scale, rho float64, wide bool) blas64.GeneralCols {
	m := blas64.GeneralCols{Rows: a.Cols, Cols: a.Rows, Stride: a.Cols, Data: ws.f}
	if wide {
		tile.Transpose(m.Data, m.Stride, a.Data, a.Stride, a.Cols, a.Rows)
	} else {
		m, _ = ws.augment(a, ws.f[:0], rho)
	}
	if rho == 0 && !wide {
		m.Rows = a.Rows
	}
	for j := range m.Cols {
		for i, v := range column(m, j) {
			m.Data[j*m.Stride+i] = v / scale
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
