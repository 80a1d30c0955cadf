package lsq

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// A decomposition is a QR decomposition with column pivoting (Businger and Golub, 1965) of a
// matrix M, m x c,
//
//	M P = Q [R; 0],
//
// with R of rank x c, by Householder reflectors.
type decomposition struct {
	m, c     int
	order    []int     // column k of M P is column order[k] of M
	q        []float64 // M and the right-hand side by columns ld apart, then the reflectors
	ld       int
	norm     []float64 // the squared norms of what is left of each column ...
	computed []float64 // ... when they were last computed in full
	null     float64   // the norm at which nothing is left
	rank     int
	r        []float64 // by columns ldr apart
	ldr      int
	w, work  []float64 // room for a row or a column, and for two
	v        []float64 // of hidden
}

// decompositionWork returns the length of the memory for matrices of up to m x c.
func decompositionWork(m, c int) int {
	return oddPad(m)*(c+1) + oddPad(c)*c + 7*c
}

// oddPad returns an odd multiple of eight: a row of a matrix with this stride is in as many
// sets of a cache as it has entries.
func oddPad(n int) int { return dense.Pad(n) | 8 }

// decomposition returns the decomposition, to be loaded, of an m x c matrix.
func (ws *Workspace) decomposition(m, c int) *decomposition {
	d, room := &ws.decomposed, ws.work
	take := func(n int) []float64 {
		part := room[:n:n]
		room = room[n:]
		return part
	}
	*d = decomposition{m: m, c: c, ld: oddPad(m), ldr: oddPad(c), order: ws.order[:c]}
	for k := range d.order {
		d.order[k] = k
	}
	d.q, d.r = take(d.ld*(c+1)), take(d.ldr*c)
	d.norm, d.computed, d.v, d.w, d.work = take(c), take(c), take(c), take(2*c), take(2*c)
	return d
}

// load takes the columns of [A; rho I] in their order, and y behind them, with A and y divided by
// their scales.
func (d *decomposition) load(a blas64.GeneralCols, y []float64, scale, yscale, rho float64) {
	n := a.Rows
	clear(d.q)
	for k, j := range d.order {
		col := d.q[k*d.ld:]
		for i, v := range a.Data[j*a.Stride:][:n] {
			col[i] = v / scale
		}
		if rho > 0 {
			col[n+j] = rho
		}
	}
	for i, v := range y[:n] {
		d.q[d.c*d.ld+i] = v / yscale
	}
}

// pivoted finds the decomposition; load loads M. What is at most tol times the
// Frobenius norm of M counts as null.
//
// Pivoting puts what is null into the last columns, but for matrices of which
// each column depends on all others a little (Kahan's), and where the singular values fall so
// slowly that none is the first null one. So null directions that are left
// in R are looked for, and the column in which one shows most is set apart (Chan, 1987): it moves
// behind the others. All starts again without it in the rare case that other columns that were
// set apart are not null beside what is left then.
func (d *decomposition) pivoted(tol float64, load func()) {
	for last := d.c; ; last-- {
		load()
		d.factor(tol, last)
		k := d.hidden(0)
		for k >= 0 && d.retire(k) {
			k = d.hidden(k)
		}
		if k < 0 {
			break
		}
		d.order[d.rank-1], d.order[last-1] = d.order[last-1], d.order[d.rank-1]
	}
}

// retire moves column k behind the other independent ones, rotates rows so that R is a triangle again,
// and takes the last row and column away: it reports whether nothing but what is null is lost so.
func (d *decomposition) retire(k int) bool {
	last := d.rank - 1
	moved, of := d.w[:d.rank], d.order[k]
	copy(moved, d.r[k*d.ldr:])
	rotations := d.work[:2*(last-k)]
	for j := k; j < last; j++ {
		col := d.r[j*d.ldr:][:j+2]
		copy(col, d.r[(j+1)*d.ldr:])
		rotate(col[k:], rotations[:2*(j-k)])
		d.order[j] = d.order[j+1]
		size := math.Hypot(col[j], col[j+1])
		rotations[2*(j-k)], rotations[2*(j-k)+1] = col[j]/size, col[j+1]/size
		col[j], col[j+1] = size, 0
	}
	copy(d.r[last*d.ldr:], moved)
	d.order[last] = of
	lost := 0.0
	for j := last; j < d.c; j++ {
		col := d.r[j*d.ldr:][:d.rank]
		rotate(col[k:], rotations)
		lost = max(lost, math.Abs(col[last]))
	}
	rotate(d.q[d.c*d.ld:][k:d.rank], rotations)
	if lost > 2*math.Sqrt(float64(d.rank))*d.null {
		return false
	}
	d.rank = last
	return true
}

// rotate applies the rotations of entries i and i+1 of x, given by cosines and sines.
func rotate(x, by []float64) {
	for i := range len(by) / 2 {
		c, s := by[2*i], by[2*i+1]
		x[i], x[i+1] = c*x[i]+s*x[i+1], c*x[i+1]-s*x[i]
	}
}

