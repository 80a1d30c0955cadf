package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// readParquet adds the rows of a Parquet file. Only columns with a slot are decoded.
func (r *reader) readParquet(f io.ReaderAt, size int64) error {
	var file *parquet.File
	err := checkFooter(f, size)
	if err == nil {
		err = decoding(func() (err error) {
			file, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("the Parquet file is damaged or truncated: %w", tooShort(err))
	}
	var header []string
	for _, c := range file.Root().Columns() {
		header = append(header, c.Name())
	}
	r.indices = pandasIndex(file)
	types := parquetTypes(file)
	if err := r.open(header, rowUnit, parquetKinds(types)); err != nil {
		return err
	}
	columns, err := r.parquetColumns(file, types)
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

// decoding calls the decoder, which panics on some damaged files.
func decoding(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the Parquet data are damaged")
		}
	}()
	return call()
}

// A parquetColumn decodes one column of a file.
type parquetColumn struct {
	*parquet.Column
	*parquetType
	at   int // among the columns of the file
	kept int // among the cells to keep; -1 for none
}

// pandasIndex returns the columns that pandas has written for the index of a table.
func pandasIndex(file *parquet.File) []string {
	text, _ := file.Lookup("pandas")
	var metadata struct {
		Index []any `json:"index_columns"`
	}
	if json.Unmarshal([]byte(text), &metadata) != nil {
		return nil
	}
	var names []string
	for _, entry := range metadata.Index {
		if name, ok := entry.(string); ok { // others describe a range
			names = append(names, name)
		}
	}
	return names
}

// parquetTypes returns the types of the columns, nil for those that are not read.
func parquetTypes(file *parquet.File) (types []*parquetType) {
	var leaves []format.SchemaElement // in the order of their indices
	for _, element := range file.Metadata().Schema {
		if element.Type.Valid { // not a group
			leaves = append(leaves, element)
		}
	}
	for _, column := range file.Root().Columns() {
		var t *parquetType
		if column.Leaf() && !column.Repeated() {
			t = parquetTypeOf(column.Type())
			// The decoder takes float16 for two bytes without a meaning.
			_, isHalf := leaves[column.Index()].LogicalType.Value.(*format.Float16Type)
			if isHalf && column.Type().Length() == 2 {
				t = &parquetType{number: half}
			}
		}
		types = append(types, t)
	}
	return types
}

// parquetKinds returns the kinds of columns of some types.
func parquetKinds(types []*parquetType) (kinds []kind) {
	for _, t := range types {
		k := number
		if t != nil && t.number == nil {
			k = words
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// parquetColumns returns the columns with a slot. It refuses those whose type does not suit it.
func (r *reader) parquetColumns(file *parquet.File, types []*parquetType) (list []*parquetColumn, err error) {
	var dates, texts []string
	for at, column := range file.Root().Columns() {
		slot, name, kept := r.slots[at], column.Name(), slices.Index(r.keep, at)
		if slot == noSlot && kept < 0 {
			continue
		}
		if !column.Leaf() || column.Repeated() {
			return nil, formatErrorf("Drop", []string{name}, "column %.60q is nested", name)
		}
		c := &parquetColumn{Column: column, parquetType: types[at], at: at, kept: kept}
		if kept >= 0 && c.parquetType != nil && r.isNumber(at) {
			r.row.Dates[kept] = c.date
		}
		switch {
		case c.parquetType == nil && slot >= featureSlot:
			return nil, formatErrorf("Drop", []string{name}, "column %.60q is of type %s, which is not read", name,
				column.Type())
		case c.parquetType == nil:
			return nil, fmt.Errorf("column %.60q is of type %s, which is not read", name, column.Type())
		case slot == noSlot, r.holdsNames(slot):
		case c.number == nil && slot < featureSlot:
			return nil, fmt.Errorf("column %.60q holds strings: expected numbers", name)
		case c.number == nil:
			texts = append(texts, name)
		case c.date != NoDate && slot >= featureSlot:
			dates = append(dates, name)
			r.notations[slot].dates = true
		}
		list = append(list, c)
	}
	if texts != nil {
		return nil, formatErrorf("Categorical", texts, "column %.60q holds strings: expected numbers", texts[0])
	}
	if dates != nil {
		r.note(fmt.Sprintf("dates in %s as days since 1970-01-01", text.Names(dates)))
	}
	return list, nil
}

// readRowGroup adds the rows of a group.
func (r *reader) readRowGroup(group parquet.RowGroup, columns []*parquetColumn) error {
	var chunks []parquet.ColumnChunk
	for _, c := range columns {
		chunks = append(chunks, group.ColumnChunks()[c.Index()])
	}
	var rows parquet.RowReadSeekCloser
	if err := decoding(func() error { rows = parquet.NewColumnChunkRowReader(chunks); return nil }); err != nil {
		return err
	}
	defer func() { _ = decoding(rows.Close) }()
	buf, end := make([]parquet.Row, 256), r.at+int(group.NumRows())
	for r.at < end {
		n := 0
		err := decoding(func() (err error) {
			n, err = rows.ReadRows(buf[:min(len(buf), end-r.at)])
			return err
		})
		if n == 0 || err != nil && err != io.EOF {
			return fmt.Errorf("row %d: the Parquet data are damaged, or end too early: %w", r.at+1, tooShort(err))
		}
		for _, row := range buf[:n] {
			if r.at++; len(row) != len(columns) {
				return fmt.Errorf("row %d: some of the Parquet columns end before it", r.at)
			}
			for i, c := range columns {
				if err := r.setParquet(c, row[i]); err != nil {
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

// setParquet puts a value of a column in its slot.
func (r *reader) setParquet(c *parquetColumn, v parquet.Value) error {
	if c.kept >= 0 {
		r.row.Kept[c.kept] = c.text(v)
	}
	switch slot := r.slots[c.at]; {
	case slot == noSlot:
		return nil
	case v.IsNull():
		return r.setNumber(c.at, math.NaN())
	case r.holdsNames(slot) && c.name != nil:
		return r.setName(slot, strings.TrimSpace(c.name(v)))
	}
	x := c.number(v)
	if c.name != nil && r.isNumber(c.at) && math.Abs(x) >= 1<<53 {
		r.notations[r.slots[c.at]].lose(c.name(v), x)
	}
	return r.setNumber(c.at, x)
}
