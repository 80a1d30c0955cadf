// Package sums lays out the numbers that all nodes of a network sum, and describes the data of all nodes.
package sums

// Squares is the unit of sums of squares of the data. In this unit they fit into a sum over nodes.
const Squares = 0x1p20

// A Record is a set of numbers that all nodes sum. Fields passes every field to a method of row, in an order
// that depends on nothing but options: the list is the layout of the row, for writing and for reading.
type Record interface{ Fields(row *Row) }

// A Row is the numbers of a node before a sum, and the totals of all nodes after it.
type Row struct {
	numbers []float64
	reading bool
}

// Write appends the fields of a record to row, and returns the longer row.
func Write(row []float64, from Record) []float64 {
	r := Row{numbers: row}
	from.Fields(&r)
	return r.numbers
}

// Read sets the fields of a record to the totals in row, and returns the numbers behind them.
func Read(row []float64, to Record) []float64 {
	r := Row{numbers: row, reading: true}
	to.Fields(&r)
	return r.numbers
}

// Number is a field that counts in the given unit, a power of two.
func (r *Row) Number(v *float64, unit float64) {
	if r.reading {
		*v = r.numbers[0] * unit
		r.numbers = r.numbers[1:]
		return
	}
	r.numbers = append(r.numbers, *v/unit)
}

// Numbers is a field of a fixed number of numbers in one unit.
func (r *Row) Numbers(v []float64, unit float64) {
	for k := range v {
		r.Number(&v[k], unit)
	}
}

// Flag is a field that is true in the totals if it is true at one node or at more.
func (r *Row) Flag(v *bool) {
	var count float64
	if *v {
		count = 1
	}
	r.Number(&count, 1)
	if r.reading {
		*v = count > 0
	}
}
