package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
)

// A slot is the place of a value in a row of a table. Columns that are not read have noSlot, and the slots of
// features follow featureSlot.
const (
	noSlot = iota - 1
	taskSlot
	weightSlot
	markSlot
	targetSlot
	featureSlot
)

// roleOf returns the words for a slot.
func roleOf(slot int) string {
	roles := []string{"the task", "the weight", "the mark of held-out rows", "the target", "a feature"}
	return roles[min(slot, featureSlot)]
}

// maxColumns bounds the columns of a file: a column of a few bytes in the header takes 3 kB of memory.
const maxColumns = 200_000

// columns describes the columns of a file.
type columns struct {
	header  []string         // trimmed
	index   map[string]int   // of the names in the header
	twice   map[string]error // for names of several columns
	unnamed []string         // columns without a name, in words
	slots   []int            // of every column
}

// newColumns returns the columns of a header, all without slots. The header of a file of lines is its first
// line.
func newColumns(header []string, unit string) (columns, error) {
	wrong := func(format string, args ...any) error {
		if unit != lineUnit {
			return fmt.Errorf(format, args...)
		}
		return place.OnLine(1, fmt.Errorf("line 1: "+format, args...))
	}
	if n := len(header); n > maxColumns {
		return columns{}, wrong("it has %d columns: at most %d are read", n, maxColumns)
	}
	c := columns{index: map[string]int{}, twice: map[string]error{}}
	for i, name := range header {
		name = strings.TrimSpace(name)
		c.header, c.slots = append(c.header, name), append(c.slots, noSlot)
		if name == "" { // row names, or nothing
			c.unnamed = append(c.unnamed, fmt.Sprintf("column %d", i+1))
			continue
		}
		if err := checkName(name); err != nil {
			return c, wrong("column %d: %w", i+1, err)
		}
		if j, twice := c.index[name]; twice {
			c.twice[name] = wrong("columns %d and %d are both named %.60q", j+1, i+1, name)
		}
		c.index[name] = i
	}
	return c, nil
}

// find returns the column of the given name, or an error that lists all.
func (c *columns) find(name, role string) (int, error) {
	if i, ok := c.index[name]; ok {
		return i, nil
	}
	near := slices.IndexFunc(c.header, func(other string) bool { return plainName(other) == plainName(name) })
	if near >= 0 && name != "" {
		const format = "there is no column %.60q for %s: did you mean %.60q%s? The header names %s"
		other := c.header[near]
		return -1, fmt.Errorf(format, name, role, other, oddRune(name, other), quoted(c.header))
	}
	return -1, fmt.Errorf("there is no column %.60q for %s: the header names %s%s", name, role, quoted(c.header),
		headerHint(c.header))
}

// nameMarks are characters that the comparison of names ignores.
var nameMarks = strings.NewReplacer(" ", "", "_", "", "-", "", ".", "")

// plainName returns the common spelling of a name, without marks.
func plainName(s string) string { return nameMarks.Replace(spelled(s)) }

// take assigns a column to a slot. It refuses a name of two columns.
func (c *columns) take(name string, slot int) error {
	i, err := c.find(name, roleOf(slot))
	switch {
	case err != nil:
		return err
	case c.twice[name] != nil:
		return c.twice[name]
	case c.slots[i] != noSlot:
		return fmt.Errorf("column %q cannot be both %s and %s", name, roleOf(c.slots[i]), roleOf(slot))
	}
	c.slots[i] = slot
	return nil
}

// unused lists the named columns without a slot that are not dropped. It refuses columns to drop that are
// not there or have a slot.
func (c *columns) unused(drop []string) (list []string, err error) {
	dropped := map[string]bool{}
	for _, name := range drop {
		dropped[name] = true
		i, err := c.find(name, "the columns to drop")
		if err != nil {
			return nil, err
		}
		if c.slots[i] != noSlot {
			return nil, fmt.Errorf("column %q is %s: it cannot be dropped", name, roleOf(c.slots[i]))
		}
	}
	for i, name := range c.header {
		if name != "" && c.slots[i] == noSlot && !dropped[name] {
			list = append(list, name)
		}
	}
	return list, nil
}

// maxLevels bounds the levels of a categorical column. Each level is a feature.
const maxLevels = 10_000

// levels are the names in a categorical column, numbered in the order of the rows.
type levels struct {
	names
	column   string
	fixed    bool // other levels are refused
	others   bool // or have the code newLevel
	inferred bool // the column is categorical for its text

	used    []bool   // the places of levels in rows that are not absent, where they are not fixed
	unknown []string // levels with the code newLevel, the first mostNewLevels
}

// useLevels marks the levels of the current row as used.
func (r *reader) useLevels() {
	for j, own := range r.levels[featureSlot:] {
		v := r.x[featureSlot+j]
		if own == nil || own.fixed || math.IsNaN(v) {
			continue
		}
		for len(own.used) < len(own.list) {
			own.used = append(own.used, false)
		}
		own.used[int(v)] = true
	}
}

// orderLevels returns the used levels of column j in their order, and replaces the numbers of the column,
// places in the list, by places in this order.
func (t *Table) orderLevels(j int, own *levels) []string {
	var levels []string
	for k, used := range own.used {
		if used {
			levels = append(levels, own.list[k])
		}
	}
	slices.Sort(levels)
	place := make([]float64, len(own.used))
	for k := range place {
		at, _ := slices.BinarySearch(levels, own.list[k])
		place[k] = float64(at)
	}
	for i := range t.Rows() {
		if v := &t.x.row(i)[j]; !math.IsNaN(*v) {
			*v = place[int(*v)]
		}
	}
	return levels
}

// mostNewLevels is the number of levels of a column that are remembered although a schema does not contain
// them.
const mostNewLevels = 5

// newLevel is the code of all levels that a schema does not contain.
const newLevel = -1

// code returns the number of a level.
func (l *levels) code(name string, o *TableOptions) (k int, err error) {
	_, known := l.find(name)
	switch {
	case !known && l.inferred && o.kindOf(name) == number:
		what, why := "a number", "that the file keeps as text"
		if _, isTruth := truthOf(name); isTruth {
			what = "a mark of yes or no"
		} else if likeDate.MatchString(name) {
			what, why = "a date", why+": store the column as dates"
		}
		if len(l.list) > 0 {
			why = fmt.Sprintf("and others, such as %.60q, are text", l.list[0])
			what += ","
		}
		e := &FormatError{Option: "Categorical", Values: []string{l.column}}
		e.err = fmt.Errorf("%.60q is %s %s", name, what, why)
		if len(l.list) > 0 {
			e.NA = l.list[0]
		}
		return 0, e
	case known || !l.fixed && len(l.list) < maxLevels:
		if k, err = l.of(name); err != nil {
			err = fmt.Errorf("the level %w", err)
		}
	case l.fixed && l.others:
		if err := checkName(name); err != nil {
			return 0, fmt.Errorf("the level %w", err)
		}
		if len(l.unknown) < mostNewLevels && !slices.Contains(l.unknown, name) {
			l.unknown = append(l.unknown, strings.Clone(name))
		}
		return newLevel, nil
	case l.fixed:
		err = fmt.Errorf("the level %.60q is not known: it may be %s", name, quoted(l.list))
	default:
		const format = "%.60q is the level number %d: a category has at most %d; the names of tasks or rows, and " +
			"numbers among text, are not levels"
		err = formatErrorf("Drop", []string{l.column}, format, name, maxLevels+1, maxLevels)
	}
	return k, err
}
