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
			c.twice[name] = fmt.Errorf("line 1: columns %d and %d are both named %q", j+1, i+1, clip(name))
		}
		c.index[name] = i
	}
	return c, nil
}

// find returns the column of the given name, or an error that lists all. It refuses a name of two columns.
func (c *columns) find(name, role string) (int, error) {
	i, ok := c.index[name]
	if !ok {
		return -1, fmt.Errorf("there is no column %q for %s%s: the columns are %s", name, role, suggestion(name, c.header), quoted(c.header))
	}
	return i, c.twice[name]
}

// take assigns a column to a slot.
func (c *columns) take(name string, slot int) error {
	i, err := c.find(name, roleOf(slot))
	if err != nil {
		return err
	}
	if c.slots[i] != noSlot {
		return fmt.Errorf("column %q cannot be both %s and %s", name, roleOf(c.slots[i]), roleOf(slot))
	}
	c.slots[i] = slot
	return nil
}

// checkDropped refuses columns to drop that are not there or have a slot.
func (c *columns) checkDropped(drop []string) error {
	for _, name := range drop {
		if i, there := c.index[name]; !there {
			_, err := c.find(name, "the columns to drop")
			return err
		} else if c.slots[i] != noSlot {
			return fmt.Errorf("column %q is %s: it cannot be dropped", name, roleOf(c.slots[i]))
		}
	}
	return nil
}

// unused lists the named columns without a slot that are not dropped.
func (c *columns) unused(drop []string) (list []string) {
	for i, name := range c.header {
		if name != "" && c.slots[i] == noSlot && !slices.Contains(drop, name) {
			list = append(list, name)
		}
	}
	return list
}
