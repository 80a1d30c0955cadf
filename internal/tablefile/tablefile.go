// Package tablefile writes tables of results as CSV, Parquet, JSON lines, or a structured array of NumPy, by the extension of
// the file.
package tablefile

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
)

// Extensions are those of the files that New writes. A name without one is CSV.
var Extensions = []string{".csv", ".parquet", ".jsonl", ".npy"}

// CheckExtension returns an error unless a name has one of the extensions, in any case, or none.
func CheckExtension(path string, extensions ...string) error {
	if ext := extension(path); ext != "" && !slices.Contains(extensions, ext) {
		return fmt.Errorf("%q would not be what its name says: want one that ends in %s", path, strings.Join(extensions, ", "))
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

// A Column is one of a table. Runes is how many a text has at most, which files of NumPy need.
type Column struct {
	Name  string
	Kind  Kind
	Runes int
}

// A Writer is given the cells of row after row, in the order of the columns.
type Writer interface {
	Text(s string)
	// Number is given NaN where there is none.
	Number(v float64)
	Flag(b bool)
	// Close returns the first error of all.
	Close() error
}

// New starts a table of so many rows in the format that the name of a file asks for, on out, which Close does not close.
func New(out io.Writer, path string, columns []Column, rows int) (Writer, error) {
	if err := CheckExtension(path, Extensions...); err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(out, 1<<16)
	switch extension(path) {
	case ".parquet":
		return newParquet(buf, columns), nil
	case ".jsonl":
		return &jsonLines{out: buf, columns: columns}, nil
	case ".npy":
		return newNumPy(buf, columns, rows)
	}
	return newCSV(buf, columns), nil
}

// A csvFile has a header. Numbers have all their digits, and those that are missing are empty.
type csvFile struct {
	out    *bufio.Writer
	csv    *csv.Writer
	record []string
	width  int
}

func newCSV(out *bufio.Writer, columns []Column) *csvFile {
	f := &csvFile{out: out, csv: csv.NewWriter(out), width: len(columns)}
	for _, c := range columns {
		f.Text(c.Name)
	}
	return f
}

func (f *csvFile) Text(s string) {
	if f.record = append(f.record, s); len(f.record) == f.width {
		_ = f.csv.Write(f.record) // Error has it
		f.record = f.record[:0]
	}
}

func (f *csvFile) Number(v float64) { f.Text(text.Number(v)) }
func (f *csvFile) Flag(b bool)      { f.Text(strconv.FormatBool(b)) }

func (f *csvFile) Close() error {
	f.csv.Flush()
	return errors.Join(f.csv.Error(), f.out.Flush())
}

// jsonLines has an object a line. Numbers that are missing are null.
type jsonLines struct {
	out     *bufio.Writer
	columns []Column
	at      int
}

func (f *jsonLines) cell(v any) {
	value, err := json.Marshal(v)
	if err != nil {
		value = []byte("null")
	}
	name, _ := json.Marshal(f.columns[f.at].Name)
	before, after := byte(','), ""
	if f.at == 0 {
		before = '{'
	}
	if f.at++; f.at == len(f.columns) {
		f.at, after = 0, "}\n"
	}
	f.out.WriteByte(before)
	f.out.Write(name)
	f.out.WriteByte(':')
	f.out.Write(value)
	f.out.WriteString(after)
}

func (f *jsonLines) Text(s string) { f.cell(s) }
func (f *jsonLines) Flag(b bool)   { f.cell(b) }

func (f *jsonLines) Number(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		f.cell(nil)
		return
	}
	f.cell(v)
}

func (f *jsonLines) Close() error { return f.out.Flush() }

// parquetFile has the columns in their order; numbers that are missing are null.
type parquetFile struct {
	out   *bufio.Writer
	file  *parquet.GenericWriter[any]
	row   parquet.Row
	width int
	err   error
}

func newParquet(out *bufio.Writer, columns []Column) *parquetFile {
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
	return &parquetFile{out: out, file: parquet.NewGenericWriter[any](out, schema, parquet.Compression(&parquet.Snappy)), width: len(columns)}
}

func (f *parquetFile) cell(v parquet.Value, level int) {
	if f.row = append(f.row, v.Level(0, level, len(f.row))); len(f.row) < f.width {
		return
	}
	if _, err := f.file.WriteRows([]parquet.Row{f.row}); f.err == nil {
		f.err = err
	}
	f.row = f.row[:0]
}

func (f *parquetFile) Text(s string) { f.cell(parquet.ByteArrayValue([]byte(s)), 0) }
func (f *parquetFile) Flag(b bool)   { f.cell(parquet.BooleanValue(b), 0) }

func (f *parquetFile) Number(v float64) {
	if math.IsNaN(v) {
		f.cell(parquet.NullValue(), 0)
		return
	}
	f.cell(parquet.DoubleValue(v), 1)
}

func (f *parquetFile) Close() error { return errors.Join(f.err, f.file.Close(), f.out.Flush()) }

// newNumPy returns a structured array, with a field for each column.
func newNumPy(out *bufio.Writer, columns []Column, rows int) (*npz.Structured, error) {
	var fields []npz.Field
	for _, c := range columns {
		f := npz.Field{Name: c.Name, Descr: "<f8"}
		switch c.Kind {
		case Text:
			f.Runes = max(c.Runes, 1)
			f.Descr = fmt.Sprintf("<U%d", f.Runes)
		case Flag:
			f.Descr = "|b1"
		}
		fields = append(fields, f)
	}
	return npz.NewStructured(out, fields, rows)
}
