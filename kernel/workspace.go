package kernel

import (
	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// batch is the number of tasks whose products X_t' e_t are kept before they are added to the gradient as one
// product of that rank: the gradient is then read and written once for a batch.
const batch = 8

// A Workspace is the scratch memory of one worker, allocated once. It serves one call at a time.
type Workspace struct {
	maxSamples, d, r int

	lda int
	a   []float64 // X_t U, n_t x r by columns
	e   []float64 // X_t U b_t - y_t
	v   []float64 // X_t' e_t of up to batch tasks
	ldv int

	outer []float64 // factors of a product of rank batch
	lsq   *lstsq.Workspace
	lanes laneWork

	packed packedBasis
	cached bool // set by an Executor: the samples stay in the second-level caches and are not prefetched

	gonum *gonumWork // scratch of a gonumBackend, or of OpenBLAS, where one is in use
}

// A packedBasis holds the first columns of a basis in the layout of tile.MulPacked.
type packedBasis struct {
	of      *Basis // nil if the basis has changed since
	columns int
	p       []float64
}

// NewWorkspace returns scratch memory for tasks of up to maxSamples samples and d features on a basis of rank
// r.
func NewWorkspace(maxSamples, d, r int) *Workspace {
	if maxSamples < 0 || d <= 0 || r <= 0 {
		panic(badWorkspace)
	}
	if batch*(float64(r)+1)*(float64(maxSamples)+float64(d)+float64(r)) > maxNumbers {
		panic(tooLarge)
	}
	w := &Workspace{maxSamples: maxSamples, d: d, r: r, lda: max(tile.Pad(maxSamples), 1), ldv: tile.Stride(d)}
	w.a = alignedFloat64(w.lda * r)
	w.e = alignedFloat64(w.lda)
	w.v, w.outer = alignedFloat64(w.ldv*batch), make([]float64, batch*r)
	w.packed.p = alignedFloat64(tile.PackedLen(d, tile.Packed(d, r, Float64.size())))
	w.lsq = lstsq.NewWorkspace(maxSamples, r)
	w.lanes = newLaneWork(maxSamples, r)
	if chosenName == gonumName {
		w.gonum = newGonumWork(maxSamples, d, r)
	}
	return w
}

// begin starts a step: the entries of a basis may have changed since the last one.
func (w *Workspace) begin() { w.packed.of = nil }

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

// products returns the first n rows of X_t U for a basis of r columns.
func (w *Workspace) products(n, r int) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: n, Cols: r, Stride: w.lda, Data: w.a}
}

func (w *Workspace) fits(maxSamples, d, r int) bool {
	return maxSamples <= w.maxSamples && d <= w.d && r <= w.r
}
