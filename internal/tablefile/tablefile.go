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

	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/internal/text"
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

// A Kind says what the cells of a column are.
type Kind uint8

// Text, numbers that may be missing (NaN), and true or false.
const (
	Text Kind = iota
	Number
	Flag
)

// A Column is one of a table. Its name is ASCII without quotes, and Runes is how many a text has at most, which files of
// NumPy need.
type Column struct {
	Name  string
	Kind  Kind
	Runes int
}

// A Cell is what the kind of its column says.
type Cell struct {
	Text   string
	Number float64 // NaN where there is none
	Flag   bool
}

// A Writer is given row after row.
type Writer struct {
	out   *bufio.Writer
	write func(row []Cell) error
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

// Write writes a row, a cell a column.
func (w *Writer) Write(row []Cell) {
	if w.err == nil {
		w.err = w.write(row)
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
	w.write = func(row []Cell) error {
		for i, c := range columns {
			record[i] = [...]string{Text: row[i].Text, Number: text.Number(row[i].Number), Flag: strconv.FormatBool(row[i].Flag)}[c.Kind]
		}
		return file.Write(record)
	}
	w.end = func() error { file.Flush(); return file.Error() }
}

// startJSON begins JSON lines, an object a row. Numbers that are missing are null.
func (w *Writer) startJSON(columns []Column) {
	w.write = func(row []Cell) error {
		for i, c := range columns {
			var v any
			switch number := row[i].Number; {
			case c.Kind == Text:
				v = row[i].Text
			case c.Kind == Flag:
				v = row[i].Flag
			case !math.IsNaN(number) && !math.IsInf(number, 0):
				v = number
			}
			value, err := json.Marshal(v)
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
		of := [...]any{Text: "", Number: 0.0, Flag: false}[c.Kind]
		tag := c.Name
		if c.Kind == Number {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", i), Type: reflect.TypeOf(of), Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	file, values := parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy)), make(parquet.Row, len(columns))
	w.write = func(row []Cell) error {
		for i, c := range columns {
			v, level := parquet.NullValue(), 0
			switch {
			case c.Kind == Text:
				v = parquet.ByteArrayValue([]byte(row[i].Text))
			case c.Kind == Flag:
				v = parquet.BooleanValue(row[i].Flag)
			case !math.IsNaN(row[i].Number):
				v, level = parquet.DoubleValue(row[i].Number), 1
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
		descr := [...]string{Text: fmt.Sprintf("<U%d", max(c.Runes, 1)), Number: "<f8", Flag: "|b1"}[c.Kind]
		fields = append(fields, fmt.Sprintf("('%s', '%s')", c.Name, descr))
	}
	w.err = npz.WriteHeader(w.out, "["+strings.Join(fields, ", ")+"]", []int{rows})
	w.write = func(row []Cell) error {
		rows--
		for i, c := range columns {
			switch width := max(c.Runes, 1); c.Kind {
			case Text:
				if n := utf8.RuneCountInString(row[i].Text); n > width {
					return fmt.Errorf("a text of %d characters does not fit a field of %d", n, width)
				}
				npz.PutText(w.out, row[i].Text, width)
			case Number:
				npz.PutNumber(w.out, row[i].Number)
			case Flag:
				w.out.WriteByte(map[bool]byte{true: 1}[row[i].Flag])
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
