package dataset

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/kernel"
)

// TableOptions says what the columns of a file are, and how its rows become those of
// a table. The zero value of every field but Task is a default.
type TableOptions struct {
	// Task is the column that names the task of a row. It must be set.
	Task string
	// Target is the column to predict; a table without targets leaves it empty.
	Target string
	// Node is the column that names the node of a row; empty if there is none.
	Node string
	// Features are the feature columns, in this order, and all others are ignored.
	// Nil takes every column that is not named above nor dropped.
	Features []string
	// Drop are columns to leave out.
	Drop []string
	// Weight, Holdout, Time and Group are columns that say something about rows: how much a row
	// counts (numbers that are not negative), whether it is held out (0 or 1), when it was
	// (numbers or dates), and which rows belong together (names); empty if there is none.
	// They are no features, but for Time unless it is dropped. See [Table.Split].
	Weight, Holdout, Time, Group string
	// Categorical are those of the feature columns whose cells are levels, not numbers.
	// Each becomes one feature a level, which is 1 in the rows of that level and 0
	// elsewhere, and is named "column=level". Levels are sorted.
	Categorical []string
	// Schema, if it is set, takes the place of Features and Categorical: the features
	// of another table, with the levels that it has. A level that is not among them is
	// an error, unless NewLevels: then all features of its column are 0.
	Schema    *schema.Schema
	NewLevels bool
	// Missing says what to do about cells without a value.
	Missing Missing
	// Storage is how features are kept: float64, or float32 in half of the memory.
	Storage kernel.Storage
	// Folder keeps features in files in this folder, and in memory only as far as there is
	// room, for tables larger than memory: see kernel.NewBuilderOnDisk. What is packed of
	// the table lies there too, a second time. Empty, the default, means memory.
	Folder string
	// Delimiter separates the cells of CSV; 0 finds it: comma, semicolon, tab or |.
	Delimiter rune
	// Decimal is the decimal mark of CSV, '.' or ','; 0 finds it.
	Decimal rune
	// Thousands is what may separate the thousands of numbers in CSV: ',', '.', '\'' or
	// ' ', which stands for all spaces; 0 finds it for every column.
	Thousands rune
	// Dates is the order of dates in CSV whose year is last, "dmy" or "mdy"; empty finds
	// it. Columns of dates become days since 1970-01-01, with their time if they have one.
	Dates string
	// NoHeader says that the first line of CSV is a row, not the names of the columns,
	// which are then c0, c1, and so on.
	NoHeader bool
	// Progress, if it is set, is told how many bytes of all files have been read so far; total is 0 for what
	// has no size, such as a pipe.
	Progress func(done, total int64)
}

// Validate refuses options about the text of CSV that are not there. Those about columns
// need a file.
func (o *TableOptions) Validate() error {
	if d := o.Delimiter; d >= utf8.RuneSelf || d < 0 || strings.ContainsRune("\"'\n\r.-+0123456789", d) {
		return formatErrorf("Delimiter", []string{",", ";", "\t"}, "the delimiter is %q: want one character that numbers and quotes do not have, such as a comma, a semicolon or a tab", d)
	}
	if o.Decimal != 0 && o.Decimal != '.' && o.Decimal != ',' {
		return formatErrorf("Decimal", []string{".", ","}, "the decimal mark is %q: want '.' or ','", o.Decimal)
	}
	if o.Thousands != 0 && !strings.ContainsRune(",.' ", o.Thousands) || o.Thousands != 0 && o.Thousands == o.Decimal {
		return formatErrorf("Thousands", []string{",", ".", "'", " "}, "the mark between thousands is %q: want one of , . ' and space, and not the decimal mark", o.Thousands)
	}
	if _, ok := orderNames[o.Dates]; o.Dates != "" && !ok {
		return formatErrorf("Dates", []string{"dmy", "mdy"}, "the order of dates is %q: want ymd, dmy or mdy", o.Dates)
	}
	return nil
}

// named returns the names of the columns that the options name, some of them empty.
func (o *TableOptions) named() []string {
	list := []string{o.Task, o.Target, o.Node, o.Weight, o.Holdout, o.Time, o.Group}
	if o.Schema != nil {
		return append(list, o.Schema.Columns...)
	}
	return slices.Concat(list, o.Features, o.Categorical, o.Drop)
}

// Missing says what becomes of missing values: empty cells, NA, N/A, NaN, null and
// None in any case, and nulls of Parquet. In columns of names only empty cells are
// missing, for NA may be a name.
type Missing uint8

const (
	// MissingRefuse makes them an error that counts them by column.
	MissingRefuse Missing = iota
	// MissingDrop leaves out the rows that have any.
	MissingDrop
	// MissingKeep keeps missing features as NaN, in place of which package fit puts
	// the mean over training rows, and leaves out the rows without target, task, node,
	// weight, mark, time or group.
	MissingKeep
)

// A FormatError is a place of a file that can be read in several ways, or in none,
// until an option says how.
type FormatError struct {
	// Option is the field of TableOptions that decides it.
	Option string
	// Values are what it may be set to; for Categorical, what to add to it.
	Values []string

	err error
}

func (e *FormatError) Error() string { return e.err.Error() }

func (e *FormatError) Unwrap() error { return e.err }

func formatErrorf(option string, values []string, format string, args ...any) error {
	return &FormatError{option, values, fmt.Errorf(format, args...)}
}

// suggestion returns words about the one of the names that a wrong one may stand for, or
// nothing if none is like it.
func suggestion(wrong string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		d := levenshtein.ComputeDistance(strings.ToLower(clip(wrong)), strings.ToLower(clip(name)))
		if limit := (min(len(wrong), len(name)) + 1) / 3; d <= limit && (best == "" || d < least) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", clip(best))
}
