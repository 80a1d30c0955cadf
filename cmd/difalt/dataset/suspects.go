package dataset

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// remarkNotation names columns whose cells may have marks between thousands, or are codes with leading zeros.
func (r *reader) remarkNotation(profiles []*profile, say func(string, ...any)) {
	mark := cmp.Or(r.o.Decimal, '.')
	var thousands, zeros []string
	example := ""
	for j, p := range profiles {
		slot := featureSlot + j
		if p == nil {
			continue
		}
		if j == len(profiles)-1 {
			slot = targetSlot
		}
		n := &r.notations[slot]
		if !n.decimal && n.marked > 0 && n.marked*2 >= p.rows && r.delimiter != ',' {
			thousands = append(thousands, p.name)
		}
		if n.zeros != "" && !n.dates {
			zeros = append(zeros, p.name)
			example = cmp.Or(example, n.zeros)
		}
	}
	if thousands != nil {
		say("All numbers of %s have three digits after the %s: if it stands between thousands, 46%c668 was read "+
			"as 46.668, not as 46668. "+
			"Remove it then.", text.Names(thousands), map[rune]string{'.': "point", ',': "comma"}[mark], mark)
	}
	if zeros != nil {
		list := text.ShellWord(strings.Join(zeros, ","))
		say("Cells of %s have leading zeros, such as %s: if they are codes, use --categorical %s or --drop %s.",
			text.Names(zeros), example, list, list)
	}
}

// codeName is the form of names of columns that hold codes rather than amounts.
var codeName = regexp.MustCompile(`(?i)(^|[_. -])(id|ids|uid|uuid|code|zip|zipcode|plz|` +
	`postcode|postal|postalcode|ssn|isbn|phone|tel|fips|iban)$|[a-z](ID|Id|Code)$`)

const (
	codeDigits = 7   // of whole numbers of equal length that look like codes
	farSpans   = 100 // spans of the middle 98 % of the values from the median to an outlier
	fewRows    = 20  // columns with fewer rows get no remark
)

// remarkNumbers names columns of codes and of row numbers, marks of missing values, and outliers.
func (r *reader) remarkNumbers(profiles []*profile, say func(string, ...any)) {
	t := r.t
	starts := t.places.starts(t.Rows())
	var rows, codes []string
	for j, p := range profiles {
		if p == nil || p.rows == 0 {
			continue
		}
		if v, n, ok := p.sentinel(); ok {
			say("Column %q has %s %v, far from all its other values: if that marks a missing value, use --na %v.",
				text.Visible(p.name),
				text.Plural(n, "cell"), v, v)
		} else if row, ok := p.outlier(); ok {
			v := p.least
			if row == p.mostRow {
				v = p.most
			}
			say("The value %v of %q (%s) is more than %d times as far from the median as nearly all others: "+
				"is it right?", v,
				text.Visible(p.name), t.Place(row), farSpans)
		}
		if j == len(profiles)-1 || !p.whole || p.rows <= fewRows {
			continue
		}
		notation := &r.notations[featureSlot+j]
		switch {
		case notation.dates: // days may well follow each other
		case notation.zeros != "" || p.distinct() <= fewRows: // named already, or amounts
		case p.equalLengths():
			codes = append(codes, p.name)
		case p.rows == t.Rows() && t.numbersRows(j, starts):
			rows = append(rows, p.name)
		case codeName.MatchString(p.name):
			codes = append(codes, p.name)
		}
	}
	if rows != nil {
		say("Whole numbers that are all different, as row numbers are: %s. Use --drop %s unless their order has "+
			"a meaning.",
			text.Names(rows), text.ShellWord(strings.Join(rows, ",")))
	}
	if codes != nil {
		list := text.ShellWord(strings.Join(codes, ","))
		say("Whole numbers that look like codes, not amounts: %s. Use --categorical %s or --drop %s unless their "+
			"size has a meaning.",
			text.Names(codes), list, list)
	}
}

// distinct estimates the number of different values from the sample.
func (p *profile) distinct() int { return len(slices.Compact(slices.Clone(p.sample))) }

// equalLengths reports whether all values are whole numbers with one number of digits, at least codeDigits.
func (p *profile) equalLengths() bool {
	digits := func(v float64) int { return len(fmt.Sprintf("%.0f", v)) }
	return p.least > 0 && digits(p.least) >= codeDigits && digits(p.least) == digits(p.most) &&
		p.distinct()*2 > len(p.sample)
}

// sentinel returns the value at an end of the column, and its rows, that looks like a mark of missing values:
// of nines, and farther from the other values than these from each other.
func (p *profile) sentinel() (v float64, rows int, ok bool) {
	if p.rows-p.atLeast > 2 && isNines(p.least) && p.second-p.least > p.most-p.second {
		return p.least, p.atLeast, true
	}
	if p.rows-p.atMost > 2 && isNines(p.most) && p.most-p.secondLast > p.secondLast-p.least {
		return p.most, p.atMost, true
	}
	return 0, 0, false
}

// isNines reports whether a number is one of 99, 999, ... and their negatives, or -9 or -1 followed by zeros
// alone.
func isNines(v float64) bool {
	s := fmt.Sprintf("%g", math.Abs(v))
	return len(s) <= 9 && strings.Trim(s, "9") == "" && (len(s) > 1 || v < 0)
}

// outlier returns the row of the farthest value, where it is beyond all proportion.
func (p *profile) outlier() (row int, ok bool) {
	n := len(p.sample)
	if p.rows <= fewRows || n <= fewRows {
		return 0, false
	}
	trim := max(n/50, 1)
	median, span := p.sample[n/2], p.sample[n-1-trim]-p.sample[trim]
	up, down := p.most-median, median-p.least
	if !(span > 0) || max(up, down) < farSpans*span {
		return 0, false
	}
	if up > down {
		return p.mostRow, p.atMost == 1
	}
	return p.leastRow, p.atLeast == 1
}
