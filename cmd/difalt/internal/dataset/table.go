package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/mixed"
)

// A Table holds samples of many tasks: for every row the features x, the target y and the task. Tasks are
// numbered in the order of their first rows. Several goroutines may read a table.
type Table struct {
	schema   mixed.Schema
	features []string
	widths   []int            // levels of every column, 0 for numbers; nil if all are numbers
	x        *chunks[float64] // stored columns: numbers, and places of levels in the schema
	y        *chunks[float64] // nil without targets
	task     *chunks[int32]   // of every row
	tasks    names
	weights  []float64 // nil without a column of weights
	held     []bool    // nil without a column of marks
	account
}

// An account lists how the files of a table were read.
type account struct {
	missing      []int    // missing values of every feature column
	dropped      int      // rows that lack values
	firstDropped string   // the place of the first of these
	absent       int      // rows of weight 0, which are not kept
	empty        int      // rows without any value
	notes        []string // how columns and rows were read
	remarks      []string // what looks wrong
	places       places   // the place of every row in its file
}

// add appends a row of checked numbers.
func (t *Table) add(task string, x []float64, y float64) error {
	k, err := t.tasks.of(task)
	if err != nil {
		return fmt.Errorf("task %w", err)
	}
	t.task.add(int32(k))
	if t.y != nil {
		t.y.add(y)
	}
	t.x.add(x...)
	return nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.task.rows }

// Features returns the names of the features. The slice aliases the table.
func (t *Table) Features() []string { return t.features }

// Tasks returns the names of the tasks. The slice aliases the table.
func (t *Table) Tasks() []string { return t.tasks.list }

// HasTarget reports whether the rows have targets.
func (t *Table) HasTarget() bool { return t.y != nil }

// Task returns the number of the task of a row.
func (t *Table) Task(row int) int { return int(t.task.row(row)[0]) }

// Y returns the target of a row of a table with targets.
func (t *Table) Y(row int) float64 { return t.y.row(row)[0] }

// X copies the features of a row to dst, which has room for all, and returns them. Missing values are NaN, in
// every level of a categorical column.
func (t *Table) X(dst []float64, row int) []float64 {
	dst = dst[:len(t.features)]
	copy(dst, t.x.row(row))
	expand(dst, t.widths)
	return dst
}

// expand puts the features of columns in place of their stored values at the front of dst: for a column of
// levels one for each level. Columns have the given widths, 0 for numbers; nil if all are numbers.
func expand(dst []float64, widths []int) {
	end := len(dst)
	// From the back: features of a column never start before the place where the column is stored.
	for s, width := range slices.Backward(widths) {
		v := dst[s]
		if width == 0 {
			end--
			dst[end] = v
			continue
		}
		end -= width
		for j := range width {
			switch {
			case math.IsNaN(v):
				dst[end+j] = v
			case v == float64(j):
				dst[end+j] = 1
			default:
				dst[end+j] = 0
			}
		}
	}
}

// Schema returns the columns and levels of the features, for TableOptions.Schema. Its slices alias the table.
func (t *Table) Schema() *mixed.Schema { return &t.schema }

// Weights returns the weight of every row, or nil without TableOptions.Weight. The slice aliases the table.
func (t *Table) Weights() []float64 { return t.weights }

// Notes returns sentences on how the files were read: columns and rows that were left out, rows that do not
// count, columns of text, and dates of Parquet. The slice aliases the table.
func (t *Table) Notes() []string { return slices.Clip(t.notes) }

// Remarks returns sentences on values that look wrong: codes and row numbers among the features, numbers that
// stand for missing values, totals, columns that repeat each other. The slice aliases the table.
func (t *Table) Remarks() []string { return slices.Clip(t.remarks) }

// Place returns where a row is in the files: "line 12", or "b.csv, line 12" if there are several files.
func (t *Table) Place(row int) string { return t.places.of(row) }

// Line returns the file of a row and its line there, 0 in a binary file. The file of a stream is empty.
func (t *Table) Line(row int) (file string, line int) {
	r := t.places.find(row)
	if r.unit == lineUnit {
		line = r.at + row - r.row
	}
	return t.places.files[r.file], line
}

// Dropped returns the number of rows of the files that were left out because they lack values.
func (t *Table) Dropped() int { return t.dropped }

// FirstDropped returns the place of the first of these rows, such as "line 12"; empty without one.
func (t *Table) FirstDropped() string { return t.firstDropped }

// A MissingCount is the number of missing values of a feature column.
type MissingCount struct {
	Column string
	Rows   int
}

