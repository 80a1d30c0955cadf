// Package leastsq solves the small least-squares problems of the minimisation step (Alg. 3, line 8), b = (X
// U)^+ y, by orthogonalisation over preallocated workspaces, with an optional ridge term, and with the
// solution of minimum norm where the problem has no unique one. Package kernel/lsq has the public form.
package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// Status is the outcome of a least-squares problem. Package kernel/lsq takes these numbers and documents
// them.
type Status uint8

// The outcomes.
const (
	OK Status = iota
	RankDeficient
	Underdetermined
	NotFinite
)

const (
	// No digits were lost to squares that overflow or underflow under two conditions. The squares of the
	// diagonal of R are in this range. The product of the smallest square with the solution is above its
	// lower end.
	smallest = 1e-280
	largest  = 1e300
)

// A Workspace is the scratch memory of Solve. It serves one call at a time.
type Workspace struct {
	MaxRows, MaxCols int

	f    []float64 // [A y] with the rows of a ridge, by columns
	e    []float64 // the residual, with the rows of a ridge
	work []float64 // of the tiles
	r    []float64 // triangles and vectors of a problem without a unique solution

	pivots []int // the order of its columns

	factored int     // rows of the matrix that Factor prepared, and of its ridge
	least    float64 // the square of the smallest diagonal entry of its R
}

// A Result is the outcome of a problem: the number of independent columns, or rows if these are fewer, and
// the sum of the squares of A b - y.
type Result struct {
	Status  Status
	Rank    int
	Squares float64
	// A struct with more fields is not kept in registers.
}

// NewWorkspace returns scratch memory for problems of up to n samples and r columns, n >= 0 and r > 0.
func NewWorkspace(n, r int) *Workspace {
	return &Workspace{
		MaxRows: n, MaxCols: r,
		f:    make([]float64, tile.Pad(n+r)*(r+1)),
		e:    make([]float64, n+r),
		work: make([]float64, tile.LeastSquaresWork(n+r, r)),
		r:    make([]float64, 2*r*r+3*r),

		pivots: make([]int, r),
	}
}

// Solve computes b = argmin |A b - y|^2 + ridge |b|^2 for the n x r matrix a and the n entries of y, which
// fit the workspace. A direction counts as null if its singular value of [A; sqrt(ridge) I] is at most
// tolerance times the Frobenius norm; the tolerance is at least Tolerance(n, r). b never holds NaN. next is
// the address of memory that Solve prefetches, 0 for none. The residual A b - y is in memory of the
// workspace.
func Solve(
	b []float64, a *blas64.GeneralCols, y []float64, ridge, tolerance float64, next uintptr, ws *Workspace,
) (res Result, residual []float64) {
	res, direct := ws.solve(b, a, y, ridge, tolerance, next)
	residual = ws.e[:a.Rows]
	if !direct {
		res.Squares = tile.Residual(residual, a.Data, a.Stride, b, y, a.Rows, a.Cols)
	}
	return res, residual
}

// solve is Solve, and reports whether it has written the residual. It does not copy a: that takes longer than
// some problems wait for anything else.
func (ws *Workspace) solve(
	b []float64, a *blas64.GeneralCols, y []float64, ridge, tol float64, next uintptr,
) (res Result, direct bool) {
	n, r := a.Rows, a.Cols
	m, rhs := a, y
	switch {
	case ridge > 0:
		var with blas64.GeneralCols
		with, rhs = ws.augment(*a, y, math.Sqrt(ridge))
		m = &with
	case n == 0:
		clear(b)
		return Result{Status: Underdetermined}, false
	case n < r:
		if ws.solveWide(b, *a, y, tol, next) {
			return Result{Status: Underdetermined, Rank: n}, false
		}
	}
	lo, hi, squares := tile.LeastSquares(b, ws.e, m.Data, m.Stride, m.Rows, r, rhs, ws.work, next)
	_, _, f, ldf := tile.Eliminated(ws.work, m.Rows, r)
	if lo <= tile.SetApart(m.Rows, r)*hi || !ws.fullRank(f, ldf, r, hi, tol) || !inRange(b, rhs, lo) {
		if rank, ok := ws.solveKept(b, m.Rows, r, hi, tol); ok {
			return Result{Status: deficient(n, r), Rank: rank}, false
		}
		return ws.minimumNorm(b, *a, y, ridge, tol), false
	}
	if ridge > 0 {
		squares = tile.Dot(ws.e[:n], ws.e[:n]) // without the rows of the ridge
	}
	return Result{Rank: r, Squares: squares}, true
}

// Factor prepares Again for the matrix a with a ridge, and reports whether the columns are independent.
func (ws *Workspace) Factor(a blas64.GeneralCols, ridge, tol float64) bool {
	if a.Rows == 0 {
		return false
	}
	m, zero := ws.augment(a, ws.f[:0], math.Sqrt(ridge))
	ws.factored = m.Rows
	var hi float64
	ws.least, hi = tile.Orthogonalize(ws.r[:a.Cols], m.Data, m.Stride, m.Rows, a.Cols, zero, ws.work, 0)
	_, _, f, ldf := tile.Eliminated(ws.work, m.Rows, a.Cols)
	return ws.least > tile.SetApart(m.Rows, a.Cols)*hi && ws.fullRank(f, ldf, a.Cols, hi, tol)
}

