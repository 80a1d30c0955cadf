package kernel

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/mat"
)

// Storage is the type in which the entries of X are stored. Arithmetic is float64
// for both; float32 halves the memory and the time to stream it, and loses
// nothing when the data were float32 to begin with. Entries beyond 3.4e38 become infinite in
// it, and entries below 7e-46 become zero; MaxAbs finds the first.
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

// Tasks is the data of one node: regression tasks t with n_t samples of d
// features each, X_t (n_t x d) and y_t (n_t), packed into one allocation or file
// (NewBuilderOnDisk). n_t may differ between tasks and may be zero. Rows are padded with
// zeros and start on cache lines, so that the tiles need no tails along d.
//
// Tasks is immutable and may be shared between goroutines and groups.
type Tasks struct {
	d, stride int
	storage   Storage
	x64       []float64 // rows of all tasks one after the other, if storage is Float64
	x32       []float32 // the same, if it is Float32
	y         []float64
	disk      *disk // where the rows are, nil for memory
	first     []int // first row of task t
	rows      []int // n_t
	total     int
	maxRows   int
	size      *size
}

// NewTasks packs copies of the matrices x[t] (n_t x d) and responses y[t] (n_t); see
// Builder.SetTask.
func NewTasks(x []mat.Matrix, y [][]float64, storage Storage) *Tasks {
	if len(x) != len(y) {
		panic(badLists)
	}
	if len(x) == 0 {
		panic(badTasks)
	}
	if slices.Contains(x, nil) {
		panic(noMatrix)
	}
	samples := make([]int, len(x))
	_, d := x[0].Dims()
	for t, m := range x {
		samples[t], _ = m.Dims()
	}
	b := NewBuilder(d, samples, storage)
	for t, m := range x {
		b.SetTask(t, m, y[t])
	}
	return b.Tasks()
}

// TasksOf packs copies of a table: sample i has the features x[i] (d of them) and the response
// y[i], and task t has the samples first[t] to first[t+1]-1; first is one longer than
// there are tasks, begins with 0 and ends with len(x).
func TasksOf(x [][]float64, y []float64, first []int, storage Storage) *Tasks {
	if len(x) == 0 {
		panic(badTasks)
	}
	if len(y) != len(x) {
		panic(badResponses)
	}
	if len(first) < 2 || first[0] != 0 || first[len(first)-1] != len(x) || !slices.IsSorted(first) {
		panic(badFirst)
	}
	samples := make([]int, len(first)-1)
	for t := range samples {
		samples[t] = first[t+1] - first[t]
	}
	b := NewBuilder(len(x[0]), samples, storage)
	for t, n := range samples {
		for i := range n {
			b.SetRow(t, i, x[first[t]+i], y[first[t]+i])
		}
	}
	return b.Tasks()
}

// Len returns the number of tasks.
func (t *Tasks) Len() int { return len(t.rows) }

// Features returns d.
func (t *Tasks) Features() int { return t.d }

// Samples returns n_t, the number of rows of a task.
func (t *Tasks) Samples(task int) int { return t.rows[task] }

// TotalSamples returns the sum of n_t over the tasks.
func (t *Tasks) TotalSamples() int { return t.total }

// MaxSamples returns the largest n_t.
func (t *Tasks) MaxSamples() int { return t.maxRows }

// Storage returns the type in which X is stored.
func (t *Tasks) Storage() Storage { return t.storage }

// Bytes returns the memory that a pass over X reads, padding included.
func (t *Tasks) Bytes() int { return t.total * t.stride * t.storage.size() }

