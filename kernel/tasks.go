package kernel

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// Storage is the number type of the entries of X in memory. Arithmetic is float64 for both. Float32 halves
// the memory and the time to read it, and is exact for data that were float32. It holds no finite entry
// beyond 3.4e38, and entries below 7e-46 become zero.
type Storage uint8

// The storages of X.
const (
	Float64 Storage = iota
	Float32
)

// String returns "float64" or "float32".
func (s Storage) String() string {
	switch s {
	case Float64:
		return "float64"
	case Float32:
		return "float32"
	}
	return fmt.Sprintf("Storage(%d)", uint8(s))
}

// size returns the bytes of an entry.
func (s Storage) size() int {
	if s == Float32 {
		return 4
	}
	return 8
}

// Tasks holds the data of one node: regression tasks t with n_t samples of d features each, X_t (n_t x d) and
// y_t (n_t). n_t may differ between tasks and may be zero. The rows of all tasks follow each other in one
// slice, a multiple of 8 entries apart. Zeros fill them up to such a multiple, so that the tiles need no
// tails along d.
//
// NewTasks copies matrices into this layout, a Builder rows; View uses the caller's memory. Tasks are
// immutable and may be shared between goroutines and groups. Rows may have weights; see Weighted.
type Tasks struct {
	d, stride int
	storage   Storage
	x64       []float64 // rows of all tasks one after the other, if storage is Float64
	x32       []float32 // or these, if it is Float32
	y         []float64
	weights   []float64 // of the rows, which hold their roots as factors; nil if all are 1
	first     []int     // first row of task t
	rows      []int     // n_t
	total     int
	maxRows   int
	before    []int // n_t of the tasks that Compressed has replaced, nil if it has not
}

// View returns tasks over the caller's memory, without a copy. Row i, from x[i*ldx] on, has the given number
// of features and the response y[i]; task t has the rows first[t] to first[t+1]-1. So first begins with 0,
// does not decrease, and ends with the number of rows.
//
// ldx must be a multiple of 8, and zeros must follow the features of each row up to the next multiple of 8.
// View reads these zeros once, and panics if one of them is another number or if a shape does not fit. The
// caller must not write x, and may write y only while no call uses the tasks. Rows that start on cache lines
// (64 bytes) are fastest.
func View[F float32 | float64](x []F, ldx, features int, first []int, y []float64) *Tasks {
	if features <= 0 || features > maxNumbers {
		panic(badTasks)
	}
	if len(first) == 0 || first[0] != 0 || !slices.IsSorted(first) {
		panic(badFirst)
	}
	rows, padded := first[len(first)-1], tile.Pad(features)
	if len(y) != rows {
		panic(badResponses)
	}
	if ldx < padded || ldx%tile.Width != 0 || rows > 0 && (rows-1 > maxNumbers/ldx || len(x) < (rows-1)*ldx+padded) {
		panic(badView)
	}
	for i := range rows {
		for _, v := range x[i*ldx:][features:padded] {
			if v != 0 {
				panic(badPadding)
			}
		}
	}
	t := &Tasks{d: features, stride: ldx, y: y, first: slices.Clone(first[:len(first)-1])}
	for i, lo := range t.first {
		t.rows = append(t.rows, first[i+1]-lo)
	}
	switch x := any(x).(type) {
	case []float64:
		t.x64 = x
	case []float32:
		t.storage, t.x32 = Float32, x
	}
	if !t.count() {
		panic(tooLarge)
	}
	return t
}

// newTasks returns tasks of zeros with samples[t] rows in task t; the arguments were checked.
func newTasks(features int, samples []int, storage Storage) *Tasks {
	t := &Tasks{d: features, stride: tile.Stride(features), storage: storage}
	t.first, t.rows = make([]int, len(samples)), slices.Clone(samples)
	t.count()
	for i := range samples[:max(len(samples)-1, 0)] {
		t.first[i+1] = t.first[i] + samples[i]
	}
	t.y = make([]float64, t.total)
	if storage == Float32 {
		t.x32 = alignedFloat32(t.total * t.stride)
	} else {
		t.x64 = alignedFloat64(t.total * t.stride)
	}
	return t
}

// block returns a task as a block that shares its memory.
func (t *Tasks) block(task int) block {
	n, first := t.rows[task], t.first[task]
	k := block{rows: n, stride: t.stride, y: t.y[first:][:n:n], merged: t.original(task) - n, immutable: true}
	if t.weights != nil {
		k.weights = t.weights[first:][:n:n]
	}
	switch {
	case n == 0: // the last row of a View may end before the next would begin
	case t.storage == Float32:
		k.x32 = t.x32[first*t.stride:]
	default:
		k.x64 = t.x64[first*t.stride:]
	}
	return k
}

// Len returns the number of tasks.
func (t *Tasks) Len() int { return len(t.rows) }

// Features returns d.
func (t *Tasks) Features() int { return t.d }

// Samples returns n_t, the number of rows of a task.
func (t *Tasks) Samples(task int) int {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	return t.rows[task]
}

// TotalSamples returns the sum of n_t over the tasks.
func (t *Tasks) TotalSamples() int { return t.total }

// MaxSamples returns the largest n_t.
func (t *Tasks) MaxSamples() int { return t.maxRows }

// Storage returns the number type of X.
func (t *Tasks) Storage() Storage { return t.storage }

// Bytes returns the bytes of X, padding included, that a pass over all samples reads.
func (t *Tasks) Bytes() int { return t.total * t.stride * t.storage.size() }

