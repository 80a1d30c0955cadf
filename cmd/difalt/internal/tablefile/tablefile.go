// Package tablefile writes tables of results as CSV or Parquet, by the extension of the file.
package tablefile

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Extensions are the extensions of the files that New writes. A file without an extension is CSV.
var Extensions = []string{".csv", ".parquet"}

// CheckExtension returns an error unless a name has one of the extensions, in any case, or none.
func CheckExtension(path string, extensions ...string) error {
	if ext := extension(path); ext != "" && !slices.Contains(extensions, ext) {
		return fmt.Errorf("%q: expected a name that ends in %s", path, strings.Join(extensions, ", "))
	}
	return nil
}

// HasTypes reports whether the format of a path keeps the types of columns.
func HasTypes(path string) bool { return extension(path) == ".parquet" }

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// A Day is a date as the number of days since 1970-01-01, NaN if it is missing.
type Day float64

// An Instant is a date and a time of the day in UTC, as the number of days since 1970-01-01, NaN if it is
// missing. Parquet keeps microseconds.
type Instant float64

// A Column has a unique name, and points to its cell in the current row: a *string, *float64 (NaN:
// missing), *bool or, in Parquet only, a *Day or *Instant.
type Column struct {
	Name string
	Cell any
}

// A Writer writes a table row by row. Its first error sticks.
type Writer struct {
	out   *bufio.Writer
	write func() error
	end   func() error
	err   error
}

// New starts a table on out, which Close does not close: Parquet if the name of the file ends in .parquet,
// CSV otherwise.
func New(out io.Writer, path string, columns []Column) *Writer {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16)}
	if HasTypes(path) {
		w.startParquet(columns)
	} else {
		w.startCSV(columns)
	}
	return w
}

// Write writes the current cells of the columns as a row, and returns the first error.
func (w *Writer) Write() error {
	if w.err == nil {
		w.err = w.write()
	}
	return w.err
}

// Close completes the table and returns the first error.
func (w *Writer) Close() error {
	for _, last := range []func() error{w.end, w.out.Flush} {
		if w.err == nil {
			w.err = last()
		}
	}
	return w.err
}

// startCSV writes the header. Numbers have all digits; missing ones are empty.
func (w *Writer) startCSV(columns []Column) {
	var line []byte
	for i, c := range columns {
		line = appendText(appendComma(line, i), c.Name, len(columns) == 1)
	}
	_, w.err = w.out.Write(append(line, '\n'))
	w.write = func() error {
		line = line[:0]
		for i, c := range columns {
			line = appendComma(line, i)
			switch cell := c.Cell.(type) {
			case *string:
				line = appendText(line, *cell, len(columns) == 1)
			case *float64:
				if !math.IsNaN(*cell) {
					line = strconv.AppendFloat(line, *cell, 'g', -1, 64)
				}
			case *bool:
				line = strconv.AppendBool(line, *cell)
			}
		}
		_, err := w.out.Write(append(line, '\n'))
		return err
	}
	w.end = func() error { return nil }
}

// appendComma appends the comma before every cell but the first.
func appendComma(line []byte, i int) []byte {
	if i > 0 {
		return append(line, ',')
	}
	return line
}

// appendText appends a text as a cell of CSV (RFC 4180), with quotes where readers need them; an empty one
// has quotes if it is alone in its line.
func appendText(line []byte, s string, alone bool) []byte {
	if s == "" && !alone || s != "" && isPlain(s) {
		return append(line, s...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(s, `"`, `""`)...)
	return append(line, '"')
}

// isPlain reports whether readers take a text as it is: it has no delimiter, quote or line end, and no space
// in front.
func isPlain(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ',', '"', '\r', '\n':
			return false
		}
	}
	return s[0] != ' ' && s[0] != '\t'
}

// A parquetRow is a group whose columns keep their order; parquet.Group sorts them.
type parquetRow struct {
	parquet.Group
	fields []parquet.Field
}

func (r *parquetRow) Fields() []parquet.Field { return r.fields }

func newParquetRow(columns []Column) *parquetRow {
	r := &parquetRow{Group: parquet.Group{}}
	for _, c := range columns {
		var node parquet.Node
		switch c.Cell.(type) {
		case *string:
			node = parquet.String()
		case *float64:
			node = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		case *bool:
			node = parquet.Leaf(parquet.BooleanType)
		case *Day:
			node = parquet.Optional(parquet.Date())
		case *Instant:
			node = parquet.Optional(parquet.Timestamp(parquet.Microsecond))
		}
		r.Group[c.Name] = node
	}
	for _, c := range columns {
		at := slices.IndexFunc(r.Group.Fields(), func(f parquet.Field) bool { return f.Name() == c.Name })
		r.fields = append(r.fields, r.Group.Fields()[at])
	}
	return r
}

// startParquet starts a file compressed by snappy. Missing numbers are null. Rows are written in batches: a
// batch costs much less than its rows one by one.
func (w *Writer) startParquet(columns []Column) {
	schema := parquet.NewSchema("table", newParquetRow(columns))
	file := parquet.NewWriter(w.out, schema, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.PageBufferSize(pageBytes))
	rows := make([]parquet.Row, 0, batch)
	values := make([]parquet.Value, 0, batch*len(columns)) // of the rows
	var texts []byte                                       // of the values
	flush := func() error {
		_, err := file.WriteRows(rows)
		rows, values, texts = rows[:0], values[:0], texts[:0]
		return err
	}
	w.write = func() error {
		for i, c := range columns {
			var v parquet.Value
			v, texts = parquetValue(c.Cell, i, texts)
			values = append(values, v)
		}
		rows = append(rows, values[len(values)-len(columns):])
		if len(rows) < batch {
			return nil
		}
		return flush()
	}
	w.end = func() error {
		if err := flush(); err != nil {
			return err
		}
		return file.Close()
	}
}

// parquetValue returns the value of a cell of column i, and texts with its text appended, which the value
// refers to.
func parquetValue(cell any, i int, texts []byte) (parquet.Value, []byte) {
	missing := parquet.NullValue().Level(0, 0, i)
	switch cell := cell.(type) {
	case *string:
		from := len(texts)
		texts = append(texts, *cell...)
		return parquet.ByteArrayValue(texts[from:]).Level(0, 0, i), texts
	case *bool:
		return parquet.BooleanValue(*cell).Level(0, 0, i), texts
	case *float64:
		if !math.IsNaN(*cell) {
			return parquet.DoubleValue(*cell).Level(0, 1, i), texts
		}
	case *Day:
		if days := float64(*cell); !math.IsNaN(days) {
			return parquet.Int32Value(int32(math.Floor(days))).Level(0, 1, i), texts
		}
	case *Instant:
		if days := float64(*cell); !math.IsNaN(days) {
			return parquet.Int64Value(int64(math.Round(days*microseconds))).Level(0, 1, i), texts
		}
	}
	return missing, texts
}

// microseconds is the number of microseconds of a day.
const microseconds = 86400e6

// rowGroup is the number of rows of a group of Parquet. A group is held in memory until it is complete.
const rowGroup = 1 << 15

// pageBytes is the size of a page of Parquet in memory.
const pageBytes = 64 << 10

// batch is the number of rows that are given to the library of Parquet together.
const batch = 64
