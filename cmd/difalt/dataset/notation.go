package dataset

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseNumber parses a number in decimal notation with the given decimal mark. It refuses hexadecimal numbers
// and underscores, which are literals of programs.
func parseNumber(cell string, mark rune) (float64, error) {
	if mark == ',' {
		if strings.IndexByte(cell, '.') >= 0 {
			return 0, strconv.ErrSyntax
		}
		cell = strings.Replace(cell, ",", ".", 1)
	}
	if strings.ContainsAny(cell, "xX_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(cell, 64)
}

// layouts are the forms of dates by order, with hyphens, and clocks those of times that may follow a T.
var (
	layouts = map[string]string{"ymd": "2006-1-2", "dmy": "2-1-2006", "mdy": "1-2-2006"}
	clocks  = []string{"", "T15:04:05Z07:00", "T15:04:05", "T15:04Z07:00", "T15:04"}
	hyphens = strings.NewReplacer("/", "-", ".", "-", " ", "T")
)

// days returns the days since 1970-01-01 of a date in the given order, with hyphens, slashes or points,
// perhaps followed by T or a space and a time, in UTC if it has no zone.
func days(cell, order string) (days float64, ok bool) {
	date := min(len("31.12.2024 "), len(cell)) // a point after it is that of a fraction of a second
	cell = hyphens.Replace(cell[:date]) + cell[date:]
	for _, clock := range clocks {
		if t, err := time.Parse(layouts[order]+clock, cell); err == nil {
			return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9, true
		}
	}
	return 0, false
}

// foreign takes out marks between thousands, and signs of currencies and per cent. U+2212 is a minus sign.
var foreign = strings.NewReplacer("\u2212", "-", ",", "", ".", "", "'", "", "\u2019", "", " ", "", "\u00a0", "", "\u202f", "",
	"$", "", "\u20ac", "", "\u00a3", "", "%", "")

// advice returns the reason why a cell is not a number with the given decimal mark, if it
// is known, and an option that helps, with its values.
func advice(cell string, decimal rune) (why, option string, values []string) {
	other := '.' + ',' - decimal
	shown := fmt.Sprintf("%.60q", cell)
	for _, order := range []string{"ymd", "dmy", "mdy"} {
		if _, ok := days(cell, order); ok {
			values = append(values, order)
		}
	}
	isNumber := func(s string, mark rune) bool { _, err := parseNumber(s, mark); return err == nil }
	switch {
	case values != nil:
		return shown + " is a date: its order must be given", "Dates", values
	case isNumber(cell, other):
		return fmt.Sprintf("%s has %q as decimal mark, or between thousands, where it must go", shown, other), "Decimal", []string{string(other)}
	case isNumber(foreign.Replace(cell), '.'):
		return shown + " is not a number alone: take spaces, signs and marks between thousands out, and use - as minus sign", "", nil
	}
	return "", "", nil
}
