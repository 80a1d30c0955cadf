package kernel

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// A Builder copies the samples of tasks, row by row, into their layout. It starts with tasks without samples
// (NewBuilder) or with other Tasks (Tasks.Edit), appends, extends, replaces and drops tasks, and ends with
// Tasks.
type Builder struct {
	d, stride int
	storage   Storage
	tasks     []block
	total     int
	whole     *Tasks // what the blocks are parts of, in order; nil if they are not
	done      bool
}

// A block holds the rows of one task of a Builder.
type block struct {
	rows, stride int
	x64          []float64
	x32          []float32
	y            []float64
	weights      []float64 // nil if all are 1
	merged       int       // samples that Compressed has replaced by fewer rows: how many fewer
	immutable    bool      // a part of Tasks: it is copied before it is written
}

// NewBuilder starts tasks with the given number of features and samples[t] rows in task t. Rows that are
// never set stay zero.
func NewBuilder(features int, samples []int, storage Storage) *Builder {
	if features > maxNumbers {
		panic(tooLarge)
	}
	if features <= 0 {
		panic(badTasks)
	}
	if storage != Float64 && storage != Float32 {
		panic(badStorage)
	}
	b := &Builder{d: features, stride: tile.Stride(features), storage: storage}
	for _, n := range samples {
		b.grow(n, 0)
	}
	b.whole = newTasks(features, samples, storage)
	for t := range samples {
		k := b.whole.block(t)
		k.immutable = false
		b.tasks = append(b.tasks, k)
	}
	return b
}

// Edit starts a Builder with the tasks of t, which stay as they are. Builder.Tasks copies their rows.
func (t *Tasks) Edit() *Builder {
	b := &Builder{d: t.d, stride: tile.Stride(t.d), storage: t.storage, total: t.total}
	for task := range t.rows {
		b.tasks = append(b.tasks, t.block(task))
	}
	return b
}

// Append adds a task with the given number of rows, which are zero until they are set, and returns its
// number.
func (b *Builder) Append(samples int) (task int) {
	b.mustBeOpen()
	b.grow(samples, 0)
	b.whole = nil
	b.tasks = append(b.tasks, b.newBlock(samples))
	return len(b.tasks) - 1
}

// Extend adds rows to task t, which are zero until they are set, and returns the number of the first of them.
func (b *Builder) Extend(t, samples int) (first int) {
	b.mustHave(t)
	b.grow(samples, 0)
	b.whole = nil
	old := b.tasks[t]
	b.tasks[t] = b.copyOf(old, old.rows+samples)
	return old.rows
}

// Replace gives task t the given number of rows, which are zero until they are set, instead of its old rows.
func (b *Builder) Replace(t, samples int) {
	b.mustHave(t)
	b.grow(samples, b.tasks[t].rows)
	b.whole = nil
	b.tasks[t] = b.newBlock(samples)
}

// Drop removes task t. The numbers of later tasks become smaller by one.
func (b *Builder) Drop(t int) {
	b.mustHave(t)
	b.grow(0, b.tasks[t].rows)
	b.whole = nil
	b.tasks = slices.Delete(b.tasks, t, t+1)
}

// SetRow copies sample i of task t: its features x and its response y. It panics if x has a finite number
// that is beyond the range of Float32 storage.
func (b *Builder) SetRow(t, i int, x []float64, y float64) { b.SetWeightedRow(t, i, x, y, 1) }

// SetWeightedRow does SetRow for a sample of the given weight; see Tasks.Weighted. It panics if the weight is
// negative or not finite, or if its root times a finite number is not finite.
func (b *Builder) SetWeightedRow(t, i int, x []float64, y, weight float64) {
	b.mustHave(t)
	if uint(i) >= uint(b.tasks[t].rows) {
		panic(badIndex)
	}
	if len(x) != b.d {
		panic(badRow)
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		panic(badWeight)
	}
	root := math.Sqrt(weight)
	if !b.storage.holds(x, root) || !Float64.holds([]float64{y}, root) {
		panic(beyondStorage)
	}
	b.set(t, i, x, y, root, weight)
}

