package kernel

import (
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// batch is the number of tasks whose products X_t' e_t are kept before they are
// added to the gradient as one product of that rank: G is then read and written
// once for so many tasks.
const batch = 8

// A Workspace is the scratch memory of one worker, sized once. Its owner may use
// it for one call at a time.
type Workspace struct {
	maxSamples, d, r int

	lda int
	a   []float64 // X_t U, n_t x r by columns
	e   []float64 // X_t U b_t - y_t
	v   []float64 // X_t' e_t of up to batch tasks
	ldv int
	lsq *lsq.Workspace

	// Of stepReduced: U - U0, e_t - e0_t and its product with the copy, in float32.
	du, de, dv []float32
	lddu       int
	difference *reduced  // for which du is loaded
	shift      []float64 // what the offsets are multiplied by

	packed int       // columns of the basis that are in p
	p      []float64 // the basis in the layout of tile.MulPacked
	basis  *Basis    // whose columns they are

	schedule *tile.Schedule // what to prefetch, nil for the usual; an Executor sets it
	openBLAS []float64      // scratch of stepOpenBLAS, where it is in use
}

// NewWorkspace returns scratch memory for tasks of up to maxSamples samples and d
// features on a basis of rank r.
func NewWorkspace(maxSamples, d, r int) *Workspace {
	if maxSamples < 0 || d <= 0 || r <= 0 {
		panic(badTasks)
	}
	w := &Workspace{maxSamples: maxSamples, d: d, r: r, lda: max(blas.Pad(maxSamples), 1), ldv: blas.Stride(d)}
	w.a = alignedFloat64(w.lda * r)
	w.e = alignedFloat64(w.lda)
	w.v = alignedFloat64(w.ldv * batch)
	w.p = alignedFloat64(tile.PackedLen(d, tile.Packed(r)))
	w.lsq = lsq.NewWorkspace(maxSamples, r)
	w.du = alignedFloat32(tile.StrideHalf(d+1, 4) * r)
	w.de = alignedFloat32(maxSamples)
	w.dv = alignedFloat32(tile.PadHalf(d + 1))
	w.shift = make([]float64, r)
	w.openBLAS = openBLASWork(maxSamples, d, r)
	return w
}

// begin forgets the basis of the step before: its entries may have changed.
func (w *Workspace) begin() { w.basis, w.difference = nil, nil }

// load packs as many columns of u as are faster that way.
func (w *Workspace) load(u *Basis) {
	if w.basis == u {
		return
	}
	w.basis, w.packed = u, tile.Packed(u.r)
	if w.packed > 0 {
		tile.PackBasis(w.p, u.data, u.stride, u.d, w.packed)
	}
}

// products returns the first n rows of X_t U for a basis of r columns.
func (w *Workspace) products(n, r int) blas.ColumnMajor {
	return blas.ColumnMajor{Rows: n, Cols: r, Stride: w.lda, Data: w.a}
}

func (w *Workspace) fits(maxSamples, d, r int) bool {
	return maxSamples <= w.maxSamples && d <= w.d && r <= w.r
}
