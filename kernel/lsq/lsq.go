// Package lsq solves the small least-squares problems of the minimisation step
// (Alg. 3, line 8), b = (X U)^+ y, by orthogonalisation over preallocated
// workspaces, with an optional ridge term, and with the minimum-norm solution and
// a status where the problem has no unique one.
package lsq

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// Status says how a least-squares problem was solved.
type Status uint8

const (
	// OK: the matrix has full column rank, or a ridge that is not lost in rounding
	// made it so.
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
	// suspect is the ratio of the smallest to the largest diagonal entry of R below
	// which the singular values decide about the rank. The diagonal does not show
	// every deficiency, so they also decide when b is 1/suspect times as large as the
	// diagonal and y suggest.
	suspect = 1e-7
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

	maxRows, maxCols int

	f          []float64 // [A y] with ridge rows, by columns
	work       []float64
	order      []int
	decomposed decomposition
}

// NewWorkspace returns scratch memory for problems of up to n samples and r
// columns.
func NewWorkspace(n, r int) *Workspace {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	return &Workspace{
		maxRows: n, maxCols: r,
		f:     make([]float64, blas.Pad(n+r)*(r+1)),
		work:  make([]float64, max(tile.LeastSquaresWork(n+r, r), decompositionWork(n+r, r))),
		order: make([]int, r),
	}
}

// Solve computes
//
//	b = argmin |A b - y|^2 + ridge |b|^2
//
// for the n x r matrix a and the n entries of y.
// With ridge zero and A of full column rank that is A^+ y; if the minimiser is not
// unique, b is the one of minimum norm. b never holds NaN. a and y are not
// written. Solve allocates a workspace if ws is nil, and nothing otherwise.
func Solve(b []float64, a blas.ColumnMajor, y []float64, ridge float64, ws *Workspace) Status {
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
	b = b[:r]
	if n < r && ridge == 0 {
		return ws.minimumNorm(b, a, y, 0)
	}
	ok := false
	if ridge == 0 {
		ok = ws.orthogonalize(b, a, y)
	} else {
		augmented, rhs := ws.augment(a, y, math.Sqrt(ridge))
		ok = ws.orthogonalize(b, augmented, rhs)
	}
	if ok {
		return OK
	}
	return ws.minimumNorm(b, a, y, ridge)
}

// augment stores [A y; rho I 0] in ws.f and returns its two parts.
func (ws *Workspace) augment(a blas.ColumnMajor, y []float64, rho float64) (blas.ColumnMajor, []float64) {
	n, r := a.Rows, a.Cols
	ld := blas.Pad(n + r)
	for j := range r {
		col := ws.f[j*ld:][:n+r]
		copy(col, a.Data[j*a.Stride:][:n])
		clear(col[n:])
		col[n+j] = rho
	}
	rhs := ws.f[r*ld:][:n+r]
	copy(rhs, y[:n])
	clear(rhs[n:])
	return blas.ColumnMajor{Rows: n + r, Cols: r, Stride: ld, Data: ws.f}, rhs
}

// orthogonalize solves the problem by QR, and reports whether R is so well
// conditioned and all numbers are of such a size that b can be trusted. NaN fails
// every comparison.
func (ws *Workspace) orthogonalize(b []float64, a blas.ColumnMajor, y []float64) bool {
	lo, hi := tile.LeastSquares(b, a.Data, a.Stride, a.Rows, a.Cols, y, ws.work, ws.Next)
	if !(lo > suspect*suspect*hi && lo > smallest && hi < largest) {
		return false
	}
	bmax, ymax := tile.MaxAbs(b), tile.MaxAbs(y[:a.Rows])
	return (bmax*lo > smallest || ymax == 0) && bmax*suspect*math.Sqrt(hi) <= ymax && ymax <= math.MaxFloat64
}
