package dataset

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// wavy returns numbers that hardly repeat, from 0 to 40.
func wavy(i int) float64 { return math.Round(1e3*(20+20*math.Sin(float64(i)*1.7))) / 1e3 }

// sixty returns a table of 60 rows.
func sixty(header string, row func(i int) string) string {
	text := header + "\n"
	for i := range 60 {
		text += row(i) + "\n"
	}
	return text
}

// columnText returns a table of 60 rows with tasks, the given cells of a column v, and targets.
func columnText(cell func(i int) string) string {
	return sixty("t,v,x,y", func(i int) string {
		return fmt.Sprintf("x%d,%s,%v,%v", i%6, cell(i), wavy(7*i), wavy(i*i))
	})
}

// someOf returns the cell of a row: the mark in a few rows, and numbers in all others.
func someOf(mark string) func(i int) string {
	return func(i int) string {
		if everyTwentieth(i) {
			return mark
		}
		return fmt.Sprint(1 + wavy(i))
	}
}

// oneOf returns the cell of a row, one of the words.
func oneOf(words ...string) func(i int) string {
	return func(i int) string { return words[i*i%7%len(words)] }
}

// everyTwentieth reports whether a row is one of three in a table of 60.
func everyTwentieth(i int) bool { return i%20 == 3 }

// day returns a date of 2024.
func day(i int) string { return fmt.Sprintf("2024-%02d-%02d", 1+i%12, 1+i%28) }

// dayBut returns dates of 2024, and another date in some rows.
func dayBut(other string, in func(i int) bool) func(i int) string {
	return func(i int) string {
		if in(i) {
			return other
		}
		return day(i)
	}
}

// totalInRow30 names six tasks, and a total of them in row 30.
func totalInRow30(i int) string {
	if i == 30 {
		return "north total"
	}
	return fmt.Sprint("x", i%6)
}

// taskText returns a table of 60 rows whose tasks have the given names.
func taskText(name func(i int) string) string {
	return sixty("t,x,y", func(i int) string { return fmt.Sprintf("%s,%v,%v", name(i), wavy(7*i), wavy(i*i)) })
}

// pastedTwice returns a table with all of its rows twice.
func pastedTwice(table string) string {
	_, rows, _ := strings.Cut(table, "\n")
	return table + rows
}

// remarksOfTheFieldCases are the cases of TestRemarksOfTheField.
var remarksOfTheFieldCases = map[string]struct{ text, want string }{
	"fill value": {columnText(someOf("1e30")),
		`Column "v" has 3 cells 1e+30, far from all its other values: if that marks a missing value, use ` +
			`--na 1e+30.`},
	"last digits": {columnText(func(i int) string { return fmt.Sprintf("%.1f", 1e15+wavy(i)) }),
		`All values of "v" are within one part in 10^11 of each other, from `},
	"least integer": {columnText(someOf("-2147483648")), `use --na -2147483648.`},
	"-1":            {columnText(someOf("-1")), `Column "v" has 3 cells -1, far`},
	"no end": {columnText(dayBut("9999-12-31", everyTwentieth)),
		`Column "v" has 3 cells of 9999-12-31, far from all its other dates`},
	"no beginning": {columnText(dayBut("0001-01-01", everyTwentieth)),
		`3 cells of 0001-01-01`},
	"one far date": {columnText(dayBut("2924-12-31", func(i int) bool { return i == 3 })),
		`The value 2924-12-31 of "v" (line 5)`},
	"compact dates": {columnText(func(i int) string { return strings.ReplaceAll(day(i), "-", "") }),
		`look like dates without hyphens, such as 20240131 or 202401, whose differences are not times: "v"`},
	"compact months": {columnText(func(i int) string { return fmt.Sprintf("%d%02d", 2000+i%5, 1+i%12) }),
		`dates without hyphens`},
	"units": {columnText(oneOf("5 kg", "10 kg", "15 kg")),
		`The levels of "v" are numbers with a unit, such as "10 kg"`},
	"per cent": {columnText(oneOf("5 ‰", "10 ‰", "15 ‰")), `numbers with a unit`},
	"no value": {columnText(func(int) string { return "" }), `Columns without any value: "v". Use --drop v.`},
	"two values": {sixty("t,x,y", func(i int) string { return fmt.Sprintf("x%d,%v,%d", i%6, wavy(i), i*i%7%2) }),
		`The target has two values alone, 0 and 1`},
	"logarithm": {sixty("t,l,y",
		func(i int) string { return fmt.Sprintf("x%d,%v,%v", i%6, math.Log(1+wavy(i)), wavy(i)) }),
		`rise or fall with the target in all rows: "l"`},
	"rounded": {sixty("t,l,y",
		func(i int) string { return fmt.Sprintf("x%d,%v,%v", i%6, -math.Round(wavy(i)), wavy(i)) }),
		`rise or fall with the target in all rows: "l"`},
	"pasted twice": {pastedTwice(taskText(oneOf("a", "b", "c"))), `60 rows occur in the table before`},
	"subtotals":    {taskText(totalInRow30), `look like totals of the other rows: "north total" (line 32)`},
	"level ?": {columnText(oneOf("p", "?", "q")),
		`Column "v" has the level "?": if that marks a missing value, use --na '?'.`},
	"level NA":           {columnText(oneOf("p", "NA", "q")), `use --na NA.`},
	"level of databases": {columnText(oneOf("p", `\N`, "q")), `use --na '\N'.`},
	"task ?":             {taskText(oneOf("p", "?", "q")), `There is a task with the name "?"`},
	"task unknown":       {taskText(oneOf("p", "Unknown", "q")), `the name "Unknown"`},
	"task -1":            {taskText(oneOf("0", "-1", "2")), `the name "-1"`},
	"zero width":         {taskText(oneOf("a1", "a1\u200b", "b")), `"a1" and "a1\u200b" (one has U+200B)`},
	"soft hyphen":        {taskText(oneOf("a1", "a\u00ad1", "b")), `(one has U+00AD)`},
	"byte order mark":    {taskText(oneOf("a1", "a1\ufeff", "b")), `(one has U+FEFF)`},
	"Cyrillic":           {taskText(oneOf("a1", "\u04301", "b")), `(one has U+0430)`},
	"Greek":              {taskText(oneOf("B1", "\u03921", "b")), `(one has U+0392)`},
	"full width":         {taskText(oneOf("a1", "\uff411", "b")), `(one has U+FF41)`},
	"composed":           {taskText(oneOf("caf\u00e9", "cafe\u0301", "b")), "(one has U+00E9)"},
	"dash":               {taskText(oneOf("a-1", "a\u20131", "b")), `(one has U+2013)`},
	"apostrophe": {columnText(oneOf("o'x", "o\u2019x", "b")),
		`Levels of v that differ in their spelling alone are different levels: "o'x" and "o’x" (one has U+2019)`},
	"levels in Cyrillic": {columnText(oneOf("A", "\u0410", "b")),
		`Levels of v that differ in their spelling alone`},
}

