package lsq

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// A decomposition is a complete orthogonal decomposition of a tall matrix M, m x c,
//
//	M P = Q [R; 0],   R = [T 0] Z',   M^+ = P Z [T^-1; 0] Q',
//
// with R of rank x c and a triangular T. Householder reflectors with column pivoting
// (Businger and Golub, 1965) find Q and R; where R has fewer rows than columns, more of
// them find Z (Hanson and Lawson, 1969).
type decomposition struct {
	m, c     int
	extra    int        // right-hand sides that stand behind the columns of M, 0 or 1
	q        reflectors // of Q; before them M and the right-hand side, by columns
	order    []int      // column k of M P is column order[k] of M
	norm     []float64  // the squared norms of what is left of each column ...
	computed []float64  // ... when they were last computed in full
	null     float64    // the norm at which nothing is left
	rank     int
	r        []float64 // R by columns ldr apart, then T
	ldr      int
	z        reflectors // of Z, each of c-rank+1 entries
	w        []float64  // room for a row or a column
}

// Reflectors I - v v'/h have their vectors v by columns, ld apart.
type reflectors struct {
	v, h []float64
	ld   int
}

// decompositionWork returns the length of the memory for matrices of up to m x c.
func decompositionWork(m, c int) int {
	return oddPad(m)*(c+2) + oddPad(c)*c + (c+1)*c + 5*c
}

// oddPad returns an odd multiple of eight: a row of a matrix with this stride is in as many
// sets of a cache as it has entries.
func oddPad(n int) int { return blas.Pad(n) | 8 }

// decomposition returns the decomposition, to be loaded, of an m x c matrix.
func (ws *Workspace) decomposition(m, c int) *decomposition {
	d, room := &ws.decomposed, ws.work
	take := func(n int) []float64 {
		part := room[:n:n]
		room = room[n:]
		return part
	}
	*d = decomposition{m: m, c: c, ldr: oddPad(c), order: ws.order[:c]}
	d.q.ld = oddPad(m)
	for k := range d.order {
		d.order[k] = k
	}
	d.q.v, d.r, d.z.v = take(d.q.ld*(c+1)), take(d.ldr*c), take((c+1)*c)
	d.q.h, d.z.h, d.norm, d.computed, d.w = take(c), take(c), take(c), take(c), take(d.q.ld+c)
	return d
}

// load takes the columns of [A; rho I] in their order, and y behind them, with A and y divided by
// their scales.
func (d *decomposition) load(a blas.ColumnMajor, y []float64, scale, yscale, rho float64) {
	n := a.Rows
	d.extra = 1
	clear(d.q.v)
	for k, j := range d.order {
		col := d.q.v[k*d.q.ld:]
		for i, v := range a.Data[j*a.Stride:][:n] {
			col[i] = v / scale
		}
		if rho > 0 {
			col[n+j] = rho
		}
	}
	for i, v := range y[:n] {
		d.q.v[d.c*d.q.ld+i] = v / yscale
	}
}

// loadTransposed takes the columns of A' in their order, divided by its scale.
func (d *decomposition) loadTransposed(a blas.ColumnMajor, scale float64) {
	d.extra = 0
	clear(d.q.v)
	for j := range d.m {
		row := a.Data[j*a.Stride:]
		for k, i := range d.order {
			d.q.v[k*d.q.ld+j] = row[i] / scale
		}
	}
}

