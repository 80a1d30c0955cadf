package kernel

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
)

// mixed is the state of a Group after EnableMixedPrecision: a copy Z_t of the samples in float32, and the
// reference, a basis U0 and what a step on the samples computed for it: A0_t = X_t U0, e0_t = A0_t b0_t - y_t
// and w_t = X_t' e0_t. The first one is U0 = 0 with e0_t = 0 and w_t = 0.
type mixed struct {
	copy       *Tasks    // nil if the samples are float32 themselves; long tasks have no rows in it
	u0, du     *Basis    // U0, and U - U0 during a step on the copy
	a, e       []float64 // A0_t, by columns with an entry for every row of the copy, and e0_t
	w          []float64 // w_t, ldw apart
	ldw        int
	refreshing bool   // the next step reads the samples and becomes the reference
	automatic  bool   // the group decides when to refresh the reference
	last       *Basis // the basis of the last step; nil before the first
	age        int    // steps since the reference was refreshed
}

// EnableMixedPrecision lets Step read a copy Z_t of the samples in float32, half of the memory of float64.
// With a reference U0, for which a step has read the samples themselves, it computes
//
//	A_t  = X_t U0 + Z_t (U - U0),            b_t and e_t from A_t,
//	grad = sum_t (Z_t' (e_t - e0_t) + X_t' e0_t) b_t'.
//
// Arithmetic is float64. An entry of Z_t differs from that of X_t by at most 2^-24 of it (6e-8), so that the
// error of A_t is at most 2^-24 |X_t| |U - U0|, entry by entry: it is multiplied by the distance to the
// reference, and a step with U = U0 that reads the samples is exact, bit by bit. The first reference is U0 =
// 0; RefreshReference makes another one. Where U_k converges, and the reference is refreshed now and then,
// U_k converges to the same limit as without copies.
//
// Steps that refresh the reference, and steps on the copy, are the tiles' for every DIFALT_KERNEL. SetSamples
// ends mixed precision. Samples in Float32 have no copy, and neither have tasks that workers share (see
// Group): steps read their samples.
//
// EnableMixedPrecision panics if the largest entry that it copies is below 1e-30 or above 3.4e38: float32
// does not hold such numbers with all digits.
func (g *Group) EnableMixedPrecision() {
	if g.grad != g.fit {
		panic(badParts)
	}
	t := g.fit
	m := &mixed{u0: NewBasis(t.d, g.r), du: NewBasis(t.d, g.r), ldw: dense.Stride(t.d)}
	if t.storage == Float64 {
		rows := slices.Clone(t.rows)
		for _, c := range g.chunks {
			if c.long != nil {
				rows[c.lo] = 0
			}
		}
		m.copy = t.single(rows)
		m.a, m.e = alignedFloat64(m.copy.total*g.r), alignedFloat64(m.copy.total)
		m.w = alignedFloat64(len(rows) * m.ldw)
	}
	g.mixed = m
}

// single returns a copy in float32 of the first rows[t] rows of every task.
func (t *Tasks) single(rows []int) *Tasks {
	b, largest := NewBuilder(t.d, rows, Float32), 0.0
	for task, n := range rows {
		for i := range n {
			row := t.x64[(t.first[task]+i)*t.stride:][:t.d]
			largest = max(largest, tile.MaxAbs(row))
			b.SetRow(task, i, row, 0)
		}
	}
	const least = 1e-30
	if largest > 0 && largest < least || largest > math.MaxFloat32 {
		panic(outOfRange)
	}
	return b.Tasks()
}

const (
	// The reference is refreshed when a step moves U by less than refreshAt times its distance to the
	// reference: a dozen times the error of the copy.
	refreshAt = 1e-6
	// It is also refreshed after refreshEvery steps: where rounding errors keep U moving, moves do not show
	// convergence.
	refreshEvery = 40
)

// RefreshAutomatically lets a group with mixed precision decide when to refresh its reference, while U_k
// converges: when a move is below a millionth of the distance to the reference, and after 40 steps. The
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

// plan decides whether the next step, with basis u, refreshes the reference, and prepares a step on the copy.
func (g *Group) plan(u *Basis) {
	m := g.mixed
	if m == nil {
		return
	}
	if m.automatic && m.last != nil {
		m.refreshing = m.refreshing || m.age >= refreshEvery || distance(u, m.last) < refreshAt*distance(u, m.u0)
		m.last.CopyFrom(u)
	} else if m.automatic {
		m.last = u.Clone()
	}
	for i, v := range u.data {
		m.du.data[i] = v - m.u0.data[i]
	}
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
	m := g.mixed
	if m == nil {
		return
	}
	m.age++
	if m.refreshing {
		m.u0.CopyFrom(u)
		m.refreshing, m.age = false, 0
	}
}

// readsCopy reports whether the next step reads the copy.
func (g *Group) readsCopy() bool { return g.mixed != nil && g.mixed.copy != nil && !g.mixed.refreshing }

// saves reports whether the next step makes a reference for steps on the copy.
func (g *Group) saves() bool { return g.mixed != nil && g.mixed.copy != nil && g.mixed.refreshing }

// samples returns what the next step reads most of.
func (g *Group) samples() *Tasks {
	if g.readsCopy() {
		return g.mixed.copy
	}
	return g.fit
}

// column returns A0 in column j, for the rows of some tasks from the given one on.
func (m *mixed) column(task, j, n int) []float64 { return m.a[j*m.copy.total+m.copy.first[task]:][:n] }

// plus and minus are the factors of sums and differences.
var plus, minus = []float64{1}, []float64{-1}

// add adds alpha[0] x to y.
func add(y, alpha, x []float64) {
	if len(x) > 0 {
		tile.AddRows(y, x, len(x), alpha, 1, len(x))
	}
}

// addProducts adds A0 of the rows of some tasks, from the given one on, to the first n rows of a.
func (m *mixed) addProducts(a []float64, lda, task, n int) {
	for j := range m.u0.r {
		add(a[j*lda:], plus, m.column(task, j, n))
	}
}

// subtractResidual subtracts e0 of a task from e.
func (m *mixed) subtractResidual(e []float64, task int) {
	add(e, minus, m.e[m.copy.first[task]:][:len(e)])
}

// addGradient adds w of a task to v.
func (m *mixed) addGradient(v []float64, task int) {
	add(v, plus, m.w[task*m.ldw:][:m.u0.d])
}

// save stores A0, e0 and w of a task.
func (m *mixed) save(task int, a []float64, lda int, e, v []float64) {
	for j := range m.u0.r {
		copy(m.column(task, j, len(e)), a[j*lda:])
	}
	copy(m.e[m.copy.first[task]:], e)
	copy(m.w[task*m.ldw:][:m.ldw], v)
}
