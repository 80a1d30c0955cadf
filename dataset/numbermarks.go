package dataset

import (
	"bytes"
	"slices"

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
