package dataset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
)

// AssignBlocks puts the tasks on l nodes named "0", "1", ..., in contiguous blocks
// as even as possible.
func (t *Table) AssignBlocks(l int) error {
	if l <= 0 {
		return fmt.Errorf("the number of nodes is %d: need at least 1", l)
	}
	if l > len(t.tasks.list) {
		return fmt.Errorf("%d nodes for %d tasks: node %d would have no tasks", l, len(t.tasks.list), len(t.tasks.list))
	}
	of := make([]int, len(t.tasks.list))
	for k := range of {
		of[k] = k * l / len(of)
	}
	return t.Assign(text.Numbered("", l), of)
}

// AssignNode puts all tasks on one node of the given name.
func (t *Table) AssignNode(name string) error {
	return t.Assign([]string{name}, make([]int, len(t.tasks.list)))
}

// Assign puts task k on the node nodes[of[k]], and forgets where tasks were. Every node must
// get a task.
func (t *Table) Assign(nodes []string, of []int) error {
	if len(of) != len(t.tasks.list) {
		return fmt.Errorf("%d tasks are to be on nodes: the table has %d", len(of), len(t.tasks.list))
	}
	if name, twice := firstDuplicate(nodes); twice {
		return fmt.Errorf("node %q is there twice", name)
	}
	tasks := make([]int, len(nodes))
	for k, g := range of {
		if g < 0 || g >= len(nodes) {
			return fmt.Errorf("task %q is on node %d: there are %d", t.tasks.list[k], g, len(nodes))
		}
		tasks[g]++
	}
	if g := slices.Index(tasks, 0); g >= 0 {
		return fmt.Errorf("node %q has no tasks", nodes[g])
	}
	t.nodes = names{}
	for _, name := range nodes {
		if err := checkName(name); err != nil {
			return err
		}
		t.nodes.number(name)
	}
	for k, g := range of {
		t.places[k].node = int32(g)
	}
	return nil
}

// A Layout says which tasks of a table live on which node: Layout[g][i] is the
// table's number of task i of node g.
type Layout [][]int

// Layout returns the tasks of every node in ascending order. Every task must have
// a node, and every node a task.
func (t *Table) Layout() (Layout, error) {
	l := make(Layout, len(t.nodes.list))
	for k, at := range t.places {
		if at.node < 0 {
			return nil, fmt.Errorf("task %q is on no node", t.tasks.list[k])
		}
		l[at.node] = append(l[at.node], k)
	}
	for g, tasks := range l {
		if len(tasks) == 0 {
			return nil, fmt.Errorf("node %q has no tasks", t.nodes.list[g])
		}
	}
	return l, nil
}

// Pack copies rows of the table into the packed tasks of every node, in the order of the
// table within a task: row i where rows[i] is set, or all rows if rows is nil.
// For every one of them, fill sets the features of the packed sample and returns
// its response; nil copies the row. Rows of tasks that the layout lacks are left out.
// Samples of a table that is on disk (TableOptions.Folder) are packed there: an error says
// that it is full, or what does not fit the table.
func (t *Table) Pack(l Layout, rows []bool, features int, fill func(x []float64, row int) (y float64)) ([]*kernel.Tasks, error) {
	switch {
	case features < 1 || fill == nil && features != len(t.features):
		return nil, fmt.Errorf("samples of %d features cannot be packed: the table has %d", features, len(t.features))
	case rows != nil && len(rows) != t.Rows():
		return nil, fmt.Errorf("which rows to pack is said of %d: the table has %d", len(rows), t.Rows())
	case fill == nil && !t.target:
		return nil, errors.New("the table has no target column")
	case fill == nil:
		fill = func(x []float64, row int) float64 { t.X(x, row); return t.y[row] }
	}
	type sample struct{ node, task, next int } // of a task: its place, -1 for none, and that of its next row
	at, n := slices.Repeat([]sample{{node: -1}}, len(t.tasks.list)), t.Samples(rows)
	builders := make([]*kernel.Builder, len(l))
	for g, tasks := range l {
		samples := make([]int, len(tasks))
		for i, k := range tasks {
			switch {
			case k < 0 || k >= len(at):
				return nil, fmt.Errorf("node %d of the layout has task %d: there are %d", g, k, len(at))
			case at[k].node >= 0:
				return nil, fmt.Errorf("task %q is on nodes %d and %d of the layout", t.tasks.list[k], at[k].node, g)
			}
			at[k], samples[i] = sample{node: g, task: i}, n[k]
		}
		var err error
		if builders[g], err = kernel.NewBuilderOnDisk(t.folder, features, samples, t.storage); err != nil {
			return nil, err
		}
	}
	x := make([]float64, features)
	for row, k := range t.task {
		if to := &at[k]; (rows == nil || rows[row]) && to.node >= 0 {
			y := fill(x, row)
			builders[to.node].SetRow(to.task, to.next, x, y)
			to.next++
		}
	}
	out := make([]*kernel.Tasks, len(l))
	for g, b := range builders {
		out[g] = b.Tasks()
	}
	return out, nil
}
