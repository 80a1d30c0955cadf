package dataset

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	for i := range len(cell) { // five times faster than strings.ContainsAny
		switch cell[i] {
		case 'x', 'X', '_':
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(cell, 64)
}

// layouts are the forms of dates by order, with hyphens; clocks are the forms of a time behind a date.
var (
	layouts = map[string]string{"ymd": "2006-1-2", "dmy": "2-1-2006", "mdy": "1-2-2006"}
	clocks  = []string{"", "T15:04:05Z07:00", "T15:04:05", "T15:04Z07:00", "T15:04", "T15:04:05Z0700", "T15:04:05Z07",
		"T15:04:05 Z07:00", "T15:04:05 Z0700", "T15:04:05 UTC", "T3:04 PM", "T3:04:05 PM"}
	hyphens = strings.NewReplacer("/", "-", ".", "-", " ", "T")
)

// days returns the days since 1970-01-01 of a date in the given order, with hyphens, slashes or points. T or
// a space and a time may follow, of 24 hours or with AM or PM; a time without a zone is in UTC.
func days(cell, order string) (days float64, ok bool) {
	days, _, ok = timeIn(cell, order)
	return days, ok
}

// timeIn returns the days of a cell as the function days, and the form of the time behind the date.
func timeIn(cell, order string) (days float64, clock string, ok bool) {
	if cell == "" || cell[0] < '0' || cell[0] > '9' { // as all layouts begin
		return 0, "", false
	}
	date := min(len("31.12.2024 "), len(cell)) // a point after it begins a fraction of a second
	cell = hyphens.Replace(cell[:date]) + cell[date:]
	for _, clock = range clocks {
		if t, err := time.Parse(layouts[order]+clock, cell); err == nil {
			return daysOf(t), clock, true
		}
	}
	return 0, "", false
}

// daysOf returns the days since 1970-01-01 of a time.
func daysOf(t time.Time) float64 { return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9 }

// foreign takes out marks between thousands, and signs of currencies and per cent. Dashes are minus signs.
var foreign = strings.NewReplacer("\u2212", "-", "\u2013", "-", "\u2010", "-", ",", "", ".", "", "'", "", "\u2019", "",
	" ", "", "\u00a0", "", "\u202f", "", "\u2009", "", "$", "", "\u20ac", "", "\u00a3", "", "\u00a5", "", "%", "")

// separated is the form of a number with marks between thousands, western or Indian ones, or without; signs
// may stand around it.
var separated = regexp.MustCompile(`^\D*(\d+|\d{1,3}([ .'’\x{a0}\x{202f}\x{2009}]\d{3}|,\d{2,3})+)([.,]\d*)?\D*$`)

// accounting are the forms of a negative number in accounts: (12.5) and 12.5-.
var accounting = regexp.MustCompile(`^\(([\d.,]+)\)$|^([\d.,]+)-$`)

// likeDate is the form of dates, also of days that do not exist, and perhaps of a time behind them.
var likeDate = regexp.MustCompile(
	`^(\d{4}[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4})([ Tt]\d{1,2}(:.*)?)?$`)

// ordersOf returns the orders in which a cell is a date.
func ordersOf(cell string) (orders []string) {
	for _, order := range []string{"ymd", "dmy", "mdy"} {
		if _, ok := days(cell, order); ok {
			orders = append(orders, order)
		}
	}
	return orders
}

// advice returns the reason why a cell is not a number, if it is known, and an option that helps, with its
// values; the option is "Plain" where the cell must be written otherwise.
func (o *TableOptions) advice(cell string) (why, option string, values []string) {
	decimal := cmp.Or(o.Decimal, '.')
	other := '.' + ',' - decimal
	shown := fmt.Sprintf("%.60q", cell)
	values = ordersOf(cell)
	isNumber := func(s string, mark rune) bool { _, err := parseNumber(s, mark); return err == nil }
	timed := likeDate.FindStringSubmatch(cell)
	negative := accounting.FindStringSubmatch(cell)
	_, noAddress := netip.ParseAddr(cell)
	inner := strings.TrimSuffix(strings.TrimPrefix(cell, "'"), "'")
	switch {
	case values != nil && o.Dates == "":
		return shown + " is a date: its order must be given", "Dates", values
	case values != nil:
		return fmt.Sprintf("%s is a date, but not in the order %s", shown, o.Dates), "Dates", values
	case timed != nil && ordersOf(timed[1]) != nil:
		return shown + " is a date with a time that is not read: write the time as 13:45, 13:45:00 or 13:45:00+02:00",
			"", nil
	case timed != nil:
		return shown + " looks like a date, but the calendar has no such day", "", nil
	case isNumber(cell, other):
		why = fmt.Sprintf("%s has %q as decimal mark, in place of %q, or between thousands", shown, other, decimal)
		return why, "Decimal", []string{string(other)}
	case timeAdvice(cell) != "":
		return timeAdvice(cell), "", nil
	case strings.HasPrefix(cell, "#") && strings.ToUpper(cell) == cell:
		return shown + " is an error of a spreadsheet", "", nil
	case len(inner) == len(cell)-2 && isNumber(inner, decimal):
		return shown + " is in single quotes: only double quotes are quotes in CSV", "Plain", nil
	case negative != nil && isNumber(foreign.Replace(negative[1]+negative[2]), '.'):
		return shown + " is not a plain number: is it a negative number of accounts? Write -" + negative[1] +
			negative[2], "Plain", nil
	case noAddress != nil && separated.MatchString(cell) && isNumber(foreign.Replace(cell), '.'):
		why = " is not a plain number: remove spaces, currency signs, per cent and marks between thousands, and " +
			"write - for U+2212 and other dashes"
		return shown + why, "Plain", nil
	}
	return "", "", nil
}

// The forms of times that --dates cannot read, each with a form to write instead.
var times = []struct {
	form          *regexp.Regexp
	what, instead string
}{
	{regexp.MustCompile(`^\d{1,2}[./-]\d{1,2}[./-]\d{2}$`), "a date with a year of two digits",
		"write the year with four digits"},
	{regexp.MustCompile(`(?i)^(` + weekdays + `)(day)?[., ]+((` + months + `)|\d{1,2}[ ./-]).*\d{4}`),
		"a date with a day of the week", "write it as 2024-01-31"},
	{regexp.MustCompile(`(?i)^\d{1,2}[ -.]+(` + months + `)[a-z]*[ -.,]+(\d{2}|\d{4})$`), "a date",
		"write it as 2024-01-31"},
	{regexp.MustCompile(`(?i)^(` + months + `)[a-z]*[ -.]+\d{1,2},? +\d{4}$`), "a date", "write it as 2024-01-31"},
	{regexp.MustCompile(`(?i)^\d{1,2}(` + months + `)\d{2,4}(:[\d:.]+)?$`), "a date", "write it as 2024-01-31"},
	{regexp.MustCompile(`^\d{8}T\d{4,6}(Z|[+-]\d{2,4})?$`), "a time without hyphens and colons",
		"write it as 2024-01-31T13:45"},
	{regexp.MustCompile(`(?i)^(` + months + `)[a-z]*[ -.]+\d{2,4}$|^\d{4}[ -](` + months + `)[a-z]*$`), "a month",
		"write its first day, as 2024-01-01"},
	{regexp.MustCompile(`(?i)^\d{4}[ -]?Q[1-4]$|^Q[1-4][ -]?\d{4}$`), "a quarter of a year",
		"write its first day, as 2024-01-01"},
	{regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])$`), "a month", "write its first day, as 2024-01-01"},
	{regexp.MustCompile(`(?i)^\d{4}-?W\d{1,2}$`), "a week of a year", "write its first day, as 2024-01-01"},
	{regexp.MustCompile(`(?i)^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?$`), "a time of the day",
		"write a number of hours, as 13.75"},
}

const (
	weekdays = "mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun"
	months   = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
)

// timeAdvice describes a cell that is a time in a form that is not read; empty for others.
func timeAdvice(cell string) string {
	if len(cell) > 30 || !strings.ContainsFunc(cell, unicode.IsDigit) {
		return ""
	}
	for _, t := range times {
		if t.form.MatchString(cell) {
			return fmt.Sprintf("%q looks like %s: %s", cell, t.what, t.instead)
		}
	}
	return ""
}

// A notation collects how the numbers of a column are written.
type notation struct {
	marked  int    // cells of one to three digits, the decimal mark, and three digits
	decimal bool   // another cell shows that it is the decimal mark
	zeros   string // the first cell with leading zeros
	rounded string // the first whole number that float64 does not hold
	dates   bool   // cells are dates
	local   string // the first cell with a time without a zone
	zoned   string // the first cell with a time with a zone
	form    form   // how the cells of CSV are written so far
}

// A form is how a number is written in CSV. The cells of a column have one form: a number among dates is a
// mistake, and so is the word TRUE among amounts. But 0 and 1 fit amounts, and TRUE and FALSE.
type form uint8

const (
	unwritten form = iota
	zeroOne        // 0 or 1
	amount         // another number
	truth          // TRUE or FALSE
	date
)

// String completes "is not".
func (f form) String() string {
	switch f {
	case truth:
		return "TRUE or FALSE"
	case date:
		return "a date"
	}
	return "a number"
}

// join adds the form of a cell, and reports whether it fits the cells before.
func (n *notation) join(f form) bool {
	switch {
	case n.form == f:
	case n.form == unwritten, n.form == zeroOne && f != date:
		n.form = f
	case f == zeroOne && n.form != date:
	default:
		return false
	}
	return true
}

// lose notes a whole number with the given digits if v is not equal to it.
func (n *notation) lose(digits string, v float64) {
	if n.rounded == "" && strconv.FormatFloat(v, 'f', 0, 64) != digits {
		n.rounded = strings.Clone(digits)
	}
}

// exactDigits is the number of digits that float64 holds of every whole number.
const exactDigits = 15

// seeTime adds a cell that is a date with a time of the given form behind it, empty for none.
func (n *notation) seeTime(cell, clock string) {
	n.dates = true
	first := &n.local
	if strings.Contains(clock, "Z07") || strings.HasSuffix(clock, "UTC") {
		first = &n.zoned
	}
	if clock != "" && *first == "" {
		*first = strings.Clone(cell)
	}
}

// see adds a cell that is a number.
func (n *notation) see(cell string, decimal rune) {
	digits := strings.TrimLeft(cell, "+-")
	if len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' && n.zeros == "" {
		n.zeros = strings.Clone(cell)
	}
	if len(digits) > exactDigits && n.rounded == "" && strings.Trim(digits, "0123456789") == "" {
		if v, err := strconv.ParseFloat(digits, 64); err == nil {
			n.lose(strings.TrimLeft(digits, "0"), v)
		}
	}
	if n.decimal {
		return
	}
	whole, fraction, found := strings.Cut(digits, string(decimal))
	switch {
	case !found && len(digits) <= 3:
	case found && 1 <= len(whole) && len(whole) <= 3 && len(fraction) == 3 && digits[0] != '0' &&
		!strings.ContainsAny(fraction, "eE"):
		n.marked++
	default:
		n.decimal = true
	}
}
