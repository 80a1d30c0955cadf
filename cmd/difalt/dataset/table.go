package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/kernel"
)

// A Table holds samples of many tasks: for every row the features x, the target y,
// and the task that it belongs to. Tasks and nodes have names, and numbers in
// order of first appearance. A Table may be read by several goroutines at once.
type Table struct {
	schema   schema.Schema
	features []string
	ranks    [][]int32 // of every stored column that of the codes of its levels, nil for numbers; nil if all are numbers
	x        store     // features
	storage  kernel.Storage
	folder   string // where features are in files, empty for memory
	target   bool
	y        []float64
	task     []int32 // of every row
	tasks    names
	places   []place // of every task
	nodes    names
	about    aboutRows
	reading
}

// A place says on which node a task lives, -1 for none, and on which line of a file it came
// first, 0 for none.
type place struct{ node, line int32 }

// A reading says what became of the files that a table was read from.
type reading struct {
	missing []int // rows without a value, of every feature column; nil if never counted
	dropped int   // rows
	assumed []Assumption
}

// NewTable returns an empty table with the given features, whose entries are kept
// as float64 or float32. The rows have targets if target is set.
func NewTable(features []string, target bool, storage kernel.Storage) (*Table, error) {
	return NewTableOnDisk("", features, target, storage)
}

// NewTableOnDisk is NewTable with the features in files in the given folder, as with
// TableOptions.Folder; an empty folder stands for memory.
func NewTableOnDisk(folder string, features []string, target bool, storage kernel.Storage) (*Table, error) {
	if len(features) == 0 {
		return nil, fmt.Errorf("the table has no feature columns")
	}
	if name, twice := firstDuplicate(features); twice {
		return nil, fmt.Errorf("column %q is there twice", name)
	}
	t := newTable(len(features), target, storage, folder)
	t.schema.Columns = slices.Clone(features)
	t.features = t.schema.Columns
	return t, nil
}

// newTable returns a table without names of features.
func newTable(width int, target bool, storage kernel.Storage, folder string) *Table {
	t := &Table{storage: storage, folder: folder, target: target}
	if storage == kernel.Float32 {
		t.x = newChunks[float32](width, folder)
	} else {
		t.x = newChunks[float64](width, folder)
	}
	return t
}

// Append adds a row: features x, which are copied, and target y, which is ignored
// if the table has none. A row with an empty node leaves its task where it is;
// otherwise all rows of a task must name the same node. An empty task is an error.
func (t *Table) Append(task, node string, x []float64, y float64) error {
	row := t.Rows() + 1
	if t.ranks != nil || t.about.given() {
		return fmt.Errorf("row %d cannot be added: only to a table of numbers without columns about rows", row)
	}
	if len(x) != len(t.features) {
		return fmt.Errorf("row %d has %d features, the table %d", row, len(x), len(t.features))
	}
	for j, v := range x {
		if why := refusal(v, t.storage == kernel.Float32); why != "" {
			return fmt.Errorf("row %d, column %q: "+why, row, t.features[j], v)
		}
	}
	if why := refusal(y, false); t.target && why != "" {
		return fmt.Errorf("row %d, target: "+why, row, y)
	}
	if err := t.begin(row, 0, task, node); err != nil {
		return err
	}
	if t.target {
		t.y = append(t.y, y)
	}
	return t.x.add(x)
}

// AddTask adds a task without rows. Tasks are numbered in the order in which they are added or
// their first rows appended. A task that is there already, and a name that is empty or not
// UTF-8, are errors.
func (t *Table) AddTask(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if t.tasks.number(name) < len(t.places) {
		return fmt.Errorf("task %q is there twice", name)
	}
	t.places = append(t.places, place{node: -1})
	return nil
}

// Fill sets the rows of a table that has none: row i belongs to the task number task[i] and has
// the target y[i]; the table keeps y. features is called once, and calls put with all features,
// in any order: runs of entries that are consecutive along the rows, whose first one is entry at
// of them all. An error of features ends Fill, and the table must then not be used.
func (t *Table) Fill(task []int, y []float64, features func(put func(at int, run []float64)) error) error {
	if t.Rows() > 0 || len(y) != len(task) {
		return fmt.Errorf("%d rows with %d targets cannot fill a table that has %d rows", len(task), len(y), t.Rows())
	}
	t.y, t.task = y, make([]int32, len(task))
	for i, k := range task {
		if k < 0 || k >= len(t.tasks.list) {
			return fmt.Errorf("row %d is of task %d: there are %d", i+1, k, len(t.tasks.list))
		}
		t.task[i] = int32(k)
	}
	if err := t.x.resize(len(task)); err != nil {
		return err
	}
	var beyond error
	err := features(func(at int, run []float64) {
		if n := len(task) * len(t.features); at < 0 || at > n-len(run) {
			beyond = fmt.Errorf("there are no %d entries from %d on in %d rows of %d features", len(run), at, len(task), len(t.features))
			return
		}
		t.x.put(at, run)
	})
	return cmp.Or(err, beyond)
}

