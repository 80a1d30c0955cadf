package dataset

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A Row is a row of files as [Scan] passes it on. Its slices are overwritten by the next row.
type Row struct {
	Task     string    // empty if it is missing
	Features []float64 // the features, as in a row of [Table.X]
	Kept     []string  // the cells of TableOptions.Keep as they are in the file
	// Dates are the kinds of dates in the columns of Kept, which Features has as days since 1970-01-01. Every
	// file has its own kinds.
	Dates []Date
	// Complete is false for a row that lacks a value which the options need: its task, or, under MissingDrop,
	// a feature.
	Complete bool
	Place    Place
}

// A Place is where a row is.
type Place struct {
	path string // empty for a stream
	unit string // lineUnit or rowUnit
	at   int
}

// String returns "line 12", or "b.csv, line 12" if the file has a name.
func (p Place) String() string {
	if p.path == "" {
		return p.unit + " " + strconv.Itoa(p.at)
	}
	return text.Visible(p.path) + ", " + p.unit + " " + strconv.Itoa(p.at)
}

// A Date is the kind of the dates in a column that is a feature.
type Date uint8

const (
	NoDate  Date = iota // numbers, texts, and columns that are not features
	Day                 // dates
	Instant             // dates with or without a time of the day
)

// A Summary describes the rows that Scan has read.
type Summary struct {
	Rows       int
	Incomplete int            // rows that lack a value
	First      string         // the place of the first one of these, such as "line 12"
	Filled     []MissingCount // missing values of complete rows, by column
	// NewLevels are levels that the schema does not have, by column: the first mostNewLevels.
	NewLevels []mixed.Category
	Notes     []string // how columns were read, as in [Table.Notes]
}

// Scan reads files as [ReadFiles] does, to the features of o.Schema, which is required, and passes every row
// on to each, in order. It holds one row in memory. Rows need no target; under MissingRefuse missing values
// are an error after the last row of a file. An error of each ends the scan.
func Scan(patterns []string, o TableOptions, each func(*Row) error) (*Summary, error) {
	if o.Schema == nil || o.Target != "" || o.Weight != "" || o.Holdout != "" {
		return nil, errors.New("a scan needs a schema, and reads neither targets, weights nor marks")
	}
	s := new(Summary)
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	r.each = func(row *Row) error {
		s.Rows++
		if !row.Complete {
			if s.Incomplete++; s.Incomplete == 1 {
				s.First = r.place().String()
			}
		}
		if err := each(row); err != nil {
			return r.here(": %w", err)
		}
		return nil
	}
	if err := r.readEach(patterns); err != nil {
		return nil, err
	}
	if s.Rows == 0 {
		return nil, place.NamedAll(NamesOf(patterns), errNoRows)
	}
	for j, column := range r.t.schema.Columns {
		if n := r.gaps[featureSlot+j].count; n > 0 {
			s.Filled = append(s.Filled, MissingCount{column, n})
		}
	}
	for _, own := range r.levels[featureSlot:] {
		if own != nil && own.unknown != nil {
			s.NewLevels = append(s.NewLevels, mixed.Category{Column: own.column, Levels: own.unknown})
		}
	}
	s.Notes = r.t.notes
	return s, nil
}

// findDates finds the kept columns of a CSV file that are dates. The first cell of a known kind decides, in
// the records ahead.
func (r *reader) findDates(list *records) {
	known, left := make([]bool, len(r.keep)), len(r.keep)
	list.ahead(func(cells []string) bool {
		for i, col := range r.keep {
			if known[i] || col >= len(cells) {
				continue
			}
			cell := strings.TrimSpace(cells[col])
			if r.o.kindOf(cell) == unknown {
				continue
			}
			known[i] = true
			left--
			_, err := parseNumber(cell, cmp.Or(r.o.Decimal, '.'))
			_, isDate := days(cell, r.o.Dates)
			if isDate && err != nil && r.isNumber(col) {
				r.row.Dates[i] = Instant
			}
		}
		return left == 0
	})
}

// place returns where the current row is.
func (r *reader) place() Place { return Place{r.path, r.unit, r.at} }

// checkTexts refuses names and kept cells of the current row that no output can hold.
func (r *reader) checkTexts() error {
	if r.task != "" {
		if err := checkName(r.task); err != nil {
			return r.here(": task %w", err)
		}
	}
	for i, cell := range r.row.Kept {
		if err := checkEncoding(cell, "text"); err != nil {
			return r.here(", column %.60q: %w", r.o.Keep[i], err)
		}
	}
	return nil
}

// pass passes the current row on.
func (r *reader) pass(complete bool) error {
	if err := r.checkTexts(); err != nil {
		return err
	}
	row := &r.row
	if row.Features == nil {
		r.widths = make([]int, len(r.t.schema.Columns))
		n := 0
		for j, own := range r.levels[featureSlot:] {
			if own != nil {
				r.widths[j] = len(own.list)
			}
			n += max(r.widths[j], 1)
		}
		row.Features = make([]float64, n)
	}
	row.Task, row.Complete, row.Place = r.task, complete, r.place()
	copy(row.Features, r.x[featureSlot:])
	expand(row.Features, r.widths)
	return r.each(row)
}
