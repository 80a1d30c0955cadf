package dataset

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A notation is how numbers are written.
type notation struct {
	decimal byte // '.' or ','
	group   byte // between thousands: 0 (nothing), ',', '.', '\'' or ' ', which stands for all spaces
}

// The notations there are: one of point comes before its counterpart of comma.
var notations = [...]notation{{'.', 0}, {',', 0}, {'.', ','}, {',', '.'}, {'.', ' '}, {',', ' '}, {'.', '\''}, {',', '\''}}

// readings is a set of notations, a bit for each.
type readings uint8

// The sets of all, and of those with a decimal point and with a decimal comma.
const (
	allReadings   readings = 0xff
	pointReadings readings = 0x55
	commaReadings readings = 0xaa
)

// readingsOf returns the notations in which a trimmed cell is a number; none if it is not one.
func readingsOf(cell string) (r readings) {
	if digits(cell) {
		return allReadings
	}
	cell = singleMarks(cell)
	var memory [64]byte
	for i, n := range notations {
		ok := r>>(i%2)&1 == 1 // as without a mark between thousands
		if n.group == 0 || strings.IndexByte(cell, n.group) >= 0 {
			_, ok = n.plain(memory[:0], cell)
		}
		if ok {
			r |= 1 << i
		}
	}
	return r
}

// groups returns the marks between thousands of the notations in r with a decimal mark.
func (r readings) groups(decimal byte) (marks []byte) {
	for i, n := range notations {
		if r>>i&1 == 1 && n.decimal == decimal {
			marks = append(marks, n.group)
		}
	}
	return marks
}

// plain appends to text, for strconv, the number that a cell of singleMarks is in this notation; ok
// is false if it is none.
func (n notation) plain(text []byte, cell string) (plain []byte, ok bool) {
	body, exponent := cell, ""
	if i := strings.IndexAny(cell, "eE"); i >= 0 { // 1.5e3: whatever has an exponent has no thousands
		body, exponent, n.group = cell[:i], cell[i:], 0
		if !digits(strings.TrimLeft(exponent[1:], "+-")) {
			return nil, false
		}
	}
	if len(body) > 0 && (body[0] == '-' || body[0] == '+') {
		text, body = append(text, body[0]), body[1:]
	}
	start := len(text)
	whole, fraction, _ := strings.Cut(body, string(n.decimal))
	first, rest, grouped := whole, "", false
	if n.group != 0 {
		first, rest, grouped = strings.Cut(whole, string(n.group))
	}
	if text = append(text, first...); grouped && (len(first) < 1 || len(first) > 3 || first[0] == '0') {
		return nil, false
	}
	for grouped {
		first, rest, grouped = strings.Cut(rest, string(n.group))
		if text = append(text, first...); len(first) != 3 {
			return nil, false
		}
	}
	point := len(text)
	if text = append(text, fraction...); !digits(text[start:]) {
		return nil, false
	}
	return append(slices.Insert(text, point, '.'), exponent...), true
}

// parse returns the number that a trimmed cell is in this notation; ok is false if it is none.
func (n notation) parse(cell string) (v float64, err error, ok bool) {
	var memory [64]byte
	text, ok := n.plain(memory[:0], singleMarks(cell))
	if ok {
		v, err = parseNumber(string(text))
	}
	return v, err, ok
}

// singleMarks returns a cell with every digit kept, and one byte for each mark: a
// space for all spaces, also those that do not break a line, and ' for both apostrophes.
func singleMarks(cell string) string {
	if !strings.ContainsFunc(cell, func(c rune) bool { return c >= 0x80 }) {
		return cell
	}
	return marks.Replace(cell)
}

var marks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2019", "'")

// digits reports whether s is digits, at least one.
func digits[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return len(s) > 0
}

// parseNumber is strconv.ParseFloat without the underscores of Go's literals: in a table they are a slip.
func parseNumber(s string) (float64, error) {
	if strings.IndexByte(s, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// dateOrders is a set of orders in which a date may be written. Four digits of it are the year.
type dateOrders uint8

const (
	yearFirst dateOrders = 1 << iota
	dayFirst
	monthFirst
	noDate dateOrders = 0
)

// The names of the orders in TableOptions.Dates.
var orderNames = map[string]dateOrders{"ymd": yearFirst, "dmy": dayFirst, "mdy": monthFirst}

// A date is three numbers in the order in which they are written, and what follows.
type date struct {
	part    [3]int
	orders  dateOrders // in which no number is too large for a month
	mark    byte       // between the numbers
	seconds float64    // since midnight, UTC if there is a time zone
}

// splitDate splits a trimmed cell such as 2024-01-31, 31.1.2024 or 01/31/2024, perhaps
// with a time (T or a space, then 15:04, 15:04:05.678, perhaps Z or +01:00). 2024-01 is the
// first day of that month.
func splitDate(cell string) (d date, ok bool) {
	day, clock, timed := cell, "", false
	if i := strings.IndexAny(cell, "T "); i >= 0 {
		day, clock, timed = cell[:i], cell[i+1:], true
	}
	i := strings.IndexFunc(day, func(c rune) bool { return c < '0' || c > '9' })
	if i < 1 || i > 4 || day[i] != '-' && day[i] != '/' && day[i] != '.' {
		return d, false
	}
	d.mark = day[i]
	second, third, whole := strings.Cut(day[i+1:], day[i:i+1])
	if len(cell) == len("2024-01") && i == 4 && d.mark == '-' && !whole {
		third = "01"
	}
	year := 2 // its place
	if i == 4 {
		year = 0
	}
	for k, part := range [3]string{day[:i], second, third} {
		if !digits(part) || k == year && len(part) != 4 || k != year && len(part) > 2 {
			return d, false
		}
		d.part[k], _ = strconv.Atoi(part)
	}
	if d.orders = yearFirst; year == 2 {
		d.orders = noDate
		for k, order := range [2]dateOrders{monthFirst, dayFirst} {
			if d.part[k] <= 12 {
				d.orders |= order
			}
		}
	}
	if !timed {
		return d, true
	}
	d.seconds, ok = splitTime(clock)
	return d, ok
}

// splitTime returns the seconds since midnight of a time, in UTC if it has a zone.
func splitTime(s string) (seconds float64, ok bool) {
	for _, layout := range []string{"15:04:05Z07:00", "15:04:05", "15:04Z07:00", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds(), true
		}
	}
	return 0, false
}

// days returns the days since 1970-01-01 of a cell that is written in the given order.
func (o dateOrders) days(cell string) (days float64, ok bool) {
	d, ok := splitDate(cell)
	if !ok || d.orders&o == 0 {
		return 0, false
	}
	year, month, day := d.part[0], d.part[1], d.part[2]
	switch o {
	case dayFirst:
		year, day = day, year
	case monthFirst:
		year, month, day = day, year, month
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if int(t.Month()) != month || t.Day() != day { // such as February 30
		return 0, false
	}
	return float64(t.Unix())/secondsADay + d.seconds/secondsADay, true
}

const secondsADay = 24 * 60 * 60
