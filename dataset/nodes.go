package dataset

import (
	"fmt"
	"strconv"

	"github.com/difalt/difalt/kernel"
)

// AssignBlocks puts the tasks on l nodes named "0", "1", ..., in contiguous blocks
// as even as possible.
func (t *Table) AssignBlocks(l int) error {
	if l <= 0 {
		return fmt.Errorf("the number of nodes is %d: need at least 1", l)
	}
	if l > len(t.tasks) {
		return fmt.Errorf("%d nodes for %d tasks: node %d would have no tasks", l, len(t.tasks), len(t.tasks))
	}
	t.nodes, t.nodeIndex = nil, map[string]int{}
	for g := range l {
		t.addNode(strconv.Itoa(g))
	}
	for k := range t.tasks {
		t.nodeOf[k] = k * l / len(t.tasks)
	}
	return nil
}

// A Layout says which tasks of a table live on which node: Layout[g][i] is the
// table's number of task i of node g.
type Layout [][]int

// Layout returns the tasks of every node in ascending order. Every task must have
// a node, and every node a task.
func (t *Table) Layout() (Layout, error) {
	l := make(Layout, len(t.nodes))
	for k, g := range t.nodeOf {
		if g < 0 {
			return nil, fmt.Errorf("task %q is on no node", t.tasks[k])
		}
		l[g] = append(l[g], k)
	}
	for g, tasks := range l {
		if len(tasks) == 0 {
			return nil, fmt.Errorf("node %q has no tasks", t.nodes[g])
		}
	}
	return l, nil
}

// Pack copies the chosen rows of the table into the packed tasks of every node, in
// the order of the table within a task. rows[i] chooses row i, and nil all rows.
// For every chosen row, fill sets the features of the packed sample and returns
// its response; nil copies the row.
func (t *Table) Pack(l Layout, rows []bool, features int, fill func(x []float64, row int) (y float64)) []*kernel.Tasks {
	if fill == nil {
		fill = func(x []float64, row int) float64 { t.X(x, row); return t.y[row] }
	}
	type place struct{ node, task int }
	at := make([]place, len(t.tasks))
	n := t.Samples(rows)
	builders := make([]*kernel.Builder, len(l))
	for g, tasks := range l {
		samples := make([]int, len(tasks))
		for i, k := range tasks {
			at[k] = place{g, i}
			samples[i] = n[k]
		}
		builders[g] = kernel.NewBuilder(features, samples, t.storage)
	}
	next := make([]int, len(t.tasks))
	x := make([]float64, features)
	for i, k := range t.task {
		if rows != nil && !rows[i] {
			continue
		}
		y := fill(x, i)
		builders[at[k].node].SetRow(at[k].task, next[k], x, y)
		next[k]++
	}
	out := make([]*kernel.Tasks, len(l))
	for g, b := range builders {
		out[g] = b.Tasks()
	}
	return out
}
