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
	// OK: the matrix has full column rank (or ridge > 0 made it so).
	OK Status = iota
	// RankDeficient: the columns are dependent to rounding, and b is the solution
	// of minimum norm.
	RankDeficient
	// Underdetermined: fewer samples than columns, and b is the solution of minimum
	// norm.
	Underdetermined
	// NotFinite: a or y holds NaN or Inf, or numbers whose squares overflow, and b
	// is zero.
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
	badWork  = "lsq: workspace too small"
	badRidge = "lsq: ridge must be finite and not negative"
)

// suspect is the ratio of the smallest to the largest diagonal entry of R below
// which the singular values decide about the rank.
const suspect = 1e-7

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
	b = b[:r]
	if n < r && ridge == 0 {
		return ws.minimumNorm(b, a, lda, n, r, y, 0, Underdetermined)
	}
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
	ldr := r + 1
	blas.Factor(ws.f, ld, m, r+1, r, ws.r, ldr, ws.h)
	lo, hi := math.Inf(1), 0.0
	for k := range r {
		d := math.Abs(ws.r[k*ldr+k])
		lo, hi = math.Min(lo, d), math.Max(hi, d)
	}
	// The negated comparison also catches NaN and overflow.
	if !(lo > suspect*hi) || math.IsInf(hi, 0) {
		return ws.minimumNorm(b, a, lda, n, r, y, ridge, OK)
	}
	backSubstitute(b, ws.r, ldr, r)
	if !finite(b) {
		return ws.minimumNorm(b, a, lda, n, r, y, ridge, OK)
	}
	return OK
}

// backSubstitute solves R b = c with c in column r of rr.
func backSubstitute(b, rr []float64, ldr, r int) {
	copy(b, rr[r*ldr:][:r])
	for k := r - 1; k >= 0; k-- {
		b[k] /= rr[k*ldr+k]
		for i, v := range rr[k*ldr:][:k] {
			b[i] -= b[k] * v
		}
	}
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
