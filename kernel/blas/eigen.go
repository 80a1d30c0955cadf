package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// fewEigenvectors is the order below which gonum's rotations are as fast.
const fewEigenvectors = 24

// Dsyev computes the eigenvalues w of the symmetric matrix of which a holds a triangle, ascending, and with lapack.EVCompute
// its eigenvectors, by columns in a. As gonum's, with the rotations by the tiles; then it sets memory aside for n x n numbers.
func (i Lapack) Dsyev(jobz lapack.EVJob, ul blas.Uplo, n int, a []float64, lda int, w, work []float64, lwork int) (ok bool) {
	plain := jobz != lapack.EVCompute || n < fewEigenvectors || ul != blas.Upper && ul != blas.Lower ||
		lwork < 3*n-1 || len(work) < lwork || !inside(a, n, n, lda) || len(w) < n
	if !plain { // nor does this scale what is out of range
		const least, most = 0x1p-480, 0x1p480
		norm := i.Dlansy(lapack.MaxAbs, ul, n, a, lda, work)
		plain = !(norm > least && norm < most)
	}
	if plain {
		return i.Implementation.Dsyev(jobz, ul, n, a, lda, w, work, lwork)
	}
	e, tau, rest := work[:n], work[n:2*n], work[2*n:lwork]
	i.Dsytrd(ul, n, a, lda, w, e, tau, rest, len(rest))
	i.Dorgtr(ul, n, a, lda, tau, rest, len(rest))
	e[n-1] = 0
	v := newEigenvectors(n)
	tile.Transpose(v.rows, v.stride, a, lda, n, n)
	if ok = v.diagonalize(w[:n], e); ok {
		v.sort(w[:n])
	}
	tile.Transpose(a, lda, v.rows, v.stride, n, n)
	return ok
}

// eigenvectors are rows, and rotations of neighbours that have not been applied to them yet: sweeps, each from the last of its pairs
// down to the first.
type eigenvectors struct {
	n, stride int
	rows      []float64
	sweeps    []sweep
	c, s      []float64
}

// A sweep has n rotations, of rows lo and lo+1 and those that follow. The first is at index at.
type sweep struct{ lo, n, at int }

func newEigenvectors(n int) *eigenvectors {
	stride := (n + tile.RotateWidth - 1) / tile.RotateWidth * tile.RotateWidth
	stride += tile.Width // no power of two
	return &eigenvectors{n: n, stride: stride, rows: make([]float64, n*stride)}
}

// manySweeps is the number of whole sweeps that are applied together, while a few columns stay in the cache.
const manySweeps = 16

// apply applies the rotations.
func (v *eigenvectors) apply() {
	for column := 0; column < v.n; column += tile.RotateWidth {
		for _, w := range v.sweeps {
			tile.Rotate(v.rows[w.lo*v.stride+column:], v.stride, v.c[w.at:], v.s[w.at:], w.n)
		}
	}
	v.sweeps, v.c, v.s = v.sweeps[:0], v.c[:0], v.s[:0]
}

// diagonalize overwrites the diagonal d of a tridiagonal matrix with e beside it by its eigenvalues, by implicit QL steps
// (Dubrulle, Martin and Wilkinson 1968), and rotates the rows with it. It returns false if one of them is not found.
func (v *eigenvectors) diagonalize(d, e []float64) bool {
	const mostSteps = 60 // for one eigenvalue; two are usual
	size := 0.0
	for i, v := range d {
		size = max(size, math.Abs(v), math.Abs(e[i]))
	}
	nothing := 0x1p-56 * size // less than what the reduction has rounded
	for l := range d {
		for step := 0; ; step++ {
			m := l
			for m+1 < len(d) && math.Abs(e[m]) > max(0x1p-53*(math.Abs(d[m])+math.Abs(d[m+1])), nothing) {
				m++
			}
			if m == l {
				break
			}
			if step == mostSteps {
				return false
			}
			v.step(d, e, l, m)
		}
	}
	v.apply()
	return true
}

// step is one of the block from l to m.
func (v *eigenvectors) step(d, e []float64, l, m int) {
	at := len(v.c)
	for range m - l {
		v.c, v.s = append(v.c, 1), append(v.s, 0)
	}
	v.sweeps = append(v.sweeps, sweep{l, m - l, at})
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	c, s, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		r := math.Hypot(f, g)
		if e[i+1] = r; r == 0 { // it has fallen in two there
			d[i+1] -= p
			e[m] = 0
			return
		}
		c, s = g/r, f/r
		v.c[at+i-l], v.s[at+i-l] = c, s
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
	}
	d[l] -= p
	e[l], e[m] = g, 0
	if len(v.c) > manySweeps*v.n {
		v.apply()
	}
}

// sort sorts eigenvalues, and rows with them.
func (v *eigenvectors) sort(d []float64) {
	for i := range d {
		k := i
		for j := i + 1; j < len(d); j++ {
			if d[j] < d[k] {
				k = j
			}
		}
		if k == i {
			continue
		}
		d[i], d[k] = d[k], d[i]
		a, b := v.rows[i*v.stride:][:v.n], v.rows[k*v.stride:][:v.n]
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
	}
}
