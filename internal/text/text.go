// Package text puts numbers, names and tables into words for messages and pages.
package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Plural returns a number of things, the noun with an s unless there is one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// A Table is rows of cells; the first row is the header, the first column names.
type Table [][]string

// Write prints the table with names to the left and numbers to the right. If it would be
// wider than a terminal the last word of a name of several stands below the others.
func (t Table) Write(w io.Writer) {
	width := t.widths()
	sum := -2
	for _, n := range width {
		sum += n + 2
	}
	if sum > 80 {
		t = t.stacked()
		width = t.widths()
	}
	for _, row := range t {
		line := fmt.Sprintf("%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", width[i+1], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func (t Table) widths() []int {
	width := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

// stacked returns the table with a header of two rows.
func (t Table) stacked() Table {
	above, below := make([]string, len(t[0])), make([]string, len(t[0]))
	for i, name := range t[0] {
		last := strings.LastIndexByte(name, ' ') + 1
		above[i], below[i] = strings.TrimSpace(name[:last]), name[last:]
	}
	return append(Table{above, below}, t[1:]...)
}

// Markdown returns the table in Markdown, without a last line break.
func (t Table) Markdown() string {
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

// most is how many entries of a list a message shows.
const most = 5

// List joins the first entries of a list, and says how many there are more.
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
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return List(quoted)
}
