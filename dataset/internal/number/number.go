// Package number parses decimal numbers at the speed of a scan.
package number

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"
)

// Powers of ten that float64 represents exactly.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Prefix parses the longest prefix of s that reads like a decimal number with the given
// decimal mark, and returns its value, rounded correctly, and its length. The length is
// 0 where there is none, or where it takes [Parse] to tell.
func Prefix(s []byte, mark byte) (v float64, n int) {
	i := 0
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	m := uint64(0)
	start := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		m = 10*m + uint64(s[i]-'0')
	}
	digits, fraction := i-start, 0
	if i < len(s) && s[i] == mark {
		i++
		start = i
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			m = 10*m + uint64(s[i]-'0')
		}
		fraction = i - start
		digits += fraction
	}
	if digits == 0 {
		return 0, 0
	}
	e := -fraction
	if i < len(s) && s[i]|0x20 == 'e' {
		k, exponent := exponentOf(s[i+1:])
		if k == 0 {
			return 0, 0
		}
		i += 1 + k
		e += exponent
	}
	// A product or quotient of two exact numbers is rounded once, so correctly.
	if digits > 19 || m > 1<<53 || e < -22 || e > 22 {
		v, err := parseWith(s[:i], mark)
		if err != nil {
			return 0, 0
		}
		return v, i
	}
	v = float64(m)
	if e < 0 {
		v /= exact[-e]
	} else {
		v *= exact[e]
	}
	if negative {
		v = -v
	}
	return v, i
}

// parseWith is Parse for a number with the given decimal mark.
func parseWith(s []byte, mark byte) (float64, error) {
	if mark != '.' {
		s = bytes.Replace(s, []byte{mark}, []byte("."), 1)
	}
	return Parse(s)
}

// exponentOf parses the digits after an e, and returns their number and value.
func exponentOf(s []byte) (n, exponent int) {
	i := 0
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	start := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		exponent = min(10*exponent+int(s[i]-'0'), math.MaxInt16)
	}
	if i == start {
		return 0, 0
	}
	if negative {
		exponent = -exponent
	}
	return i, exponent
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
