package lsq

import "math"

// minimumNorm solves the problem by the singular value decomposition: b = V S^+
// U'y, or V S (S^2 + ridge)^-1 U'y with a ridge. Singular values up to
// max(n, r) eps times the largest count as zero. It returns full if none does,
// RankDeficient otherwise; an underdetermined problem stays that.
//
// One-sided Jacobi rotations orthogonalise the columns of A, or of A' when that
// is the tall one: slow, but short, accurate for tiny singular values, and free
// of allocation. It runs only where Householder QR cannot be trusted.
func (ws *Workspace) minimumNorm(b, a []float64, lda, n, r int, y []float64, ridge float64, full Status) Status {
	clear(b)
	scale := maxAbs(a, lda, n, r)
	yscale := maxAbs(y, n, n, 1)
	if !(scale <= math.MaxFloat64) || !(yscale <= math.MaxFloat64) {
		return NotFinite
	}
	if scale == 0 || yscale == 0 {
		if full == OK && ridge == 0 && (scale == 0 || ws.rank(a, lda, n, r, scale) < r) {
			return RankDeficient
		}
		return full
	}
	// m = A/scale or its transpose, with at least as many rows as columns.
	rows, cols := ws.load(a, lda, n, r, scale)
	ws.jacobi(rows, cols)
	tol := float64(max(n, r)) * eps * ws.largest(rows, cols)
	ridge /= scale * scale
	rank := 0
	for k := range cols {
		u := ws.f[k*rows:][:rows] // column k of U S, tall side
		v := ws.v[k*cols:][:cols]
		s := math.Sqrt(dot(u, u))
		if s > tol {
			rank++
		} else if ridge == 0 {
			continue
		}
		if s == 0 {
			continue
		}
		// With left vector p and right vector q of A: b += q (p'y) s/(s^2 + ridge).
		// Of the tall side u/s is one and v the other.
		w := 1 / (s*s + ridge)
		if n >= r {
			c := w * scaledDot(u, y[:n], yscale)
			axpy(b, c, v)
		} else {
			c := w * scaledDot(v, y[:n], yscale)
			axpy(b, c, u)
		}
	}
	for k := range b {
		b[k] = b[k] / scale * yscale
	}
	if !finite(b) {
		clear(b)
		return NotFinite
	}
	if full == OK && ridge == 0 && rank < r {
		return RankDeficient
	}
	return full
}

const eps = 0x1p-52

// rank returns the numerical rank of A.
func (ws *Workspace) rank(a []float64, lda, n, r int, scale float64) int {
	rows, cols := ws.load(a, lda, n, r, scale)
	ws.jacobi(rows, cols)
	tol := float64(max(n, r)) * eps * ws.largest(rows, cols)
	rank := 0
	for k := range cols {
		if u := ws.f[k*rows:][:rows]; math.Sqrt(dot(u, u)) > tol {
			rank++
		}
	}
	return rank
}

// load stores A/scale, transposed if it is wide, in ws.f.
func (ws *Workspace) load(a []float64, lda, n, r int, scale float64) (rows, cols int) {
	if n >= r {
		for j := range r {
			for i, v := range a[j*lda:][:n] {
				ws.f[j*n+i] = v / scale
			}
		}
		return n, r
	}
	for j := range r {
		for i, v := range a[j*lda:][:n] {
			ws.f[i*r+j] = v / scale
		}
	}
	return r, n
}

// jacobi rotates pairs of columns of the rows x cols matrix in ws.f until all are
// orthogonal: M V = U S. V, cols x cols, is left in ws.v.
func (ws *Workspace) jacobi(rows, cols int) {
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
				xx, yy, xy := dot(x, x), dot(y, y), dot(x, y)
				if math.Abs(xy) <= eps*math.Sqrt(xx)*math.Sqrt(yy) {
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

func (ws *Workspace) largest(rows, cols int) float64 {
	s := 0.0
	for k := range cols {
		u := ws.f[k*rows:][:rows]
		s = math.Max(s, math.Sqrt(dot(u, u)))
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

func maxAbs(a []float64, lda, n, r int) float64 {
	m := 0.0
	for j := range r {
		for _, v := range a[j*lda:][:n] {
			m = math.Max(m, math.Abs(v)) // NaN if v is
		}
	}
	return m
}

func dot(x, y []float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

func scaledDot(x, y []float64, scale float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * (y[i] / scale)
	}
	return s
}

func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += a * v
	}
}
