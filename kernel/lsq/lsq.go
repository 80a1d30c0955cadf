// Package lsq solves the small least-squares problems of the minimisation step
// (Alg. 3, line 8), b = (X U)^+ y, by orthogonalisation over preallocated
// workspaces, with an optional ridge term, and with the minimum-norm solution and
// a status where the problem has no unique one.
package lsq

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// Status says how a least-squares problem was solved.
type Status uint8

const (
	// OK: the matrix, with the rows of a ridge, has full column rank: a bound below its smallest
	// singular value, or an estimate where bounds do not decide, is above max(n, r) 2^-52 times its
	// Frobenius norm.
	OK Status = iota
	// RankDeficient: the columns are dependent to rounding, and b is the solution
	// of minimum norm.
	RankDeficient
	// Underdetermined: fewer samples than columns, and b is the solution of minimum
	// norm.
	Underdetermined
	// NotFinite: a or y holds NaN or Inf, or the solution overflows, and b is zero.
	NotFinite
)

var statusNames = []string{"ok", "rank deficient", "underdetermined", "not finite"}

// String returns a short description.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

const (
	badShape = "lsq: n < 0 or r <= 0"
	badSlice = "lsq: slice or stride too short"
	badWork  = "lsq: workspace too small"
	badRidge = "lsq: ridge must be finite and not negative"
)

const (
	// With diagonal entries of R whose squares are in this range, and a product of
	// the smallest square with the solution above it, no digits were lost to squares
	// that overflow or underflow.
	smallest = 1e-280
	largest  = 1e300
)

// A Workspace is the scratch memory of Solve. It may be used by one call at a
// time.
type Workspace struct {
	// Next is an address from which the caller will read soon, or zero: a prefetch
	// hint for Solve, which never dereferences it.
	Next uintptr
	// Residual is A b - y of the last problem, and Squares the sum of its squares. Solve writes both.
	Residual []float64
	Squares  float64

	maxRows, maxCols int

	f          []float64 // [A y] with ridge rows, by columns
	e          []float64 // the residual, with ridge rows
	work       []float64
	split      []float64
	ones       []float64
	order      []int
	identity   []int // 0, 1, ...
	decomposed decomposition
}

// NewWorkspace returns scratch memory for problems of up to n samples and r
// columns.
func NewWorkspace(n, r int) *Workspace {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	ws := &Workspace{
		maxRows: n, maxCols: r,
		f:     make([]float64, dense.Pad(n+r)*(r+1)),
		e:     make([]float64, n+r),
		work:  make([]float64, max(tile.LeastSquaresWork(n+r, r), decompositionWork(n+r, r))),
		split: make([]float64, splitWork(r)),
		ones:  make([]float64, r),
		order: make([]int, r), identity: make([]int, r),
	}
	for i := range r {
		ws.ones[i], ws.identity[i] = 1, i
	}
	return ws
}

// Solve computes
//
//	b = argmin |A b - y|^2 + ridge |b|^2
//
// for the n x r matrix a and the n entries of y.
// With ridge zero and A of full column rank that is A^+ y; if the minimiser is not
// unique, b is the one of minimum norm. b never holds NaN. a and y are not
// written. It leaves A b - y in ws.Residual. Solve allocates a workspace if ws is nil, and nothing otherwise.
func Solve(b []float64, a blas64.GeneralCols, y []float64, ridge float64, ws *Workspace) Status {
	n, r := a.Rows, a.Cols
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	if ws == nil {
		ws = NewWorkspace(n, r)
	}
	if n > ws.maxRows || r > ws.maxCols {
		panic(badWork)
	}
	if !(ridge >= 0) || math.IsInf(ridge, 0) {
		panic(badRidge)
	}
	if len(b) < r || len(y) < n || a.Stride < n || len(a.Data) < (r-1)*a.Stride+n {
		panic(badSlice)
	}
	b, y, ws.Residual = b[:r], y[:n], ws.e[:n]
	status, direct := ws.solve(b, &a, y, ridge)
	if !direct {
		ws.Squares = tile.Residual(ws.Residual, a.Data, a.Stride, b, y, n, r)
	}
	return status
}

// solve is Solve, and reports whether it left the residual, too. To copy a takes longer than some problems wait for
// anything else.
func (ws *Workspace) solve(b []float64, a *blas64.GeneralCols, y []float64, ridge float64) (s Status, direct bool) {
	n, r := a.Rows, a.Cols
	m, rhs := a, y
	switch {
	case ridge > 0:
		var with blas64.GeneralCols
		with, rhs = ws.augment(*a, y, math.Sqrt(ridge))
		m = &with
	case n == 0:
		clear(b)
		return Underdetermined, false
	case n < r:
		if !ws.solveWide(b, *a, y) {
			return ws.minimumNorm(b, *a, y, ridge), false
		}
		return Underdetermined, false
	}
	var lo, hi float64
	tol := tolerance(n, r)
	lo, hi, ws.Squares = tile.LeastSquares(b, ws.e, m.Data, m.Stride, m.Rows, r, rhs, ws.work, ws.Next)
	_, _, f, ldf := tile.Eliminated(ws.work, m.Rows, r)
	rank := r
	if !shown(f, ldf, ws.identity[:r], hi, tol) || !inRange(b, rhs, lo) {
		p, ok := ws.sorted(m.Rows, r, hi, tol)
		if !ok || !ws.basic(b, p, rhs) {
			return ws.minimumNorm(b, *a, y, ridge), false
		}
		rank = p.rank
	}
	if ridge > 0 {
		ws.Squares = tile.Dot(ws.Residual, ws.Residual) // without the rows of the ridge
	}
	return statusOf(rank, n, r), rank == r
}

// statusOf returns the status of a solution of n x r with a matrix of some rank.
func statusOf(rank, n, r int) Status {
	switch {
	case rank == r:
		return OK
	case n < r:
		return Underdetermined
	}
	return RankDeficient
}

// tolerance is the share of the norm of an n x r matrix at which a direction counts as null: along it the matrix is
// rounding errors.
func tolerance(n, r int) float64 { return float64(max(n, r)) * eps }

const eps = 0x1p-52

// augment stores [A y; rho I 0] in ws.f and returns its two parts.
func (ws *Workspace) augment(a blas64.GeneralCols, y []float64, rho float64) (blas64.GeneralCols, []float64) {
	n, r := a.Rows, a.Cols
	ld := dense.Pad(n + r)
	for j := range r {
		col := ws.f[j*ld:][:n+r]
		copy(col, a.Data[j*a.Stride:][:n])
		clear(col[n:])
		col[n+j] = rho
	}
	rhs := ws.f[r*ld:][:n+r]
	copy(rhs, y[:n])
	clear(rhs[n:])
	return blas64.GeneralCols{Rows: n + r, Cols: r, Stride: ld, Data: ws.f}, rhs
}

// inRange reports whether no number is so large or small that digits of b were lost. Where columns are
// independent NaN or Inf anywhere in y is NaN or Inf in b.
func inRange(b, y []float64, lo float64) bool {
	size := tile.MaxAbs(b)
	return size <= math.MaxFloat64 && lo > smallest && (size*lo > smallest || tile.MaxAbs(y) == 0)
}
