package kernel

import (
	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// A Workspace is the scratch memory of one worker. It serves one call at a time.
type Workspace struct {
	size size

	lda int
	a   []float64 // X_t U, n_t x r by columns
	e   []float64 // X_t U b_t - y_t
	ldv int
	v   []float64 // X_t' e_t of up to batch tasks

	outer   []float64 // factors of a product of rank batch
	lsq     *leastsq.Workspace
	packed  packedBasis
	scratch []float64
}

// A size is how much scratch memory something needs.
type size struct {
	rows, d, r int // of X_t U
	scratch    int // float64 of one kind of chunk
}

// size returns what every kind of chunk needs for its tasks.
func (p *partial) size() size { return size{rows: p.rows, d: p.grad.d, r: p.grad.r} }

// union returns the size that serves both.
func (s size) union(o size) size {
	return size{max(s.rows, o.rows), max(s.d, o.d), max(s.r, o.r), max(s.scratch, o.scratch)}
}

// possible reports whether memory of this size can exist.
func (s size) possible() bool {
	return batch*(float64(s.r)+1)*(float64(s.rows)+float64(s.d)+float64(s.r)) <= maxNumbers
}

// NewWorkspace returns scratch memory for steps of any of the groups.
func NewWorkspace(groups ...*Group) *Workspace {
	s := size{d: 1, r: 1}
	for _, g := range groups {
		g.mustBeMade()
		s = s.union(g.needs())
	}
	return newWorkspace(s)
}

// NewWorkspace returns scratch memory for GramProduct on bases of rank r.
func (t *Tasks) NewWorkspace(r int) *Workspace {
	if t.d == 0 || r <= 0 {
		panic(noTasks)
	}
	s := size{rows: min(t.maxRows, t.sliceRows()), d: t.d, r: r}
	if !s.possible() {
		panic(tooLarge)
	}
	return newWorkspace(s)
}

func newWorkspace(s size) *Workspace {
	w := &Workspace{size: s, lda: max(tile.Pad(s.rows), 1), ldv: tile.Stride(s.d)}
	w.a, w.e = alignedFloat64(w.lda*s.r), alignedFloat64(w.lda)
	w.v, w.outer = alignedFloat64(w.ldv*batch), make([]float64, batch*s.r)
	w.packed.p = alignedFloat64(tile.PackedLen(s.d, tile.Packed(s.d, s.r, Float64.size())))
	w.lsq = leastsq.NewWorkspace(s.rows, s.r)
	w.scratch = alignedFloat64(s.scratch)
	return w
}

// fits reports whether the workspace has at least the size s.
func (w *Workspace) fits(s size) bool { return w.size.union(s) == w.size }

// products returns the first n rows of X_t U for a basis of r columns.
func (w *Workspace) products(n, r int) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: n, Cols: r, Stride: w.lda, Data: w.a}
}

// A packedBasis holds the first columns of a basis in the layout of tile.MulPacked.
type packedBasis struct {
	of      *Basis // nil outside of calls: the entries of a basis may change between them
	columns int
	p       []float64
}

// load packs the columns of u that are multiplied faster that way with samples in the given storage.
func (w *Workspace) load(u *Basis, storage Storage) {
	k, columns := &w.packed, tile.Packed(u.d, u.r, storage.size())
	if k.of == u && k.columns == columns {
		return
	}
	k.of, k.columns = u, columns
	if k.columns > 0 {
		tile.PackBasis(k.p, u.data, u.stride, u.d, k.columns)
	}
}

// forget ends a call: the workspace keeps no reference to the basis.
func (w *Workspace) forget() { w.packed.of = nil }

// carve cuts n float64 off the scratch memory, at the start of a cache line.
func carve(scratch *[]float64, n int) []float64 {
	piece := (*scratch)[:n:n]
	*scratch = (*scratch)[tile.Pad(n):]
	return piece
}
