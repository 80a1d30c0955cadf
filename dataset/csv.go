package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/kernel"
)

// CSVOptions says what the columns of a table are.
type CSVOptions struct {
	// Task is the column that names the task of a row. It must be set.
	Task string
	// Target is the column to predict; a table without targets leaves it empty.
	Target string
	// Node is the column that names the node of a row; empty if there is none.
	Node string
	// Features are the feature columns, in this order, and all others are ignored.
	// Nil takes every column that is not named above nor dropped.
	Features []string
	// Drop are columns to leave out.
	Drop []string
	// Storage is how features are kept: float64, or float32 in half of the memory.
	Storage kernel.Storage
}

// ReadCSV reads a table whose first line names the columns. A byte order mark,
// CRLF line ends and quoted cells are understood. Rows are parsed as they are read;
// their text is not kept. Errors name the line, the column and the value.
func ReadCSV(r io.Reader, o CSVOptions) (*Table, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if b, _ := in.Peek(3); string(b) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	c := csv.NewReader(in)
	c.ReuseRecord = true
	c.FieldsPerRecord = -1 // counted here, for a better message
	header, err := c.Read()
	if err == io.EOF {
		return nil, errors.New("the table is empty: its first line should name the columns")
	}
	if err != nil {
		return nil, csvError(err)
	}
	cols, err := findColumns(header, &o)
	if err != nil {
		return nil, err
	}
	t, err := NewTable(cols.names, o.Target != "", o.Storage)
	if err != nil {
		return nil, fmt.Errorf("%w: the columns are %s", err, quoted(cols.header))
	}
	x := make([]float64, len(cols.features))
	for {
		rec, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		if err := cols.add(t, c, rec, x); err != nil {
			return nil, err
		}
	}
	if t.Rows() == 0 {
		return nil, errors.New("the table has zero rows after the line of column names")
	}
	return t, nil
}

// columns maps the columns of a file to their meaning.
type columns struct {
	header             []string
	names              []string // of the features
	features           []int
	task, target, node int // -1 if there is none
}

func findColumns(header []string, o *CSVOptions) (*columns, error) {
	index := map[string]int{}
	c := &columns{target: -1, node: -1}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("line 1: column %d has no name", i+1)
		}
		if j, twice := index[name]; twice {
			return nil, fmt.Errorf("line 1: columns %d and %d are both named %q", j+1, i+1, name)
		}
		index[name] = i
		c.header = append(c.header, name)
	}
	for _, want := range []struct {
		role, name string
		at         *int
		optional   bool
	}{{"task", o.Task, &c.task, false}, {"target", o.Target, &c.target, true}, {"node", o.Node, &c.node, true}} {
		if want.optional && want.name == "" {
			continue
		}
		i, err := c.find(index, want.role, want.name)
		if err != nil {
			return nil, err
		}
		*want.at = i
	}
	if c.task == c.target || c.task == c.node || c.target >= 0 && c.target == c.node {
		return nil, fmt.Errorf("task, target and node must be different columns: they are %q, %q and %q", o.Task, o.Target, o.Node)
	}
	for _, name := range o.Drop {
		if _, err := c.find(index, "columns to drop", name); err != nil {
			return nil, err
		}
	}
	c.names = o.Features
	if c.names == nil {
		for i, name := range c.header {
			if i != c.task && i != c.target && i != c.node && !slices.Contains(o.Drop, name) {
				c.names = append(c.names, name)
			}
		}
	}
	for _, name := range c.names {
		i, err := c.find(index, "features", name)
		if err != nil {
			return nil, err
		}
		c.features = append(c.features, i)
	}
	return c, nil
}

// find returns the column of the given name, or an error that lists all.
func (c *columns) find(index map[string]int, role, name string) (int, error) {
	i, ok := index[name]
	if !ok {
		return -1, fmt.Errorf("there is no column %q for the %s: the columns are %s", name, role, quoted(c.header))
	}
	return i, nil
}

// add parses a record into a row of the table; x is scratch memory.
func (c *columns) add(t *Table, in *csv.Reader, rec []string, x []float64) error {
	line, _ := in.FieldPos(0)
	if len(rec) != len(c.header) {
		return fmt.Errorf("line %d has %d cells, but there are %d columns", line, len(rec), len(c.header))
	}
	var err error
	for j, i := range c.features {
		if x[j], err = c.number(line, i, rec[i]); err != nil {
			return err
		}
	}
	y := 0.0
	if c.target >= 0 {
		if y, err = c.number(line, c.target, rec[c.target]); err != nil {
			return err
		}
	}
	task, err := c.name(line, c.task, rec[c.task])
	if err != nil {
		return err
	}
	node := ""
	if c.node >= 0 {
		if node, err = c.name(line, c.node, rec[c.node]); err != nil {
			return err
		}
	}
	if k, ok := t.TaskIndex(task); ok {
		task = t.tasks[k] // do not keep the record's memory
	} else {
		task = strings.Clone(task)
	}
	return t.append(line, task, strings.Clone(node), x, y)
}

func (c *columns) number(line, col int, cell string) (float64, error) {
	s := strings.TrimSpace(cell)
	if s == "" {
		return 0, fmt.Errorf("line %d, column %q: the cell is empty", line, c.header[col])
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("line %d, column %q: %s is too large", line, c.header[col], clip(s))
	case err != nil:
		return 0, fmt.Errorf("line %d, column %q: %q is not a number", line, c.header[col], clip(s))
	case !finite(v):
		return 0, fmt.Errorf("line %d, column %q: the value is %s", line, c.header[col], clip(s))
	}
	return v, nil
}

func (c *columns) name(line, col int, cell string) (string, error) {
	s := strings.TrimSpace(cell)
	if s == "" {
		return "", fmt.Errorf("line %d, column %q: the cell is empty", line, c.header[col])
	}
	return s, nil
}

// csvError rewords the errors of encoding/csv.
func csvError(err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return err
	}
	if errors.Is(err, csv.ErrQuote) {
		return fmt.Errorf("line %d: a quoted cell does not end: the file may be truncated", pe.StartLine)
	}
	return fmt.Errorf("line %d: %w", pe.StartLine, pe.Err)
}

// quoted lists names for a message, at most 20 of them.
func quoted(names []string) string {
	rest := ""
	if len(names) > 20 {
		rest = fmt.Sprintf(" and %d more", len(names)-20)
		names = names[:20]
	}
	return fmt.Sprintf("%q%s", names, rest)
}

// clip shortens a cell for a message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