// Row copies the features of sample i of a task to dst, which needs d entries,
// and returns dst.
func (t *Tasks) Row(dst []float64, task, i int) []float64 {
	t.checkIndex(task, i)
	if len(dst) != t.d {
		panic(badRow)
	}
	if i == 0 {
		t.ahead(task)
	}
	defer t.keep()
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

// Y returns the responses of a task. The slice aliases the tasks and must not be
// written.
func (t *Tasks) Y(task int) []float64 {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	return t.y[t.first[task]:][:t.rows[task]:t.rows[task]]
}

// Part returns a view of the rows of every task that fall in the given one of
// equal parts: row i of n_t belongs to part floor(i*parts/n_t) (Alg. 3, line 4,
// sample splitting). The view shares the memory of t.
func (t *Tasks) Part(part, parts int) *Tasks {
	if part < 0 || part >= parts {
		panic(badPart)
	}
	v := *t
	v.first = make([]int, len(t.rows))
	v.rows = make([]int, len(t.rows))
	for i, n := range t.rows {
		// The first row i with floor(i*parts/n) >= part is ceil(part*n/parts).
		lo := (part*n + parts - 1) / parts
		hi := ((part+1)*n + parts - 1) / parts
		v.first[i] = t.first[i] + lo
		v.rows[i] = hi - lo
	}
	v.count()
	v.size = new(size)
	return &v
}

// WithResponses returns a view of t with the responses y in place of its own: one for
// every sample, task after task, of the tasks that t is a part of if it is a Part. The
// view shares the samples of t. y is not copied; whoever owns it may change it while no
// step runs.
func (t *Tasks) WithResponses(y []float64) *Tasks {
	if len(y) != len(t.y) {
		panic(badResponses)
	}
	v := *t
	v.y = y
	return &v
}

// sharesMemory reports whether t and v are parts of the same Tasks.
func (t *Tasks) sharesMemory(v *Tasks) bool {
	return unsafe.SliceData(t.y) == unsafe.SliceData(v.y) &&
		unsafe.SliceData(t.x64) == unsafe.SliceData(v.x64) && unsafe.SliceData(t.x32) == unsafe.SliceData(v.x32)
}

func (t *Tasks) checkIndex(task, i int) {
	if uint(task) >= uint(len(t.rows)) || uint(i) >= uint(t.rows[task]) {
		panic(badIndex)
	}
}

// count adds up the samples. It returns false if their entries are more than maxNumbers.
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

// MaxAbs returns the largest absolute values of the features and of the responses, 0
// if there are none and NaN if one of them is NaN. The first call of it or of SquareSums
// reads the samples; tasks that differ by WithResponses share what it found.
func (t *Tasks) MaxAbs() (x, y float64) {
	for task := range t.rows {
		y = max(y, tile.MaxAbs(t.Y(task)))
	}
	return t.size.of(t).largest, y
}

// SquareSums returns the sums of x^2 over all features of all samples and of y^2 over all
// responses, which may overflow or underflow. It reads the samples as MaxAbs does.
func (t *Tasks) SquareSums() (x, y float64) {
	for task := range t.rows {
		s := 0.0
		for _, v := range t.Y(task) {
			s += v * v
		}
		y += s
	}
	return t.size.of(t).squares, y
}

// A size is what one pass over the samples of Tasks finds, made when it is first needed.
type size struct {
	once             sync.Once
	largest, squares float64
}

func (s *size) of(t *Tasks) *size {
	s.once.Do(func() {
		defer t.keep()
		for task := range t.rows {
			var largest, squares float64
			if t.storage == Float32 {
				largest, squares = tile.Size(rowsOf(t, t.x32, task))
			} else {
				largest, squares = tile.Size(rowsOf(t, t.x64, task))
			}
			s.largest, s.squares = max(s.largest, largest), s.squares+squares
		}
	})
	return s
}

// rowsOf returns the samples of a task out of x, the samples of all, with their padding.
func rowsOf[F tile.Float](t *Tasks, x []F, task int) []F {
	t.ahead(task)
	return x[t.first[task]*t.stride:][:t.rows[task]*t.stride]
}

// Sweep reads the given one of equal parts of the packed samples from memory, once
// and as fast as this machine can, and does nothing else: no step takes less time
// than a sweep over all parts by as many workers. A machine may be faster in one
// stream through memory or in several: four selects four. The result only keeps
// the reading from being optimised away.
//
// Measuring the ceiling on the samples themselves matters where they just fit in a
// cache: a second buffer would push them out.
func (t *Tasks) Sweep(part, parts int, four bool) float64 {
	if part < 0 || part >= parts {
		panic(badPart)
	}
	defer t.keep()
	x := t.x64
	if t.storage == Float32 {
		x = unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(t.x32))), len(t.x32)/2)
	}
	x = x[part*len(x)/parts : (part+1)*len(x)/parts]
	return tile.ReadSum(x, four)
}

// MulTransposed computes v = X_t' e for the n_t samples of a task. v gets
// dense.Pad(d) entries, the last of which are zero.
func (t *Tasks) MulTransposed(v []float64, task int, e []float64) {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	if len(e) < t.rows[task] || len(v) < dense.Pad(t.d) {
		panic(badRow)
	}
	defer t.keep()
	var x samples
	x.take(t, task, 1, nil)
	x.mulTransposed(v, e)
}

// GramProduct computes G = sum_t X_t' X_t U over all samples of all tasks without
// forming X_t' X_t. With theta_1, theta_2, ... as the samples it is the product
// Theta Theta' U of the power iteration (Alg. 2, line 11). g must not be u. It
// allocates a workspace if ws is nil, and nothing otherwise.
func (t *Tasks) GramProduct(g, u *Basis, ws *Workspace) {
	if g == u {
		panic(aliased)
	}
	if g == nil || u == nil || u.d != t.d || g.d != t.d || g.r != u.r {
		panic(badGroup)
	}
	if ws == nil {
		ws = NewWorkspace(t.maxRows, u.d, u.r)
	}
	if (ws.maxSamples == 0 && t.maxRows > 0) || !ws.fits(0, u.d, u.r) {
		panic(badWorkspace)
	}
	u.clearPadding()
	clear(g.data)
	defer t.keep()
	ws.begin()
	ws.load(u)
	var rows samples
	for task := range t.rows {
		for i := 0; i < t.rows[task]; i += ws.maxSamples {
			rows.slice(t, task, i, min(i+ws.maxSamples, t.rows[task]), u.r, ws.schedule)
			rows.mulBasis(ws, u)
			next := rows.gradientNext.Next
			for j := range u.r {
				rows.mulTransposed(ws.v, ws.a[j*ws.lda:])
				rows.gradientNext.Next = 0 // once is enough
				gj := g.data[j*g.stride:][:dense.Pad(t.d)]
				for k, v := range ws.v[:len(gj)] {
					gj[k] += v
				}
			}
			rows.gradientNext.Next = next
		}
	}
}
