package kernel

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// A reduced is what a Group keeps for Reduce.
type reduced struct {
	halves
	reference
	first     []int  // rows of the tasks before task t
	copied    bool   // the copy has been made
	anchoring bool   // the next step is an anchor
	follows   bool   // steps become anchors where U converges (FollowAnchors)
	last      *Basis // of the last step; nil before the first
	age       int    // steps since the last anchor
}

// halves are a copy Z_t of the samples in 16 bits, in which feature k has the offset c_k
// and the scale s_k,
//
//	X_t ~ Z_t diag(s) + 1 c'.
type halves struct {
	z                      []uint16
	stride                 int
	d                      int  // features, and behind them one that is 1 everywhere, if ones says so
	ones                   bool // some c_k is not 0
	offset, scale, inverse []float64
}

// A reference is what the last anchor, a step on the samples themselves with the basis U0,
// found: A0_t = X_t U0, e0_t = A0_t b0_t - y_t and w_t = X_t' e0_t. A new one has U0 = 0,
// A0_t = 0 and, as if the residuals had been zero, e0_t = 0 and w_t = 0.
type reference struct {
	u0      *Basis
	a, e, w []float64
	ldw     int
}

// Reduce lets Step read a copy of the samples in 16 bits instead of the samples, a quarter
// of their memory, and multiply in float32. With an anchor U0, for which the samples
// themselves have been read, it computes
//
//	A_t  = X_t U0 + Z_t (U - U0),            b_t and e_t from A_t as ever, in float64,
//	grad = sum_t (Z_t' (e_t - e0_t) + X_t' e0_t) b_t',
//
// in which all that the copy Z_t and float32 get wrong is multiplied by the distance to the
// anchor: a few 1e-4 times that. At the anchor itself all is exact, bit by bit. The first
// anchor is U0 = 0; Anchor makes another one. Where U_k converges with an anchor now and
// then, it converges to the same U as without, whatever the copy is like.
//
// Features have scales of their own, and those whose mean is far from zero an offset, so
// that units and intercepts do not matter. Reduce takes both from some hundred rows, or
// from all where these were not like the others. The first step makes the copy, and makes
// it again, in memory of its own, if it comes to entries far larger than in these. Anchors
// and what follows them are computed by the tiles also where OpenBLAS computes other
// steps, whose bits then differ. Reduce holds for the samples that the group has;
// SetSamples ends it.
//
// Samples whose largest entry is below 1e-27 or above 1e27 must be rescaled first, since
// float32 does not hold their products: it panics.
func (g *Group) Reduce() {
	if g.grad != g.fit {
		panic(badParts)
	}
	t := g.fit
	h := &reduced{first: make([]int, len(t.rows))}
	for i := range t.rows[:max(len(t.rows)-1, 0)] {
		h.first[i+1] = h.first[i] + t.rows[i]
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
	g.reduced = h
}

// renewAt is the part of its distance to the anchor that a move must not fall below: a dozen
// times the error of the copy. renewEvery is the largest number of steps between two anchors:
// where rounding keeps U moving, moves do not reveal how near it is.
const (
	renewAt    = 1e-2
	renewEvery = 40
)

// FollowAnchors lets a group that Reduce reduced decide when to call Anchor, for a sequence of
// steps in which U_k converges: when a move is below a hundredth of the distance to the anchor,
// and after 40 steps. The sequence then ends at the accuracy of the samples themselves.
func (g *Group) FollowAnchors() {
	if g.reduced == nil {
		panic(notReduced)
	}
	g.reduced.follows = true
}

// renew makes the next step, with basis u, an anchor if u has moved so little since the last
// step that the error of the copy would matter, or if the anchor is old.
func (g *Group) renew(u *Basis) {
	h := g.reduced
	if h == nil || !h.follows || h.anchoring || u.d != h.u0.d || u.r != h.u0.r {
		return
	}
	if h.last == nil {
		h.last = u.Clone()
		return
	}
	h.anchoring = h.age >= renewEvery || distance(u, h.last) < renewAt*distance(u, h.u0)
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

// Anchor has the next Step of a group that Reduce reduced read the samples themselves and
// makes its basis the anchor. A caller that measures the result of a step calls it before.
func (g *Group) Anchor() {
	if g.reduced == nil {
		panic(notReduced)
	}
	g.reduced.anchoring = true
}

// Reference returns the anchor of a group that Reduce reduced. It is the group's: read
// only, and valid until the next step.
func (g *Group) Reference() *Basis {
	if g.reduced == nil {
		panic(notReduced)
	}
	return g.reduced.u0
}

const (
	// sampled is the number of rows from which offsets and scales are taken.
	sampled = 512
	// A feature whose mean is so many times its standard deviation from zero has an offset.
	// Others do without: small integers stay exact then.
	farMean = 4
	// The largest entry of a feature among these rows becomes a number of 16 bits below
	// 2^(middle+1). That leaves room for others a hundred times as large, and full
	// precision for those down to 2^-22 of it.
	middle = 8
	// largestHalf is the largest entry of which float32 holds sums of products.
	largestHalf = 1e27
	// leastScale is the exponent of the smallest scale of which there is an inverse.
	leastScale = -1000
)

// measure sets offsets and scales, powers of two, by one row in step. It reports whether it
// has seen an entry of every feature.
func (h *halves) measure(t *Tasks, step int) bool {
	padded := dense.Pad(t.d)
	h.offset, h.scale, h.inverse, h.ones = make([]float64, padded), make([]float64, padded), make([]float64, padded), false
	row, mean, squares := make([]float64, t.d), make([]float64, t.d), make([]float64, t.d)
	low, high := make([]float64, t.d), make([]float64, t.d)
	count := 0.0
	t.eachRow(step, row, func() {
		count++
		for k, v := range row {
			c := v - mean[k]
			mean[k] += c / count
			squares[k] += c * (v - mean[k])
			if count == 1 {
				low[k], high[k] = v, v
			}
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	})
	seen, largest := true, 0.0
	for k, m := range mean {
		largest = max(largest, math.Abs(low[k]), math.Abs(high[k]))
		size := max(-low[k], high[k])
		if math.Abs(m) > farMean*math.Sqrt(squares[k]/count) {
			h.offset[k], h.ones, size = m, true, max(high[k]-m, m-low[k])
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

// eachRow calls f with one row in step after the other in row.
func (t *Tasks) eachRow(step int, row []float64, f func()) {
	if t.disk != nil && step > 1 {
		t.disk.file.Scattered(true)
		defer t.disk.file.Scattered(false)
	}
	at := 0
	for task, n := range t.rows {
		for i := range n {
			if at%step == 0 {
				t.Row(row, task, i)
				f()
			}
			at++
		}
	}
}

// uncopied reports whether the copy has yet to be made.
func (g *Group) uncopied() bool { return g.reduced != nil && !g.reduced.copied }

// copy makes the copy of the tasks of a chunk, and notes in misfits if entries are out of
// the range of the scales.
func (g *Group) copy(c *chunk) {
	h, t := g.reduced, g.fit
	defer t.keep()
	c.misfits = false
	for task := c.lo; task < c.hi; task++ {
		t.ahead(task)
		for i := range t.rows[task] {
			row := h.z[(h.first[task]+i)*h.stride:]
			var squares float64
			if at := (t.first[task] + i) * t.stride; t.storage == Float32 {
				squares = tile.Halve(row, t.x32[at:], h.offset, h.inverse, t.d)
			} else {
				squares = tile.Halve(row, t.x64[at:], h.offset, h.inverse, t.d)
			}
			if !(squares < tile.HalfMax*tile.HalfMax) {
				c.misfits = true
			}
			if h.ones {
				row[t.d] = 0x3c00
			}
		}
	}
}

// copied ends the making of the copy. If entries were out of range, scales are taken from
// all rows, and the copy is made again.
func (g *Group) copied() {
	if slices.ContainsFunc(g.chunks, func(c chunk) bool { return c.misfits }) {
		g.reduced.measure(g.fit, 1)
		g.reduced.reserve(g.fit)
		for i := range g.chunks {
			g.copy(&g.chunks[i])
		}
	}
	g.reduced.copied = true
}

// keep stores what a step at the anchor found out about task t: A0_t is in ws, and
// e0_t and w_t are given.
func (h *reduced) keep(t, r int, ws *Workspace, e, w []float64) {
	n := len(e)
	a := h.a[h.first[t]*r:]
	for j := range r {
		copy(a[j*n:][:n], ws.a[j*ws.lda:])
	}
	copy(h.e[h.first[t]:], e)
	copy(h.w[t*h.ldw:][:dense.Pad(ws.d)], w)
}

// stepReduced adds the tasks of a chunk to its gradient and objective, by the copy.
func (g *Group) stepReduced(c *chunk, u *Basis, ridge float64, ws *Workspace) {
	h, k, r := g.reduced, &ws.half, g.r
	k.load(u, h)
	clear(k.shift)
	sum := batchSum{group: g, chunk: c, ws: ws, d: u.d, first: c.lo}
	for t := c.lo; t < c.hi; t++ {
		n, first := g.fit.rows[t], h.first[t]
		z := h.z[first*h.stride:]
		hint := h.hints(g.fit, t, r, ws.schedule)
		tile.MulBasisHalf(ws.a, ws.lda, h.a[first*r:], n, z, h.stride, k.du, k.lddu, n, h.d, r, hint.basisNext)
		ws.lsq.Next = hint.solveNext
		b := g.solve(t, ridge, ws)
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
		if h.ones { // the offsets times the sum of e_t - e0_t, for all tasks at once
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

// setDifference sets de to (e - e0) / unit, and returns the unit: 1, or a power of two where float32
// does not hold e - e0 or its products with the copy.
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

// anchoring reports whether the next step is an anchor.
func (g *Group) anchoring() bool { return g.reduced != nil && g.reduced.anchoring }

// reads16 reports whether the next step reads the copy in 16 bits.
func (g *Group) reads16() bool { return g.reduced != nil && !g.reduced.anchoring }

// hints says what to prefetch during a task, by a schedule or by the usual one.
func (h *reduced) hints(t *Tasks, task, r int, by *tile.Schedule) hints {
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
	return ahead(end, end, bytes, by.Ahead, t.rows[task], r, by.Eighths(r, false), by)
}

// load sets du to U - U0 in the scales of the copy.
func (w *halfWork) load(u *Basis, h *reduced) {
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
