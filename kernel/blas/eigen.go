package blas

import (
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
)

// Dsyev computes the eigenvalues w of a symmetric matrix, ascending, and with lapack.EVCompute its
// eigenvectors.
//
// On entry a triangle of the n x n matrix a holds A. On return a is overwritten, by the eigenvectors in its
// columns if they are asked for, and work[0] holds the best length of work. Dsyev returns false if the
// iterations do not converge, and immediately for a matrix with NaN or infinity, whose eigenvalues are set to
// NaN.
func (*solvers) Dsyev(
	jobz lapack.EVJob, ul blas.Uplo, n int, a []float64, lda int, w, work []float64, lwork int,
) (ok bool) {
	known := (jobz == lapack.EVCompute || jobz == lapack.EVNone) && n > 0 && isTriangle(ul)
	if known && lwork == -1 && lda >= n && len(work) > 0 {
		work[0] = bestWork(n)
		return false
	}
	if !known || lwork < 3*n-1 || len(work) < lwork || !inside(a, n, n, lda) || len(w) < n {
		return own.Implementation.Dsyev(jobz, ul, n, a, lda, w, work, lwork)
	}
	size := largestOfTriangle(ul, n, a, lda)
	if !(size <= math.MaxFloat64) {
		fill(w[:n], math.NaN())
		return false
	}
	vectors := jobz == lapack.EVCompute
	if n == 1 {
		w[0], work[0] = a[0], 2 // as LAPACK's
		if vectors {
			a[0] = 1
		}
		return true
	}
	if vectors && n > smallOrder && !vectorized() && n-1 <= oneByOne {
		return own.Implementation.Dsyev(jobz, ul, n, a, lda, w, work, lwork)
	}
	scale := scalesOf(size)
	for i := 0; i < n && scale != 0; i++ {
		from, to := (&product[float64]{n: n, part: ul}).span(i)
		rescale(-scale, 1, to-from, a[i*lda+from:], lda)
	}
	switch e := work[:n]; {
	case n <= smallOrder:
		ok = own.smallEigen(vectors, ul, n, a, lda, w)
	case !vectors && !vectorized():
		own.Dsytrd(ul, n, a, lda, w, e, work[n:2*n], work[2*n:lwork], lwork-2*n)
		ok = own.Dsterf(n, w, e)
	default:
		t := newTridiagonal(ul, n, a, lda, vectors)
		defer t.release()
		t.reduce(w, e)
		if vectors {
			ok = own.eigenvectorsOfTridiagonal(t, a, lda, w, e)
		} else {
			ok = own.Dsterf(n, w, e)
		}
	}
	rescale(scale, 1, n, w, n)
	work[0] = bestWork(n)
	return ok
}

// eigenvectorsOfTridiagonal overwrites w, the diagonal of a tridiagonal matrix, by its eigenvalues, and a by
// the eigenvectors of the matrix that was reduced to it.
func (*solvers) eigenvectorsOfTridiagonal(t *tridiagonal, a []float64, lda int, w, e []float64) bool {
	n := t.n
	e[n-1] = 0
	v := newTurned(n)
	defer v.release()
	t.generate(v.rows, v.stride)
	if t.mirrored {
		slices.Reverse(w[:n])
		slices.Reverse(e[:n-1])
		turnAround(v.rows, v.stride, n)
	}
	ok := v.diagonalize(w[:n], e)
	if ok {
		sortRows(w[:n], false, v)
	}
	tile.Transpose(a, lda, v.rows, v.stride, n, n)
	return ok
}

// bestWork returns the best length of work of gonum's Dsyev, which package mat requests for every matrix.
func bestWork(n int) float64 {
	const block = 32 // of Dsytrd, by Ilaenv
	return float64((block + 2) * n)
}

// moderate reports whether no scaling of a matrix is needed whose largest entry has a size.
func moderate(size float64) bool { return size > 0x1p-480 && size < 0x1p480 }

