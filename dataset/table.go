package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// A Table holds samples of many tasks: for every row the features x, the target y,
// and the task that it belongs to. Tasks and nodes have names, and numbers in
// order of first appearance. A Table may be read by several goroutines at once.
type Table struct {
	features []string
	storage  kernel.Storage
	x64      []float64 // row-major
	x32      []float32 // the same, if storage is Float32
	y        []float64
	target   bool
	task     []int32 // of every row
	line     []int32 // of every row, 0 if it has none

	tasks     []string
	taskIndex map[string]int
	nodeOf    []int // of every task, -1 while it has none
	firstLine []int32
	nodes     []string
	nodeIndex map[string]int
}

// NewTable returns an empty table with the given features, whose entries are kept
// as float64 or float32. The rows have targets if target is set.
func NewTable(features []string, target bool, storage kernel.Storage) (*Table, error) {
	if len(features) == 0 {
		return nil, fmt.Errorf("the table has no feature columns")
	}
	seen := map[string]bool{}
	for _, f := range features {
		if seen[f] {
			return nil, fmt.Errorf("column %q is there twice", f)
		}
		seen[f] = true
	}
	return &Table{
		features: slices.Clone(features), storage: storage, target: target,
		taskIndex: map[string]int{}, nodeIndex: map[string]int{},
	}, nil
}

// Append adds a row: features x, which are copied, and target y, which is ignored
// if the table has none. A row with an empty node leaves its task where it is;
// otherwise all rows of a task must name the same node.
func (t *Table) Append(task, node string, x []float64, y float64) error {
	return t.append(0, task, node, x, y)
}

func (t *Table) append(line int, task, node string, x []float64, y float64) error {
	where := func() string {
		if line > 0 {
			return fmt.Sprintf("line %d", line)
		}
		return fmt.Sprintf("row %d", t.Rows()+1)
	}
	if len(x) != len(t.features) {
		return fmt.Errorf("%s has %d features, the table %d", where(), len(x), len(t.features))
	}
	for j, v := range x {
		if !finite(v) {
			return fmt.Errorf("%s, column %q: the value is %v", where(), t.features[j], v)
		}
		if t.storage == kernel.Float32 && !finite(float64(float32(v))) {
			return fmt.Errorf("%s, column %q: %v is too large for float32", where(), t.features[j], v)
		}
	}
	if t.target && !finite(y) {
		return fmt.Errorf("%s: the target is %v", where(), y)
	}
	k, known := t.taskIndex[task]
	if !known {
		k = t.addTask(task)
		t.firstLine[k] = int32(line)
	}
	if node != "" {
		g := t.addNode(node)
		if was := t.nodeOf[k]; was >= 0 && was != g {
			return fmt.Errorf("%s: task %q is on node %q here and on node %q before (line %d)", where(), task, node, t.nodes[was], t.firstLine[k])
		}
		t.nodeOf[k] = g
	}
	t.task = append(t.task, int32(k))
	t.line = append(t.line, int32(line))
	if t.target {
		t.y = append(t.y, y)
	}
	if t.storage == kernel.Float32 {
		for _, v := range x {
			t.x32 = append(t.x32, float32(v))
		}
		return nil
	}
	t.x64 = append(t.x64, x...)
	return nil
}

func (t *Table) addTask(name string) int {
	k := len(t.tasks)
	t.tasks = append(t.tasks, name)
	t.taskIndex[name] = k
	t.nodeOf = append(t.nodeOf, -1)
	t.firstLine = append(t.firstLine, 0)
	return k
}

func (t *Table) addNode(name string) int {
	if g, ok := t.nodeIndex[name]; ok {
		return g
	}
	g := len(t.nodes)
	t.nodes = append(t.nodes, name)
	t.nodeIndex[name] = g
	return g
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.task) }

// Features returns the names of the features. The slice aliases the table.
func (t *Table) Features() []string { return t.features }

// Tasks returns the names of the tasks. The slice aliases the table.
func (t *Table) Tasks() []string { return t.tasks }

// TaskIndex returns the number of the task of the given name.
func (t *Table) TaskIndex(name string) (int, bool) {
	k, ok := t.taskIndex[name]
	return k, ok
}

// Nodes returns the names of the nodes, which are none until tasks are assigned.
// The slice aliases the table.
func (t *Table) Nodes() []string { return t.nodes }

// Node returns the node of a task, or -1 if it has none.
func (t *Table) Node(task int) int { return t.nodeOf[task] }

// Storage returns how the features are kept.
func (t *Table) Storage() kernel.Storage { return t.storage }

// HasTarget reports whether the rows have targets.
func (t *Table) HasTarget() bool { return t.target }

// Task returns the task of a row.
func (t *Table) Task(row int) int { return int(t.task[row]) }

// Line returns the line of the file that a row came from, or 0.
func (t *Table) Line(row int) int { return int(t.line[row]) }

// Y returns the target of a row of a table that has targets.
func (t *Table) Y(row int) float64 { return t.y[row] }

// X copies the features of a row to dst, which needs one entry a feature, and
// returns dst.
func (t *Table) X(dst []float64, row int) []float64 {
	d := len(t.features)
	dst = dst[:d]
	if t.storage == kernel.Float32 {
		for j, v := range t.x32[row*d:][:d] {
			dst[j] = float64(v)
		}
		return dst
	}
	copy(dst, t.x64[row*d:][:d])
	return dst
}

// Samples returns the number of rows of every task, counting only those with
// rows[i] set; nil counts all.
func (t *Table) Samples(rows []bool) []int {
	n := make([]int, len(t.tasks))
	for i, k := range t.task {
		if rows == nil || rows[i] {
			n[k]++
		}
	}
	return n
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
