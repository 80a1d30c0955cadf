package lstsq

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
)

// minimumNorm solves a problem that has no unique solution, or none that the tiles can be trusted with, by
// the singular value decomposition of the triangle R of a QR factorisation, as LAPACK's gelss does: of M =
// [A; sqrt(ridge) I] = Q R, or of A' = Q R where A has fewer rows than columns. Singular values of at most
// tol times the Frobenius norm of M count as null. It returns OK if none counts, NotFinite, with b = 0, for
// NaN or Inf and if b overflows, and else Underdetermined for fewer samples than columns and RankDeficient
// for more.
func (ws *Workspace) minimumNorm(b []float64, a blas64.GeneralCols, y []float64, ridge, tol float64) (s Status, rank int) {
	n, r := a.Rows, a.Cols
	clear(b)
	scale, yscale := 0.0, tile.MaxAbs(y)
	for j := range r {
		scale = max(scale, tile.MaxAbs(a.Data[j*a.Stride:][:n]))
	}
	if !(scale <= math.MaxFloat64 && yscale <= math.MaxFloat64) {
		return NotFinite, 0
	}
	scale, yscale = powerOfTwo(scale), powerOfTwo(yscale)
	rho := math.Sqrt(ridge) / scale
	wide := n < r && rho == 0
	q := ws.factored(a, scale, rho, wide)
	k := q.Cols
	t := blas64.GeneralCols{Rows: k, Cols: k, Stride: k, Data: ws.r}
	c, z := ws.r[2*r*r:][:k], ws.r[2*r*r+k:][:k]
	qr.Factor(q, t, z)
	scaled := ws.e[:n]
	for i, v := range y {
		scaled[i] = v / yscale
	}
	if wide { // A = R'Q': solve R'z = y, then b = Q z
		transpose(t)
		copy(c, scaled)
	} else { // R b = Q'y
		for j := range c {
			c[j] = dense.Dot(scaled, q.Data[j*q.Stride:])
		}
	}
	v := blas64.GeneralCols{Rows: k, Cols: k, Stride: k, Data: ws.r[r*r:]}
	rank = pseudoSolve(z, t, v, c, tol)
	if wide {
		for j, x := range z {
			dense.Axpy(x, q.Data[j*q.Stride:][:r], b)
		}
	} else {
		copy(b, z)
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

// factored stores [A/scale; rho I], or A'/scale, in ws.f and returns it.
func (ws *Workspace) factored(a blas64.GeneralCols, scale, rho float64, wide bool) blas64.GeneralCols {
	n, r := a.Rows, a.Cols
	m := blas64.GeneralCols{Rows: n, Cols: r, Stride: dense.Pad(n + r), Data: ws.f}
	if wide {
		m = blas64.GeneralCols{Rows: r, Cols: n, Stride: dense.Pad(r), Data: ws.f}
	} else if rho > 0 {
		m.Rows += r
	}
	clear(m.Data[:m.Stride*m.Cols])
	for j := range r {
		for i, v := range a.Data[j*a.Stride:][:n] {
			if wide {
				m.Data[i*m.Stride+j] = v / scale
			} else {
				m.Data[j*m.Stride+i] = v / scale
			}
		}
		if rho > 0 {
			m.Data[j*m.Stride+n+j] = rho
		}
	}
	return m
}

func transpose(t blas64.GeneralCols) {
	for j := range t.Cols {
		for i := range j {
			t.Data[i*t.Stride+j], t.Data[j*t.Stride+i] = t.Data[j*t.Stride+i], 0
		}
	}
}

// pseudoSolve computes z = T^+ c for a square T, which it overwrites, and returns its rank: the number of
// singular values above tol times the Frobenius norm. Rotations from the right make the columns of T
// orthogonal (Hestenes, 1958); v becomes their product, so that T V = W and z = sum_j v_j w_j'c / w_j'w_j.
func pseudoSolve(z []float64, t, v blas64.GeneralCols, c []float64, tol float64) (rank int) {
	k, total := t.Cols, 0.0
	column := func(m blas64.GeneralCols, j int) []float64 { return m.Data[j*m.Stride:][:k] }
	clear(v.Data[:k*k])
	for j := range k {
		v.Data[j*(k+1)] = 1
		total += dense.Dot(column(t, j), column(t, j))
	}
	const (
		sweeps = 60    // convergence is quadratic: some ten are enough
		tiny   = 1e-40 // of the square of the norm: columns that do not affect others in double precision
	)
	for range sweeps {
		rotated := false
		for p := range k {
			for q := p + 1; q < k; q++ {
				if cos, sin, ok := rotation(column(t, p), column(t, q), tiny*total); ok {
					rotated = true
					rotate(column(t, p), column(t, q), cos, sin)
					rotate(column(v, p), column(v, q), cos, sin)
				}
			}
		}
		if !rotated {
			break
		}
	}
	clear(z)
	for j := range k {
		w := column(t, j)
		if s := dense.Dot(w, w); s > tol*tol*total {
			rank++
			dense.Axpy(dense.Dot(w, c)/s, column(v, j), z)
		}
	}
	return rank
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

// powerOfTwo returns the power of two at or below x, and 1 for 0: dividing by it loses no digit.
func powerOfTwo(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Ldexp(1, math.Ilogb(x))
}
