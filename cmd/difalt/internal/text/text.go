// Package text puts numbers, names and tables into words for messages and pages.
package text

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plural returns a number of things, the noun with an s unless there is one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Numbered returns n names: the prefix and a number from 0.
func Numbered(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(i)
	}
	return list
}

// A Table is rows of cells; the first row is the header, the first column names.
type Table [][]string

// terminal is how many characters a line of one has.
const terminal = 80

// Write prints the table with names to the left and numbers to the right. If it would be
// wider than a terminal the last word of a name of several stands below the others, and if
// that does not suffice a single space is between columns.
func (t Table) Write(w io.Writer) {
	shown := make(Table, len(t))
	for i, row := range t {
		for _, cell := range row {
			shown[i] = append(shown[i], Visible(cell))
		}
	}
	t = shown
	width, sum := t.widths()
	if sum+2*(len(width)-1) > terminal {
		t = t.stacked()
		width, sum = t.widths()
	}
	gap := 2
	if sum+gap*(len(width)-1) > terminal {
		gap = 1
	}
	for _, row := range t {
		line := fmt.Sprintf("%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("%*s%*s", gap, "", width[i+1], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func (t Table) widths() (width []int, sum int) {
	width = make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			if more := utf8.RuneCountInString(cell) - width[i]; more > 0 {
				width[i], sum = width[i]+more, sum+more
			}
		}
	}
	return width, sum
}

// stacked returns the table with a header of two rows, where a name has several words.
func (t Table) stacked() Table {
	if !slices.ContainsFunc(t[0], func(name string) bool { return strings.Contains(name, " ") }) {
		return t
	}
	above, below := make([]string, len(t[0])), make([]string, len(t[0]))
	for i, name := range t[0] {
		last := strings.LastIndexByte(name, ' ') + 1
		above[i], below[i] = strings.TrimSpace(name[:last]), name[last:]
	}
	return append(Table{above, below}, t[1:]...)
}

// Markdown returns the table in Markdown, without a last line break; nothing without rows below the header.
func (t Table) Markdown() string {
	if len(t) == 1 {
		return ""
	}
	var b strings.Builder
	for i, row := range t {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "| %s |", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "\n|%s", strings.Repeat("---|", len(row)))
		}
	}
	return b.String()
}

// longest is how many characters of a name are shown.
const longest = 100

// Visible returns a name of a file as it can be shown: without the characters by which it could
// write elsewhere on a terminal, or change the direction of a text, which become Go's escape
// sequences, and not much longer than a line.
func Visible(s string) string {
	var b strings.Builder
	count := 0
	for _, r := range s {
		if count++; count > longest {
			return b.String() + "..."
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// most is how many entries of a list a message shows.
const most = 5

// List joins the first five entries of a list, and counts the others.
func List(list []string) string {
	if n := len(list) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n)
	}
	return strings.Join(list, ", ")
}

// Names is List with every name in quotes.
func Names(names []string) string {
	quoted := make([]string, len(names))
	for i, s := range names[:min(len(names), most)] {
		if utf8.RuneCountInString(s) > longest {
			s = string([]rune(s)[:longest]) + "..."
		}
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return List(quoted)
}

// ShellWord returns a word as one would type it in a shell, in quotes if need be.
func ShellWord(s string) string {
	safe := func(c rune) bool {
		return c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-.,/:=+%@", c)
	}
	if s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !safe(c) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Cause strips the operation and the file from an error, for messages that contain them.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// Short prints three digits.
func Short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// Number prints all digits, for files, and nothing for NaN.
func Number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Wrap breaks a sentence at spaces into lines of at most width characters. A number
// stays with its per cent sign.
func Wrap(s string, width int) string {
	s = strings.ReplaceAll(s, " %", "\x00%")
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return strings.ReplaceAll(b.String(), "\x00", " ")
}