// set stores root times sample i of task t, which are checked, and its weight.
func (b *Builder) set(t, i int, x []float64, y, root, weight float64) {
	k := &b.tasks[t]
	if k.immutable {
		*k = b.copyOf(*k, k.rows)
	}
	if weight != 1 && k.weights == nil {
		k.weights = slices.Repeat([]float64{1}, k.rows)
	}
	if k.weights != nil {
		k.weights[i] = weight
	}
	k.y[i] = root * y
	at := i * k.stride
	switch {
	case b.storage == Float32:
		dst := k.x32[at:][:b.d]
		for j, v := range x {
			dst[j] = float32(root * v)
		}
	case root == 1:
		copy(k.x64[at:][:b.d], x)
	default:
		dst := k.x64[at:][:b.d]
		for j, v := range x {
			dst[j] = root * v
		}
	}
}

// holds reports whether root times every finite number of x is finite in the storage.
func (s Storage) holds(x []float64, root float64) bool {
	if s == Float64 && root <= 1 {
		return true
	}
	for _, v := range x {
		scaled := root * v
		if s == Float32 {
			scaled = float64(float32(scaled))
		}
		if math.IsInf(scaled, 0) && !math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Tasks returns the packed tasks, without the rows of weight 0. The builder must not be used afterwards.
func (b *Builder) Tasks() *Tasks {
	b.mustBeOpen()
	b.done = true
	samples, weighted, merged := make([]int, len(b.tasks)), false, false
	for t := range b.tasks {
		k := &b.tasks[t]
		weighted = weighted || k.weights != nil
		samples[t] = k.present()
		merged = merged || k.merged > 0
	}
	packed := b.whole
	if packed == nil || weighted {
		packed = newTasks(b.d, samples, b.storage)
		if weighted {
			packed.weights = make([]float64, packed.total)
		}
		for t := range b.tasks {
			to := packed.block(t)
			to.take(&b.tasks[t], b.d)
		}
	}
	if merged {
		packed.before = samples
		for t, k := range b.tasks {
			packed.before[t] += k.merged
		}
	}
	b.tasks, b.whole = nil, nil
	return packed
}

// take copies the rows of from that have a positive weight. Both blocks have one storage.
func (k *block) take(from *block, d int) {
	row := 0
	for i := range from.rows {
		weight := 1.0
		if from.weights != nil {
			weight = from.weights[i]
		}
		if weight == 0 {
			continue
		}
		if k.weights != nil {
			k.weights[row] = weight
		}
		k.y[row] = from.y[i]
		if k.x32 != nil {
			copy(k.x32[row*k.stride:][:d], from.x32[i*from.stride:])
		} else {
			copy(k.x64[row*k.stride:][:d], from.x64[i*from.stride:])
		}
		row++
	}
}

// present returns the number of rows with a positive weight.
func (k *block) present() int {
	n := k.rows
	for _, w := range k.weights {
		if w == 0 {
			n--
		}
	}
	return n
}

// newBlock returns a block of zeros.
func (b *Builder) newBlock(samples int) block {
	k := block{rows: samples, stride: b.stride, y: make([]float64, samples)}
	if b.storage == Float32 {
		k.x32 = make([]float32, samples*b.stride)
	} else {
		k.x64 = make([]float64, samples*b.stride)
	}
	return k
}

// copyOf returns a copy of a block with the given number of rows, not fewer. Rows of weight 0 stay.
func (b *Builder) copyOf(k block, rows int) block {
	c, d := b.newBlock(rows), b.d
	c.merged = k.merged
	if k.weights != nil {
		c.weights = slices.Repeat([]float64{1}, rows)
		copy(c.weights, k.weights)
	}
	copy(c.y, k.y)
	for i := range k.rows {
		if b.storage == Float32 {
			copy(c.x32[i*c.stride:][:d], k.x32[i*k.stride:])
		} else {
			copy(c.x64[i*c.stride:][:d], k.x64[i*k.stride:])
		}
	}
	return c
}

// grow replaces a number of samples in the total by another. It panics if that is negative, or if the total
// is beyond the memory of any machine.
func (b *Builder) grow(samples, instead int) {
	if samples < 0 {
		panic(badTasks)
	}
	if samples > maxNumbers/b.stride-(b.total-instead) {
		panic(tooLarge)
	}
	b.total += samples - instead
}

func (b *Builder) mustBeOpen() {
	if b.done || b.d == 0 {
		panic(builderDone)
	}
}

func (b *Builder) mustHave(t int) {
	b.mustBeOpen()
	if uint(t) >= uint(len(b.tasks)) {
		panic(badIndex)
	}
}
