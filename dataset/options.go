package dataset

import (
	"github.com/difalt/difalt/dataset/schema"
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
	// an error.
	Schema *schema.Schema
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
