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
	now, last    pair // of this iteration and the last; their l are behind the columns of dl
	hasLast      bool // there was one
	swapped      bool // now.l is behind last.l
	dl, dg       blas.ColumnMajor
	filled, next int       // slots that count, and the one to write
	products     []float64 // the row of M that is new, v, |l|^2
	m            []float64 // agreed M, by slots
	norm         float64   // the agreed |l| of this iteration
	norms        []float64 // and of the last ones
	work         andersonWork
}

// A pair is l and g of an iteration.
type pair struct{ l, g []float64 }

// An andersonWork is what an iteration has no more use for when it ends.
type andersonWork struct {
	slots   []int     // in use, the newest first
	inner   []float64 // products of the columns of dl with the newest, and with l
	chol, c []float64 // of solve
	weights []float64 // c by slots
	rr, qr  []float64 // of the projection of g
}

const (
	regularization = 1e-10 // of M, relative to its trace
	restartAt      = 2     // the norm of l over its least
)

// newAnderson returns an empty memory of bases of so many numbers; its products are the caller's to
// set, of productsLen.
func newAnderson(size, rank, memory int) *anderson {
	slots := memory + 1
	n := &anderson{
		memory: memory, m: make([]float64, slots*slots), norms: make([]float64, 0, slots),
		dl: columnsOf(size, slots, 2), dg: columnsOf(size, slots, 0),
		work: andersonWork{
			slots: make([]int, 0, slots), inner: make([]float64, 2*slots), chol: make([]float64, slots*slots), c: make([]float64, slots),
			weights: make([]float64, slots), rr: make([]float64, rank*rank), qr: make([]float64, qr.WorkLen(rank)),
		},
	}
	n.now = pair{column(n.dl, slots), make([]float64, size)}
	n.last = pair{column(n.dl, slots+1), make([]float64, size)}
	return n
}

// productsLen is the number of products of a node.
func productsLen(memory int) int { return 2*memory + 1 }

// columnsOf returns a matrix of so many columns, with room for further ones behind it.
func columnsOf(rows, columns, further int) blas.ColumnMajor {
	stride := blas.Stride(rows)
	return blas.ColumnMajor{Rows: rows, Cols: columns, Stride: stride, Data: make([]float64, (columns+further)*stride)}
}

func column(a blas.ColumnMajor, j int) []float64 { return a.Data[j*a.Stride:][:a.Rows] }

// multiply sets l = z - u and its inner products.
func (n *anderson) multiply(z, u *kernel.Basis) {
	products := n.products
	floats.SubTo(n.now.l, z.Data(), u.Data())
	clear(products)
	products[2*n.memory] = floats.Dot(n.now.l, n.now.l)
	n.work.slots = n.work.slots[:0]
	if !n.hasLast {
		return
	}
	floats.SubTo(column(n.dl, n.next), n.now.l, n.last.l)
	slots := n.dl.Cols
	behind := slots - n.next // l, from the newest
	if n.swapped {
		behind++
	}
	newest := blas.ColumnMajor{Rows: n.dl.Rows, Cols: 2, Stride: behind * n.dl.Stride, Data: n.dl.Data[n.next*n.dl.Stride:]}
	blas.MulTN(blas.ColumnMajor{Rows: slots, Cols: 2, Stride: slots, Data: n.work.inner}, n.dl, newest)
	for a := range min(n.filled+1, n.memory) {
		slot := (n.next - a + slots) % slots
		n.work.slots = append(n.work.slots, slot)
		products[a], products[n.memory+a] = n.work.inner[slot], n.work.inner[slots+slot]
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
// leaves it as it was.
func (n *anderson) correct(correction []float64) bool {
	if !n.solve(n.products[n.memory:]) {
		return false
	}
	clear(n.work.weights)
	for a, slot := range n.work.slots {
		n.work.weights[slot] = n.work.c[a]
	}
	blas.MulVec(correction, n.dg, n.work.weights)
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
	n.now, n.last, n.hasLast = n.last, n.now, true
	n.swapped = !n.swapped
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
	carry(a, &n.hasLast)
	a.int("the memory", &n.filled, 0, n.memory)
	a.int("the memory", &n.next, 0, n.memory)
	norms := len(n.norms)
	norms = a.int("the number of norms", &norms, 0, n.memory)
	if a.floats("the norms", n.norms[:norms]); a.mode == reading {
		n.norms = n.norms[:norms]
	}
	a.floats("l", n.last.l)
	a.floats("g", n.last.g)
	a.floats("M", n.m)
	for k := range n.dl.Cols {
		a.floats("a change of l", column(n.dl, k))
		a.floats("a change of g", column(n.dg, k))
	}
}
