package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/pflag"
)

// dataUsage is the usage of --data.
const dataUsage = "table `FILE`, or pattern such as 'site-*.csv', of CSV (also gzip, zstd), Parquet or .npy; or problem file .npz (required)"

// inputFlags say how the files of a table are read.
type inputFlags struct {
	delimiter, decimal, thousands, dates, missing string
	noHeader, single                              bool
}

// addText adds the flags about the text of CSV.
func (f *inputFlags) addText(s *pflag.FlagSet) {
	s.StringVar(&f.delimiter, "delimiter", "", "what separates the cells of CSV: one `CHARACTER`, or tab (default found from the first rows)")
	s.StringVar(&f.decimal, "decimal", "", "decimal `MARK` of CSV: . or , (default found)")
	s.StringVar(&f.thousands, "thousands", "", "`MARK` between the thousands of CSV: one of , . ' or space (default found, by column)")
	s.StringVar(&f.dates, "dates", "", "`ORDER` of dates in CSV with the year last: dmy or mdy (default found); dates become days since 1970-01-01")
	s.BoolVar(&f.noHeader, "no-header", false, "the first line of CSV is a row; the columns are c0, c1, ...")
}

// add adds all flags.
func (f *inputFlags) add(s *pflag.FlagSet) {
	f.addText(s)
	s.StringVar(&f.missing, "missing", "refuse", "missing values, `WHAT`: refuse; drop their rows; mean: fill features with the mean over training rows")
	s.BoolVar(&f.single, "float32", false, "keep features as float32, in half of the memory")
}

// resolve sets the options that the flags stand for.
func (f *inputFlags) resolve(o *dataset.TableOptions) error {
	for _, mark := range []struct {
		flag, value, named string
		to                 *rune
		is                 rune
	}{{"delimiter", f.delimiter, "tab", &o.Delimiter, '\t'}, {"decimal", f.decimal, "", &o.Decimal, 0}, {"thousands", f.thousands, "space", &o.Thousands, ' '}} {
		switch r, n := utf8.DecodeRuneInString(mark.value); {
		case mark.value == "":
		case mark.value == mark.named:
			*mark.to = mark.is
		case n != len(mark.value):
			return usagef("--%s is %q: want one character%s", mark.flag, mark.value, orNamed(mark.named))
		default:
			*mark.to = r
		}
	}
	o.Dates = f.dates
	switch f.missing {
	case "", "refuse":
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
	if err := o.Validate(); err != nil {
		return &usageError{withHint(err)}
	}
	return nil
}

func orNamed(name string) string {
	if name == "" {
		return ""
	}
	return ", or " + name
}

// reportMissing says how many rows were left out, and how many values were filled in.
func reportMissing(w io.Writer, t *dataset.Table) {
	if n := t.Dropped(); n > 0 {
		fmt.Fprintf(w, "%s left out for missing values.\n", text.Plural(n, "row"))
	}
	if s := filled(t); s != "" {
		sayf(w, "%s", s)
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

// readData reads tables or a problem file, and says on stderr what was assumed about a
// table. Errors about a table name its file.
func readData(ctx context.Context, stderr io.Writer, path string, o dataset.TableOptions) (*problemfile.File, error) {
	return untilCanceled(ctx, func() (*problemfile.File, error) {
		if isProblem(path) {
			return problemfile.ReadOnDisk(path, o.Folder)
		}
		t, err := readFiles(path, o)
		if err != nil {
			return nil, err
		}
		reportAssumed(stderr, t)
		return &problemfile.File{Table: t}, nil
	})
}

// readFiles reads a table, and says which flag helps against missing values.
func readFiles(path string, o dataset.TableOptions) (*dataset.Table, error) {
	t, err := dataset.ReadFiles([]string{path}, o)
	return t, withHint(err)
}

// withHint adds to an error about a table which flag helps.
func withHint(err error) error {
	var format *dataset.FormatError
	hint := ""
	switch {
	case errors.Is(err, dataset.ErrMissing):
		hint = "--missing drop leaves such rows out, --missing mean fills in the mean of the column"
	case !errors.As(err, &format):
		return err
	case format.Option == "Categorical":
		columns, pronoun, levels := text.ShellWord(strings.Join(format.Values, ",")), "it holds", ""
		if len(format.Values) > 1 {
			pronoun, levels = "they hold", fmt.Sprintf("%d columns are text: ", len(format.Values))
		}
		hint = fmt.Sprintf("%suse --categorical %s if %s levels, or --drop %s", levels, columns, pronoun, columns)
	case format.Option == "Drop":
		hint = "use --drop " + text.ShellWord(format.Values[0])
	case format.Option == "NoHeader":
		hint = "if it is one, use --no-header, and the columns are c0, c1, ..."
	default:
		var list []string
		for _, v := range format.Values {
			list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), markWord(v)))
		}
		hint = "say which with " + strings.Join(list, " or ")
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// markWord returns a mark as one would type it.
func markWord(mark string) string {
	switch mark {
	case "\t":
		return "tab"
	case " ":
		return "space"
	}
	return text.ShellWord(mark)
}

// reportAssumed says in a line for each file, or for several alike, how they were read
// where that is not the plain way.
func reportAssumed(w io.Writer, t *dataset.Table) {
	var order []string
	files := map[string][]string{}
	for _, a := range t.Assumptions() {
		if files[a.Text] == nil {
			order = append(order, a.Text)
		}
		files[a.Text] = append(files[a.Text], a.File)
	}
	for _, assumed := range order {
		names := files[assumed]
		who := nameOf(names[0], "input")
		if n := len(names) - 1; n > 0 {
			who += fmt.Sprintf(" and %s", text.Plural(n, "other file"))
		}
		sayf(w, "read %s: %s", who, assumed)
	}
}
