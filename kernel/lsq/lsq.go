// Package lsq solves small least-squares problems, as the minimisation step does (Alg. 3, line 8), over
// preallocated workspaces: with an optional ridge term, and with the solution of minimum norm and its rank
// where the problem has no unique solution.
//
//	LAPACK                    here
//	gels                      Solve
//	gelss, gelsy (rcond)      the same, with Options.Tolerance
//	gels_batch_strided (MKL)  SolveBatch
package lsq

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/lstsq"
	"gonum.org/v1/gonum/blas/blas64"
)

// Status is the outcome of a least-squares problem.
type Status uint8

const (
	// OK: the matrix, with the rows of a ridge, has full column rank.
	OK = Status(lstsq.OK)
	// RankDeficient: the columns are dependent to rounding, and b is the solution of minimum norm.
	RankDeficient = Status(lstsq.RankDeficient)
	// Underdetermined: fewer samples than columns, and b is the solution of minimum norm.
	Underdetermined = Status(lstsq.Underdetermined)
	// NotFinite: the matrix or a right-hand side holds NaN or Inf, or the solution overflows, and b is zero.
	NotFinite = Status(lstsq.NotFinite)
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
	badRidge     = "lsq: ridge must be finite and not negative"
	badTolerance = "lsq: tolerance must be from 0 to 1"
)

// Options of a problem. The zero value solves without a ridge, with the default tolerance.
type Options struct {
	// Ridge is the weight of |b|^2.
	Ridge float64
	// Tolerance is relative to the Frobenius norm of [A; sqrt(Ridge) I] (gelsy's rcond): a direction whose
	// singular value is not above that counts as null. Values below the default, max(n, r) 2^-52, stand for
	// the default.
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
type Workspace struct{ ws *lstsq.Workspace }

// NewWorkspace returns scratch memory for problems of up to n samples and r columns.
func NewWorkspace(n, r int) *Workspace {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	return &Workspace{lstsq.NewWorkspace(n, r)}
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
	n, r := a.Rows, a.Cols
	tol := o.check(n, r)
	if ws == nil {
		ws = NewWorkspace(n, r)
	}
	if len(b) < r || len(y) < n || a.Stride < n || len(a.Data) < (r-1)*a.Stride+n {
		panic(badSlice)
	}
	if n > ws.ws.MaxRows || r > ws.ws.MaxCols {
		panic(badWork)
	}
	res := lstsq.Solve(b[:r], &a, y[:n], o.Ridge, tol, 0, ws.ws)
	return Result{Status(res.Status), res.Rank, res.Squares}
}

// check panics unless shape and options are valid, and returns the tolerance.
func (o Options) check(n, r int) float64 {
	switch {
	case n < 0 || r <= 0:
		panic(badShape)
	case !(o.Ridge >= 0) || math.IsInf(o.Ridge, 0):
		panic(badRidge)
	case !(o.Tolerance >= 0 && o.Tolerance <= 1):
		panic(badTolerance)
	}
	return max(o.Tolerance, lstsq.Tolerance(n, r))
}

// SolveBatch does Solve for a batch of problems of one shape. Problem k has the n x r matrix by columns, lda
// apart, from a[k*strideA] on, the right-hand side y[k*strideY:], the solution b[k*r:], and the result
// results[k], unless results is nil. With strideA = 0 the problems are several right-hand sides of one
// matrix, which is factored once. SolveBatch allocates a workspace if ws is nil, and nothing otherwise.
func SolveBatch(b, a []float64, n, r, lda, strideA int, y []float64, strideY, batch int, o Options, results []Result, ws *Workspace) {
	tol := o.check(n, r)
	if batch < 0 || strideA < 0 || strideY < 0 || lda < max(n, 1) {
		panic(badShape)
	}
	if results != nil && len(results) < batch {
		panic(badSlice)
	}
	if last := batch - 1; batch > 0 && (len(b) < batch*r || len(a) < last*strideA+(r-1)*lda+n || len(y) < last*strideY+n) {
		panic(badSlice)
	}
	if ws == nil {
		ws = NewWorkspace(n, r)
	}
	if n > ws.ws.MaxRows || r > ws.ws.MaxCols {
		panic(badWork)
	}
	m, factored := blas64.GeneralCols{Rows: n, Cols: r, Stride: lda, Data: a}, false
	if strideA == 0 && batch > 1 {
		factored = ws.ws.Factor(m, o.Ridge, tol)
	}
	for k := range batch {
		m.Data = a[k*strideA:]
		bk, yk, result := b[k*r:][:r], y[k*strideY:][:n], Result{Rank: r}
		if factored {
			res, ok := ws.ws.Again(bk, &m, yk)
			factored, result.SquaredResidual = ok, res.Squares
		}
		if !factored {
			result = Solve(bk, m, yk, o, ws)
		}
		if results != nil {
			results[k] = result
		}
	}
}
