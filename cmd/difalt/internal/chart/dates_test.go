package chart

import (
	"strings"
	"testing"
	"time"
)

// Axes of dates have marks at the first days of years and months, or at days.
func TestDates(t *testing.T) {
	on := func(s string) float64 {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return float64(at.Unix()) / 86400
	}
	for _, c := range []struct{ low, high, want string }{
		{"1970-01-01", "2024-12-31", "1980 2000 2020"},
		{"1999-06-01", "2003-02-01", "2000 2001 2002 2003"},
		{"2022-01-04", "2023-11-30", "2022-07 2023-01 2023-07"},
		{"2023-11-20", "2024-03-02", "2023-12 2024-01 2024-02 2024-03"},
		{"2024-02-20", "2024-03-10", "2024-02-20 2024-02-27 2024-03-05"},
		{"2024-02-27", "2024-03-01", "2024-02-27 2024-02-28 2024-02-29 2024-03-01"},
		{"2024-02-28", "2024-02-29", "2024-02-28 2024-02-29"},
		{"1960-11-01", "1969-01-31", "1962 1964 1966 1968"},
	} {
		axis := Axis{Dates: true, Min: on(c.low), Max: on(c.high)}
		var labels []string
		for _, m := range axis.scale(nil).marks {
			labels = append(labels, m.Label)
			if at, err := time.Parse("2006-01-02"[:len(m.Label)], m.Label); err != nil ||
				float64(at.Unix())/86400 != m.Value {
				t.Errorf("%s is at %v, %v", m.Label, m.Value, err)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.low, c.high, got, c.want)
		}
	}
	for _, ends := range [][2]float64{{-1e300, 1e300}, {1e9, 2e9}, {-719528, 2932896}, {.25, .5}} {
		axis := Axis{Dates: true, Min: ends[0], Max: ends[1]}
		if n := len(axis.scale(nil).marks); n < 1 || n > 20 {
			t.Errorf("%v has %d marks", ends, n)
		}
	}
}
