package dataset

import (
	"errors"
	"fmt"

	"github.com/difalt/difalt/mixed"
)

// TableOptions assign the columns of files to the parts of a table. The zero value of every field is a
// default.
type TableOptions struct {
	// Task names the column of task names; empty: all rows belong to one task.
	Task string
	// Target names the column to predict; empty for a table without targets.
	Target string
	// Features lists the columns of features. Without it, all columns without another role are features,
	// except those that Drop lists and row numbers that another program has added.
	Features, Drop []string
	// Weight names the column of row weights, which are not negative. Holdout names the column of marks: 1
	// for a test row, 0 for a training row. Both are optional.
	Weight, Holdout string
	// Categorical lists the feature columns of levels. Each level becomes a feature "column=level", which is
	// 1 in its rows and 0 elsewhere. Levels are sorted. Columns whose cells are text are categorical without
	// being listed, unless Numbers is set: then their cells are errors.
	Categorical []string
	Numbers     bool
	// Schema, if not nil, selects the features of another table, with its levels, in place of Features, Drop
	// and Categorical. Another level is an error; with NewLevels it sets all features of its column to 0.
	Schema    *mixed.Schema
	NewLevels bool
	// Missing selects the treatment of missing values.
	Missing Missing
	// NA lists cells that are missing values in every column. A number in it stands for all its spellings.
	NA []string
	// Keep lists columns whose cells [Scan] passes on as they are.
	Keep []string
	// Decimal is the decimal mark of CSV: '.' or ','; 0 means '.'.
	Decimal rune
	// Dates is the order of year, month and day in CSV: "ymd", "dmy" or "mdy". Columns of such dates become
	// days since 1970-01-01; a number among them is an error. Empty: dates are refused.
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
	case o.Features != nil && len(o.Drop) > 0:
		return errors.New("columns are either listed as features or dropped, not both")
	case o.Schema == nil:
		return nil
	case o.Features != nil || len(o.Drop) > 0 || len(o.Categorical) > 0:
		return errors.New("a schema excludes lists of features, of categorical and of dropped columns")
	}
	return o.Schema.Validate()
}

// Missing is the treatment of missing values: empty cells, nulls of Parquet, the cells of TableOptions.NA,
// and in columns of numbers also NaN, NA, N/A, #N/A, null and None in any case. These words are names in
// columns of tasks and levels.
type Missing uint8

const (
	// MissingRefuse returns an error that counts them by column.
	MissingRefuse Missing = iota
	// MissingDrop leaves out their rows. [Scan] passes them on as incomplete.
	MissingDrop
	// MissingKeep stores missing features as NaN, to be filled by the model, and leaves out rows without
	// target, task, weight or mark. Scan passes rows without a task on as incomplete.
	MissingKeep
)

// A FormatError reports a place in a file that needs an option.
type FormatError struct {
	Option string   // the field of TableOptions to set
	Values []string // its candidates; columns to add for Categorical and Drop; rules for Missing
	NA     string   // the cell to list in NA if it is a missing value; empty where that would not help
	err    error
}

func (e *FormatError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.err }

func formatErrorf(option string, values []string, format string, args ...any) error {
	return &FormatError{Option: option, Values: values, err: fmt.Errorf(format, args...)}
}
