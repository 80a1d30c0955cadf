package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/kernel"
)

// A Table holds samples of many tasks: for every row the features x, the target y and the
// task. Tasks are numbered in the order of their first rows. Several goroutines may read a
// table; Append needs exclusive use.
type Table struct {
	schema   schema.Schema
	features []string
	ranks    [][]int32 // rank of each code of a categorical column, nil for numbers; nil if all are numbers
	x        *chunks   // stored columns: numbers and codes of levels
	y        []float64 // nil without targets
	target   bool
	task     []int32 // of every row
	tasks    names
	weights  []float64 // nil without a column of weights
	held     []bool    // nil without a column of marks
	reading
}

// A reading describes how files became a table.
type reading struct {
	missing []int // missing values of every feature column; nil without files
	dropped int   // rows
	notes   []string
}

// NewTable returns an empty table with the given features. Its rows have targets if target
// is set.
func NewTable(features []string, target bool) (*Table, error) {
	if len(features) == 0 {
		return nil, fmt.Errorf("the table has no feature columns")
	}
	if name, twice := firstDuplicate(features); twice {
		return nil, fmt.Errorf("column %q occurs twice", name)
	}
	t := &Table{x: newChunks(len(features)), target: target}
	t.schema.Columns = slices.Clone(features)
	t.features = t.schema.Columns
	return t, nil
}

// Append adds a row of a table from NewTable: a copy of the features x, and the target y,
// which is ignored in a table without targets. An empty task name, a wrong number of
// features, and numbers that are not finite or above 1e150 are errors.
func (t *Table) Append(task string, x []float64, y float64) error {
	row := t.Rows() + 1
	if t.missing != nil {
		return fmt.Errorf("row %d cannot be added to a table that was read from files", row)
	}
	if len(x) != len(t.features) {
		return fmt.Errorf("row %d has %d features, the table %d", row, len(x), len(t.features))
	}
	for j, v := range x {
		if why := refusal(v); why != "" {
			return fmt.Errorf("row %d, column %q: "+why, row, t.features[j], v)
		}
	}
	if why := refusal(y); t.target && why != "" {
		return fmt.Errorf("row %d, target: "+why, row, y)
	}
	if err := t.add(task, x, y); err != nil {
		return fmt.Errorf("row %d: %w", row, err)
	}
	return nil
}

// add appends a row of checked numbers.
func (t *Table) add(task string, x []float64, y float64) error {
	k, err := t.tasks.of(task)
	if err != nil {
		return fmt.Errorf("task %w", err)
	}
	t.task = append(t.task, int32(k))
	if t.target {
		t.y = append(t.y, y)
	}
	t.x.add(x)
	return nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.task) }

// Features returns the names of the features. The slice aliases the table.
func (t *Table) Features() []string { return t.features }

// Tasks returns the names of the tasks. The slice aliases the table.
func (t *Table) Tasks() []string { return t.tasks.list }

// HasTarget reports whether the rows have targets.
func (t *Table) HasTarget() bool { return t.target }

// Task returns the number of the task of a row.
func (t *Table) Task(row int) int { return int(t.task[row]) }

// Y returns the target of a row of a table with targets.
func (t *Table) Y(row int) float64 { return t.y[row] }

// X copies the features of a row to dst, which has room for all, and returns them.
// Missing values are NaN, in every level of a categorical column.
func (t *Table) X(dst []float64, row int) []float64 {
	dst = dst[:len(t.features)]
	copy(dst, t.x.row(row))
	if t.ranks != nil {
		expand(dst, t.ranks)
	}
	return dst
}

// Schema returns the columns and levels of the features, for TableOptions.Schema. Its
// slices alias the table.
func (t *Table) Schema() *schema.Schema { return &t.schema }

// Weights returns the weight of every row, or nil without TableOptions.Weight. The slice
// aliases the table.
func (t *Table) Weights() []float64 { return t.weights }

// Notes returns a sentence for each file that was not plain CSV: its delimiter, encoding,
// unnamed columns, and columns of dates and truth values. The slice aliases the table.
func (t *Table) Notes() []string { return slices.Clip(t.notes) }

// Dropped returns the number of rows of the files that were left out because they lack values.
func (t *Table) Dropped() int { return t.dropped }

// A MissingCount is the number of missing values of a feature column.
type MissingCount struct {
	Column string
	Rows   int
}

// Missing counts missing values by feature column. It is nil without any: only tables read
// with MissingKeep contain some.
func (t *Table) Missing() []MissingCount {
	var list []MissingCount
	for j, n := range t.missing {
		if n > 0 {
			list = append(list, MissingCount{t.schema.Columns[j], n})
		}
	}
	return list
}

// Samples returns the number of rows of every task, counting those with rows[i] set; nil
// counts all.
func (t *Table) Samples(rows []bool) []int {
	n := make([]int, len(t.tasks.list))
	for i, k := range t.task {
		if rows == nil || rows[i] {
			n[k]++
		}
	}
	return n
}

// Pack returns the samples of all tasks in the order of the table: row i where rows[i] is
// set, or all rows if rows is nil. For each, fill writes the features of the packed sample
// to x, whose length is features, and returns the response. Tasks without rows have 0
// samples. The result shares no memory with the table.
func (t *Table) Pack(rows []bool, features int, fill func(x []float64, row int) (y float64)) (*kernel.Tasks, error) {
	if features < 1 || rows != nil && len(rows) != t.Rows() {
		return nil, fmt.Errorf("cannot pack %d features of %d rows: the table has %d rows", features, len(rows), t.Rows())
	}
	b := kernel.NewBuilder(features, t.Samples(rows), kernel.Float64)
	next := make([]int, len(t.tasks.list))
	x := make([]float64, features)
	for row, k := range t.task {
		if rows == nil || rows[row] {
			y := fill(x, row)
			b.SetRow(int(k), next[k], x, y)
			next[k]++
		}
	}
	return b.Tasks(), nil
}

// largest bounds the absolute value of a number: the squares of 10^8 such numbers add up
// to a float64.
const largest = 1e150

// refusal returns why a number is refused, as a format for the number; empty if it is not.
func refusal(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "the value is %v"
	case math.Abs(v) > largest:
		return "%v is too large: the largest is 1e150"
	}
	return ""
}

// names are numbered in order of appearance.
type names struct {
	list  []string
	index map[string]int // built at the first look-up
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

// of returns the number of a name. A new one is checked, copied and numbered.
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

// number returns the number of a name; a new one is copied and numbered.
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

// checkName refuses names that are empty, not UTF-8, or contain a zero byte.
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

// clipped bounds the bytes of a cell in a message.
const clipped = 40

// clip shortens a cell for a message.
func clip(s string) string {
	if len(s) > clipped {
		return s[:clipped] + "..."
	}
	return s
}
