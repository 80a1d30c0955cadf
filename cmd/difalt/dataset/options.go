package dataset

import (
	"errors"
	"fmt"

	"github.com/difalt/difalt/mixed"
)

// TableOptions assign the columns of files to the parts of a table. The zero value of every field but Task is
// a default.
type TableOptions struct {
	// Task names the column of task names. It is required.
	Task string
	// Target names the column to predict; empty for a table without targets.
	Target string
	// Drop lists columns to leave out. All columns without another role are features.
	Drop []string
	// Weight names the column of row weights, which are not negative. Holdout names the column of marks: 1
	// for a test row, 0 for a training row. Both are optional.
	Weight, Holdout string
	// Categorical lists the feature columns of levels. Each level becomes a feature "column=level", which is
	// 1 in its rows and 0 elsewhere. Levels are sorted.
	Categorical []string
	// Schema, if not nil, selects the features of another table, with its levels, in place of Drop and
	// Categorical. Another level is an error; with NewLevels it sets all features of its column to 0.
	Schema    *mixed.Schema
	NewLevels bool
	// Missing selects the treatment of missing values.
	Missing Missing
	// Decimal is the decimal mark of CSV: '.' or ','; 0 means '.'.
	Decimal rune
	// Dates is the order of year, month and day in CSV: "ymd", "dmy" or "mdy". Columns of such dates become
	// days since 1970-01-01. Empty: dates are refused.
	Dates string
	// Progress, if not nil, receives the bytes read so far and the bytes of all files, or 0 if a file has no
	// size. It is called from the goroutine that reads.
	Progress func(done, total int64)
}

// Validate returns an error for an impossible decimal mark, order of dates or schema. Columns are checked
// against the files.
func (o *TableOptions) Validate() error {
	switch {
	case o.Decimal != 0 && o.Decimal != '.' && o.Decimal != ',':
		return formatErrorf("Decimal", []string{".", ","}, "the decimal mark is %q: expected '.' or ','", o.Decimal)
	case o.Dates != "" && layouts[o.Dates] == "":
		return formatErrorf("Dates", []string{"ymd", "dmy", "mdy"}, "the order of dates is %q", o.Dates)
	case o.Schema == nil:
		return nil
	case o.Drop != nil || o.Categorical != nil:
		return errors.New("a schema excludes lists of categorical and dropped columns")
	}
	return o.Schema.Validate()
}

// Missing is the treatment of missing values: empty cells, NA, N/A, NaN, null and None in any case, and nulls
// of Parquet. A task is missing only if its cell is empty.
type Missing uint8

const (
	// MissingRefuse returns an error that counts them by column.
	MissingRefuse Missing = iota
	// MissingDrop leaves out their rows.
	MissingDrop
	// MissingKeep stores missing features as NaN, to be filled by the model, and leaves out rows without
	// target, task, weight or mark.
	MissingKeep
)

// A FormatError reports a place in a file that needs an option.
type FormatError struct {
	Option string   // the field of TableOptions to set
	Values []string // its candidates; for Categorical and Drop, columns to add
	err    error
}

func (e *FormatError) Error() string { return e.err.Error() }

func formatErrorf(option string, values []string, format string, args ...any) error {
	return &FormatError{option, values, fmt.Errorf(format, args...)}
}
