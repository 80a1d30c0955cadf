package kernel

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// mixed is the state of a Group after EnableMixedPrecision.
type mixed struct {
	halves
	reference
	first      []int  // rows of the tasks before task t.
	copied     bool   // the copy is complete.
	refreshing bool   // the next step reads the samples and becomes the reference
	automatic  bool   // the group decides when to refresh the reference
	last       *Basis // the basis of the last step; nil before the first
	age        int    // steps since the reference was refreshed
}

// halves is a copy Z_t of the samples in 16 bits. Feature k has the offset c_k and the scale s_k:
//
//	X_t ~ Z_t diag(s) + 1 c'.
type halves struct {
	z                      []uint16
	stride                 int
	d                      int  // features, and one more that is 1 in all rows if ones is set
	ones                   bool // some c_k is not 0
	offset, scale, inverse []float64
}

// A reference is a basis U0 and what a step on the samples computed for it: A0_t = X_t U0, e0_t = A0_t b0_t -
// y_t and w_t = X_t' e0_t. The first one is U0 = 0 with e0_t = 0 and w_t = 0.
type reference struct {
	u0      *Basis
	a, e, w []float64
	ldw     int
}

// EnableMixedPrecision lets Step read a copy of the samples in 16 bits, a quarter of the memory of float64,
// and multiply in float32. With a reference U0, for which a step has read the samples themselves, it computes
//
//	A_t  = X_t U0 + Z_t (U - U0),            b_t and e_t from A_t in float64,
//	grad = sum_t (Z_t' (e_t - e0_t) + X_t' e0_t) b_t'.
//
// The errors of the copy Z_t and of float32 are thus multiplied by the distance to the reference: they are a
// few 1e-4 of it. A step with U = U0 that reads the samples is exact, bit by bit. The first reference is U0 =
// 0; RefreshReference makes another one. Where U_k converges, and the reference is refreshed now and then,
// U_k converges to the same limit as without copies.
//
// Every feature has a scale, and a feature whose mean is far from zero has an offset, so that units and
// intercepts do not matter. Both come from some 500 rows, or from all where these rows have zeros only. The
// first step makes the copy; it makes the copy again if it finds entries far larger than in those rows. Steps
// that refresh the reference, and steps on the copy, are the tiles' for every DIFALT_KERNEL. SetSamples ends
// mixed precision. Tasks that workers share (see Group) have no copy: steps read their samples.
//
// EnableMixedPrecision panics if the largest entry of the samples is below 1e-27 or above 1e27: float32 does
// not hold the products of such numbers.
func (g *Group) EnableMixedPrecision() {
	if g.grad != g.fit {
		panic(badParts)
	}
	t := g.fit
	h := &mixed{first: make([]int, len(t.rows)+1)}
	for i, n := range t.rows {
		h.first[i+1] = h.first[i] + n
	}
	if step := max(t.total/sampled, 1); !h.measure(t, step) && step > 1 {
		h.measure(t, 1)
	}
	h.reserve(t)
	ldw := dense.Stride(t.d)
	h.reference = reference{
		u0: NewBasis(t.d, g.r), a: alignedFloat64(t.total * g.r), e: alignedFloat64(t.total),
		w: alignedFloat64(len(t.rows) * ldw), ldw: ldw,
	}
	g.mixed = h
}

const (
	// The reference is refreshed when a step moves U by less than refreshAt times its distance to the
	// reference: a dozen times the error of the copy.
	refreshAt = 1e-2
	// It is also refreshed after refreshEvery steps: where rounding errors keep U moving, moves do not show
	// convergence.
	refreshEvery = 40
)

// RefreshAutomatically lets a group with mixed precision decide when to refresh its reference, while U_k
// converges: when a move is below a hundredth of the distance to the reference, and after 40 steps. The
// sequence of U_k then ends at the accuracy of the samples. It panics without EnableMixedPrecision.
func (g *Group) RefreshAutomatically() {
	if g.mixed == nil {
		panic(notMixed)
	}
	g.mixed.automatic = true
}

// RefreshReference lets the next Step of a group with mixed precision read the samples themselves; its basis
// becomes the reference. A caller that measures the result of a step calls it before. It panics without
// EnableMixedPrecision.
func (g *Group) RefreshReference() {
	if g.mixed == nil {
		panic(notMixed)
	}
	g.mixed.refreshing = true
}

// plan decides whether the next step, with basis u, refreshes the reference.
func (g *Group) plan(u *Basis) {
	h := g.mixed
	if h == nil || !h.automatic || h.refreshing || u == nil || u.d != h.u0.d || u.r != h.u0.r {
		return
	}
	if h.last == nil {
		h.last = u.Clone()
		return
	}
	h.refreshing = h.age >= refreshEvery || distance(u, h.last) < refreshAt*distance(u, h.u0)
	h.last.CopyFrom(u)
}

