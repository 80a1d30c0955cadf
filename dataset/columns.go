package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// A role is what a column of a file is for.
type role struct {
	kind roleKind
	at   int // stored column of a number, or index of a name
}

type roleKind uint8

const (
	ignored roleKind = iota
	feature
	response
	name
	dated // a feature whose cells are dates
	about // a number about the row, before findAbout
)

// The first names of a row are its task, its node and its group; levels follow.
const (
	taskName = iota
	nodeName
	groupName
	levelNames
)

// Numbers about a row: its weight, its mark and its time.
const (
	weightOf = iota
	markOf
	timeOf
	numbersAbout
)

// columns maps the columns of a file to their meaning.
type columns struct {
	header     []string
	features   []string          // columns of the features
	categories []category        // those that are categorical
	roles      []role            // of every column
	names      int               // names of a row
	stored     int               // numbers of a row: those of features, and after them those about the row
	about      [numbersAbout]int // which of them they are, -1 for none
	target     bool
}

// A category is a stored column of codes.
type category struct {
	column string
	stored int
}

// findColumns finds the columns that the options name in a file with the given ones.
// It fails if there are others of the same name.
func findColumns(header []string, o *TableOptions) (*columns, error) {
	c := &columns{roles: make([]role, len(header))}
	index, err := c.index(header)
	if err != nil {
		return nil, err
	}
	if err := c.findNamed(index, o); err != nil {
		return nil, err
	}
	c.features = o.Features
	if o.Schema != nil {
		c.features = o.Schema.Columns
	}
	if c.features == nil {
		for i, name := range c.header {
			if name != "" && c.roles[i].kind == ignored && !slices.Contains(o.Drop, name) {
				c.features = append(c.features, name)
			}
		}
	}
	if len(c.features) == 0 {
		return nil, fmt.Errorf("the table has no feature columns: the columns are %s", quoted(c.header))
	}
	categorical := o.categorical()
	for j, column := range c.features {
		i, err := c.find(index, "features", column)
		if err != nil {
			return nil, err
		}
		if c.roles[i].kind != ignored {
			return nil, fmt.Errorf("column %q cannot be a feature: it is something else, or a feature already", column)
		}
		c.roles[i] = role{feature, j}
		if slices.Contains(categorical, column) {
			c.roles[i] = role{name, levelNames + len(c.categories)}
			c.categories = append(c.categories, category{column, j})
		}
	}
	for _, column := range categorical {
		if !slices.Contains(c.features, column) {
			_, err := c.find(index, "categorical features", column)
			if err == nil {
				err = fmt.Errorf("the categorical column %q is not one of the features %s", column, quoted(c.features))
			}
			return nil, err
		}
	}
	c.names = levelNames + len(c.categories)
	return c, c.findAbout(index, o)
}

// findAbout stores the numbers about rows after those of the features, but for a time that is
// one of these.
func (c *columns) findAbout(index map[string]int, o *TableOptions) error {
	c.stored = len(c.features)
	for k, column := range o.numbersAbout() {
		c.about[k] = -1
		if column == "" {
			continue
		}
		r := &c.roles[index[column]]
		switch r.kind {
		case name:
			return fmt.Errorf("column %q cannot be both the time and a categorical feature", column)
		case ignored, about:
			*r = role{feature, c.stored}
			c.stored++
		}
		c.about[k] = r.at
	}
	return nil
}

// numbersAbout returns the columns of numbers about rows.
func (o *TableOptions) numbersAbout() [numbersAbout]string {
	return [...]string{weightOf: o.Weight, markOf: o.Holdout, timeOf: o.Time}
}

// categorical returns the names of the categorical columns.
func (o *TableOptions) categorical() []string {
	if o.Schema == nil {
		return o.Categorical
	}
	var list []string
	for _, c := range o.Schema.Categories {
		list = append(list, c.Column)
	}
	return list
}

// index takes the names of the columns and returns where they are.
func (c *columns) index(header []string) (map[string]int, error) {
	index := map[string]int{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if name == "" { // cannot be asked for: row names, or nothing
			c.header = append(c.header, name)
			continue
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("line 1: column %d: %w", i+1, err)
		}
		if j, twice := index[name]; twice {
			return nil, fmt.Errorf("line 1: columns %d and %d are both named %q", j+1, i+1, clip(name))
		}
		index[name] = i
		c.header = append(c.header, name)
	}
	return index, nil
}

// findNamed finds the columns that are no features, and checks those to drop.
func (c *columns) findNamed(index map[string]int, o *TableOptions) error {
	used := map[int]string{}
	for _, want := range []struct {
		what, name string
		role       role
		optional   bool
	}{
		{"task", o.Task, role{name, taskName}, false},
		{"target", o.Target, role{kind: response}, true},
		{"node", o.Node, role{name, nodeName}, true},
		{"group", o.Group, role{name, groupName}, true},
		{"weight", o.Weight, role{kind: about}, true},
		{"mark of held-out rows", o.Holdout, role{kind: about}, true},
		{"time", o.Time, role{}, true}, // which may be a feature
	} {
		if want.optional && want.name == "" {
			continue
		}
		i, err := c.find(index, want.what, want.name)
		if err != nil {
			return err
		}
		if c.roles[i].kind != ignored {
			return fmt.Errorf("column %q cannot be both the %s and the %s", want.name, used[i], want.what)
		}
		c.roles[i], used[i] = want.role, want.what
	}
	c.target = o.Target != ""
	for _, name := range o.Drop {
		if _, err := c.find(index, "columns to drop", name); err != nil {
			return err
		}
	}
	return nil
}

// find returns the column of the given name, or an error that lists all.
func (c *columns) find(index map[string]int, what, name string) (int, error) {
	i, ok := index[name]
	if !ok {
		return -1, fmt.Errorf("there is no column %q for the %s%s: the columns are %s", name, what, suggestion(name, c.header), quoted(c.header))
	}
	return i, nil
}

// quoted lists names for a message, at most 20 of them.
func quoted(names []string) string {
	rest := ""
	if len(names) > 20 {
		rest = fmt.Sprintf(" and %d more", len(names)-20)
		names = names[:20]
	}
	short := make([]string, len(names))
	for i, s := range names {
		short[i] = clip(s)
	}
	return fmt.Sprintf("%q%s", short, rest)
}

// clip shortens a cell for a message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
