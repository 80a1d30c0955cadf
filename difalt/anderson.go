package difalt

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// An anderson is the memory of Anderson acceleration of a fixed-point iteration U <- g(U) (Anderson,
// "Iterative Procedures for Nonlinear Integral Equations", 1965; Walker and Ni, "Anderson Acceleration for
// Fixed-Point Iterations", 2011): the last g and residual l = g - U, and their changes over the last
// iterations.
type anderson struct {
	l, g    []float64          // of the last iteration
	dl, dg  blas64.GeneralCols // the changes, one a column; the oldest is overwritten first
	filled  int                // the number of columns in use
	next    int                // the column to overwrite
	hasLast bool               // l and g are set
	gram    []float64          // <dl_a, dl_b>
	norms   []float64          // |l| of the last iterations

	residual, c, chol []float64 // scratch
}

const (
	memoryLen      = 10    // changes
	regularization = 1e-10 // of the Gram matrix, relative to its trace
	restartAt      = 2     // times the least |l| of the last iterations: then the memory is emptied
	longest        = 2     // times |l|: the longest correction
)

func newAnderson(size int) *anderson {
	changes := func() blas64.GeneralCols {
		stride := tile.Stride(size)
		return blas64.GeneralCols{Rows: size, Cols: memoryLen, Stride: stride, Data: make([]float64, memoryLen*stride)}
	}
	return &anderson{
		l: make([]float64, size), g: make([]float64, size), dl: changes(), dg: changes(), gram: make([]float64, memoryLen*memoryLen),
		norms: make([]float64, 0, memoryLen), residual: make([]float64, size), c: make([]float64, memoryLen),
		chol: make([]float64, memoryLen*memoryLen),
	}
}

func column(a blas64.GeneralCols, j int) []float64 { return a.Data[j*a.Stride:][:a.Rows] }

// extrapolate takes g(u) in g and replaces it by g - sum_a c_a dg_a, where c minimises |l - sum_a c_a dl_a|.
// If remember is set it only stores g and l.
func (n *anderson) extrapolate(g, u *kernel.Basis, remember bool) {
	l := n.residual
	floats.SubTo(l, g.Data(), u.Data())
	norm := floats.Norm(l, 2)
	if n.hasLast {
		floats.SubTo(column(n.dl, n.next), l, n.l)
		floats.SubTo(column(n.dg, n.next), g.Data(), n.g)
		n.filled = min(n.filled+1, memoryLen)
		for a := range n.filled {
			v := floats.Dot(column(n.dl, a), column(n.dl, n.next))
			n.gram[n.next*memoryLen+a], n.gram[a*memoryLen+n.next] = v, v
		}
		n.next = (n.next + 1) % memoryLen
	}
	n.l, n.residual = l, n.l
	copy(n.g, g.Data())
	solved := n.hasLast && !remember && n.solve()
	n.hasLast = true
	filled := n.filled
	n.restartIfWorse(norm)
	if !solved {
		return
	}
	correction := n.residual
	clear(correction)
	for a, c := range n.c[:filled] {
		floats.AddScaled(correction, c, column(n.dg, a))
	}
	scale := 1.0
	if length := floats.Norm(correction, 2); length > longest*norm {
		scale = longest * norm / length
	}
	floats.AddScaled(g.Data(), -scale, correction)
}

// solve sets c = (M + 1e-10 tr(M) I)^-1 dl'l, where M is the Gram matrix of the columns in use, and reports
// whether the inverse exists.
func (n *anderson) solve() bool {
	k, trace := n.filled, 0.0
	for a := range k {
		n.c[a] = floats.Dot(column(n.dl, a), n.l)
		copy(n.chol[a*k:][:k], n.gram[a*memoryLen:])
		trace += n.gram[a*memoryLen+a]
	}
	for a := range k {
		n.chol[a*k+a] += regularization * trace
	}
	t, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: k, Data: n.chol[:k*k], Uplo: gblas.Upper})
	if !ok {
		return false
	}
	lapack64.Potrs(t, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: n.c[:k]})
	return true
}

// restartIfWorse empties the memory if norm, the |l| of this iteration, is twice the least of the last ones.
func (n *anderson) restartIfWorse(norm float64) {
	if len(n.norms) > 0 && norm > restartAt*slices.Min(n.norms) {
		n.forget()
	}
	if len(n.norms) == memoryLen {
		n.norms = slices.Delete(n.norms, 0, 1)
	}
	n.norms = append(n.norms, norm)
}

// forget empties the memory, except for the last l and g.
func (n *anderson) forget() { n.filled, n.next, n.norms = 0, 0, n.norms[:0] }

// restart empties the memory: the next iterate does not follow from the last one.
func (n *anderson) restart() {
	n.forget()
	n.hasLast = false
}

// length returns |l| of the last iteration, infinite before the first.
func (n *anderson) length() float64 {
	if !n.hasLast {
		return math.Inf(1)
	}
	return floats.Norm(n.l, 2)
}
