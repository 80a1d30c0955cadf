// Package number parses decimal numbers at the speed of a scan.
package number

import (
	"bytes"
	"strconv"
	"unsafe"
)

// Powers of ten that float64 represents exactly.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Plain returns the value, rounded correctly, of a number that is digits with at most one decimal
// mark, and perhaps a sign before and an exponent after them; ok is false for any other, of which [Parse] may
// know more.
func Plain(s []byte, mark byte) (v float64, ok bool) {
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i++
	}
	m, start := uint64(0), i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		m = 10*m + uint64(s[i]-'0')
	}
	digits, fraction := i-start, 0
	if i < len(s) && s[i] == mark {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			m = 10*m + uint64(s[i]-'0')
		}
		fraction = i - start - digits - 1
		digits += fraction
	}
	e := -fraction
	if i < len(s) && s[i]|0x20 == 'e' {
		if exponent, err := strconv.Atoi(string(s[i+1:])); err == nil {
			e, i = e+exponent, len(s)
		}
	}
	if digits == 0 || i < len(s) {
		return 0, false
	}
	// A product or quotient of two exact numbers is rounded once, so correctly.
	if digits > 19 || m > 1<<53 || e <= -len(exact) || e >= len(exact) {
		if mark != '.' {
			s = bytes.Replace(s, []byte{mark}, []byte("."), 1)
		}
		v, err := Parse(s)
		return v, err == nil
	}
	if v = float64(m) * exact[max(e, 0)] / exact[max(-e, 0)]; s[0] == '-' {
		v = -v
	}
	return v, true
}

// Parse is strconv.ParseFloat for bytes, which it does not keep unless it fails, without the
// underscores of Go's literals: in a table they are a slip.
func Parse(s []byte) (float64, error) {
	if bytes.IndexByte(s, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(s), len(s)), 64)
	if err != nil {
		return strconv.ParseFloat(string(s), 64)
	}
	return v, nil
}
