package lstsq

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// minimumNorm solves a problem that has no unique solution, or none that the tiles can be trusted with, by
// the singular value decomposition of M = [A; sqrt(ridge) I], or of A' where A has fewer rows than columns.
// Singular values of at most tol times the Frobenius norm of M count as null. It returns OK if none counts,
// NotFinite, with b = 0, for NaN or Inf and if b overflows, and else Underdetermined for fewer samples than
// columns and RankDeficient for more.
func (ws *Workspace) minimumNorm(b []float64, a blas64.GeneralCols, y []float64, ridge, tol float64) (s Status, rank int) {
	n, r := a.Rows, a.Cols
	clear(b)
	scale, yscale := scales(a, y)
	if !(scale <= math.MaxFloat64 && yscale <= math.MaxFloat64) {
		return NotFinite, 0
	}
	rho := math.Sqrt(ridge) / scale
	wide := n < r && rho == 0
	m := ws.scaledMatrix(a, scale, rho, wide)
	v := blas64.GeneralCols{Rows: m.Cols, Cols: m.Cols, Stride: m.Cols, Data: ws.r}
	total := rotateColumns(m, v)
	scaled := ws.scaledVector(y, yscale)
	for j := range m.Cols { // M V = W: b = sum_j v_j w_j'y / w_j'w_j, or for M = A' sum_j w_j v_j'y / w_j'w_j
		from, to := column(m, j), column(v, j)
		square := dense.Dot(from, from)
		if !(square > tol*tol*total) {
			continue
		}
		rank++
		if wide {
			from, to = to, from
		}
		dense.Axpy(dense.Dot(scaled, from)/square, to, b)
	}
	for j := range b {
		b[j] *= yscale / scale
	}
	switch {
	case !(tile.MaxAbs(b) <= math.MaxFloat64):
		clear(b)
		return NotFinite, 0
	case rank == r:
		return OK, rank
	}
	return deficient(n, r), rank
}

// scales returns the powers of two at or below the largest entries of a and y, NaN or Inf if an entry is.
func scales(a blas64.GeneralCols, y []float64) (scale, yscale float64) {
	for j := range a.Cols {
		scale = max(scale, tile.MaxAbs(column(a, j)))
	}
	return powerOfTwo(scale), powerOfTwo(tile.MaxAbs(y))
}

// scaledVector stores y/scale in ws.f, behind the columns of scaledMatrix, and returns it.
func (ws *Workspace) scaledVector(y []float64, scale float64) []float64 {
	to := ws.f[len(ws.f)-len(y):]
	for i, v := range y {
		to[i] = v / scale
	}
	return to
}

// scaledMatrix stores [A/scale; rho I], or A'/scale, in ws.f and returns it.
func (ws *Workspace) scaledMatrix(a blas64.GeneralCols, scale, rho float64, wide bool) blas64.GeneralCols {
	n, r := a.Rows, a.Cols
	if wide {
		m := blas64.GeneralCols{Rows: r, Cols: n, Stride: r, Data: ws.f}
		for i := range n {
			for j := range r {
				m.Data[i*r+j] = a.Data[j*a.Stride+i] / scale
			}
		}
		return m
	}
	m, _ := ws.augment(a, ws.f[:0], rho)
	if rho == 0 {
		m.Rows = n
	}
	for j := range r {
		for i := range n {
			m.Data[j*m.Stride+i] /= scale
		}
	}
	return m
}

func column(m blas64.GeneralCols, j int) []float64 { return m.Data[j*m.Stride:][:m.Rows] }

// rotateColumns makes the columns of m orthogonal by rotations from the right (Hestenes, 1958), sets v to
// their product, and returns the square of the Frobenius norm of m.
func rotateColumns(m, v blas64.GeneralCols) (total float64) {
	clear(v.Data[:v.Cols*v.Cols])
	for j := range m.Cols {
		v.Data[j*(v.Cols+1)] = 1
		total += dense.Dot(column(m, j), column(m, j))
	}
	const (
		sweeps = 60    // convergence is quadratic: some ten are enough
		tiny   = 1e-40 // of the square of the norm: columns that do not affect others in double precision
	)
	for range sweeps {
		rotated := false
		for p := range m.Cols {
			for q := p + 1; q < m.Cols; q++ {
				if cos, sin, ok := rotation(column(m, p), column(m, q), tiny*total); ok {
					rotated = true
					rotate(column(m, p), column(m, q), cos, sin)
					rotate(column(v, p), column(v, q), cos, sin)
				}
			}
		}
		if !rotated {
			break
		}
	}
	return total
}

// rotation returns the rotation that makes x and y orthogonal. It returns false if they are that to rounding,
// or if the square of one of them is at most nothing.
func rotation(x, y []float64, nothing float64) (cos, sin float64, ok bool) {
	xx, yy, xy := dense.Dot(x, x), dense.Dot(y, y), dense.Dot(x, y)
	if min(xx, yy) <= nothing || math.Abs(xy) <= float64(len(x))*0x1p-53*math.Sqrt(xx)*math.Sqrt(yy) {
		return 1, 0, false
	}
	zeta := (yy - xx) / (2 * xy)
	tan := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
	cos = 1 / math.Sqrt(1+tan*tan)
	return cos, cos * tan, true
}

// rotate replaces x by cos x - sin y and y by sin x + cos y.
func rotate(x, y []float64, cos, sin float64) {
	for i, v := range x {
		x[i], y[i] = cos*v-sin*y[i], sin*v+cos*y[i]
	}
}

// powerOfTwo returns the power of two at or below x, and 1 for 0: dividing by it loses no digit. It returns
// NaN and Inf as they are.
func powerOfTwo(x float64) float64 {
	switch {
	case x == 0:
		return 1
	case !(x <= math.MaxFloat64):
		return x
	}
	return math.Ldexp(1, math.Ilogb(x))
}
