package chart

import (
	"slices"
	"time"
)

// day returns the midnight of a number of days since 1970-01-01.
func day(days float64) time.Time { return time.Unix(int64(days)*86400, 0).UTC() }

// dates marks an axis of days since 1970-01-01 with dates: years, months or days, by the largest step with at
// least three marks. Only as many have labels as keep clear of each other.
func dates(low, high float64) []Mark {
	for _, step := range []struct {
		years, months, days int
		layout              string
	}{
		{1000, 0, 0, "2006"}, {500, 0, 0, "2006"}, {200, 0, 0, "2006"}, {100, 0, 0, "2006"}, {50, 0, 0, "2006"},
		{20, 0, 0, "2006"}, {10, 0, 0, "2006"}, {5, 0, 0, "2006"}, {2, 0, 0, "2006"}, {1, 0, 0, "2006"},
		{0, 6, 0, "2006-01"}, {0, 3, 0, "2006-01"}, {0, 1, 0, "2006-01"},
		{0, 0, 14, time.DateOnly}, {0, 0, 7, time.DateOnly}, {0, 0, 2, time.DateOnly}, {0, 0, 1, time.DateOnly},
	} {
		var marks []Mark
		at := firstDate(day(low), step.years, step.months)
		for ; ; at = at.AddDate(step.years, step.months, step.days) {
			v := float64(at.Unix()) / 86400
			if v > high {
				break
			}
			if v >= low {
				marks = append(marks, Mark{v, at.Format(step.layout)})
			}
		}
		if len(marks) >= 3 {
			return marks
		}
	}
	return []Mark{{low, day(low).Format(time.DateOnly)}, {high, day(high).Format(time.DateOnly)}}
}

// firstDate returns the last date before a time where steps of some years or months can begin; for steps of
// days it is the time.
func firstDate(t time.Time, years, months int) time.Time {
	switch {
	case years > 0:
		return time.Date(t.Year()-t.Year()%years, 1, 1, 0, 0, 0, 0, time.UTC)
	case months > 0:
		month := int(t.Month()) - 1
		return time.Date(t.Year(), time.Month(month-month%months+1), 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

// isCalendar reports whether a range of days is in the years that dates of four digits have.
func isCalendar(low, high float64) bool {
	return slices.IsSorted([]float64{-719528, low, high, 2932896})
}