// What looks wrong in tables of the field, and what to do. Every kind was once read without a word.
func TestRemarksOfTheField(t *testing.T) {
	for name, c := range remarksOfTheFieldCases {
		t.Run(name, func(t *testing.T) {
			tab := check.OK(read(c.text, TableOptions{Dates: "ymd", Missing: MissingKeep}))
			said := strings.Join(tab.Remarks(), "\n")
			if !strings.Contains(said, c.want) || len(tab.Remarks()) > 1 {
				t.Errorf("remarks %q: want %q", tab.Remarks(), c.want)
			}
		})
	}
}

// Tables in which nothing is wrong have no remarks, although they come close.
func TestNoRemarks(t *testing.T) {
	for name, text := range map[string]string{
		"degrees":     columnText(func(i int) string { return fmt.Sprint(i*i%33 - 1) }),
		"answers":     columnText(func(i int) string { return fmt.Sprint(i*i%7%3 - 1) }),
		"doses":       columnText(func(i int) string { return []string{"0", "0.01", "10"}[i*i%7%3] }),
		"ordinals":    columnText(oneOf("1st", "2nd", "3rd")),
		"years":       columnText(func(i int) string { return fmt.Sprint(1980 + i*i%43) }),
		"ages":        columnText(oneOf("10-20", "20+", "<10")),
		"none":        columnText(oneOf("none", "low", "high")),
		"unknown":     columnText(oneOf("unknown", "low", "high")),
		"versions":    columnText(oneOf("1.0.0", "1.0.1", "2.0.0")),
		"addresses":   columnText(oneOf("192.168.100.200", "10.0.0.1", "10.0.0.2")),
		"umlauts":     taskText(oneOf("M\u00fcller", "Muller", "Mueller")),
		"days":        columnText(oneOf("Monitor 24", "Sunflower 2", "Friday")),
		"own totals":  taskText(oneOf("total", "part")),
		"negative":    taskText(oneOf("-1", "-2", "3")),
		"amounts":     columnText(func(i int) string { return fmt.Sprint(200000 + i*i*137%9999) }),
		"small table": "t,v,y\nx,1,0\nx,2,1\nx,2,1\nx,2,1\n",
		"dice":        sixty("t,v,y", func(i int) string { return fmt.Sprintf("x%d,%d,%d", i%2, i%3, i%4) }),
	} {
		t.Run(name, func(t *testing.T) {
			tab := check.OK(read(text, TableOptions{}))
			if len(tab.Remarks()) > 0 {
				t.Errorf("remarks %q", tab.Remarks())
			}
		})
	}
}

