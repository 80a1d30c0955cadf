package lsq

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

const eps = 0x1p-52

// minimumNorm solves the problem by the singular value decomposition of A:
// b = V S (S^2 + ridge)^-1 U'y. Directions in which sqrt(s^2 + ridge) is at most
// max(n, r) eps times the largest singular value count as null: they would bring
// rounding errors only. It returns OK when there is none, Underdetermined or
// RankDeficient otherwise.
//
// One-sided Jacobi rotations orthogonalise the columns of A, or of A' when that
// is the tall one: slow, but short, accurate for tiny singular values, and free
// of allocation. It runs only where the QR factorisation cannot be trusted.
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
	scale, yscale = orOne(scale), orOne(yscale)
	rho := math.Sqrt(ridge) / scale
	rows, cols := ws.loadTall(a, scale)
	ws.jacobi(rows, cols)
	tol := float64(max(n, r)) * eps * ws.norm(rows, cols)
	rank := 0
	for k := range cols {
		u := ws.f[k*rows:][:rows] // column k of U S, tall side
		v := ws.v[k*cols:][:cols]
		// With left vector p and right vector q of A: b += q (p'y) s/(s^2 + ridge).
		// Of the tall side u/s is one and v the other.
		w := math.Hypot(math.Sqrt(blas.Dot(u, u)), rho)
		if w <= tol {
			continue
		}
		rank++
		left, right := u, v
		if n < r {
			left, right = v, u
		}
		blas.Axpy(scaledDot(left, y[:n], yscale)/w/w, right, b)
	}
	for k := range b {
		b[k] *= yscale / scale
	}
	if !(tile.MaxAbs(b) <= math.MaxFloat64) {
		clear(b)
		return NotFinite
	}
	if rank == r || rank == cols && rho > tol {
		return OK
	}
	if n < r {
		return Underdetermined
	}
	return RankDeficient
}

func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// loadTall stores A/scale, transposed if it is wide, in ws.f.
func (ws *Workspace) loadTall(a blas.ColumnMajor, scale float64) (rows, cols int) {
	n, r := a.Rows, a.Cols
	if n >= r {
		for j := range r {
			for i, v := range a.Data[j*a.Stride:][:n] {
				ws.f[j*n+i] = v / scale
			}
		}
		return n, r
	}
	for j := range r {
		for i, v := range a.Data[j*a.Stride:][:n] {
			ws.f[i*r+j] = v / scale
		}
	}
	return r, n
}

// jacobi rotates pairs of columns of the rows x cols matrix in ws.f until all are
// orthogonal: M V = U S. V, cols x cols, is left in ws.v.
func (ws *Workspace) jacobi(rows, cols int) {
	// Inner products are known to about so much of the product of the norms.
	tol := math.Sqrt(float64(rows)) * eps
	v := ws.v[:cols*cols]
	clear(v)
	for k := range cols {
		v[k*cols+k] = 1
	}
	const maxSweeps = 60
	for range maxSweeps {
		rotated := false
		for p := range cols {
			for q := p + 1; q < cols; q++ {
				x, y := ws.f[p*rows:][:rows], ws.f[q*rows:][:rows]
				xx, yy, xy := blas.Dot(x, x), blas.Dot(y, y), blas.Dot(x, y)
				if math.Abs(xy) <= tol*math.Sqrt(xx)*math.Sqrt(yy) {
					continue
				}
				rotated = true
				zeta := (yy - xx) / (2 * xy)
				t := math.Copysign(1/(math.Abs(zeta)+math.Hypot(1, zeta)), zeta)
				c := 1 / math.Hypot(1, t)
				rotate(x, y, c, c*t)
				rotate(v[p*cols:][:cols], v[q*cols:][:cols], c, c*t)
			}
		}
		if !rotated {
			return
		}
	}
}

// norm returns the largest singular value that jacobi has found.
func (ws *Workspace) norm(rows, cols int) float64 {
	s := 0.0
	for k := range cols {
		u := ws.f[k*rows:][:rows]
		s = max(s, math.Sqrt(blas.Dot(u, u)))
	}
	return s
}

func rotate(x, y []float64, c, s float64) {
	for i, v := range x {
		w := y[i]
		x[i] = c*v - s*w
		y[i] = s*v + c*w
	}
}

func scaledDot(x, y []float64, scale float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * (y[i] / scale)
	}
	return s
}