// diagonalize overwrites the diagonal d of a tridiagonal matrix, with e beside it, by its eigenvalues, and
// rotates the rows with it. It returns false if an eigenvalue is not found.
func (v *turned) diagonalize(d, e []float64) bool {
	size := 0.0
	for i, v := range d {
		size = max(size, math.Abs(v), math.Abs(e[i]))
	}
	for i, v := range e { // what is left of dependent rows
		if math.Abs(v) <= 0x1p-53*size {
			e[i] = 0
		}
	}
	t := symmetricSteps{d: d, e: e}
	for lo, n, down := t.next(); n > 0; lo, n, down = t.next() {
		if !t.converging() {
			return false
		}
		t.step(v.begin(lo, n, down))
	}
	v.apply()
	return true
}

// turned is a square matrix whose rows are being rotated: the rotations of neighbouring rows that have not
// been applied yet are sweeps over some rows.
type turned struct {
	n, stride int
	rows      []float64
	sweeps    []sweep
	c, s      []float64
}

// A sweep has n rotations, of the rows lo and lo+1 and those that follow, from the last pair up or from the
// first pair down. c[at] and s[at] belong to the pair that comes last.
type sweep struct {
	lo, n, at int
	down      bool
}

var turnedPool = sync.Pool{New: func() any { return new(turned) }}

// newTurned returns the unit matrix of order n. One without rows takes rotations to no effect.
func newTurned(n int) *turned {
	v := turnedPool.Get().(*turned)
	v.n, v.stride = n, 0
	if n > 0 {
		v.stride = (n+tile.RotateWidth-1)/tile.RotateWidth*tile.RotateWidth + tile.Width // no power of two
	}
	v.sweeps, v.c, v.s = v.sweeps[:0], v.c[:0], v.s[:0]
	v.rows = slices.Grow(v.rows[:0], n*v.stride)[:n*v.stride]
	clear(v.rows)
	for i := range n {
		v.rows[i*(v.stride+1)] = 1
	}
	return v
}

// release keeps the memory of a matrix for another one.
func (v *turned) release() { turnedPool.Put(v) }

// row returns row i.
func (v *turned) row(i int) []float64 { return v.rows[i*v.stride:][:v.n] }

// manySweeps is the number of whole sweeps that are applied together, while a few columns stay in the cache.
const manySweeps = 16

// begin adds a sweep of n rotations, and returns their cosines and sines, to be set: the rotation of the pair
// to be rotated first is the last one.
func (v *turned) begin(lo, n int, down bool) (c, s []float64) {
	if len(v.c) > manySweeps*v.n {
		v.apply()
	}
	at := len(v.c)
	v.c, v.s = slices.Grow(v.c, n)[:at+n], slices.Grow(v.s, n)[:at+n]
	v.sweeps = append(v.sweeps, sweep{lo, n, at, down})
	return v.c[at:], v.s[at:]
}

// apply applies the rotations.
func (v *turned) apply() {
	for column := 0; column < v.n; column += tile.RotateWidth {
		for _, w := range v.sweeps {
			stride := v.stride
			if w.down {
				stride = -stride
			}
			tile.Rotate(v.rows[w.lo*v.stride+column:], stride, v.c[w.at:], v.s[w.at:], w.n)
		}
	}
	v.sweeps, v.c, v.s = v.sweeps[:0], v.c[:0], v.s[:0]
}

// sortRows sorts numbers, ascending or descending, and the rows of matrices with them.
func sortRows(d []float64, descending bool, matrices ...*turned) {
	for i := range d {
		k := i
		for j := i + 1; j < len(d); j++ {
			if d[j] != d[k] && d[j] > d[k] == descending {
				k = j
			}
		}
		if k == i {
			continue
		}
		d[i], d[k] = d[k], d[i]
		for _, m := range matrices {
			reference.Implementation{}.Dswap(m.n, m.row(i), 1, m.row(k), 1)
		}
	}
}
