package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A Description says what a table holds, whether or not it is fit for training.
type Description struct {
	File    string              `json:"file"`
	Rows    int                 `json:"rows"`
	Assumed string              `json:"assumed,omitempty"` // as Assumption.Text
	Columns []ColumnDescription `json:"columns"`
	Tasks   *TaskDescription    `json:"tasks,omitempty"`
	// Categorical and Drop are columns of text, of which the first have levels, and the others nothing that a feature
	// could be: what TableOptions of these names have to hold, if Task and Target are all that is not to be a feature.
	Categorical []string `json:"categorical,omitempty"`
	Drop        []string `json:"drop,omitempty"`
	// Remarks are sentences about what is wrong or suspicious.
	Remarks []string `json:"remarks"`
}

// A ColumnDescription says what a column holds. Of numbers and dates, which are days since
// 1970-01-01, it has the range, the mean and the standard deviation; of text the most
// frequent levels.
type ColumnDescription struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // integer, number, date, text, mixed, empty, or other
	Missing  int      `json:"missing"`
	Distinct int      `json:"distinct"`
	AtLeast  bool     `json:"at_least,omitempty"` // there are more than Distinct
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Mean     *float64 `json:"mean,omitempty"`
	SD       *float64 `json:"sd,omitempty"`
	Levels   []Level  `json:"levels,omitempty"`
}

// A Level is a text with its number of rows.
type Level struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// A TaskDescription says how many rows the tasks have.
type TaskDescription struct {
	Column string `json:"column"`
	Tasks  int    `json:"tasks"`
	Min    int    `json:"min_rows"`
	Median int    `json:"median_rows"`
	Max    int    `json:"max_rows"`
}

// Describe reads a table as [ReadFiles] would, from one file, and says what it holds. Of
// the options, Task and Target may be empty; Features, Categorical, Drop, Schema and
// Missing are not used. It goes on where training would stop: cells that are no numbers,
// rows of other lengths and columns of one name become remarks. A file without a single
// row is an error.
func Describe(path string, o TableOptions) (*Description, error) {
	o.Features, o.Categorical, o.Drop, o.Schema, o.Node = nil, nil, nil, nil, ""
	o.Weight, o.Holdout, o.Time, o.Group = "", "", "", ""
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d := &describer{o: &o, remarks: []string{}, pick: rand.New(rand.NewPCG(1, 1))}
	if err := (&reader{o: &o, to: d, readSoFar: newReadSoFar(o.Progress, []string{path})}).readFile(path); err != nil && d.rows == 0 {
		return nil, fmt.Errorf("%s: %w", path, err)
	} else if err != nil {
		d.remark("Reading stopped: %v.", err)
	}
	out, err := d.description()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out.File = path
	return out, nil
}

// A describer collects what a file holds.
type describer struct {
	o       *TableOptions
	rows    int
	columns []*columnStats
	cols    *columns // what they are for
	assumed string
	remarks []string
	ragged  int             // rows with another number of cells
	first   string          // where the first of them is
	tasks   map[string]*int // rows of every task, nil if none are asked for
	task    int             // its column
	pick    *rand.Rand      // of the sample
	slot    int             // of the current row in it, -1 for none
}

func (d *describer) remark(format string, args ...any) {
	d.remarks = append(d.remarks, fmt.Sprintf(format, args...))
}

// open begins a file: its columns are all numbers, as long as nothing else is said.
func (d *describer) open(header []string, _ string) (*columns, error) {
	c := &columns{header: header, index: map[string]int{}, numbers: header, features: len(header), target: -1}
	seen := map[string]int{}
	for i, name := range header {
		c.roles = append(c.roles, role{numberRole, i})
		name = strings.ToValidUTF8(strings.TrimSpace(name), "\ufffd")
		switch j, twice := seen[name]; {
		case name == "":
			d.remark("Column %d has no name: training leaves it out.", i+1)
			name = fmt.Sprintf("column %d", i+1)
		case twice:
			d.remark("Columns %d and %d are both named %q.", j+1, i+1, clip(name))
			name = fmt.Sprintf("%s (column %d)", name, i+1)
		}
		seen[name], c.index[name] = i, i
		d.columns = append(d.columns, &columnStats{
			name: name, levels: map[string]*int{}, values: values{distinct: map[uint64]struct{}{}},
			moments: moments{min: math.Inf(1), max: math.Inf(-1)},
		})
	}
	d.cols, d.task = c, -1
	if d.o.Task != "" {
		i, err := c.find("task", d.o.Task)
		if err != nil {
			return nil, err
		}
		d.task, d.tasks = i, map[string]*int{}
	}
	if d.o.Target != "" {
		if _, err := c.find("target", d.o.Target); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (d *describer) assume(a Assumption) { d.assumed = a.Text }

func (d *describer) close() error { return nil }

// begin begins a row, and says whether it is in the sample.
func (d *describer) begin() {
	d.slot = d.rows
	if d.rows >= sampleRows {
		if d.slot = d.pick.IntN(d.rows + 1); d.slot >= sampleRows {
			d.slot = -1
		}
	}
	d.rows++
}

// count adds 1 to the count of a key, unless that is new and there are so many already.
func count(counts map[string]*int, key string, most int) {
	n := counts[key]
	if n == nil && len(counts) < most {
		n = new(int)
		counts[strings.Clone(key)] = n // which may lie in the memory of a file
	}
	if n != nil {
		*n++
	}
}

// missing counts the task that a cell of text may be, and the cell if it is missing, which it reports.
func (d *describer) missing(col int, cell string) bool {
	if col == d.task {
		count(d.tasks, cell, math.MaxInt)
	}
	if isMissing(cell) {
		d.columns[col].addMissing(d.slot)
		return true
	}
	return false
}

// undecided goes on, with numbers read the plain way.
func (d *describer) undecided(err error) error {
	if err != nil {
		d.remark("How numbers are written cannot be told: %v.", err)
	}
	return nil
}

// cells describes a record of text, also one where training would stop.
func (d *describer) cells(p *recordParser, rec record) error {
	d.begin()
	if len(rec.cells) != len(d.columns) {
		if d.ragged == 0 {
			d.first = fmt.Sprintf("line %d with %d cells", rec.line, len(rec.cells))
		}
		d.ragged++
	}
	for col, c := range d.columns {
		cell := ""
		if col < len(rec.cells) {
			cell = strings.TrimSpace(rec.cells[col])
		}
		if d.missing(col, cell) {
			continue
		}
		if v, err := p.value(col, cell); err != nil || !finite(v) {
			c.addText(cell, d.slot, rec.line)
		} else {
			c.addNumber(v, d.slot)
			c.dated = p.formats != nil && p.formats[col].date != noDate
		}
	}
	return nil
}

func (d *describer) parsed(*recordParser) error { return nil }

func (d *describer) add(w *row) error {
	d.begin()
	for col, c := range d.columns {
		switch r := d.cols.roles[col]; r.kind {
		case nameRole:
			if cell := w.names[r.at]; !d.missing(col, cell) {
				c.addText(cell, d.slot, w.line)
			}
		case numberRole:
			v := w.x[r.at]
			if finite(v) {
				c.addNumber(v, d.slot)
			} else {
				c.addMissing(d.slot)
			}
			if col == d.task {
				count(d.tasks, fmt.Sprint(v), math.MaxInt)
			}
		}
	}
	return nil
}