// Cells and files that are not read have an error that says what they are, and the option that helps.
func TestErrorsOfTheField(t *testing.T) {
	ids := func(cell string) string {
		return sixty("t,v,y", func(i int) string { return fmt.Sprintf("x%d,%s%d,%v", i%6, cell, i, wavy(i)) })
	}
	const table = "t,v,y\nx,1,2\nx,3,4\n"
	for name, c := range map[string]struct {
		text string
		o    TableOptions
		want []string
	}{
		"UTF-16 without mark": {"t\x00,\x00v\x00,\x00y\x00\n\x00", TableOptions{},
			[]string{"line 1 contains zero bytes", "UTF-16 with a byte order mark"}},
		"JSON":          {`[{"t": "x", "v": 1, "y": 2}]`, TableOptions{}, []string{"it is JSON"}},
		"lines of JSON": {"{\"t\": \"x\"}\n{\"t\": \"x\"}\n", TableOptions{}, []string{"it is JSON"}},
		"HTML":          {"\n<!DOCTYPE html>\n<html>\n", TableOptions{}, []string{"it is HTML or XML"}},
		"Excel": {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00", TableOptions{},
			[]string{"spreadsheet or document of an old Office"}},
		"Feather": {"ARROW1\x00\x00", TableOptions{}, []string{"Feather"}},
		"bzip2":   {"BZh91AY&SY\x00", TableOptions{}, []string{"bzip2"}},
		"R":       {"RDX3\nX\n\x00", TableOptions{}, []string{"a file of R"}},
		"title": {"Sales of 2024\n\n" + table, TableOptions{},
			[]string{"line 3 names the columns, but is not the first line"}},
		"blanks": {"t v y\nx 1 2\n", TableOptions{}, []string{"delimiter none of"}},
		"lookalike header": {"t,v,\u0443\nx,1,2\n", TableOptions{},
			[]string{`no column "y"`, "did you mean \"\u0443\" (one has U+0443)?"}},
		"header with a blank": {"t,v,y\u200b\nx,1,2\n", TableOptions{},
			[]string{`did you mean "y\u200b" (one has U+200B)?`}},
		"no names": {"x,1.5,2\nx,2.5,3\n", TableOptions{}, []string{"Is the line with the names missing?"}},
		"single quotes": {"t,v,y\n'x','1.5','2'\n", TableOptions{},
			[]string{"line 2", `column "v"`, "'1.5'", "only double quotes are quotes"}},
		"another order": {"t,v,y\nx,03/15/2024,2\n", TableOptions{Dates: "dmy"},
			[]string{"line 2", `"03/15/2024" is a date, but not in the order dmy`}},
		"no day": {"t,v,y\nx,2024-02-30,2\n", TableOptions{Dates: "ymd"},
			[]string{"line 2", "the calendar has no such day"}},
		"target of dates": {"t,v,y\nx,1,2024-01-01\n", TableOptions{Dates: "ymd"},
			[]string{"line 2", `column "y"`, "only features may be dates"}},
		"day of the week": {"t,v,y\nx,Mon 01 Jan 2024,2\n", TableOptions{},
			[]string{"line 2", "a date with a day of the week"}},
		"dash": {"t,v,y\nx,\u20133.5,2\n", TableOptions{},
			[]string{"line 2", `"–3.5" is not a plain number`, "other dashes"}},
		"yen": {"t,v,y\nx,¥3.5,2\n", TableOptions{}, []string{"line 2", "is not a plain number", "currency"}},
		"units": {ids("EUR "), TableOptions{},
			[]string{`column "v" has 60 different texts in 60 rows, such as "EUR 0"`, "numbers with a unit"}},
		"no value": {"t,v,y\nx,,2\nx,,3\n", TableOptions{}, []string{`there is no value in "v"`}},
		"no row": {"t,v,y\nx,,2\nx,,3\n", TableOptions{Missing: MissingDrop},
			[]string{"2 that lack values, 2 of them in column \"v\""}},
		"merged cells": {"t,v,y\nx,1,2\n,3,4\n,5,6\n", TableOptions{},
			[]string{`2 in column "t" (first on line 3)`, "Name it in all of them"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text, c.o)
			check.Error(t, err, c.want...)
		})
	}
}

// Forms of tables and cells that are read like the plain ones.
func TestFormsOfTheField(t *testing.T) {
	const want = `["x"] ["v"] 0 [1 2] 0 [3 4]`
	for name, text := range map[string]string{
		"separator in quotes": "\"sep=;\"\r\nt;v;y\r\nx;1;2\r\nx;3;4\r\n",
		"separator":           "sep=|\nt|v|y\nx|1|2\nx|3|4\n",
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := read(text, TableOptions{})
			checkTable(t, tab, err, want)
		})
	}
	for _, cell := range []string{
		"2024-01-31 12:00:00+00", "2024-01-31 12:00:00+0000", "2024-01-31 13:00:00+01",
		"2024-01-31 12:00:00 UTC", "2024-01-31 07:00:00 -0500", "2024-01-31 07:00:00.000 -05:00",
		"2024/1/31 12:00 PM", "2024-1-31 12:00:00 PM", "2024-01-31T12:00:00.000Z", "2024.01.31 12:00",
	} {
		tab, err := read("t,v,y\nx,"+cell+",2\n", TableOptions{Dates: "ymd"})
		checkTable(t, tab, err, `["x"] ["v"] 0 [19753.5 2]`)
	}
}
