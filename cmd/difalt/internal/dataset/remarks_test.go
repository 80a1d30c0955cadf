package dataset

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// wave returns numbers that go up and down with i.
func wave(i int) float64 { return math.Round(1e4*math.Sin(float64(i)*1.7))/1e4 + float64(i%5) }

// remarksCases are the cases of TestRemarks.
var remarksCases = map[string]struct {
	text string
	want []string // in the remarks; none: no remark
}{
	"ordinary": {sixty("t,a,k,year,y", func(i int) string {
		return fmt.Sprintf("x%d,%v,%s,%d,%v", i%6, wave(i), []string{"p", "q", "r"}[i*i%3], 1990+i*i%7, wave(i*i))
	}), nil},
	"three digits of comma files": {sixty("t,a,y",
		func(i int) string { return fmt.Sprintf("x%d,%.3f,%.3f", i%6, 10+wave(i), wave(i*i)) }), nil},
	"thousands": {sixty("t;a;y",
		func(i int) string { return fmt.Sprintf("x%d;%.3f;%v", i%6, 46+wave(i)/10, wave(i*i)) }),
		[]string{`All numbers of "a" have three digits after the point`}},
	"decimals": {sixty("t;a;y",
		func(i int) string { return fmt.Sprintf("x%d;%.3f;%v", i%6, .2+wave(i)/10, wave(i*i)) }), nil},
	"leading zeros": {sixty("t,plz,y",
		func(i int) string { return fmt.Sprintf("x%d,%05d,%v", i%6, 1000+i*i*137%7000, wave(i*i)) }),
		[]string{`Cells of "plz" have leading zeros, such as 01`, "--categorical plz"}},
	"codes": {sixty("t,customer_id,serial,y", func(i int) string {
		return fmt.Sprintf("x%d,%d,%d,%v", i%6, 3*(i*i%59), 123456789+i*i*1371%70000000, wave(i*i))
	}), []string{`look like codes, not amounts: "customer_id", "serial"`}},
	"long codes": {sixty("t,serial,y", func(i int) string {
		return fmt.Sprintf("x%d,%d,%v", i%6, int64(1e17)+int64(i*i), wave(i*i)) // an int may have 32 bits
	}), []string{`Cells of "serial" have more digits than numbers keep, such as 100000000000000001`,
		"--categorical serial"}},
	"large numbers": {sixty("t,a,y",
		func(i int) string { return fmt.Sprintf("x%d,%.0f,%v", i%6, 1e22*(wave(i)+9), wave(i*i)) }), nil},
	"row numbers": {sixty("t,n,y", func(i int) string { return fmt.Sprintf("x%d,%d,%v", i%6, i*7%60, wave(i*i)) }),
		[]string{`Whole numbers that are all different, as row numbers are: "n"`, "--drop n"}},
	"a date a row": {sixty("t,day,y", func(i int) string {
		return fmt.Sprintf("x%d,2024-%02d-%02d,%v", i%6, 1+i/28, 1+i%28, wave(i*i))
	}), nil},
	"rising": {sixty("t,n,y", func(i int) string { return fmt.Sprintf("x%d,%d,%v", i%6, i*i+1000, wave(i*i)) }),
		[]string{`row numbers are: "n"`}},
	"-999": {sixty("t,a,y", func(i int) string {
		v := wave(i)
		if i%20 == 3 {
			v = -999
		}
		return fmt.Sprintf("x%d,%v,%v", i%6, v, wave(i*i))
	}), []string{`Column "a" has 3 cells -999`, "--na -999"}},
	"99 in the target": {sixty("t,a,y", func(i int) string {
		v := wave(i)
		if i%20 == 3 {
			v = 99
		}
		return fmt.Sprintf("x%d,%v,%v", i%6, wave(i*i), v)
	}), []string{`Column "y" has 3 cells 99`}},
	"outlier": {sixty("t,a,y", func(i int) string {
		v := wave(i)
		if i == 40 {
			v = 1e6
		}
		return fmt.Sprintf("x%d,%v,%v", i%6, wave(i*i), v)
	}), []string{`The value 1e+06 of "y" (line 42)`}},
	"total": {sixty("t,a,y", func(i int) string {
		if i == 59 {
			return "Total,5,118"
		}
		return fmt.Sprintf("x%d,%v,%d", i%6, wave(i*i), i%5)
	}), []string{`look like totals of the other rows: "Total" (line 61)`}},
	"total by its sum": {sixty("t,a,y", func(i int) string {
		if i == 59 {
			return "Germany,5,116"
		}
		return fmt.Sprintf("x%d,%v,%d", i%6, wave(i*i), i%5)
	}), []string{`"Germany" (line 61)`}},
	"missing task": {sixty("t,a,y", func(i int) string {
		return fmt.Sprintf("%s,%v,%v", []string{"DE", "FR", "NA"}[i%3], wave(i*i), wave(i))
	}),
		[]string{`a task with the name "NA"`, "--na NA"}},
	"spellings": {sixty("t,a,y", func(i int) string {
		return fmt.Sprintf("%s,%v,%v", []string{"s1", "S01", "2"}[i%3], wave(i*i), wave(i))
	}),
		[]string{`"s1" and "S01"`}},
	"levels": {sixty("t,k,a,y", func(i int) string {
		return fmt.Sprintf("x%d,%s,%v,%v", i%6, []string{"mid", "MID", "low"}[i*i%7%3], wave(i*i), wave(i))
	}),
		[]string{`Levels of k that differ in their spelling alone are different levels: "MID" and "mid"`}},
	"a name of the task": {sixty("t,k,a,y",
		func(i int) string { return fmt.Sprintf("%d,name %d,%v,%v", i%6, i%6, wave(i*i), wave(i)) }),
		[]string{`determine each other: "t", "k"`}},
	"units": {sixty("t,cm,inch,y",
		func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i), wave(i)/2.54, wave(i*i)) }),
		[]string{`the same up to a factor and an offset: "inch", "cm"`}},
	"turned": {sixty("t,a,b,y",
		func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i), 7-3*wave(i), wave(i*i)) }),
		[]string{`the same up to a factor and an offset: "b", "a"`}},
	"target twice": {sixty("t,a,z,y",
		func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i*i), 2*wave(i), wave(i)) }),
		[]string{`The target repeats other columns, up to a factor and an offset: "z"`}},
	"codes of a category": {sixty("t,k,code,a,y", func(i int) string {
		return fmt.Sprintf("x%d,%s,%d,%v,%v", i%6, []string{"p", "q", "r"}[i*i%7%3], 10*(i*i%7%3), wave(i*i),
			wave(i))
	}), []string{`determine each other: "k", "code"`}},
}

// What looks wrong is said once, with the name of the column and what to do; ordinary tables have no remarks.
func TestRemarks(t *testing.T) {
	for name, c := range remarksCases {
		t.Run(name, func(t *testing.T) {
			tab := check.OK(read(c.text, TableOptions{Dates: "ymd"}))
			said := strings.Join(tab.Remarks(), "\n")
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("remarks %q: want %q", tab.Remarks(), want)
				}
			}
			if most := min(len(c.want), 1); len(tab.Remarks()) > most {
				t.Errorf("remarks %q", tab.Remarks())
			}
		})
	}
}