// Again is Solve for one more right-hand side of the matrix a that Factor prepared. ok is false where numbers
// are so large or small that digits were lost. Eliminating y column by column from A = W F, as LeastSquares
// does, is as stable.
func (ws *Workspace) Again(b []float64, a *blas64.GeneralCols, y []float64) (res Result, residual []float64, ok bool) {
	w, ldw, f, ldf := tile.Eliminated(ws.work, ws.factored, a.Cols)
	e := ws.e[:ws.factored]
	clear(e[copy(e, y):])
	for k := range b {
		x := w[k*ldw:][:ws.factored]
		b[k] = tile.Dot(x, e) / f[k*(ldf+1)]
		addScaled(e, -b[k], x)
	}
	for k := len(b) - 2; k >= 0; k-- {
		b[k] -= tile.Dot(f[k*ldf+k+1:][:len(b)-k-1], b[k+1:])
	}
	res.Rank, residual = a.Cols, ws.e[:a.Rows]
	res.Squares = tile.Residual(residual, a.Data, a.Stride, b, y, a.Rows, a.Cols)
	return res, residual, inRange(b, y, ws.least)
}

// addScaled adds a multiple of x to y, with equal bits on all processors that have tiles.
func addScaled(y []float64, by float64, x []float64) {
	tile.AddRows(y, x, len(x), []float64{by}, 1, len(y))
}

// deficient returns the status of an n x r problem whose matrix has fewer than r independent columns.
func deficient(n, r int) Status {
	if n < r {
		return Underdetermined
	}
	return RankDeficient
}

// Tolerance is the part of the norm of an n x r matrix at which a direction counts as null: in such a
// direction the matrix is rounding errors.
func Tolerance(n, r int) float64 { return float64(float64(max(n, r)) * 0x1p-52) }

// augment stores [A y; rho I 0] in ws.f and returns its two parts.
func (ws *Workspace) augment(a blas64.GeneralCols, y []float64, rho float64) (blas64.GeneralCols, []float64) {
	n, r := a.Rows, a.Cols
	ld := tile.Pad(n + r)
	for j := range r {
		col := ws.f[j*ld:][:n+r]
		copy(col, a.Data[j*a.Stride:][:n])
		clear(col[n:])
		col[n+j] = rho
	}
	rhs := ws.f[r*ld:][:n+r]
	clear(rhs[copy(rhs, y):])
	return blas64.GeneralCols{Rows: n + r, Cols: r, Stride: ld, Data: ws.f}, rhs
}

// fullRank reports whether R has no singular value that is null, for a given sum of squares of the matrix. F
// has the squares of the diagonal of R, and the rows of R divided by the diagonal. The product of the squares
// of the diagonal is the product of the squares of the singular values. All of these but the smallest make at
// most (|R|^2 / (c-1))^(c-1): that proves it for nearly all matrices of full rank. For others |R^-1|, which
// is at least the inverse of the smallest singular value, does.
func (ws *Workspace) fullRank(f []float64, ldf, c int, squares, tol float64) bool {
	others := float64(max(c-1, 1))
	product, unit, least := 1.0, others/squares, math.Inf(1)
	for k := range c {
		product *= f[k*(ldf+1)] * unit
		least = min(least, f[k*(ldf+1)])
	}
	switch {
	case !(squares < largest && least > smallest):
		return false
	case product >= others*tol*tol && product <= math.MaxFloat64:
		return true
	case !(least > tol*tol*squares):
		return false
	}
	inverse, t, inv := ws.r[:c*c], ws.r[c*c:][:c*c], ws.r[2*c*c:][:c]
	clear(inverse)
	for i := range c {
		size := math.Sqrt(f[i*(ldf+1)])
		inverse[i*(c+1)], inv[i] = 1, 1/size
		for j := i + 1; j < c; j++ {
			t[j*c+i] = size * f[i*ldf+j]
		}
	}
	tile.SolveUpper(inverse, c, t, c, inv, c, c)
	return tol*tol*squares*tile.Dot(inverse, inverse) <= 1
}

// inRange reports whether no number is so large or small that digits of b were lost. Where columns are
// independent, NaN or Inf anywhere in y is NaN or Inf in b.
func inRange(b, y []float64, lo float64) bool {
	size := tile.MaxAbs(b)
	return size <= math.MaxFloat64 && lo > smallest && (size*lo > smallest || tile.MaxAbs(y) == 0)
}

