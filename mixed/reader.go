package mixed

import (
	"math"
	"slices"
)

// A place is where a feature of all owners lies in the table of this one: in column own or, if this owner
// lacks that level, nowhere, -1. Then its value is 0, but missing where the feature missing is; -1 for none.
type place struct{ own, missing int }

// A reader reads the features of rows of the table, for one goroutine.
type reader struct {
	rows *rows
	own  []float64 // features of the table, of some rows
	x    []float64 // features of all owners, of a row; nil: features of the table
}

const (
	rowsAhead    = 32   // rows that are copied from the table before the first one is used
	numbersAhead = 4096 // largest number of features of these
)

// newReader returns a reader of the rows of the table.
func (r *rows) newReader() *reader {
	rows := min(max(numbersAhead/max(r.features, 1), 1), rowsAhead)
	return &reader{rows: r, own: make([]float64, rows*r.features), x: make([]float64, len(r.places))}
}

// reader returns a function that returns the features of a row, which are valid until its next call.
func (r *rows) reader() func(row int) []float64 {
	read := r.newReader()
	return read.one
}

// one returns the features of a row, which are valid until the next call.
func (d *reader) one(row int) []float64 {
	own := d.own[:d.rows.features]
	d.rows.in.Table.X(own, row)
	return d.features(own)
}

// each calls f with every place in a list of rows, and the features of its row, which are valid until f
// returns. Rows of a task may be anywhere in a table: they are copied some at a time, since the processor
// then waits for the memory of all of them together.
func (d *reader) each(list []int32, f func(at int, x []float64)) {
	n := d.rows.features
	rows := len(d.own) / max(n, 1)
	if rows == 0 {
		rows = len(list) // of a table without features
	}
	at := 0
	for some := range slices.Chunk(list, max(rows, 1)) {
		for i, row := range some {
			d.rows.in.Table.X(d.own[i*n:][:n], int(row))
		}
		for i := range some {
			f(at, d.features(d.own[i*n:][:n]))
			at++
		}
	}
}

// features returns the features of all owners of a row of the table, which it changes.
func (d *reader) features(own []float64) []float64 {
	r := d.rows
	r.guard.hide(own)
	x := own
	if r.places != nil {
		x = d.x
		for j, p := range r.places {
			switch {
			case p.own >= 0:
				x[j] = own[p.own]
			case p.missing >= 0 && math.IsNaN(own[p.missing]):
				x[j] = math.NaN()
			default:
				x[j] = 0
			}
		}
	}
	r.guard.replace(x)
	return x
}
