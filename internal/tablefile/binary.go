package tablefile

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/difalt/difalt/internal/npz"
	"github.com/parquet-go/parquet-go"
)

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
