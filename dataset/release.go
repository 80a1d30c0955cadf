package dataset

import (
	"runtime/debug"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// releaseBytes is how much memory has to be free before the system gets it back,
// which takes a garbage collection.
const releaseBytes = 64 << 20

// PackAndRelease is Pack for tables that fit in memory once, but not twice: while it
// fills the packed tasks it gives the memory of the table's features back, so that
// the sum never exceeds the larger of the two by much. Afterwards the table still has
// targets, tasks and nodes, but X must not be called, and panics. Rows that are not
// chosen are lost as well: pack or use them before.
//
// The table must not be used by other goroutines meanwhile, and fill must ask X for
// no other row than the one that it is called with.
func (t *Table) PackAndRelease(l Layout, rows []bool, features int, fill func(x []float64, row int) (y float64)) []*kernel.Tasks {
	order := t.packingOrder(l)
	t.sortRows(order)
	p := t.newPacker(l, rows, features, fill)
	freed := 0
	for s, i := range order {
		if p.has(int(i)) {
			p.pack(int(i))
		}
		if freed += t.x.release(s + 1); freed >= max(releaseBytes, p.bytes/16) {
			debug.FreeOSMemory()
			freed = 0
		}
	}
	t.released = true
	return p.tasks()
}

// packingOrder returns all rows in the order in which packed tasks hold them; rows
// of tasks that are not in the layout come last.
func (t *Table) packingOrder(l Layout) []int32 {
	samples, next := t.Samples(nil), make([]int, len(t.tasks))
	for k := range next {
		next[k] = -1
	}
	at := 0
	begin := func(k int) {
		if next[k] < 0 {
			next[k] = at
			at += samples[k]
		}
	}
	for _, tasks := range l {
		for _, k := range tasks {
			begin(k)
		}
	}
	for k := range next {
		begin(k)
	}
	order := make([]int32, t.Rows())
	for i, k := range t.task {
		order[next[k]] = int32(i)
		next[k]++
	}
	return order
}

// sortRows stores the features of the rows in the given order, in place: what is
// packed next is then what is stored next.
func (t *Table) sortRows(order []int32) {
	if t.slot == nil && slices.IsSorted(order) {
		return
	}
	slot := make([]int32, len(order))
	for s, i := range order {
		slot[i] = int32(s)
	}
	move := slices.Clone(slot)
	for i, from := range t.slot {
		move[from] = slot[i]
	}
	t.x.permute(move)
	t.slot = slot
}
