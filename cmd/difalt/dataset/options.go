package dataset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
)

// TableOptions assign the columns of files to the parts of a table. The zero value of
// every field but Task is a default.
type TableOptions struct {
	// Task names the column of task names. It is required.
	Task string
	// Target names the column to predict; empty for a table without targets.
	Target string
	// Drop lists columns to leave out. All columns without another role are features.
	Drop []string
	// Weight names the column of row weights, which are not negative. Holdout names the
	// column of marks: 1 for a test row, 0 for a training row. Both are optional.
	Weight, Holdout string
	// Categorical lists the feature columns of levels. Each level becomes a feature
	// "column=level", which is 1 in its rows and 0 elsewhere. Levels are sorted.
	Categorical []string
	// Schema, if not nil, selects the features of another table, with its levels, in
	// place of Drop and Categorical. Another level is an error; with NewLevels it sets all
	// features of its column to 0.
	Schema    *schema.Schema
	NewLevels bool
	// Missing selects the treatment of missing values.
	Missing Missing
	// Delimiter separates the cells of CSV; 0 detects comma, semicolon, tab or | from the
	// header line.
	Delimiter rune
	// Decimal is the decimal mark of CSV: '.' or ','; 0 means '.'.
	Decimal rune
	// Dates is the order of year, month and day in CSV: "ymd", "dmy" or "mdy". Columns of
	// such dates become days since 1970-01-01. Empty: dates are refused.
	Dates string
	// Progress, if not nil, receives the bytes read so far and the bytes of all files, or
	// 0 if a file has no size. It is called from the goroutine that reads.
	Progress func(done, total int64)
}

// Validate returns an error for an impossible delimiter, decimal mark, order of dates or
// schema. Columns are checked against the files.
func (o *TableOptions) Validate() error {
	if d := o.Delimiter; d >= utf8.RuneSelf || d < 0 || strings.ContainsRune("\"'\n\r.-+0123456789", d) {
		return formatErrorf("Delimiter", []string{",", ";", "\t"}, "the delimiter is %q: expected a comma, semicolon, tab or another ASCII mark", d)
	}
	if o.Decimal != 0 && o.Decimal != '.' && o.Decimal != ',' {
		return formatErrorf("Decimal", []string{".", ","}, "the decimal mark is %q: expected '.' or ','", o.Decimal)
	}
	if o.Decimal == ',' && o.Delimiter == ',' {
		return formatErrorf("Delimiter", []string{";", "\t"}, "the comma is both delimiter and decimal mark")
	}
	if o.Dates != "" && layouts[o.Dates] == nil {
		return formatErrorf("Dates", []string{"ymd", "dmy", "mdy"}, "the order of dates is %q: expected ymd, dmy or mdy", o.Dates)
	}
	if o.Schema == nil {
		return nil
	}
	if o.Drop != nil || o.Categorical != nil {
		return fmt.Errorf("a schema excludes lists of categorical and dropped columns")
	}
	return o.Schema.Validate()
}

// Missing is the treatment of missing values: empty cells, NA, N/A, NaN, null and None in
// any case, and nulls of Parquet. A task is missing only if its cell is empty.
type Missing uint8

const (
	// MissingRefuse returns an error that counts them by column.
	MissingRefuse Missing = iota
	// MissingDrop leaves out their rows.
	MissingDrop
	// MissingKeep stores missing features as NaN, to be filled by the model, and leaves out
	// rows without target, task, weight or mark.
	MissingKeep
)

// A FormatError reports a place in a file that needs an option.
type FormatError struct {
	// Option is the field of TableOptions to set.
	Option string
	// Values are its candidates; for Categorical and Drop, columns to add.
	Values []string

	err error
}

func (e *FormatError) Error() string { return e.err.Error() }

func (e *FormatError) Unwrap() error { return e.err }

func formatErrorf(option string, values []string, format string, args ...any) error {
	return &FormatError{option, values, fmt.Errorf(format, args...)}
}

// suggestion returns words about the name most similar to a wrong one, or nothing if all differ too much.
func suggestion(wrong string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		d := levenshtein.ComputeDistance(strings.ToLower(clip(wrong)), strings.ToLower(clip(name)))
		if d <= (min(len(wrong), len(name))+1)/3 && (best == "" || d < least) {
			best, least = fmt.Sprintf(" (did you mean %q?)", clip(name)), d
		}
	}
	return best
}
