// Package lsq solves small least-squares problems, as the minimisation step does (Alg. 3, line 8), over
// preallocated workspaces: with an optional ridge term, and with the solution of minimum norm and its rank
// where the problem has no unique solution.
//
//	LAPACK                    here
//	gels                      Solve
//	gelss, gelsy (rcond)      the same, with Options.Tolerance
//	gels_batch (MKL)          Batch.Solve
package lsq

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/difalt/difalt/internal/leastsq"
	"gonum.org/v1/gonum/blas/blas64"
)

// Status is the outcome of a least-squares problem.
type Status uint8

const (
	// OK: the matrix, with the rows of a ridge, has full column rank.
	OK = Status(leastsq.OK)
	// RankDeficient: the columns are dependent to rounding, in any units, and b is the solution of
	// minimum norm.
	RankDeficient = Status(leastsq.RankDeficient)
	// Underdetermined: fewer samples than columns, and b is the solution of minimum norm.
	Underdetermined = Status(leastsq.Underdetermined)
	// NotFinite: the matrix or a right-hand side holds NaN or Inf, or the solution overflows, and b is
	// zero.
	NotFinite = Status(leastsq.NotFinite)
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
	badShape     = "lsq: need n >= 0 and r > 0"
	badSlice     = "lsq: slice or stride too short"
	badWork      = "lsq: workspace too small"
	tooLarge     = "lsq: dimensions too large"
	badRidge     = "lsq: ridge must be finite and not negative"
	badTolerance = "lsq: tolerance must be from 0 to 1"
)

// Options of a problem. The zero value solves without a ridge, with the default tolerance.
type Options struct {
	// Ridge is the weight of |b|^2.
	Ridge float64
	// Tolerance is relative to the Frobenius norm of [A; sqrt(Ridge) I] (gelsy's rcond): a direction
	// whose singular value is not above that counts as null. Values below max(n, r) 2^-52 stand for that.
	// With 0 and no ridge each column may have a unit of its own: no direction counts as null if all
	// columns, brought to one size, are independent. A column that is small because it is rounding, as
	// the difference of two equal columns, needs a tolerance.
	Tolerance float64
}

// A Result describes the solution of a problem.
type Result struct {
	Status Status
	// Rank is the number of directions that are not null.
	Rank int
	// SquaredResidual is |A b - y|^2, which may overflow or underflow; NaN or Inf for NotFinite.
	SquaredResidual float64
}

// A Workspace is the scratch memory of the functions here. It serves one call at a time.
type Workspace struct{ ws *leastsq.Workspace }

// NewWorkspace returns scratch memory for problems of up to n samples and r columns. It panics if their
// product is beyond the memory of any machine.
func NewWorkspace(n, r int) *Workspace {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	const most = math.MaxInt / 64
	if (float64(n)+float64(r))*(float64(r)+1) > most {
		panic(tooLarge)
	}
	return &Workspace{leastsq.NewWorkspace(n, r)}
}

// Solve computes
//
//	b = argmin |A b - y|^2 + ridge |b|^2
//
// for the n x r matrix a and the n entries of y, and returns its status. If the minimiser is not unique, b is
// the one of minimum norm: A^+ y without a ridge. b gets r entries and never holds NaN; a and y are not
// written. b must not overlap them. Solve allocates a workspace if ws is nil, and nothing otherwise. It
// panics with a constant message when a shape or an option does not fit.
func Solve(b []float64, a blas64.GeneralCols, y []float64, o Options, ws *Workspace) Result {
	p := Problem{A: a, Y: y, B: b}
	p.check(o)
	if ws == nil {
		ws = NewWorkspace(a.Rows, a.Cols)
	}
	p.mustFit(ws)
	return p.solve(o.Ridge, o, ws)
}

// A Problem is one of a Batch.
type Problem struct {
	A blas64.GeneralCols // n x r
	Y []float64          // n entries
	B []float64          // the solution, r entries
	// Ridge is the weight of |b|^2, in addition to Options.Ridge.
	Ridge float64
	// Result is the outcome of Batch.Solve.
	Result Result
}

