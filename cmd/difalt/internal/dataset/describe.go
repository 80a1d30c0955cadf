package dataset

import "math"

// A Column describes a column of the first file of a table, and how it was read.
type Column struct {
	Name    string // as in the header; empty for a column without a name
	ReadAs  ReadAs
	Why     string   // of a column that was left out
	Missing int      // rows without a value, of all rows of the files
	Least   float64  // of a column of numbers; NaN for others
	Most    float64  // as Least
	Levels  []string // of a category, sorted; for the task, the names of all tasks
	Rows    int      // rows with a value in the table
}

// ReadAs is the part of a table that a column became.
type ReadAs string

// The parts of a table.
const (
	AsTask     ReadAs = "task"
	AsTarget   ReadAs = "target"
	AsWeight   ReadAs = "weight"
	AsHoldout  ReadAs = "hold-out mark"
	AsNumber   ReadAs = "number"
	AsDate     ReadAs = "date" // a number: days since 1970-01-01
	AsCategory ReadAs = "category"
	LeftOut    ReadAs = "left out"
)

// Check reads files as [ReadFiles] does and describes their columns, in the order of the first file. Columns
// of text with about as many levels as rows are left out rather than refused.
func Check(patterns []string, o TableOptions) (*Table, []Column, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, nil, err
	}
	r.lenient = true
	t, err := r.readAll(patterns)
	if err != nil {
		return nil, nil, err
	}
	return t, r.describe(), nil
}

// describe returns the columns of the first file.
func (r *reader) describe() (list []Column) {
	t, o := r.t, &r.o
	nan := math.NaN()
	slots := map[string]int{}
	roles := []string{taskSlot: o.Task, weightSlot: o.Weight, markSlot: o.Holdout, targetSlot: o.Target}
	for slot, name := range roles {
		if name != "" {
			slots[name] = slot
		}
	}
	for j, name := range t.schema.Columns {
		slots[name] = featureSlot + j
	}
	profiles := t.profiles()
	levels := map[string][]string{}
	for _, c := range t.schema.Categories {
		levels[c.Column] = c.Levels
	}
	list = make([]Column, 0, len(r.first))
	for _, name := range r.first {
		c := Column{Name: name, ReadAs: LeftOut, Why: "it is not listed", Least: nan, Most: nan}
		slot, read := slots[name]
		if read {
			c.Missing, c.Why = r.gaps[slot].all, ""
			c.Rows = t.Rows()
		}
		switch {
		case !read && name == "":
			c.Why = "it has no name"
		case !read:
			if why := r.out[name]; why != "" {
				c.Why = why
			}
		case slot == taskSlot:
			c.ReadAs, c.Levels = AsTask, t.tasks.list
		case slot == weightSlot:
			c.ReadAs = AsWeight
		case slot == markSlot:
			c.ReadAs = AsHoldout
		case slot == targetSlot:
			c.ReadAs = AsTarget
			c.Least, c.Most = profiles[len(profiles)-1].least, profiles[len(profiles)-1].most
		case r.levels[slot] != nil:
			c.ReadAs = AsCategory
			c.Levels = levels[name]
		default:
			c.ReadAs = AsNumber
			if r.notations[slot].dates {
				c.ReadAs = AsDate
			}
			if p := profiles[slot-featureSlot]; p.rows > 0 {
				c.Least, c.Most = p.least, p.most
			}
		}
		list = append(list, c)
	}
	return list
}