// factor finds Q and R by Householder reflectors, choosing among the first choose
// columns, until the norms of all that is left of these are at most tol times the
// Frobenius norm of M. It sets the rank.
func (d *decomposition) factor(tol float64, choose int) {
	total := 0.0
	for k := range d.c {
		d.computeNorm(k, 0)
		total += d.norm[k]
	}
	d.null = tol * math.Sqrt(total)
	clear(d.r)
	for d.rank = 0; d.rank < choose; d.rank++ {
		k := d.rank
		p := k
		for j := k + 1; j < choose; j++ {
			if d.norm[j] > d.norm[p] {
				p = j
			}
		}
		if p != k {
			d.swap(k, p)
		}
		if d.computeNorm(k, k); math.Sqrt(d.norm[k]) <= d.null {
			break
		}
		d.reflect(k)
	}
	for k := d.rank; k < d.c; k++ {
		copy(d.r[k*d.ldr:][:d.rank], d.q[k*d.ld:])
	}
}

// computeNorm computes the squared norm of column k from row i on.
func (d *decomposition) computeNorm(k, i int) {
	x := d.q[k*d.ld+i : k*d.ld+d.m]
	d.norm[k] = dense.Dot(x, x)
	d.computed[k] = d.norm[k]
}

func (d *decomposition) swap(i, j int) {
	x, y := d.q[i*d.ld:][:d.m], d.q[j*d.ld:][:d.m]
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
	d.order[i], d.order[j] = d.order[j], d.order[i]
	d.norm[i], d.norm[j] = d.norm[j], d.norm[i]
	d.computed[i], d.computed[j] = d.computed[j], d.computed[i]
}

// inaccurate is the share of a squared norm that is left when too many of its digits
// have cancelled.
const inaccurate = 1e-6

// reflect makes the reflector of column k, applies it to all columns behind, and moves
// what stands above it to r.
func (d *decomposition) reflect(k int) {
	x := d.q[k*d.ld : k*d.ld+d.m]
	alpha := -math.Copysign(math.Sqrt(d.norm[k]), x[k])
	h := d.norm[k] - alpha*x[k]
	copy(d.r[k*d.ldr:][:k], x)
	clear(x[:k])
	d.r[k*d.ldr+k] = alpha
	x[k] -= alpha
	behind := d.c - k // with the right-hand side
	// The tiles take rows by eights; those above k are zero in the reflector.
	from := k &^ 7
	rows, v, c := d.ld-from, d.q[k*d.ld+from:], d.q[(k+1)*d.ld+from:]
	w := d.w[:behind]
	tile.MulBasis(w, 1, v, d.ld, c, d.ld, 1, rows, behind, tile.Hint{})
	for j := range w {
		w[j] /= -h
	}
	tile.RankUpdate(c, d.ld, v, d.ld, w, behind, 1, rows, behind)
	for j := k + 1; j < d.c; j++ {
		head := d.q[j*d.ld+k]
		if d.norm[j] -= head * head; d.norm[j] <= inaccurate*d.computed[j] {
			d.computeNorm(j, k+1)
		}
	}
}

// hidden returns the column of R in which a null direction shows most, or -1 if there is
// none. The smallest singular value is estimated by two triangular solves, as LINPACK's
// condition numbers are. The first so many columns of R are as they were when it was called before.
func (d *decomposition) hidden(first int) int {
	for j := first; j < d.rank; j++ { // R'v = e, each entry of e being the sign that makes v larger
		col := d.r[j*d.ldr:]
		s := dense.Dot(col[:j], d.v)
		d.v[j] = -(s + math.Copysign(1, s)) / col[j]
	}
	z := d.w[:d.rank]
	copy(z, d.v)
	before := dense.Dot(z, z)
	solveUpper(d.r, d.ldr, z)
	if after := dense.Dot(z, z); before > d.null*d.null*after || len(z) < 2 {
		return -1
	}
	most := 0
	for j, v := range z {
		if math.Abs(v) > math.Abs(z[most]) {
			most = j
		}
	}
	return most
}

// solve computes the solution of minimum norm for y behind the columns of M.
func (d *decomposition) solve(b []float64, ws *Workspace) {
	x := d.w[:d.rank]
	copy(x, d.q[d.c*d.ld:])
	solveUpper(d.r, d.ldr, x)
	clear(b)
	for k, v := range x {
		b[d.order[k]] = v
	}
	inv := d.w[d.c:][:d.rank]
	for k := range inv {
		inv[d.rank-1-k] = 1 / d.r[k*d.ldr+k]
	}
	ws.project(b, split{d.c, d.rank, d.order}, d.r, 1, d.ldr, ws.identity, inv)
}

// solveUpper overwrites x by R^-1 x for the upper triangle of r, stored by columns.
func solveUpper(r []float64, ld int, x []float64) {
	for j := len(x) - 1; j >= 0; j-- {
		x[j] /= r[j*ld+j]
		dense.Axpy(-x[j], r[j*ld:][:j], x)
	}
}

// minimumNorm solves problems that have no unique solution, or none that LeastSquares can be
// trusted with, by a decomposition with pivoting of M = [A; rho I], rho^2 = ridge. Directions
// along which M is at most tolerance times its Frobenius norm count as null. It returns OK
// when there is none in [A; rho I], and otherwise Underdetermined for fewer samples than
// columns, RankDeficient for more.
func (ws *Workspace) minimumNorm(b []float64, a blas64.GeneralCols, y []float64, ridge float64) Status {
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
