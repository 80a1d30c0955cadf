package difalt

import (
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/qr"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// An anderson is what a node remembers. Slots of dl and dg, columns, are filled in turn;
// there is one more than the memory, which an iteration writes before it is known to
// succeed. All columns are used at once, since they come from memory and not from a cache;
// those that do not count have a coefficient of zero.
type anderson struct {
	memory       int
	l, g         blas.ColumnMajor // of two iterations, and behind them dl and dg
	now          int              // 0 or 1: which of the two is of this iteration; the other is of the last
	hasLast      bool             // there was one
	dl, dg       blas.ColumnMajor
	filled, next int       // slots that count, and the one to write
	products     []float64 // the row of M that is new, v, |l|^2
	m            []float64 // agreed M, by slots
	norm         float64   // the agreed |l| of this iteration
	norms        []float64 // and of the last ones
	work         andersonWork
}

// An andersonWork is what an iteration has no more use for when it ends.
type andersonWork struct {
	slots   []int     // in use, the newest first
	inner   []float64 // products of the columns of dl with l, and with the newest
	chol, c []float64 // of solve
	weights []float64 // c by slots
	rr, qr  []float64 // of the projection of g
}

const (
	regularization = 1e-10 // of M, relative to its trace
	restartAt      = 2     // the norm of l over its least
)

// newAnderson returns an empty memory of bases of so many numbers; its products are the caller's to
// set: 2 memory + 1.
func newAnderson(size, rank, memory int) *anderson {
	slots := memory + 1
	n := &anderson{
		memory: memory, m: make([]float64, slots*slots), norms: make([]float64, 0, slots),
		work: andersonWork{
			slots: make([]int, 0, slots), inner: make([]float64, 2*slots), chol: make([]float64, slots*slots), c: make([]float64, slots),
			weights: make([]float64, slots), rr: make([]float64, rank*rank), qr: make([]float64, qr.WorkLen(rank)),
		},
	}
	n.l, n.dl = twoAndChanges(size, slots)
	n.g, n.dg = twoAndChanges(size, slots)
	return n
}

// twoAndChanges returns two columns, and so many behind them in the same memory.
func twoAndChanges(rows, slots int) (two, changes blas.ColumnMajor) {
	stride := blas.Stride(rows)
	all := make([]float64, (2+slots)*stride)
	return blas.ColumnMajor{Rows: rows, Cols: 2, Stride: stride, Data: all}, blas.ColumnMajor{Rows: rows, Cols: slots, Stride: stride, Data: all[2*stride:]}
}

func column(a blas.ColumnMajor, j int) []float64 { return a.Data[j*a.Stride:][:a.Rows] }

// multiply sets l = z - u and its inner products. after is the node that is next in memory's
// turn, or nil.
func (n *anderson) multiply(z, u *kernel.Basis, after *anderson) {
	products, l := n.products, column(n.l, n.now)
	floats.SubTo(l, z.Data(), u.Data())
	clear(products)
	products[2*n.memory] = floats.Dot(l, l)
	n.work.slots = n.work.slots[:0]
	if !n.hasLast {
		return
	}
	floats.SubTo(column(n.dl, n.next), l, column(n.l, 1-n.now))
	slots := n.dl.Cols
	pair := blas.ColumnMajor{Rows: n.l.Rows, Cols: 2, Stride: (2 + n.next - n.now) * n.l.Stride, Data: n.l.Data[n.now*n.l.Stride:]} // l, and the newest
	var ahead []float64
	if after != nil {
		ahead = after.l.Data
	}
	blas.MulTNAhead(blas.ColumnMajor{Rows: slots, Cols: 2, Stride: slots, Data: n.work.inner}, n.dl, pair, ahead)
	for a := range min(n.filled+1, n.memory) {
		slot := (n.next - a + slots) % slots
		n.work.slots = append(n.work.slots, slot)
		products[a], products[n.memory+a] = n.work.inner[slots+slot], n.work.inner[slot]
	}
}

// keepProducts puts the agreed products of the newest change into M.
func (n *anderson) keepProducts() {
	slots := n.dl.Cols
	for a, slot := range n.work.slots {
		n.m[n.next*slots+slot], n.m[slot*slots+n.next] = n.products[a], n.products[a]
	}
}

// correct sets the correction, sum_a c_a dg_a, and reports whether there is one. Otherwise it
// leaves it as it was. after is as for multiply.
func (n *anderson) correct(correction []float64, after *anderson) bool {
	if !n.solve(n.products[n.memory:]) {
		return false
	}
	clear(n.work.weights)
	for a, slot := range n.work.slots {
		n.work.weights[slot] = n.work.c[a]
	}
	var ahead []float64
	if after != nil {
		ahead = after.g.Data
	}
	blas.MulVecAhead(correction, n.dg, n.work.weights, ahead)
	return true
}

// solve computes c = (M + 1e-10 tr(M) I)^-1 v for the slots in use, and reports whether
// that exists.
func (n *anderson) solve(v []float64) bool {
	width := n.dl.Cols
	k, trace := len(n.work.slots), 0.0
	for a, slot := range n.work.slots {
		for b, other := range n.work.slots {
			n.work.chol[a*k+b] = n.m[slot*width+other]
		}
		trace += n.work.chol[a*k+a]
		n.work.c[a] = v[a]
	}
	for a := range k {
		n.work.chol[a*k+a] += regularization * trace
	}
	t, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: k, Data: n.work.chol[:k*k], Uplo: gblas.Upper})
	if !ok || !(trace > 0) {
		return false
	}
	lapack64.Potrs(t, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: n.work.c})
	return true
}

// commit remembers what an iteration has written.
func (n *anderson) commit() {
	if n.hasLast {
		n.filled = min(n.filled+1, n.memory)
		n.next = (n.next + 1) % n.dl.Cols
	}
	n.now, n.hasLast = 1-n.now, true
	least := math.Inf(1)
	for _, v := range n.norms {
		least = min(least, v)
	}
	if n.norm > restartAt*least {
		n.forget()
	}
	if len(n.norms) == n.memory {
		n.norms = slices.Delete(n.norms, 0, 1)
	}
	n.norms = append(n.norms, n.norm)
}

// forget empties the memory, but for the last l and g.
func (n *anderson) forget() {
	n.filled = 0
	n.norms = n.norms[:0]
}

func (n *anderson) state(a *archive) {
	a.data(&n.hasLast)
	a.int("the memory", &n.filled, n.memory)
	a.int("the memory", &n.next, n.memory)
	norms := len(n.norms)
	a.int("the number of norms", &norms, n.memory)
	n.norms = n.norms[:norms]
	a.floats("the norms", n.norms)
	a.floats("l", column(n.l, 1-n.now))
	a.floats("g", column(n.g, 1-n.now))
	a.floats("M", n.m)
	for k := range n.dl.Cols {
		a.floats("a change of l", column(n.dl, k))
		a.floats("a change of g", column(n.dg, k))
	}
}