// begin begins a row of a task, whose name it copies. row is its number in its file, and line that
// of its line, or 0.
func (t *Table) begin(row, line int, task, node string) error {
	complain := func(format string, args ...any) error {
		if line > 0 {
			return fmt.Errorf("line %d: "+format, append([]any{line}, args...)...)
		}
		return fmt.Errorf("row %d: "+format, append([]any{row}, args...)...)
	}
	k, err := t.tasks.of(task)
	if err != nil {
		return complain("task %w", err)
	}
	if k == len(t.places) {
		t.places = append(t.places, place{-1, int32(line)})
	}
	if node != "" {
		at := &t.places[k]
		g, err := t.nodes.of(node)
		if err != nil {
			return complain("node %w", err)
		}
		if at.node >= 0 && int(at.node) != g {
			return complain("task %q is on node %q here and on node %q before (line %d)", t.tasks.list[k], node, t.nodes.list[at.node], at.line)
		}
		at.node = int32(g)
	}
	t.task = append(t.task, int32(k))
	return nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.task) }

// Features returns the names of the features. The slice aliases the table.
func (t *Table) Features() []string { return t.features }

// Tasks returns the names of the tasks. The slice aliases the table.
func (t *Table) Tasks() []string { return t.tasks.list }

// Nodes returns the names of the nodes, which are none until tasks are assigned.
// The slice aliases the table.
func (t *Table) Nodes() []string { return t.nodes.list }

// Node returns the node of a task, or -1 if it has none.
func (t *Table) Node(task int) int { return int(t.places[task].node) }

// HasTarget reports whether the rows have targets.
func (t *Table) HasTarget() bool { return t.target }

// Task returns the task of a row.
func (t *Table) Task(row int) int { return int(t.task[row]) }

// Y returns the target of a row of a table that has targets.
func (t *Table) Y(row int) float64 { return t.y[row] }

// X copies the features of a row to dst, which needs one entry a feature, and
// returns dst. Missing values are NaN, that of a categorical column in all of its
// levels.
func (t *Table) X(dst []float64, row int) []float64 {
	dst = dst[:len(t.features)]
	t.x.get(dst, row)
	if t.ranks != nil {
		expand(dst, t.ranks)
	}
	return dst
}

// Schema returns how the columns of a file became the features: TableOptions.Schema
// reads other files to the same features. Its slices alias the table.
func (t *Table) Schema() *schema.Schema { return &t.schema }

// Storage returns how features are kept.
func (t *Table) Storage() kernel.Storage { return t.storage }

// Samples returns the number of rows of every task, counting only those with
// rows[i] set; nil counts all.
func (t *Table) Samples(rows []bool) []int {
	n := make([]int, len(t.tasks.list))
	for i, k := range t.task {
		if rows == nil || rows[i] {
			n[k]++
		}
	}
	return n
}

// largest is how large the absolute value of a number may be: the squares of 10^8 of them add up
// to a float64.
const largest = 1e150

// refusal says why a number of a table is refused, with %v for how it is written: it is not finite
// or too large, also for float32 if it is to be kept as one. It is empty for any other.
func refusal(v float64, single bool) string {
	switch {
	case !finite(v):
		return "the value is %v"
	case math.Abs(v) > largest:
		return "%v is too large: the largest is 1e150"
	case single && !fits(v):
		return "%v is too large for float32"
	}
	return ""
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// names are numbered in the order in which they come.
type names struct {
	list  []string
	index map[string]int // nil until somebody looks for a name
}

// numbers returns the numbers of all names.
func (n *names) numbers() map[string]int {
	if n.index == nil {
		n.index = make(map[string]int, len(n.list))
		for k, name := range n.list {
			n.index[name] = k
		}
	}
	return n.index
}

// of is number for a name that is checked if it is new.
func (n *names) of(name string) (k int, err error) {
	k, ok := n.numbers()[name]
	if !ok {
		if err := checkName(name); err != nil {
			return 0, err
		}
		k = n.number(name)
	}
	return k, nil
}

// number returns the number of a name, which it copies, for it may lie in the memory of a file,
// if it is a new one.
func (n *names) number(name string) int {
	if k, ok := n.numbers()[name]; ok {
		return k
	}
	k := len(n.list)
	n.list = append(n.list, strings.Clone(name))
	n.index[n.list[k]] = k
	return k
}

func firstDuplicate(list []string) (name string, twice bool) {
	var n names
	for i, name := range list {
		if n.number(name) < i {
			return name, true
		}
	}
	return "", false
}

// checkName refuses names that are empty, or that other programs, or a model file, would not show as
// they are.
func checkName(s string) error {
	if s == "" || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%q is not a name in UTF-8", clip(s))
	}
	return nil
}

// quoted lists names for a message, at most 20 of them.
func quoted(list []string) string {
	short := make([]string, min(len(list), 20))
	for i := range short {
		short[i] = clip(list[i])
	}
	if n := len(list) - len(short); n > 0 {
		return fmt.Sprintf("%q and %d more", short, n)
	}
	return fmt.Sprintf("%q", short)
}

// clipped is how many bytes of a cell a message shows.
const clipped = 40

// clip shortens a cell for a message.
func clip(s string) string {
	if len(s) > clipped {
		return s[:clipped] + "..."
	}
	return s
}
