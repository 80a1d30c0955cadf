package mixed

import (
	"math"
	"slices"
)

// Repeats returns the tasks of a table whose rows are those that the model has learned of them, and no other
// ones. With Adapt they would count twice. Rows of weight 0 count as absent.
func (m *Model) Repeats(t Table) (tasks []string) {
	if isNoTable(t) || !slices.Equal(t.Features(), m.features) || !t.HasTarget() || m.p.Tasks.Digests == nil {
		return nil
	}
	rows := make([][]int, len(t.Tasks()))
	for i := range t.Rows() {
		rows[t.Task(i)] = append(rows[t.Task(i)], i)
	}
	for k, name := range t.Tasks() {
		at, known := m.index[name]
		list := presentRows(t, rows[k])
		if known && len(list) > 0 && len(list) == m.p.Tasks.Samples[at] &&
			digestOf(t, list) == m.p.Tasks.Digests[at] {
			tasks = append(tasks, name)
		}
	}
	return tasks
}

// digestOf returns the sum of the digests of rows.
func digestOf(t Table, rows []int) (sum uint32) {
	x := make([]float64, len(t.Features()))
	for _, i := range rows {
		sum += digest(t.X(x, i), t.Y(i))
	}
	return sum
}

// digest returns a hash of a row: FNV-1a over the bits of its numbers, NaN all alike.
func digest(x []float64, y float64) uint32 {
	h := uint64(14695981039346656037)
	add := func(v float64) {
		bits := math.Float64bits(v + 0) // -0 becomes 0
		if math.IsNaN(v) {
			bits = 1
		}
		for range 8 {
			h = (h ^ bits&0xff) * 1099511628211
			bits >>= 8
		}
	}
	for _, v := range x {
		add(v)
	}
	add(y)
	return uint32(h ^ h>>32)
}
