package dataset

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// A kind is what a cell of CSV, or the cells of a column, consist of.
type kind uint8

const (
	unknown kind = iota // missing values and marks such as "?"
	number              // numbers, dates, and what looks like them in another notation
	words               // other text
)

// kindOf returns the kind of a trimmed cell.
func (o *TableOptions) kindOf(cell string) kind {
	decimal := cmp.Or(o.Decimal, '.')
	switch {
	case cell == "" || isMissing(cell) || !strings.ContainsFunc(cell, isLetterOrDigit):
		return unknown
	case strings.EqualFold(strings.TrimLeft(cell, "+-"), "inf"),
		strings.EqualFold(strings.TrimLeft(cell, "+-"), "infinity"):
		return unknown
	}
	if _, isTruth := truthOf(cell); isTruth {
		return number
	}
	if _, err := parseNumber(cell, decimal); err == nil || isRange(err) {
		return number
	}
	if _, err := strconv.ParseInt(cell, 0, 64); err == nil { // a literal of programs: 0x10, 1_000
		return number
	}
	if why, _, _ := o.advice(cell); why != "" {
		return number
	}
	return words
}

// truthOf returns 1 for true and 0 for false, in any case, and whether a cell is one of them.
func truthOf(cell string) (v float64, isTruth bool) {
	if strings.EqualFold(cell, "true") {
		return 1, true
	}
	return 0, strings.EqualFold(cell, "false")
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// kindsOf returns the kind of every column of a file of CSV by its first cell of a known kind, from the
// records ahead. A column without one counts as unknown: its cells will be read as numbers.
func (r *reader) kindsOf(list *records, columns int) []kind {
	kinds, left := make([]kind, columns), columns
	given := map[string]bool{}
	for _, cell := range r.o.NA {
		given[cell] = true
	}
	list.ahead(func(cells []string) bool {
		for i := range cells[:min(len(cells), columns)] {
			if cell := strings.TrimSpace(cells[i]); kinds[i] == unknown && !given[cell] {
				if kinds[i] = r.o.kindOf(cell); kinds[i] != unknown {
					left--
				}
			}
		}
		return left == 0
	})
	return kinds
}
