// Package tablefile writes tables of results as CSV, Parquet, JSON lines, or a structured array of NumPy, by the extension of
// the file.
package tablefile

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
)

// Extensions are those of the files that New writes. A name without one is CSV.
var Extensions = []string{".csv", ".parquet", ".jsonl", ".npy"}

// CheckExtension returns an error unless a name has one of the extensions, in any case, or none.
func CheckExtension(path string, extensions ...string) error {
	if ext := extension(path); ext != "" && !slices.Contains(extensions, ext) {
		return fmt.Errorf("%q: want a name that ends in %s", path, strings.Join(extensions, ", "))
	}
	return nil
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// A Column is one of a table. Its name is ASCII without quotes. Cell points to the cell of the row that is written next: a
// *string, *float64 (NaN where there is none) or *bool. Runes is how many a text has at most, which files of NumPy need.
type Column struct {
	Name  string
	Cell  any
	Runes int
}

// A Writer is given row after row.
type Writer struct {
	out   *bufio.Writer
	write func() error
	end   func() error
	err   error
}

// New starts a table of so many rows in the format that the name of a file asks for, on out, which Close does not close.
// Other extensions than Extensions are CSV.
func New(out io.Writer, path string, columns []Column, rows int) *Writer {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16), end: func() error { return nil }}
	switch extension(path) {
	case ".parquet":
		w.startParquet(columns)
	case ".jsonl":
		w.startJSON(columns)
	case ".npy":
		w.startNumPy(columns, rows)
	default:
		w.startCSV(columns)
	}
	return w
}

// Write writes a row: what the cells of the columns are now.
func (w *Writer) Write() {
	if w.err == nil {
		w.err = w.write()
	}
}

// Close returns the first error of all.
func (w *Writer) Close() error {
	for _, last := range []func() error{w.end, w.out.Flush} {
		if w.err == nil {
			w.err = last()
		}
	}
	return w.err
}

// startCSV writes a header. Numbers have all their digits, and those that are missing are empty.
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

// startJSON begins JSON lines, an object a row. Numbers that are missing are null.
func (w *Writer) startJSON(columns []Column) {
	w.write = func() error {
		for i, c := range columns {
			if number, ok := c.Cell.(*float64); ok && (math.IsNaN(*number) || math.IsInf(*number, 0)) {
				c.Cell = nil
			}
			value, err := json.Marshal(c.Cell)
			if err != nil {
				return err
			}
			begin := byte(',')
			if i == 0 {
				begin = '{'
			}
			fmt.Fprintf(w.out, "%c%q:%s", begin, c.Name, value)
		}
		_, err := w.out.WriteString("}\n")
		return err
	}
}

// startParquet begins a file with the columns in their order; numbers that are missing are null.
func (w *Writer) startParquet(columns []Column) {
	// Fields of a type keep their order, those of a parquet.Group do not.
	var fields []reflect.StructField
	for i, c := range columns {
		tag := c.Name
		if _, ok := c.Cell.(*float64); ok {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", i), Type: reflect.TypeOf(c.Cell).Elem(), Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	file, values := parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy)), make(parquet.Row, len(columns))
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

// startNumPy begins a structured array of so many rows, with a field for each column.
func (w *Writer) startNumPy(columns []Column, rows int) {
	var fields []string
	for _, c := range columns {
		descr := "|b1"
		switch c.Cell.(type) {
		case *string:
			descr = fmt.Sprintf("<U%d", max(c.Runes, 1))
		case *float64:
			descr = "<f8"
		}
		fields = append(fields, fmt.Sprintf("('%s', '%s')", c.Name, descr))
	}
	w.err = npz.WriteHeader(w.out, "["+strings.Join(fields, ", ")+"]", []int{rows})
	w.write = func() error {
		rows--
		for _, c := range columns {
			switch cell := c.Cell.(type) {
			case *string:
				width := max(c.Runes, 1)
				if n := utf8.RuneCountInString(*cell); n > width {
					return fmt.Errorf("a text of %d characters does not fit a field of %d", n, width)
				}
				npz.PutText(w.out, *cell, width)
			case *float64:
				npz.PutNumber(w.out, *cell)
			case *bool:
				w.out.WriteByte(map[bool]byte{true: 1}[*cell])
			}
		}
		return nil
	}
	w.end = func() error {
		if rows != 0 {
			return fmt.Errorf("the array has %d rows less than its shape says", rows)
		}
		return nil
	}
}