// unpivoted finds Q and R of a matrix that is loaded and taken for one of full rank, and
// returns the smallest and the largest diagonal entry of R.
func (d *decomposition) unpivoted() (lo, hi float64) {
	d.rank = d.c
	tile.Factor(d.q.v, d.q.ld, d.m, d.c, d.r, d.ldr, d.q.h)
	lo = math.Inf(1)
	for k := range d.c {
		v := math.Abs(d.r[k*d.ldr+k])
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// pivoted finds the whole decomposition; load loads M. What is at most tol times the
// Frobenius norm of M counts as null.
//
// Pivoting puts what is null into the last columns, but for a few matrices of which
// each column depends on all others a little (Kahan's). So null directions that are left
// in R are looked for, and the column in which one shows most is set apart as the last
// (Chan, 1987).
func (d *decomposition) pivoted(tol float64, load func()) {
	for last := d.c; ; last-- {
		load()
		d.factor(tol, last)
		k := d.hidden()
		if k < 0 {
			break
		}
		d.order[k], d.order[last-1] = d.order[last-1], d.order[k]
	}
	d.reduceRows()
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
		copy(d.r[k*d.ldr:][:d.rank], d.q.v[k*d.q.ld:])
	}
}

// computeNorm computes the squared norm of column k from row i on.
func (d *decomposition) computeNorm(k, i int) {
	x := d.q.v[k*d.q.ld+i : k*d.q.ld+d.m]
	d.norm[k] = blas.Dot(x, x)
	d.computed[k] = d.norm[k]
}

func (d *decomposition) swap(i, j int) {
	x, y := d.q.v[i*d.q.ld:][:d.m], d.q.v[j*d.q.ld:][:d.m]
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
	x := d.q.v[k*d.q.ld : k*d.q.ld+d.m]
	alpha := -math.Copysign(math.Sqrt(d.norm[k]), x[k])
	d.q.h[k] = d.norm[k] - alpha*x[k]
	copy(d.r[k*d.ldr:][:k], x)
	clear(x[:k])
	d.r[k*d.ldr+k] = alpha
	x[k] -= alpha
	behind := d.c + d.extra - k - 1
	if behind == 0 {
		return
	}
	// The tiles take rows by eights; those above k are zero in the reflector.
	from := k &^ 7
	rows, v, c := d.q.ld-from, d.q.v[k*d.q.ld+from:], d.q.v[(k+1)*d.q.ld+from:]
	w := d.w[:behind]
	tile.MulBasis(w, 1, v, d.q.ld, c, d.q.ld, 1, rows, behind, tile.Hint{})
	for j := range w {
		w[j] /= -d.q.h[k]
	}
	tile.RankUpdate(c, d.q.ld, v, d.q.ld, w, behind, 1, rows, behind)
	for j := k + 1; j < d.c; j++ {
		head := d.q.v[j*d.q.ld+k]
		if d.norm[j] -= head * head; d.norm[j] <= inaccurate*d.computed[j] {
			d.computeNorm(j, k+1)
		}
	}
}

// hidden returns the column of R in which a null direction shows most, or -1 if there is
// none. The smallest singular value is estimated by two triangular solves, as LINPACK's
// condition numbers are.
func (d *decomposition) hidden() int {
	z := d.w[:d.rank]
	for j := range z { // R'z = e, each entry of e being the sign that makes z larger
		col := d.r[j*d.ldr:]
		s := blas.Dot(col[:j], z)
		z[j] = -(s + math.Copysign(1, s)) / col[j]
	}
	before := blas.Dot(z, z)
	solveUpper(d.r, d.ldr, z)
	if after := blas.Dot(z, z); before > d.null*d.null*after || len(z) < 2 {
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

// reduceRows finds Z and T, row by row from the last: reflector i takes the entries of row i behind
// column rank into its diagonal entry.
func (d *decomposition) reduceRows() {
	n := d.c - d.rank // columns of R behind T
	if n == 0 {
		return
	}
	d.z.ld = n + 1
	tail := d.r[d.rank*d.ldr:]
	for i := d.rank - 1; i >= 0; i-- {
		v, diagonal := d.z.v[i*d.z.ld:][:n+1], &d.r[i*d.ldr+i]
		v[0] = *diagonal
		for j := range n {
			v[j+1], tail[j*d.ldr+i] = tail[j*d.ldr+i], 0
		}
		s := blas.Dot(v, v)
		alpha := -math.Copysign(math.Sqrt(s), v[0])
		d.z.h[i] = s - alpha*v[0]
		v[0] -= alpha
		*diagonal = alpha
		if i == 0 {
			break
		}
		// The rows above get what the reflector does to them; those below are zero.
		w, col := d.w[:blas.Pad(i)], d.r[i*d.ldr:][:i]
		tile.MulTransposed(w, tail, d.ldr, v[1:], n, i, tile.Hint{})
		for l, x := range col {
			w[l] = -(w[l] + v[0]*x) / d.z.h[i]
			col[l] += v[0] * w[l]
		}
		tile.RankUpdate(tail, d.ldr, w, len(w), v[1:], n, 1, i, n)
	}
}

// solve computes b = P Z [T^-1; 0] Q'y, for y behind the columns of M.
func (d *decomposition) solve(b []float64) {
	x := d.w[:d.c]
	clear(x)
	copy(x[:d.rank], d.q.v[d.c*d.q.ld:])
	solveUpper(d.r, d.ldr, x[:d.rank])
	for i := range d.rank {
		d.reflectRow(i, x)
	}
	for k, j := range d.order {
		b[j] = x[k]
	}
}

// solveTransposed computes b = Q [T^-T; 0] Z' P'y, of the problem with the matrix M'.
func (d *decomposition) solveTransposed(b, y []float64, yscale float64) {
	x := d.w[:d.c]
	for k, j := range d.order {
		x[k] = y[j] / yscale
	}
	for i := d.rank - 1; i >= 0; i-- {
		d.reflectRow(i, x)
	}
	for j := range d.rank { // by T'^-1
		col := d.r[j*d.ldr:]
		x[j] = (x[j] - blas.Dot(col[:j], x)) / col[j]
	}
	clear(b)
	copy(b, x[:d.rank])
	for k := d.rank - 1; k >= 0; k-- {
		if d.q.h[k] != 0 {
			v := d.q.v[k*d.q.ld+k : k*d.q.ld+d.m]
			blas.Axpy(-blas.Dot(v, b[k:])/d.q.h[k], v, b[k:])
		}
	}
}

// reflectRow applies reflector i of Z to x.
func (d *decomposition) reflectRow(i int, x []float64) {
	n := d.c - d.rank
	if n == 0 {
		return
	}
	v := d.z.v[i*d.z.ld:][:n+1]
	s := (v[0]*x[i] + blas.Dot(v[1:], x[d.rank:])) / d.z.h[i]
	x[i] -= s * v[0]
	blas.Axpy(-s, v[1:], x[d.rank:])
}

// solveUpper overwrites x by R^-1 x for the upper triangle of r, stored by columns.
func solveUpper(r []float64, ld int, x []float64) {
	for j := len(x) - 1; j >= 0; j-- {
		x[j] /= r[j*ld+j]
		blas.Axpy(-x[j], r[j*ld:][:j], x)
	}
}
