// Package tablefile writes tables of results as CSV or Parquet, by the extension of the file.
package tablefile

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
)

// Extensions are those of the files that New writes. A name without one is CSV.
var Extensions = []string{".csv", ".parquet"}

// CheckExtension returns an error unless a name has one of the extensions, in any case, or none.
func CheckExtension(path string, extensions ...string) error {
	if ext := extension(path); ext != "" && !slices.Contains(extensions, ext) {
		return fmt.Errorf("%q: expected a name that ends in %s", path, strings.Join(extensions, ", "))
	}
	return nil
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// A Column has a name, ASCII without quotes, and points to its cell in the current row: a *string, *float64
// (NaN: missing) or *bool.
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
	if extension(path) == ".parquet" {
		w.startParquet(columns)
	} else {
		w.startCSV(columns)
	}
	return w
}

// Write writes the current cells of the columns as a row.
func (w *Writer) Write() {
	if w.err == nil {
		w.err = w.write()
	}
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
	file, record := csv.NewWriter(w.out), make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.Name
	}
	w.err = file.Write(record)
	w.write = func() error {
		for i, c := range columns {
			switch cell := c.Cell.(type) {
			case *string:
				record[i] = *cell
			case *float64:
				record[i] = text.Number(*cell)
			case *bool:
				record[i] = strconv.FormatBool(*cell)
			}
		}
		return file.Write(record)
	}
	w.end = func() error { file.Flush(); return file.Error() }
}

// startParquet starts a file compressed by snappy. Missing numbers are null.
func (w *Writer) startParquet(columns []Column) {
	// Fields of a type keep their order, those of a parquet.Group do not.
	var fields []reflect.StructField
	for i, c := range columns {
		tag := c.Name
		if _, ok := c.Cell.(*float64); ok {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", i), Type: reflect.TypeOf(c.Cell).Elem(),
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	file := parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy))
	values := make(parquet.Row, len(columns))
	w.write = func() error {
		for i, c := range columns {
			v, level := parquet.NullValue(), 0
			switch cell := c.Cell.(type) {
			case *string:
				v = parquet.ByteArrayValue([]byte(*cell))
			case *bool:
				v = parquet.BooleanValue(*cell)
			case *float64:
				if !math.IsNaN(*cell) {
					v, level = parquet.DoubleValue(*cell), 1
				}
			}
			values[i] = v.Level(0, level, i)
		}
		_, err := file.WriteRows([]parquet.Row{values})
		return err
	}
	w.end = file.Close
}
