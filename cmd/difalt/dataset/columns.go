package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A role is what a column of a file is for.
type role struct {
	kind roleKind
	at   int // among the numbers of a row, or among its names
}

type roleKind uint8

const (
	noRole roleKind = iota
	numberRole
	dateRole // a number that is written as a date
	nameRole
)

// The first names of a row are its task, its node and its group; levels follow.
const (
	taskName = iota
	nodeName
	groupName
	levelNames
)

// columns maps the columns of a file to the numbers and names of a row.
type columns struct {
	header     []string
	index      map[string]int   // of the names in the header
	twice      map[string]error // about names that several columns have
	unnamed    []string         // columns without a name, in words
	roles      []role           // of every column
	numbers    []string         // columns of the numbers of a row: those of features come first
	features   int              // how many of the numbers are features
	categories []int            // which of the features are categorical: their numbers are the codes of levels
	names      int              // of a row

	weight, mark, time, target int // which of the numbers these are, -1 for none
}

// isFeature reports whether a column is a feature that is not categorical.
func (c *columns) isFeature(col int) bool {
	r := c.roles[col]
	return (r.kind == numberRole || r.kind == dateRole) && r.at < c.features
}

// findColumns finds the columns that the options name in a file with the given ones.
// It fails if one of those that are used has the name of another.
func findColumns(header []string, o *TableOptions) (*columns, error) {
	c := &columns{roles: make([]role, len(header)), index: map[string]int{}, twice: map[string]error{}}
	if err := c.readHeader(header); err != nil {
		return nil, err
	}
	reserved, err := c.reserve(o)
	if err != nil {
		return nil, err
	}
	if err := c.addFeatures(o, reserved); err != nil {
		return nil, err
	}
	return c, c.addNumbers(o)
}

func (c *columns) readHeader(header []string) error {
	for i, name := range header {
		name = strings.TrimSpace(name)
		c.header = append(c.header, name)
		if name == "" { // cannot be asked for: row names, or nothing
			c.unnamed = append(c.unnamed, fmt.Sprintf("column %d", i+1))
			continue
		}
		if err := checkName(name); err != nil {
			return fmt.Errorf("line 1: column %d: %w", i+1, err)
		}
		if j, twice := c.index[name]; twice {
			c.twice[name] = fmt.Errorf("line 1: columns %d and %d are both named %q", j+1, i+1, clip(name))
		}
		c.index[name] = i
	}
	return nil
}

// reserve finds the columns that the options name and that are no features, and checks those
// to drop. The roles of names are given here.
func (c *columns) reserve(o *TableOptions) (reserved map[int]string, err error) {
	reserved = map[int]string{}
	for _, want := range []struct {
		what, column string
		role         role
		optional     bool
	}{
		{"task", o.Task, role{nameRole, taskName}, false},
		{"target", o.Target, role{}, true},
		{"node", o.Node, role{nameRole, nodeName}, true},
		{"group", o.Group, role{nameRole, groupName}, true},
		{"weight", o.Weight, role{}, true},
		{"mark of held-out rows", o.Holdout, role{}, true},
		{"time", o.Time, role{}, true},
	} {
		if want.optional && want.column == "" {
			continue
		}
		i, err := c.find(want.what, want.column)
		if err != nil {
			return nil, err
		}
		if other, twice := reserved[i]; twice {
			return nil, fmt.Errorf("column %q cannot be both the %s and the %s", want.column, other, want.what)
		}
		c.roles[i], reserved[i] = want.role, want.what
	}
	for _, column := range o.Drop {
		if _, there := c.index[column]; !there { // it may be there twice
			_, err := c.find("columns to drop", column)
			return nil, err
		}
	}
	if o.Time != "" {
		delete(reserved, c.index[o.Time]) // it may be a feature
	}
	return reserved, nil
}