// Row copies the features of sample i of a task to dst, which must have d entries, and returns dst. If the
// sample has a weight they are multiplied by its root.
func (t *Tasks) Row(dst []float64, task, i int) []float64 {
	t.checkIndex(task, i)
	if len(dst) != t.d {
		panic(badRow)
	}
	at := (t.first[task] + i) * t.stride
	if t.storage == Float64 {
		copy(dst, t.x64[at:])
		return dst
	}
	for j := range dst {
		dst[j] = float64(t.x32[at+j])
	}
	return dst
}

// Y returns the responses of a task. The slice aliases the tasks: read only. Responses of samples with
// weights are multiplied by their roots.
func (t *Tasks) Y(task int) []float64 {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	return t.y[t.first[task]:][:t.rows[task]:t.rows[task]]
}

// Part returns a view of the rows of every task that belong to the given part: row i of n_t belongs to part
// floor(i*parts/n_t) (Alg. 3, line 4, sample splitting). The view shares the memory of t.
func (t *Tasks) Part(part, parts int) *Tasks {
	if part < 0 || part >= parts {
		panic(badPart)
	}
	v := *t
	v.first = make([]int, len(t.rows))
	v.rows = make([]int, len(t.rows))
	for i, n := range t.rows {
		lo, hi := firstRow(part, n, parts), firstRow(part+1, n, parts)
		v.first[i] = t.first[i] + lo
		v.rows[i] = hi - lo
	}
	v.count()
	return &v
}

// firstRow returns the first row i of n that belongs to the given part or a later one: the first with
// floor(i*parts/n) >= part, ceil(part*n/parts). The product may have more bits than an int.
func firstRow(part, n, parts int) int {
	hi, lo := bits.Mul64(uint64(part), uint64(n))
	row, rest := bits.Div64(hi, lo, uint64(parts))
	if rest > 0 {
		row++
	}
	return int(row)
}

// WithResponses returns a view of t with the responses y in place of its own: one for every sample, task
// after task, counting those of the whole tasks if t is a Part. The view shares the samples of t. y is not
// copied; its owner may change it while no step runs. As in Y, responses of samples with weights are
// multiplied by the roots.
func (t *Tasks) WithResponses(y []float64) *Tasks {
	if len(y) != len(t.y) {
		panic(badResponses)
	}
	v := *t
	v.y = y
	return &v
}

func (t *Tasks) checkIndex(task, i int) {
	if uint(task) >= uint(len(t.rows)) || uint(i) >= uint(t.rows[task]) {
		panic(badIndex)
	}
}

// count adds up the samples. It returns false if they have more than maxNumbers entries.
func (t *Tasks) count() bool {
	t.total, t.maxRows = 0, 0
	for _, n := range t.rows {
		if n > maxNumbers/t.stride-t.total {
			return false
		}
		t.total += n
		t.maxRows = max(t.maxRows, n)
	}
	return true
}

// MulTransposed computes v = X_t' e for the n_t samples of a task. v gets d entries, and zeros behind them up
// to the next multiple of 8.
func (t *Tasks) MulTransposed(v []float64, task int, e []float64) {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	if len(e) < t.rows[task] || len(v) < tile.Pad(t.d) {
		panic(badRow)
	}
	var x samples
	x.take(t, task, 0, t.rows[task])
	x.plan(t, task, 0, x.n, 1)
	x.mulTransposed(v, e[:x.n])
}

// GramProduct computes G = sum_t X_t' X_t U over all samples of all tasks without forming X_t' X_t. With
// theta_1, theta_2, ... as the samples it is the product Theta Theta' U of the power iteration (Alg. 2, line
// 11). g must not be u. GramProduct allocates a workspace if ws is nil, and nothing otherwise.
func (t *Tasks) GramProduct(g, u *Basis, ws *Workspace) {
	if g == u {
		panic(aliased)
	}
	if g == nil || u == nil || u.d != t.d || g.d != t.d || g.r != u.r {
		panic(badGroup)
	}
	if ws == nil {
		ws = t.NewWorkspace(u.r)
	}
	if !ws.fits(size{rows: min(t.maxRows, 1), d: u.d, r: u.r}) {
		panic(badWorkspace)
	}
	u.clearPadding()
	clear(g.data)
	ws.load(u, t.storage)
	together := min(ws.size.rows, t.sliceRows())
	var x samples
	for task, n := range t.rows {
		for i := 0; i < n; i += together {
			x.take(t, task, i, min(i+together, n))
			x.plan(t, task, i, i+x.n, u.r)
			a := ws.products(x.n, u.r)
			x.mulBasis(&a, u, &ws.packed)
			x.addGram(g, ws)
		}
	}
	ws.forget()
}

// addGram adds X'(X U) to g, for X U in ws.a, a batch of rows at a time.
func (s *samples) addGram(g *Basis, ws *Workspace) {
	for i := 0; i < s.n; i += batch {
		n := min(batch, s.n-i)
		tile.Transpose(ws.outer, g.r, ws.a[i:], ws.lda, g.r, n)
		x, ldx := ws.v, ws.ldv
		if s.storage == Float64 {
			x, ldx = s.x64[i*s.stride:], s.stride
		} else {
			for k := range n {
				for j, v := range s.x32[(i+k)*s.stride:][:s.d] {
					x[k*ldx+j] = float64(v)
				}
				clear(x[k*ldx+s.d:][:tile.Pad(s.d)-s.d])
			}
		}
		tile.RankUpdate(g.data, g.stride, x, ldx, ws.outer, g.r, n, s.d, g.r)
	}
}