// A Batch is a list of problems, each with its own shape, matrix and ridge. Parts of a batch, with a
// workspace each, may be solved in parallel.
type Batch []Problem

// Solve does the package's Solve for every problem: it sets B and Result. Problems that follow each other
// with one matrix (equal memory, shape and ridge) are several right-hand sides, for which it is factored
// once. ws must fit the largest n and r. Solve allocates a workspace if ws is nil, and nothing otherwise. It
// checks all problems and ws first, and panics with a constant message when a shape or an option does not
// fit.
func (list Batch) Solve(o Options, ws *Workspace) {
	n, r := 0, 1
	for i := range list {
		list[i].check(o)
		n, r = max(n, list[i].A.Rows), max(r, list[i].A.Cols)
	}
	if ws == nil {
		ws = NewWorkspace(n, r)
	}
	for i := range list {
		list[i].mustFit(ws)
	}
	factored := false
	for i := range list {
		p := &list[i]
		ridge, tol := o.Ridge+p.Ridge, o.tolerance(p.A.Rows, p.A.Cols)
		if i == 0 || !p.follows(&list[i-1]) {
			factored = i+1 < len(list) && list[i+1].follows(p) && ws.ws.Factor(p.A, ridge, tol)
		}
		if factored {
			var res leastsq.Result
			res, _, factored = ws.ws.Again(p.B[:p.A.Cols], &p.A, p.Y[:p.A.Rows])
			p.Result = Result{Rank: p.A.Cols, SquaredResidual: res.Squares}
		}
		if !factored {
			p.Result = p.solve(ridge, o, ws)
		}
	}
}

// follows reports whether p is another right-hand side of the matrix of q.
func (p *Problem) follows(q *Problem) bool {
	return p.A.Rows > 0 && p.A.Rows == q.A.Rows && p.A.Cols == q.A.Cols && p.A.Stride == q.A.Stride &&
		p.Ridge == q.Ridge && unsafe.SliceData(p.A.Data) == unsafe.SliceData(q.A.Data)
}

// check panics unless the shape and the options of a problem are valid.
func (p *Problem) check(o Options) {
	n, r, stride, length := p.A.Rows, p.A.Cols, p.A.Stride, len(p.A.Data)
	switch {
	case n < 0 || r <= 0:
		panic(badShape)
	case !validRidge(o.Ridge) || !validRidge(p.Ridge) || !validRidge(o.Ridge+p.Ridge):
		panic(badRidge)
	case !(o.Tolerance >= 0 && o.Tolerance <= 1):
		panic(badTolerance)
	case len(p.B) < r || len(p.Y) < n || stride < n || length < n || n > 0 && r-1 > (length-n)/stride:
		panic(badSlice)
	}
}

func validRidge(v float64) bool { return v >= 0 && v <= math.MaxFloat64 }

// tolerance returns the tolerance of an n x r problem.
func (o Options) tolerance(n, r int) float64 { return max(o.Tolerance, leastsq.Tolerance(n, r)) }

// mustFit panics if the workspace is too small for a problem.
func (p *Problem) mustFit(ws *Workspace) {
	if ws.ws == nil || p.A.Rows > ws.ws.MaxRows || p.A.Cols > ws.ws.MaxCols {
		panic(badWork)
	}
}

// solve solves a problem that was checked.
func (p *Problem) solve(ridge float64, o Options, ws *Workspace) Result {
	a, tol := &p.A, o.tolerance(p.A.Rows, p.A.Cols)
	if a.Rows == 0 { // its memory may be nil, whatever the stride
		a = &blas64.GeneralCols{Cols: a.Cols}
	}
	b, y := p.B[:p.A.Cols], p.Y[:p.A.Rows]
	res, _ := leastsq.Solve(b, a, y, ridge, tol, 0, ws.ws)
	failed := res.Status == leastsq.RankDeficient || res.Status == leastsq.NotFinite
	if failed && a.Rows >= a.Cols && ridge == 0 && o.Tolerance == 0 {
		inUnits, ok := ws.ws.SolveInUnits(b, a, y)
		if ok {
			res = inUnits
		}
	}
	return Result{Status(res.Status), res.Rank, res.Squares}
}
