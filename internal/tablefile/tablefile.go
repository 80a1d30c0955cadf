// Package tablefile writes tables of results as CSV, Parquet, JSON lines, or a structured array of NumPy, by the extension of
// the file.
package tablefile

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
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
