package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// The slots of a row are its values in a table, and noSlot that of the columns that are not read. Slots of
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
	return []string{"the task", "the weight", "the mark of test rows", "the target", "a feature"}[min(slot, featureSlot)]
}

// columns are those of a file.
type columns struct {
	header  []string         // trimmed
	index   map[string]int   // of the names in the header
	twice   map[string]error // for names of several columns
	unnamed []string         // columns without a name, in words
	slots   []int            // of every column
}

// newColumns returns the columns of a header, all without slots.
func newColumns(header []string) (columns, error) {
	c := columns{index: map[string]int{}, twice: map[string]error{}}
	for i, name := range header {
		name = strings.TrimSpace(name)
		c.header, c.slots = append(c.header, name), append(c.slots, noSlot)
		if name == "" { // row names, or nothing
			c.unnamed = append(c.unnamed, fmt.Sprintf("column %d", i+1))
			continue
		}
		if err := checkName(name); err != nil {
			return c, fmt.Errorf("line 1: column %d: %w", i+1, err)
		}
		if j, twice := c.index[name]; twice {
			c.twice[name] = fmt.Errorf("line 1: columns %d and %d are both named %.60q", j+1, i+1, name)
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
	return -1, fmt.Errorf("there is no column %q for %s: the header names %s", name, role, quoted(c.header))
}

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
	for _, name := range drop {
		i, err := c.find(name, "the columns to drop")
		if err != nil {
			return nil, err
		}
		if c.slots[i] != noSlot {
			return nil, fmt.Errorf("column %q is %s: it cannot be dropped", name, roleOf(c.slots[i]))
		}
	}
	for i, name := range c.header {
		if name != "" && c.slots[i] == noSlot && !slices.Contains(drop, name) {
			list = append(list, name)
		}
	}
	return list, nil
}
