package dataset

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// remarkNotation names columns whose cells may have marks between thousands, are codes with leading zeros, or
// times of which some have a zone.
func (r *reader) remarkNotation(profiles []*profile, say func(string, ...any)) {
	mark := cmp.Or(r.o.Decimal, '.')
	var thousands, zeros, rounded []string
	zero, long := "", ""
	for j, p := range profiles {
		slot := featureSlot + j
		if p == nil {
			continue
		}
		if j == len(profiles)-1 {
			slot = targetSlot
		}
		n := &r.notations[slot]
		if n.local != "" && n.zoned != "" {
			say("Column %q has times without a zone, such as %s, and times with one, such as %s: the former are read "+
				"as UTC.", text.Visible(p.name), text.Visible(n.local), text.Visible(n.zoned))
		}
		if !n.decimal && n.marked > 0 && n.marked*2 >= p.rows && r.delimiter != ',' {
			thousands = append(thousands, p.name)
		}
		if n.zeros != "" && !n.dates {
			zeros = append(zeros, p.name)
			zero = cmp.Or(zero, n.zeros)
		}
		if n.rounded != "" {
			rounded = append(rounded, p.name)
			long = cmp.Or(long, n.rounded)
		}
	}
	if thousands != nil {
		say("All numbers of %s have three digits after the %s: if it stands between thousands, 46%c668 was read "+
			"as 46.668, not as 46668. "+
			"Remove it then.", text.Names(thousands), map[rune]string{'.': "point", ',': "comma"}[mark], mark)
	}
	if zeros != nil {
		list := text.ShellList(zeros...)
		say("Cells of %s have leading zeros, such as %s: if they are codes, use --categorical %s or --drop %s.",
			text.Names(zeros), zero, list, list)
	}
	if rounded != nil {
		list := text.ShellList(rounded...)
		say("Cells of %s have more digits than numbers keep, such as %.40s: if they are codes, use --categorical %s "+
			"or --drop %s.", text.Names(rounded), long, list, list)
	}
}

// codeName is the form of names of columns that hold codes rather than amounts.
var codeName = regexp.MustCompile(`(?i)(^|[_. -])(id|ids|uid|uuid|code|zip|zipcode|plz|` +
	`postcode|postal|postalcode|ssn|isbn|phone|tel|fips|iban)$|[a-z](ID|Id|Code)$`)

const (
	// codeDigits is the least number of digits of codes: whole numbers of equal length.
	codeDigits = 7
	// leastSpan times the size of values is the range below which a training takes them as equal.
	leastSpan = 1e-11
	// farSpans times the range of the middle 98 % of the values is the least distance of an outlier from
	// their median.
	farSpans  = 100
	fewRows   = 20 // columns with fewer rows get no remark
	fewMonths = 12 // columns with at most 12 values hold no dates without hyphens
)

// remarkNumbers names columns of codes and of row numbers, marks of missing values, and outliers.
func (r *reader) remarkNumbers(profiles []*profile, say func(string, ...any)) {
	t := r.t
	starts := t.places.starts(t.Rows())
	named := map[meaning][]string{}
	for j, p := range profiles {
		if p == nil || p.rows == 0 {
			continue
		}
		if j == len(profiles)-1 {
			t.remarkValues(p, &r.notations[targetSlot], say)
			continue
		}
		n := &r.notations[featureSlot+j]
		t.remarkValues(p, n, say)
		m := t.meaningOf(j, p, n, starts)
		named[m] = append(named[m], p.name)
	}
	if rows := named[rowNumbers]; rows != nil {
		say("Whole numbers that are all different, as row numbers are: %s. Use --drop %s unless their order has "+
			"a meaning.",
			text.Names(rows), text.ShellList(rows...))
	}
	if periods := named[datesWithoutHyphens]; periods != nil {
		say("Whole numbers that look like dates without hyphens, such as 20240131 or 202401, whose differences are "+
			"not times: %s. Write 2024-01-31, and use --dates ymd.", text.Names(periods))
	}
	if names := named[codes]; names != nil {
		list := text.ShellList(names...)
		say("Whole numbers that look like codes, not amounts: %s. Use --categorical %s or --drop %s unless their "+
			"size has a meaning.",
			text.Names(names), list, list)
	}
}

// remarkValues names values of a column that look like marks of missing values or like mistakes.
func (t *Table) remarkValues(p *profile, n *notation, say func(string, ...any)) {
	v, rows, isMark := p.sentinel()
	row, isFar := p.outlier()
	switch {
	case p.differsLittle() && n.rounded == "":
		say("All values of %q are within one part in 10^11 of each other, from %s to %s, and count as equal: "+
			"subtract a number near them, and write the differences.", text.Visible(p.name),
			text.Plain(p.least), text.Plain(p.most))
	case isMark && n.dates:
		say("Column %q has %s of %s, far from all its other dates: if that marks a missing date, list the cell "+
			"with --na.", text.Visible(p.name), text.Plural(rows, "cell"), text.Date(v))
	case isMark:
		mark := text.Plain(v)
		say("Column %q has %s %s, far from all its other values: if that marks a missing value, use --na %s.",
			text.Visible(p.name), text.Plural(rows, "cell"), mark, mark)
	case isFar:
		v := p.least
		if row == p.mostRow {
			v = p.most
		}
		shown := strconv.FormatFloat(v, 'g', 6, 64)
		if n.dates {
			shown = text.Date(v)
		}
		say("The value %s of %q (%s) is more than %d times as far from the median as nearly all others: "+
			"is it right?", shown, text.Visible(p.name), t.Place(row), farSpans)
	}
}

