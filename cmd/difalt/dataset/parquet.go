package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRows is the number of rows per pass over the columns: hundreds of columns of them fit into the
// cache.
const parquetRows = 256

// readParquet adds the rows of a Parquet file. Only columns with a slot are decoded.
func (r *reader) readParquet(f io.ReaderAt, size int64) (err error) {
	// The decoder panics on some damaged files.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error: // about the decoder, not about the file
			err = errors.New("the Parquet data are damaged")
		default:
			err = fmt.Errorf("the Parquet data are damaged: %v", r)
		}
	}()
	var file *parquet.File
	if err = checkFooter(f, size); err == nil {
		file, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	}
	if err != nil {
		return fmt.Errorf("the Parquet file is damaged or truncated: %w", err)
	}
	var header []string
	for _, c := range file.Root().Columns() {
		header = append(header, c.Name())
	}
	if err := r.open(header, "row"); err != nil {
		return err
	}
	columns, err := r.parquetColumns(file)
	if err == nil {
		err = checkGroups(f, file, size, columns, len(r.t.schema.Columns))
	}
	if err != nil {
		return err
	}
	r.at = 0
	for _, group := range file.RowGroups() {
		if err := r.readRowGroup(group, columns); err != nil {
			return err
		}
	}
	return r.close()
}

// A parquetColumn decodes one column of a file.
type parquetColumn struct {
	name     string
	at       int // among the columns of the file
	leaf     int // among its chunks
	physical format.Type
	kind     parquetType
	pages    parquet.Pages
	values   parquet.ValueReader
	buf      []parquet.Value
}

// parquetColumns returns the columns with a slot. It refuses those whose type does not suit it.
func (r *reader) parquetColumns(file *parquet.File) (list []*parquetColumn, err error) {
	leaves := slices.DeleteFunc(slices.Clone(file.Metadata().Schema), // in the order of their columns
		func(e format.SchemaElement) bool { return !e.Type.Valid })
	var dates, texts []string
	for at, column := range file.Root().Columns() {
		slot := r.slots[at]
		if slot == noSlot {
			continue
		}
		c := &parquetColumn{name: column.Name(), at: at, leaf: int(column.Index()), buf: make([]parquet.Value, parquetRows)}
		if !column.Leaf() || column.Repeated() {
			return nil, formatErrorf("Drop", []string{c.name}, "column %q is nested: expected numbers or strings", clip(c.name))
		}
		if c.leaf >= len(leaves) {
			return nil, fmt.Errorf("column %q is not in the schema", clip(c.name))
		}
		ok := false
		c.physical = leaves[c.leaf].Type.V
		if c.kind, ok = parquetTypeOf(column.Type(), leaves[c.leaf].LogicalType.Value); !ok {
			return nil, formatErrorf("Drop", []string{c.name}, "column %q is of type %s: expected numbers, dates or strings", clip(c.name), column.Type())
		}
		switch {
		case r.holdsNames(slot):
		case c.kind.text && slot < featureSlot:
			return nil, fmt.Errorf("column %q holds strings: expected numbers", clip(c.name))
		case c.kind.text:
			texts = append(texts, c.name)
		case c.kind.step > 0 && slot >= featureSlot:
			dates = append(dates, c.name)
		}
		list = append(list, c)
	}
	if texts != nil {
		return nil, formatErrorf("Categorical", texts, "column %q holds strings: expected numbers", clip(texts[0]))
	}
	if dates != nil {
		r.note(fmt.Sprintf("dates in %s as days since 1970-01-01", text.Names(dates)))
	}
	return list, nil
}

// readRowGroup adds the rows of a group.
func (r *reader) readRowGroup(group parquet.RowGroup, columns []*parquetColumn) error {
	chunks := group.ColumnChunks()
	for _, c := range columns {
		c.pages, c.values = chunks[c.leaf].Pages(), nil
		defer c.pages.Close()
	}
	for left := int(group.NumRows()); left > 0; left -= parquetRows {
		n := min(parquetRows, left)
		for _, c := range columns {
			if err := c.read(n, r.at+1); err != nil {
				return err
			}
		}
		for i := range n {
			r.at++
			for _, c := range columns {
				if err := r.setParquet(c, c.buf[i]); err != nil {
					return err
				}
			}
			if err := r.add(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read decodes the next n values. The first belongs to the given row.
func (c *parquetColumn) read(n, row int) error {
	for have := 0; have < n; {
		var err error
		if c.values == nil {
			var page parquet.Page
			if page, err = c.pages.ReadPage(); err == nil {
				c.values = page.Values()
			}
		} else {
			var k int
			k, err = c.values.ReadValues(c.buf[have:n])
			have += k
			if err == io.EOF || k == 0 && err == nil {
				c.values, err = nil, nil
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the Parquet data end too early: the file may be truncated")
		} else if err != nil {
			err = fmt.Errorf("the Parquet data are damaged: %w", err)
		}
		if err != nil {
			return fmt.Errorf("column %q, row %d: %w", clip(c.name), row+have, err)
		}
	}
	return nil
}

// setParquet puts a value of a column in its slot.
func (r *reader) setParquet(c *parquetColumn, v parquet.Value) error {
	if v.IsNull() {
		return r.setNumber(c.at, math.NaN())
	}
	if slot := r.slots[c.at]; r.holdsNames(slot) {
		if name, ok := c.kind.name(v); ok {
			return r.setName(slot, strings.TrimSpace(name))
		}
	}
	return r.setNumber(c.at, c.kind.number(v))
}