func (c *columns) addFeatures(o *TableOptions, reserved map[int]string) error {
	list := o.Features
	if o.Schema != nil {
		list = o.Schema.Columns
	}
	if list == nil {
		for i, column := range c.header {
			if column != "" && reserved[i] == "" && !slices.Contains(o.Drop, column) {
				list = append(list, column)
			}
		}
	}
	if len(list) == 0 {
		return fmt.Errorf("the table has no feature columns: the columns are %s", quoted(c.header))
	}
	categorical := o.categorical()
	for j, column := range list {
		i, err := c.find("features", column)
		if err != nil {
			return err
		}
		if c.roles[i].kind != noRole || reserved[i] != "" {
			return fmt.Errorf("column %q cannot be a feature: it is something else, or a feature already", column)
		}
		c.roles[i] = role{numberRole, j}
		if slices.Contains(categorical, column) {
			c.roles[i] = role{nameRole, levelNames + len(c.categories)}
			c.categories = append(c.categories, j)
		}
	}
	for _, column := range categorical {
		if !slices.Contains(list, column) {
			_, err := c.find("categorical features", column)
			if err == nil {
				err = fmt.Errorf("the categorical column %q is not one of the features %s", column, quoted(list))
			}
			return err
		}
	}
	c.numbers, c.features, c.names = slices.Clone(list), len(list), levelNames+len(c.categories)
	return nil
}

// addNumbers gives the numbers that are no features their roles. A time may be one of these.
func (c *columns) addNumbers(o *TableOptions) error {
	for _, n := range []struct {
		column string
		at     *int
	}{{o.Weight, &c.weight}, {o.Holdout, &c.mark}, {o.Time, &c.time}, {o.Target, &c.target}} {
		*n.at = -1
		if n.column == "" {
			continue
		}
		r := &c.roles[c.index[n.column]]
		switch r.kind {
		case nameRole:
			return fmt.Errorf("column %q cannot be both the time and a categorical feature", n.column)
		case noRole:
			*r = role{numberRole, len(c.numbers)}
			c.numbers = append(c.numbers, n.column)
		}
		*n.at = r.at
	}
	return nil
}

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

// find returns the column of the given name, or an error that lists all.
func (c *columns) find(what, name string) (int, error) {
	i, ok := c.index[name]
	if !ok {
		return -1, fmt.Errorf("there is no column %q for the %s%s: the columns are %s", name, what, suggestion(name, c.header), quoted(c.header))
	}
	return i, c.twice[name]
}

// maxLevels bounds the levels of a categorical column, each of which is a feature.
const maxLevels = 10_000

// expand turns the stored columns at the start of x into features that fill x: a number is one, and the code
// of a level as many as there are levels, of which ranks has the place of every code.
func expand(x []float64, ranks [][]int32) {
	end := len(x)
	// From the back: features of a column never start before the column is stored.
	for s, rank := range slices.Backward(ranks) {
		v := x[s]
		if rank == nil {
			end--
			x[end] = v
			continue
		}
		end -= len(rank)
		one := x[end:][:len(rank)]
		if math.IsNaN(v) {
			for j := range one {
				one[j] = v
			}
			continue
		}
		clear(one)
		if v != newLevel {
			one[rank[int(v)]] = 1
		}
	}
}

// levels are those of a categorical column, numbered as they come.
type levels struct {
	column string
	names  names
	fixed  bool // other levels are refused
	others bool // or have the code newLevel
}

// newLevel is the code of all levels that a schema does not have.
const newLevel = -1

// of returns the code of a level.
func (l *levels) of(name string) (int, error) {
	k, known := l.names.numbers()[name]
	switch {
	case known:
		return k, nil
	case l.fixed && l.others:
		return newLevel, nil
	case l.fixed:
		return 0, fmt.Errorf("column %q: the level %q is not known: it may be %s", l.column, clip(name), quoted(l.names.list))
	case len(l.names.list) == maxLevels:
		return 0, fmt.Errorf("column %q: %q is the level number %d: is it a column of numbers or of names?", l.column, clip(name), maxLevels+1)
	}
	k, err := l.names.of(name)
	if err != nil {
		return 0, fmt.Errorf("column %q: the level %w", l.column, err)
	}
	return k, nil
}

// sorted returns the levels in order, and the place of every code among them.
func (l *levels) sorted() (list []string, rank []int32) {
	list = slices.Clone(l.names.list)
	if !l.fixed {
		slices.Sort(list)
	}
	rank = make([]int32, len(list))
	for j, name := range list {
		rank[l.names.numbers()[name]] = int32(j)
	}
	return list, rank
}