// A meaning is what the numbers of a column are.
type meaning uint8

const (
	amounts meaning = iota
	rowNumbers
	codes
	datesWithoutHyphens
)

// meaningOf returns the meaning of the numbers of column j. starts are the first rows of the files.
func (t *Table) meaningOf(j int, p *profile, n *notation, starts []int) meaning {
	switch {
	case !p.whole || p.rows <= fewRows:
	case n.dates: // days may well follow each other
	case n.zeros != "" || n.rounded != "": // named already
	case p.sample.distinct <= fewMonths:
	case t.arePeriods(j):
		return datesWithoutHyphens
	case p.sample.distinct <= fewRows:
	case p.equalLengths():
		return codes
	case p.rows == t.Rows() && t.numbersRows(j, starts):
		return rowNumbers
	case codeName.MatchString(p.name):
		return codes
	}
	return amounts
}

// arePeriods reports whether all values of column j are dates without hyphens, of the years 1900 to 2100:
// years, months and days as 20240131, or years and months as 202401. Missing values do not count.
func (t *Table) arePeriods(j int) bool {
	for i := range t.Rows() {
		v := t.x.row(i)[j]
		if math.IsNaN(v) {
			continue
		}
		n := int(v)
		day := 1
		if n >= 1e7 {
			n, day = n/100, n%100
		}
		year, month := n/100, n%100
		isMonth := v >= 190001 && v < 21010000 && year >= 1900 && year <= 2100 && month >= 1 && month <= 12
		if !isMonth || day < 1 || day > 31 {
			return false
		}
	}
	return true
}

// equalLengths reports whether all values are whole numbers with one number of digits, at least codeDigits.
func (p *profile) equalLengths() bool {
	digits := func(v float64) int { return len(fmt.Sprintf("%.0f", v)) }
	return p.least > 0 && digits(p.least) >= codeDigits && digits(p.least) == digits(p.most) &&
		p.sample.distinct*2 > p.sample.size
}

// sentinel returns the value at an end of the column, and its rows, that looks like a mark of missing values:
// of nines, and farther from the other values than these from each other; -1 below amounts from 1 on; or one
// value of several rows that is beyond all proportion.
func (p *profile) sentinel() (v float64, rows int, ok bool) {
	isFar := func(v, gap, span float64, rows int) bool {
		return isNines(v) && gap > span || rows > 1 && gap > farSpans*span && span > 0 && p.sample.distinct > fewRows
	}
	switch {
	case p.rows-p.atLeast > 2 && isFar(p.least, p.second-p.least, p.most-p.second, p.atLeast),
		p.least == -1 && p.atLeast > 1 && p.second >= 1 && p.most >= 10:
		return p.least, p.atLeast, true
	case p.rows-p.atMost > 2 && isFar(p.most, p.most-p.secondLast, p.secondLast-p.least, p.atMost):
		return p.most, p.atMost, true
	}
	return 0, 0, false
}

// isNines reports whether a number is one of 99, 999, ... or their negatives, or -9.
func isNines(v float64) bool {
	s := fmt.Sprintf("%g", math.Abs(v))
	return len(s) <= 9 && strings.Trim(s, "9") == "" && (len(s) > 1 || v < 0)
}

// outlier returns the row of the farthest value, where it is beyond all proportion.
func (p *profile) outlier() (row int, ok bool) {
	if p.rows <= fewRows || !(p.sample.span > 0) {
		return 0, false
	}
	up, down := p.most-p.sample.median, p.sample.median-p.least
	if max(up, down) < farSpans*p.sample.span {
		return 0, false
	}
	if up > down {
		return p.mostRow, p.atMost == 1
	}
	return p.leastRow, p.atLeast == 1
}

// remarkEmpty names columns without any value.
func (r *reader) remarkEmpty(profiles []*profile, say func(string, ...any)) {
	var empty []string
	for _, p := range profiles[:len(profiles)-1] {
		if p != nil && p.rows == 0 && r.o.Schema == nil {
			empty = append(empty, p.name)
		}
	}
	if empty != nil {
		list := text.ShellList(empty...)
		say("Columns without any value: %s. Use --drop %s.", text.Names(empty), list)
	}
}

// remarkTarget names a target of two values alone. Its profile is p.
func (r *reader) remarkTarget(p *profile, say func(string, ...any)) {
	if p == nil || r.o.Schema != nil || p.rows <= fewRows || p.atLeast+p.atMost != p.rows || p.least == p.most {
		return
	}
	say("The target has two values alone, %s and %s: it is fitted as a number, so that predictions are means, and "+
		"may lie beyond both.", text.Number(p.least), text.Number(p.most))
}
