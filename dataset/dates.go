package dataset

import "time"

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
