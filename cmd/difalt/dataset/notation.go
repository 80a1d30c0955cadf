package dataset

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseNumber is strconv.ParseFloat for decimal notation: without hexadecimal numbers and
// underscores, which are literals of programs.
func parseNumber(s string) (float64, error) {
	if strings.ContainsAny(s, "xX_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// withDecimal parses a number with the given decimal mark.
func withDecimal(cell string, mark rune) (float64, error) {
	if mark == ',' {
		if strings.IndexByte(cell, '.') >= 0 {
			return 0, strconv.ErrSyntax
		}
		cell = strings.Replace(cell, ",", ".", 1)
	}
	return parseNumber(cell)
}

// layouts are those of dates, by order, and clocks those of times.
var (
	layouts = map[string][]string{
		"ymd": {"2006-1-2", "2006/1/2", "2006.1.2"},
		"dmy": {"2/1/2006", "2.1.2006", "2-1-2006"},
		"mdy": {"1/2/2006", "1-2-2006", "1.2.2006"},
	}
	clocks = []string{"15:04:05Z07:00", "15:04:05", "15:04Z07:00", "15:04"}
)

const secondsADay = 24 * 60 * 60

// days returns the days since 1970-01-01 of a date in the given order, perhaps followed by
// T or a space and a time, in UTC if it has no zone.
func days(cell, order string) (days float64, ok bool) {
	day, clock, timed := cell, "", false
	if i := strings.IndexAny(cell, "T "); i >= 0 {
		day, clock, timed = cell[:i], cell[i+1:], true
	}
	date, ok := firstOf(layouts[order], day)
	if !ok || !timed {
		return float64(date.Unix()) / secondsADay, ok
	}
	at, ok := firstOf(clocks, clock)
	return float64(date.Unix())/secondsADay + at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()/secondsADay, ok
}

// firstOf parses a time by the first layout that fits.
func firstOf(list []string, s string) (t time.Time, ok bool) {
	for _, layout := range list {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return t, false
}

// foreign takes out what stands between thousands, and signs of currencies and per cent.
var foreign = strings.NewReplacer(",", "", ".", "", "'", "", "\u2019", "", " ", "", "\u00a0", "", "\u202f", "",
	"$", "", "\u20ac", "", "\u00a3", "", "%", "")

// advice returns the reason why a cell is not a number with the given decimal mark, if it
// is known, and an option that helps, with its values.
func advice(cell string, decimal rune) (why, option string, values []string) {
	isNumber := func(s string) bool { _, err := parseNumber(s); return err == nil }
	other := '.' + ',' - decimal
	shown := strconv.Quote(clip(cell))
	for _, order := range []string{"ymd", "dmy", "mdy"} {
		if _, ok := days(cell, order); ok {
			values = append(values, order)
		}
	}
	_, err := withDecimal(cell, other)
	switch {
	case values != nil:
		return shown + " is a date: its order must be given", "Dates", values
	case err == nil && len(cell)-strings.IndexRune(cell, other) == 4:
		return fmt.Sprintf("%s has %q as decimal mark, or between thousands, where it must go", shown, other), "Decimal", []string{string(other)}
	case err == nil:
		return fmt.Sprintf("%s has %q as decimal mark", shown, other), "Decimal", []string{string(other)}
	case strings.Contains(cell, "\u2212") && isNumber(strings.ReplaceAll(cell, "\u2212", "-")):
		return shown + " has the minus sign U+2212: use -", "", nil
	case isNumber(foreign.Replace(cell)):
		return shown + " is not a number alone: take spaces, signs and marks between thousands out of the column", "", nil
	}
	return "", "", nil
}
