// Package lsq solves the small least-squares problems of the minimisation step
// (Alg. 3, line 8), b = (X U)^+ y, by Householder QR over preallocated
// workspaces, with an optional ridge term, and with the minimum-norm solution and
// a status where the problem has no unique one.
package lsq

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel/blas"
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

// String returns a short description.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case RankDeficient:
		return "rank deficient"
	case Underdetermined:
		return "underdetermined"
	case NotFinite:
		return "not finite"
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
	// which the singular values decide about the rank, and so is a solution of
	// more than 1/suspect times the size that a well-conditioned R would give.
	suspect = 1e-7
	// Householder reflectors lose digits when squares of the entries of [A y]
	// overflow or underflow. Diagonal entries of R in this range, and a product of
	// the smallest of them with the right-hand side above the smallest square,
	// mean that nothing of the kind has happened.
	smallest = 1e-140
	largest  = 1e150
)

// A Workspace is the scratch memory of Solve. It may be used by one call at a
// time.
type Workspace struct {
	maxRows, maxCols int

	f []float64 // [A y] with ridge rows, by columns
	r []float64 // its R
	h []float64
	v []float64 // singular vectors of the short side
}

// NewWorkspace returns scratch memory for problems of up to n samples and r
// columns.
func NewWorkspace(n, r int) *Workspace {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	ld := blas.Pad(n + r)
	return &Workspace{
		maxRows: n, maxCols: r,
		f: make([]float64, ld*(r+1)),
		r: make([]float64, (r+1)*(r+1)),
		h: make([]float64, r+1),
		v: make([]float64, min(n, r)*min(n, r)),
	}
}

// Solve computes
//
//	b = argmin |A b - y|^2 + ridge |b|^2
//
// for the n x r matrix a (column-major, column stride lda) and the n entries of y.
// With ridge zero and A of full column rank that is A^+ y; if the minimiser is not
// unique, b is the one of minimum norm. b never holds NaN. a and y are not
// written. Solve does not allocate.
func Solve(b, a []float64, lda, n, r int, y []float64, ridge float64, ws *Workspace) Status {
	if n < 0 || r <= 0 {
		panic(badShape)
	}
	if n > ws.maxRows || r > ws.maxCols {
		panic(badWork)
	}
	if !(ridge >= 0) || math.IsInf(ridge, 0) {
		panic(badRidge)
	}
	if len(b) < r || len(y) < n || lda < n || len(a) < (r-1)*lda+n {
		panic(badSlice)
	}
	b = b[:r]
	if n < r && ridge == 0 {
		return ws.minimumNorm(b, a, lda, n, r, y, 0)
	}
	ws.load(a, lda, n, r, y, ridge)
	if ws.backSubstitute(b, r) {
		return OK
	}
	return ws.minimumNorm(b, a, lda, n, r, y, ridge)
}

// load factors [A y], or [A y; sqrt(ridge) I 0], and leaves R and Q'y in ws.r.
func (ws *Workspace) load(a []float64, lda, n, r int, y []float64, ridge float64) {
	m := n
	if ridge > 0 {
		m += r
	}
	ld := blas.Pad(m)
	for j := range r {
		col := ws.f[j*ld:][:ld]
		copy(col, a[j*lda:][:n])
		clear(col[n:])
		if ridge > 0 {
			col[n+j] = math.Sqrt(ridge)
		}
	}
	rhs := ws.f[r*ld:][:ld]
	copy(rhs, y[:n])
	clear(rhs[n:])
	blas.Factor(ws.f, ld, m, r+1, r, ws.r, r+1, ws.h)
}

// backSubstitute solves R b = c with c = Q'y in the last column of ws.r. It
// reports whether R is so well conditioned and all numbers are of such a size that
// b can be trusted. NaN fails every comparison.
func (ws *Workspace) backSubstitute(b []float64, r int) bool {
	ldr := r + 1
	lo, hi := math.Inf(1), 0.0
	for k := range r {
		d := math.Abs(ws.r[k*ldr+k])
		lo, hi = min(lo, d), max(hi, d)
	}
	if !(lo > suspect*hi && lo > smallest && hi < largest) {
		return false
	}
	copy(b, ws.r[r*ldr:][:r])
	cmax, bmax := maxAbs(b), 0.0
	if !(cmax*lo > smallest*smallest) {
		return false
	}
	for k := r - 1; k >= 0; k-- {
		b[k] /= ws.r[k*ldr+k]
		bmax = max(bmax, math.Abs(b[k]))
		for i, v := range ws.r[k*ldr:][:k] {
			b[i] -= b[k] * v
		}
	}
	return bmax*suspect < cmax/hi
}

// maxAbs returns the largest absolute value in x, NaN if there is one.
func maxAbs(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}