// distance returns |u - v|_F.
func distance(u, v *Basis) float64 {
	sum := 0.0
	for i, x := range u.data {
		sum += (x - v.data[i]) * (x - v.data[i])
	}
	return math.Sqrt(sum)
}

// refreshed ends a step with basis u: u becomes the reference if the step read the samples for that.
func (g *Group) refreshed(u *Basis) {
	h := g.mixed
	if h == nil {
		return
	}
	h.age++
	if h.refreshing {
		h.u0.CopyFrom(u)
		h.refreshing, h.age = false, 0
	}
}

const (
	// Offsets and scales are those of the entries of sampled rows.
	sampled = 512
	// A feature whose mean is farMean times its standard deviation from zero has an offset. Other features
	// have none, so that small integers stay exact.
	farMean = 4
	// The largest entry of a feature among the sampled rows becomes a number of 16 bits below 2^(middle+1).
	// That leaves room for entries a hundred times as large, and full precision for entries down to 2^-22 of
	// it.
	middle = 8
	// largestHalf is the largest entry for which float32 holds sums of products.
	largestHalf = 1e27
	// leastScale is the exponent of the smallest scale that has an inverse.
	leastScale = -1000
)

// moments are the running mean, sum of squares about it, and range of the entries of a feature.
type moments struct{ mean, squares, low, high float64 }

func (m *moments) add(v, count float64) {
	c := v - m.mean
	m.mean += c / count
	m.squares += c * (v - m.mean)
	if count == 1 {
		m.low, m.high = v, v
	}
	m.low, m.high = min(m.low, v), max(m.high, v)
}

// measure sets offsets and scales, which are powers of two, from every row whose number is a multiple of
// step. It reports whether every feature has an entry that is not zero there.
func (h *halves) measure(t *Tasks, step int) bool {
	padded, row, at, count := dense.Pad(t.d), make([]float64, t.d), 0, 0.0
	h.offset, h.scale, h.inverse, h.ones = make([]float64, padded), make([]float64, padded), make([]float64, padded), false
	features := make([]moments, t.d)
	for task, n := range t.rows {
		for i := range n {
			if at++; (at-1)%step != 0 {
				continue
			}
			count++
			for k, v := range t.Row(row, task, i) {
				features[k].add(v, count)
			}
		}
	}
	seen, largest := true, 0.0
	for k, m := range features {
		largest = max(largest, math.Abs(m.low), math.Abs(m.high))
		size := max(-m.low, m.high)
		if math.Abs(m.mean) > farMean*math.Sqrt(m.squares/count) {
			h.offset[k], h.ones, size = m.mean, true, max(m.high-m.mean, m.mean-m.low)
		}
		if size == 0 {
			seen, size = false, 1
		}
		e := max(math.Ilogb(size)-middle, leastScale)
		h.scale[k], h.inverse[k] = math.Ldexp(1, e), math.Ldexp(1, -e)
	}
	if largest > 0 && (largest < 1/largestHalf || largest > largestHalf) {
		panic(outOfRange)
	}
	return seen
}

// reserve makes room for the copy.
func (h *halves) reserve(t *Tasks) {
	h.d = t.d
	if h.ones {
		h.d++
	}
	h.stride = tile.StrideHalf(h.d, 2)
	words := alignedFloat64((t.total*h.stride + 3) / 4)
	h.z = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))
}

// needsCopy reports whether the copy has yet to be made.
func (g *Group) needsCopy() bool { return g.mixed != nil && !g.mixed.copied }

// copyChunk makes the copy of the tasks of a chunk, and sets outOfRange if entries are out of the range of
// the scales.
func (g *Group) copyChunk(c *chunk) {
	h, t := g.mixed, g.fit
	if c.outOfRange = false; c.long != nil {
		return
	}
	for task := c.lo; task < c.hi; task++ {
		for i := range t.rows[task] {
			row := h.z[(h.first[task]+i)*h.stride:]
			var squares float64
			if at := (t.first[task] + i) * t.stride; t.storage == Float32 {
				squares = tile.Halve(row, t.x32[at:], h.offset, h.inverse, t.d)
			} else {
				squares = tile.Halve(row, t.x64[at:], h.offset, h.inverse, t.d)
			}
			if !(squares < tile.HalfMax*tile.HalfMax) {
				c.outOfRange = true
			}
			if h.ones {
				row[t.d] = 0x3c00 // 1
			}
		}
	}
}

// finishCopy ends the making of the copy. If entries were out of range, it takes the scales from all rows and
// makes the copy again.
func (g *Group) finishCopy() {
	if slices.ContainsFunc(g.chunks, func(c chunk) bool { return c.outOfRange }) {
		g.mixed.measure(g.fit, 1)
		g.mixed.reserve(g.fit)
		for i := range g.chunks {
			g.copyChunk(&g.chunks[i])
		}
	}
	g.mixed.copied = true
}

