package dataset

import (
	"bytes"
	"slices"
	"time"

	"github.com/difalt/difalt/dataset/internal/number"
)

// marks are what stands between the digits of a number: which is the decimal mark, and which one
// separates thousands.
type marks struct {
	decimal byte // ',' or '.', 0 if there is none or it cannot be told
	group   byte // ',', '.', ' ' or '\'', 0 if there is none or it cannot be told
	either  byte // a single comma or point that may be both, as in 1,234
}

// marksOf returns the marks of a trimmed cell; ok is false if it is no number in any
// way of writing.
func marksOf(cell []byte) (s marks, ok bool) {
	body := cell
	if len(body) > 0 && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
	}
	if i := bytes.IndexAny(body, "eE"); i >= 0 {
		// 1.5e3: whatever has an exponent has no thousands.
		if n := len(body[i+1:]); n == 0 || !digits(bytes.TrimLeft(body[i+1:], "+-")) {
			return s, false
		}
		body = body[:i]
		if i := bytes.IndexAny(body, ",."); i >= 0 {
			s.decimal = body[i]
			body = slices.Concat(body[:i], body[i+1:])
		}
		return s, digits(body)
	}
	plain := singleMarks(body)
	var marks []byte // in their order, without repetitions
	for _, c := range plain {
		switch {
		case c-'0' <= 9:
		case bytes.IndexByte([]byte(",. '"), c) < 0:
			return s, false
		case len(marks) == 0 || marks[len(marks)-1] != c:
			marks = append(marks, c)
		}
	}
	switch len(marks) {
	case 0:
		return s, digits(plain)
	case 1:
		return oneMark(plain, marks[0])
	case 2:
		whole, rest, _ := bytes.Cut(plain, marks[1:])
		s.group, s.decimal = marks[0], marks[1]
		return s, (s.decimal == ',' || s.decimal == '.') && s.group != s.decimal && groups(whole, s.group) && (len(rest) == 0 || digits(rest))
	}
	return s, false
}

// oneMark is marksOf for a number whose only mark is m.
func oneMark(plain []byte, m byte) (s marks, ok bool) {
	whole, rest, _ := bytes.Cut(plain, []byte{m})
	grouped := groups(plain, m)
	switch {
	case m != ',' && m != '.' || bytes.IndexByte(rest, m) >= 0:
		s.group = m
		return s, grouped
	case grouped && whole[0] != '0':
		s.either = m
		return s, true
	}
	s.decimal = m
	return s, len(whole)+len(rest) > 0 && (len(whole) == 0 || digits(whole)) && (len(rest) == 0 || digits(rest))
}

// singleMarks returns a number with every digit kept, and one byte for each mark: a
// space for all spaces, also those that do not break a line, and ' for both apostrophes.
func singleMarks(body []byte) []byte {
	if !slices.ContainsFunc(body, func(c byte) bool { return c >= 0x80 }) {
		return body
	}
	s := bytes.ReplaceAll(body, []byte("\u00a0"), []byte(" "))
	s = bytes.ReplaceAll(s, []byte("\u202f"), []byte(" "))
	return bytes.ReplaceAll(s, []byte("\u2019"), []byte("'"))
}

// groups reports whether b is one to three digits, and then groups of three after m.
func groups(b []byte, m byte) bool {
	first, rest, more := bytes.Cut(b, []byte{m})
	if !more || len(first) < 1 || len(first) > 3 || !digits(first) {
		return false
	}
	for more {
		var group []byte
		group, rest, more = bytes.Cut(rest, []byte{m})
		if len(group) != 3 || !digits(group) {
			return false
		}
	}
	return true
}

// digits reports whether b is digits, at least one.
func digits(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
	}
	return len(b) > 0
}

// parseMarked parses a number that is written with a decimal mark and a mark between
// thousands, or 0 for none, and with no others.
func parseMarked(cell []byte, decimal, group byte) (v float64, err error, ok bool) {
	s, ok := marksOf(cell)
	if !ok || s.decimal != 0 && s.decimal != decimal || s.group != 0 && s.group != group || s.either != 0 && s.either != decimal && s.either != group {
		return 0, nil, false
	}
	text := make([]byte, 0, 64)
	for _, c := range singleMarks(cell) {
		switch c {
		case group:
		case decimal:
			text = append(text, '.')
		default:
			text = append(text, c)
		}
	}
	v, err = number.Parse(text)
	return v, err, true
}

// A dateOrder says how a date is written. Four digits of it are the year.
type dateOrder uint8

const (
	noDate dateOrder = iota
	yearFirst
	dayFirst
	monthFirst
)

// The names of the orders in TableOptions.Dates.
var dateOrders = map[string]dateOrder{"ymd": yearFirst, "dmy": dayFirst, "mdy": monthFirst}

// A date is three numbers in the order in which they are written, and what follows.
type date struct {
	part      [3]int
	yearFirst bool
	mark      byte    // between the numbers
	seconds   float64 // since midnight, UTC if there is a time zone
}

// splitDate splits a trimmed cell such as 2024-01-31, 31.1.2024 or 01/31/2024, perhaps
// with a time (T or a space, then 15:04, 15:04:05.678, perhaps Z or +01:00). 2024-01 is the
// first day of that month.
func splitDate(cell []byte) (d date, ok bool) {
	if len(cell) == len("2024-01") && cell[4] == '-' {
		cell = append(cell[:len(cell):len(cell)], "-01"...)
	}
	digits := [3]int{}
	for k := range 3 {
		n := 0
		for n < len(cell) && n < 4 && cell[n]-'0' <= 9 {
			d.part[k] = 10*d.part[k] + int(cell[n]-'0')
			n++
		}
		digits[k], cell = n, cell[n:]
		if n == 0 || k == 2 {
			break
		}
		if len(cell) == 0 || cell[0] != '-' && cell[0] != '/' && cell[0] != '.' || k == 1 && cell[0] != d.mark {
			return d, false
		}
		d.mark, cell = cell[0], cell[1:]
	}
	d.yearFirst = digits[0] == 4
	short, year := digits[0], digits[2]
	if d.yearFirst {
		short, year = year, short
	}
	if year != 4 || short < 1 || short > 2 || digits[1] < 1 || digits[1] > 2 {
		return d, false
	}
	if len(cell) == 0 {
		return d, true
	}
	if cell[0] != 'T' && cell[0] != ' ' {
		return d, false
	}
	d.seconds, ok = splitTime(string(cell[1:]))
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
func (o dateOrder) days(cell []byte) (days float64, ok bool) {
	d, ok := splitDate(cell)
	if !ok || d.yearFirst != (o == yearFirst) {
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
