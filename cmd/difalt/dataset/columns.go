package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// A role is the part of a table that a column of a file belongs to.
type role struct {
	kind roleKind
	at   int // among the numbers of a row, or among its names
}

type roleKind uint8

const (
	noRole roleKind = iota
	numberRole
	nameRole
)

// The first name of a row is its task; levels follow.
const (
	taskName = iota
	levelNames
)

// columns maps the columns of a file to the numbers and names of a row.
type columns struct {
	header     []string
	index      map[string]int   // of the names in the header
	twice      map[string]error // for names of several columns
	unnamed    []string         // columns without a name, in words
	roles      []role           // of every column
	numbers    []string         // columns of the numbers of a row, features first
	features   int              // features among the numbers
	categories []int            // categorical features: their numbers are codes of levels
	names      int              // of a row

	weight, mark, target int // indices among the numbers, -1 for none
}

// isFeature reports whether a column is a feature that is not categorical.
func (c *columns) isFeature(col int) bool {
	r := c.roles[col]
	return r.kind == numberRole && r.at < c.features
}

// findColumns assigns roles to the columns of a file. features are the wanted feature
// columns; nil stands for all without another role. It fails if a column that is used has
// the name of another.
func findColumns(header []string, o *TableOptions, features []string) (*columns, error) {
	c := &columns{roles: make([]role, len(header)), index: map[string]int{}, twice: map[string]error{}}
	if err := c.readHeader(header); err != nil {
		return nil, err
	}
	reserved, err := c.reserve(o)
	if err != nil {
		return nil, err
	}
	if features == nil {
		for i, column := range c.header {
			if column != "" && reserved[i] == "" && !slices.Contains(o.Drop, column) {
				features = append(features, column)
			}
		}
	}
	if err := c.addFeatures(features, o.categorical(), reserved); err != nil {
		return nil, err
	}
	c.weight, c.mark, c.target = c.number(o.Weight), c.number(o.Holdout), c.number(o.Target)
	return c, nil
}

func (c *columns) readHeader(header []string) error {
	for i, name := range header {
		name = strings.TrimSpace(name)
		c.header = append(c.header, name)
		if name == "" { // row names, or nothing
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

// reserve finds the columns with a role other than feature, and checks those to drop.
func (c *columns) reserve(o *TableOptions) (reserved map[int]string, err error) {
	reserved = map[int]string{}
	for _, want := range []struct{ what, column string }{
		{"task", o.Task}, {"target", o.Target}, {"weight", o.Weight}, {"mark of test rows", o.Holdout},
	} {
		if want.column == "" && want.what != "task" {
			continue
		}
		i, err := c.find(want.what, want.column)
		if err != nil {
			return nil, err
		}
		if other, twice := reserved[i]; twice {
			return nil, fmt.Errorf("column %q cannot be both the %s and the %s", want.column, other, want.what)
		}
		reserved[i] = want.what
	}
	c.roles[c.index[o.Task]] = role{nameRole, taskName}
	for _, column := range o.Drop {
		i, there := c.index[column]
		if !there {
			_, err := c.find("columns to drop", column)
			return nil, err
		}
		if what := reserved[i]; what != "" {
			return nil, fmt.Errorf("column %q is the %s: it cannot be dropped", column, what)
		}
	}
	return reserved, nil
}

func (c *columns) addFeatures(list, categorical []string, reserved map[int]string) error {
	if len(list) == 0 {
		return fmt.Errorf("the table has no feature columns: the columns are %s", quoted(c.header))
	}
	for j, column := range list {
		i, err := c.find("features", column)
		if err != nil {
			return err
		}
		if c.roles[i].kind != noRole || reserved[i] != "" {
			return fmt.Errorf("column %q cannot be a feature: it has another role, or is a feature already", column)
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

// number makes a column, which is there, a number of the row and returns its index; -1
// for the empty name.
func (c *columns) number(column string) int {
	if column == "" {
		return -1
	}
	at := len(c.numbers)
	c.roles[c.index[column]] = role{numberRole, at}
	c.numbers = append(c.numbers, column)
	return at
}

// find returns the column of the given name, or an error that lists all.
func (c *columns) find(what, name string) (int, error) {
	i, ok := c.index[name]
	if !ok {
		return -1, fmt.Errorf("there is no column %q for the %s%s: the columns are %s", name, what, suggestion(name, c.header), quoted(c.header))
	}
	return i, c.twice[name]
}