// solveWide solves a problem with fewer rows than columns, if the rows are independent beyond doubt. With
// A' = W F as Orthogonalize leaves them, where W has orthogonal columns,
//
//	b = W (W'W)^-1 h,   F'h = y.
//
// Subtracting from h what W'b is already, column by column, makes that as stable as Householder reflectors
// (Bjorck and Paige, 1992, section 5).
func (ws *Workspace) solveWide(b []float64, a blas64.GeneralCols, y []float64, tol float64, next uintptr) bool {
	n, r := a.Rows, a.Cols
	transposed := ws.f[:r*n]
	tile.Transpose(transposed, r, a.Data, a.Stride, r, n)
	h := ws.r[:n]
	clear(b)
	lo, hi := tile.Orthogonalize(h, transposed, r, r, n, b, ws.work, next)
	w, ldw, f, ldf := tile.Eliminated(ws.work, r, n)
	if lo <= tile.SetApart(r, n)*hi || !ws.fullRank(f, ldf, n, hi, tol) {
		return false
	}
	copy(h, y)
	for i, v := range h {
		for k, x := range f[i*ldf:][i+1 : n] {
			h[i+1+k] -= float64(x * v) // two roundings on every processor
		}
	}
	for k := n - 1; k >= 0; k-- {
		x := w[k*ldw:][:r]
		addScaled(b, (h[k]-tile.Dot(x, b))/f[k*(ldf+1)], x)
	}
	return inRange(b, y, lo)
}

// solveKept solves a problem of m rows and r columns after LeastSquares has set some columns apart as
// dependent, if the rank is then beyond doubt. It returns the rank. A = W F + E, where the columns of E are
// the remainders that were set apart, and the rows of F that belong to other columns are independent: b is
// the solution of minimum norm of these rows of R, the square roots of the diagonal times F.
//
// The rank is beyond doubt if |E| counts as null, and each singular value of these rows is above the
// tolerance by doubt times E and rounding. Columns that are nearly dependent magnify the rounding of later
// dependent ones. Some of these remainders may then be too large to be set apart. Their rows of R have a
// singular value of at most |E| plus the rounding of A.
func (ws *Workspace) solveKept(b []float64, m, r int, squares, tol float64) (rank int, ok bool) {
	const doubt = 4
	_, _, f, ldf := tile.Eliminated(ws.work, m, r)
	apart := tile.SetApart(m, r) * squares
	least, dropped := math.Inf(1), 0.0
	for k := range r {
		if s := f[k*(ldf+1)]; s > apart {
			rank++
			least = min(least, s)
		} else {
			dropped += s
		}
	}
	if rank == 0 || rank == r || !(squares < largest && least > smallest && dropped <= tol*tol*squares) {
		return 0, false
	}
	tol += float64(doubt * (math.Sqrt(dropped/squares) + Tolerance(m, r)))
	t := blas64.GeneralCols{Rows: rank, Cols: r, Stride: rank, Data: ws.r[r:][:rank*r]}
	c, i := ws.e[:rank], 0
	clear(t.Data)
	for k := range r {
		row := f[k*ldf:]
		if !(row[k] > apart) {
			continue
		}
		size := math.Sqrt(row[k])
		t.Data[k*rank+i], c[i] = size, size*row[r]
		for j := k + 1; j < r; j++ {
			t.Data[j*rank+i] = size * row[j]
		}
		i++
	}
	return rank, tile.MaxAbs(c) > smallest && ws.solveWide(b, t, c, tol, 0)
}

// Triangle computes the factors R and c of [A y] = Q [R c; 0 *] for the n x r matrix a, n > 0, which fits the
// workspace, and stores them in rows at to at+r-1 of t and c. It returns the norm of *: |A b - y|^2 is |R b -
// c|^2 plus its square. It prefetches from next on, as Solve does.
func Triangle(
	t blas64.GeneralCols, c []float64, at int, a blas64.GeneralCols, y []float64, next uintptr, ws *Workspace,
) (rest float64) {
	n, r := a.Rows, a.Cols
	b, scale, yscale := ws.r[:r], 1.0, 1.0
	_, hi, squares := tile.LeastSquares(b, ws.e, a.Data, a.Stride, n, r, y, ws.work, next)
	size := tile.MaxAbs(y)
	safe := hi > smallest && hi < largest && size < math.Sqrt(largest) && size > math.Sqrt(smallest)
	if !safe {
		scale, yscale = scales(a, y)
		a, y = ws.scaledMatrix(a, scale, false), ws.scaledVector(y, yscale)
		_, _, squares = tile.LeastSquares(b, ws.e, a.Data, a.Stride, n, r, y, ws.work, 0)
	}
	_, _, f, ldf := tile.Eliminated(ws.work, n, r)
	for k := range r {
		row, size := f[k*ldf:], math.Sqrt(f[k*(ldf+1)])
		for j := range r {
			switch column := t.Data[j*t.Stride+at:]; {
			case j < k:
				column[k] = 0
			case j == k:
				column[k] = size * scale
			default:
				column[k] = size * row[j] * scale
			}
		}
		c[at+k] = size * row[r] * yscale
	}
	return math.Sqrt(squares) * yscale
}
