package dataset

import (
	"runtime/debug"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// releaseBytes is how much memory has to be free before the system gets it back,
// which takes a garbage collection.
const releaseBytes = 16 << 20

// PackAndRelease is Pack for tables that fit in memory once, but not twice: while it
// fills the packed tasks it gives the memory of the table's features back, so that
// the sum never exceeds the larger of the two by much. The rows that are not chosen
// are packed as well, in others; nil rows choose all, and others is nil. Afterwards
// the table still has targets, tasks and nodes, but X must not be called, and panics.
//
// The table must not be used by other goroutines meanwhile, and fill must ask X for
// no other row than the one that it is called with.
func (t *Table) PackAndRelease(l Layout, rows []bool, features int, fill func(x []float64, row int) (y float64)) (chosen, others []*kernel.Tasks) {
	order := t.packingOrder(l)
	t.sortRows(order)
	debug.FreeOSMemory() // what was left over before
	packers := []*packer{t.newPacker(l, rows, features, fill)}
	if rows != nil {
		rest := make([]bool, len(rows))
		for i, on := range rows {
			rest[i] = !on
		}
		packers = append(packers, t.newPacker(l, rest, features, fill))
	}
	freed, held := 0, 0
	for s, i := range order {
		for _, p := range packers {
			if p.has(int(i)) {
				p.pack(int(i))
			}
		}
		n := t.x.release(s + 1)
		held += n
		if freed += n; freed >= max(releaseBytes, held/32) {
			debug.FreeOSMemory()
			freed = 0
		}
	}
	t.released = true
	if rows != nil {
		others = packers[1].tasks()
	}
	return packers[0].tasks(), others
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