// Missing counts missing values by feature column. It is nil without any: only tables read with MissingKeep
// contain some.
func (t *Table) Missing() []MissingCount {
	var list []MissingCount
	for j, n := range t.missing {
		if n > 0 {
			list = append(list, MissingCount{t.schema.Columns[j], n})
		}
	}
	return list
}

// largest bounds the absolute value of a number: the squares of 10^8 such numbers add up to a float64.
// tooLarge is the error about others.
const (
	largest  = 1e150
	tooLarge = "is too large, or not finite: the largest is 1e150"
)

// refused reports whether a number is NaN, infinite or too large.
func refused(v float64) bool { return !(math.Abs(v) <= largest) }

// names are numbered in order of appearance.
type names struct {
	list  []string
	index map[string]int // nil for few names
}

// fewNames is the largest number of names that are searched one by one: a map for each of many columns would
// take more memory than the names.
const fewNames = 8

// find returns the number of a name that is known.
func (n *names) find(name string) (k int, known bool) {
	if n.index == nil {
		k = slices.Index(n.list, name)
		return k, k >= 0
	}
	k, known = n.index[name]
	return k, known
}

// of returns the number of a name. A new one is checked, copied and numbered.
func (n *names) of(name string) (int, error) {
	if k, known := n.find(name); known {
		return k, nil
	}
	if err := checkName(name); err != nil {
		return 0, err
	}
	k := len(n.list)
	n.list = append(n.list, strings.Clone(name))
	switch {
	case n.index != nil:
		n.index[n.list[k]] = k
	case k == fewNames:
		n.index = make(map[string]int, 2*fewNames)
		for i, known := range n.list {
			n.index[known] = i
		}
	}
	return k, nil
}

// nameFeatures names the features by the schema. Their names must differ.
func (t *Table) nameFeatures() error {
	t.features = t.schema.Features()
	names := t.features
	equals := func(column string) bool { return strings.Contains(column, "=") }
	if !slices.ContainsFunc(t.schema.Columns, equals) { // then names differ if those of the columns do
		names = t.schema.Columns
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("two features would be named %q: rename a column", name)
		}
		seen[name] = true
	}
	return nil
}

// checkName refuses names that are empty, not UTF-8, or contain a zero byte.
func checkName(s string) error {
	if s == "" || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%.60q is not a name in UTF-8", s)
	}
	return checkEncoding(s, "a name")
}

// checkEncoding refuses a text, such as "a name", that is not UTF-8.
func checkEncoding(s, what string) error {
	if utf8.ValidString(s) {
		return nil
	}
	return fmt.Errorf("%.60q is not %s in UTF-8: is the file in Latin-1? Save it as \"CSV UTF-8\"", s, what)
}

// quoted lists names for a message, at most 20 of them.
func quoted(list []string) string {
	const most = 20
	var shown []string
	for _, name := range list[:min(len(list), most)] {
		shown = append(shown, fmt.Sprintf("%.60q", name))
	}
	words := strings.Join(shown, ", ")
	if n := len(list) - most; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return words
}

// A Split selects the test rows of every task.
type Split struct {
	TestFraction float64 // share of test rows in every task
	Seed         uint64
}

// Split returns whether each row of the table is a training row. The test rows of a task depend on the seed,
// its name and the order of its rows only. Every task keeps at least one training row. A table with marks
// (TableOptions.Holdout) follows them, and the fraction must be 0.
func (t *Table) Split(s Split) ([]bool, error) {
	switch {
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return nil, fmt.Errorf("the test fraction is %v: must be from 0 to less than 1", s.TestFraction)
	case t.held != nil && s.TestFraction != 0:
		return nil, errors.New("the table marks its test rows: the test fraction must not be set")
	}
	train := make([]bool, t.Rows())
	for i, held := range t.held {
		train[i] = !held
	}
	switch {
	case t.held != nil && !slices.Contains(train, true):
		return nil, errors.New("the table marks all rows as held out: none is left for training")
	case t.held != nil:
		return train, nil
	}
	for _, rows := range t.shuffled(s.Seed) {
		test := int(math.Round(s.TestFraction * float64(len(rows))))
		for _, i := range rows[:min(max(len(rows)-test, 1), len(rows))] { // each task has a row
			train[i] = true
		}
	}
	return train, nil
}

// shuffled returns the rows of every task in random order.
func (t *Table) shuffled(seed uint64) [][]int {
	out := make([][]int, len(t.tasks.list))
	for i := range t.Rows() {
		k := t.Task(i)
		out[k] = append(out[k], i)
	}
	for k, members := range out {
		h := fnv.New64a()
		fmt.Fprintf(h, "split\x00%s", t.tasks.list[k])
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return out
}
