package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/pflag"
)

// dataUsage is the usage of --data.
const dataUsage = "table `FILE`, or pattern such as 'site-*.csv', of CSV (also gzip, zstd), Parquet or .npy; or problem file .npz (required)"

// inputFlags say how the files of a table are read.
type inputFlags struct {
	delimiter, missing string
	noHeader, single   bool
}

func (f *inputFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.delimiter, "delimiter", ",", "what separates the cells of CSV: one `CHARACTER`, or tab")
	s.BoolVar(&f.noHeader, "no-header", false, "the first line of CSV is a row; the columns are c0, c1, ...")
	s.StringVar(&f.missing, "missing", "refuse", "missing values, `WHAT`: refuse; drop their rows; mean: fill features with the mean over training rows")
	s.BoolVar(&f.single, "float32", false, "keep features as float32, in half of the memory")
}

// resolve sets the options that the flags stand for.
func (f *inputFlags) resolve(o *dataset.TableOptions) error {
	switch r, n := utf8.DecodeRuneInString(f.delimiter); {
	case f.delimiter == "tab":
		o.Delimiter = '\t'
	case n == 0 || n != len(f.delimiter):
		return usagef("--delimiter is %q: want one character, or tab", f.delimiter)
	default:
		o.Delimiter = r
	}
	switch f.missing {
	case "refuse":
		o.Missing = dataset.MissingRefuse
	case "drop":
		o.Missing = dataset.MissingDrop
	case "mean":
		o.Missing = dataset.MissingKeep
	default:
		return usagef("--missing is %q: want refuse, drop or mean", f.missing)
	}
	o.NoHeader = f.noHeader
	if f.single {
		o.Storage = kernel.Float32
	}
	return nil
}

// reportMissing says how many rows were left out, and how many values were filled in.
func reportMissing(w io.Writer, t *dataset.Table) {
	if n := t.Dropped(); n > 0 {
		fmt.Fprintf(w, "%s left out for missing values.\n", text.Plural(n, "row"))
	}
	if s := filled(t); s != "" {
		fmt.Fprintln(w, s)
	}
}

// filled says in how many rows of a column a mean took the place of a missing value;
// nothing if there are none.
func filled(t *dataset.Table) string {
	const most = 20
	var list []string
	for _, m := range t.Missing() {
		list = append(list, fmt.Sprintf("%d in %q", m.Rows, m.Column))
	}
	if list == nil {
		return ""
	}
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("and in %d more columns", n))
	}
	return fmt.Sprintf("Missing values filled with the mean of the training rows: %s.", strings.Join(list, ", "))
}

// readData reads tables or a problem file. Errors about a table name its file.
func readData(path string, o dataset.TableOptions) (*dataset.ProblemFile, error) {
	if isProblem(path) {
		return dataset.ReadProblem(path)
	}
	t, err := readFiles(path, o)
	if err != nil {
		return nil, err
	}
	return &dataset.ProblemFile{Table: t}, nil
}

// readFiles reads a table, and says which flag helps against missing values.
func readFiles(path string, o dataset.TableOptions) (*dataset.Table, error) {
	t, err := dataset.ReadFiles([]string{path}, o)
	if errors.Is(err, dataset.ErrMissing) {
		return nil, fmt.Errorf("%w; --missing drop leaves such rows out, --missing mean fills in the mean of the column", err)
	}
	return t, err
}
