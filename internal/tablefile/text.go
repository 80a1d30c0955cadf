package tablefile

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/difalt/difalt/internal/text"
)

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