// save stores what a step that refreshes the reference computed for task t: A0_t, with columns lda apart,
// e0_t and w_t.
func (h *mixed) save(t, r int, a []float64, lda int, e, w []float64) {
	n := len(e)
	to := h.a[h.first[t]*r:]
	for j := range r {
		copy(to[j*n:][:n], a[j*lda:])
	}
	copy(h.e[h.first[t]:], e)
	copy(h.w[t*h.ldw:], w)
}

// stepCopy adds the tasks of a chunk to its gradient and objective, reading the copy.
func (g *Group) stepCopy(c *chunk, u *Basis, ridge float64, ws *Workspace) {
	h, k, r := g.mixed, &ws.half, g.r
	k.load(u, h)
	clear(k.shift)
	sum := batchSum{group: g, chunk: c, ws: ws, d: u.d, first: c.lo}
	for t := c.lo; t < c.hi; t++ {
		n, first := g.fit.rows[t], h.first[t]
		z := h.z[first*h.stride:]
		hint := h.hints(g.fit, t, r, ws.schedule)
		tile.MulBasisHalf(ws.a, ws.lda, h.a[first*r:], n, z, h.stride, k.du, k.lddu, n, h.d, r, hint.basisNext)
		b := g.solve(t, ws.a, ws.lda, ridge, ws, hint.solveNext)
		c.objective += ws.lsq.Squares
		unit := k.setDifference(ws.lsq.Residual, h.e[first:][:n])
		tile.MulTransposedHalf(k.dv, z, h.stride, k.de, n, h.d, hint.gradientNext)
		scale := h.scale
		if unit != 1 {
			scale = k.scale
			for i, s := range h.scale {
				scale[i] = s * unit
			}
		}
		tile.AddScaled(sum.next(), h.w[t*h.ldw:], scale, k.dv, u.d)
		if h.ones { // the offsets times the sum of e_t - e0_t of all tasks
			for j, v := range b {
				k.shift[j] += float64(k.dv[u.d]) * unit * v
			}
		}
		sum.done(t, c.hi)
	}
	if h.ones {
		offset := blas64.GeneralCols{Rows: dense.Pad(u.d), Cols: 1, Stride: len(h.offset), Data: h.offset}
		dense.AddMulNT(c.grad.padded(), offset, blas64.GeneralCols{Rows: r, Cols: 1, Stride: r, Data: k.shift})
	}
}

// setDifference sets de to (e - e0) / unit, and returns the unit: 1, or a power of two where float32 does not
// hold e - e0 or its products with the copy.
func (w *halfWork) setDifference(e, e0 []float64) (unit float64) {
	const (
		sign        = 1 << 63
		least, most = 0x1p-60, 0x1p60
	)
	size := uint64(0) // bits of the largest |e - e0|: those of NaN are above those of Inf
	for i, v := range e0 {
		difference := e[i] - v
		size = max(size, math.Float64bits(difference)&^sign)
		w.de[i] = float32(difference)
	}
	largest := math.Float64frombits(size)
	if largest == 0 || largest >= least && largest <= most || !(largest <= math.MaxFloat64) {
		return 1
	}
	unit = math.Ldexp(1, max(math.Ilogb(largest), leastScale))
	for i, v := range e0 {
		w.de[i] = float32((e[i] - v) / unit)
	}
	return unit
}

// refreshing reports whether the next step refreshes the reference.
func (g *Group) refreshing() bool { return g.mixed != nil && g.mixed.refreshing }

// readsCopy reports whether the next step reads the copy in 16 bits.
func (g *Group) readsCopy() bool { return g.mixed != nil && !g.mixed.refreshing }

// hints returns what to prefetch during a task, by a schedule, or by the usual one if that is nil.
func (h *mixed) hints(t *Tasks, task, r int, by *tile.Schedule) hints {
	if t.rows[task] == 0 {
		return hints{}
	}
	bytes := 2 * t.rows[task] * h.stride
	end := uintptr(unsafe.Pointer(&h.z[h.first[task]*h.stride])) + uintptr(bytes)
	if by == nil || bytes > resident {
		by = tile.Usual(bytes, 0, resident, 0, 1)
	}
	if by.None {
		return hints{}
	}
	return ahead(end, end, bytes, by.Ahead, t.rows[task], r, tile.Eighths(r, false), by)
}

// load sets du to U - U0 in the scales of the copy.
func (w *halfWork) load(u *Basis, h *mixed) {
	if w.of == h {
		return
	}
	w.of, w.lddu = h, tile.StrideHalf(h.d, 4)
	for j := range u.r {
		col, to, from := w.du[j*w.lddu:][:tile.PadHalf(h.d)], u.Col(j), h.u0.Col(j)
		clear(col[u.d:])
		for k, s := range h.scale[:u.d] {
			col[k] = float32((to[k] - from[k]) * s)
		}
		if h.ones {
			offset := 0.0
			for k, c := range h.offset[:u.d] {
				offset += (to[k] - from[k]) * c
			}
			col[u.d] = float32(offset)
		}
	}
}
