// Package text puts numbers, names and tables into words for messages and pages.
package text

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// Write prints the table with names to the left and numbers to the right.
func (t Table) Write(w io.Writer) {
	width := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(Visible(cell)))
		}
	}
	for _, row := range t {
		line := fmt.Sprintf("%-*s", width[0], Visible(row[0]))
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", width[i+1], Visible(cell))
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
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

// Visible returns a name of a file for a terminal or a page. Characters that could write elsewhere on a
// terminal, or change the direction of a text, become Go's escape sequences, and a long name is cut.
func Visible(s string) string {
	runes, more := []rune(s), ""
	if len(runes) > longest {
		runes, more = runes[:longest], "..."
	}
	var b strings.Builder
	for _, r := range runes {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String() + more
}

// Shortened returns a name as Visible shows it, and its beginning where it has more characters than most.
func Shortened(name string, most int) string {
	r := []rune(Visible(name))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// Line returns a text for one line of a terminal or a log: characters that end a line, control a terminal or
// change the direction of a text become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, s)
}

// List joins the first eight entries of a list as Visible shows them, and counts the entries that follow.
func List(list []string) string { return first(list, 8, "") }

// Names joins the first five names of a list in quotes, and counts the names that follow.
func Names(names []string) string { return first(names, 5, `"`) }

// first joins the first entries of a list, with quotes around each.
func first(list []string, most int, quote string) string {
	var shown []string
	for _, s := range list[:min(len(list), most)] {
		shown = append(shown, quote+Visible(s)+quote)
	}
	words := strings.Join(shown, ", ")
	if n := len(list) - most; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return words
}

var plainWord = regexp.MustCompile(`^[\w.,/:=+%@\x{80}-\x{10ffff}-]+$`)

// ShellWord returns a word as one would type it in a shell, in quotes if need be. Characters that a terminal
// does not print are escape sequences, which bash and zsh read between $' and '.
func ShellWord(s string) string {
	switch {
	case unprinted.MatchString(s):
		escaped := strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s)
		return "$'" + unprinted.ReplaceAllStringFunc(escaped, escape) + "'"
	case plainWord.MatchString(s):
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unprinted are characters that control a terminal, or have no form.
var unprinted = regexp.MustCompile(`\pC`)

// escape returns the escape sequence of a character.
func escape(s string) string { return strings.Trim(strconv.QuoteToASCII(s), `"`) }

// ShellList returns texts as one would type them in a shell as a list for a flag: with commas between them,
// and as a cell of CSV where a text needs it.
func ShellList(list ...string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(list) // to memory
	w.Flush()
	return ShellWord(strings.TrimSuffix(b.String(), "\n"))
}

// Value returns a value as messages show it: a number as it is, any other text in quotes, "empty" for an
// empty text, and the beginning of a long one.
func Value(s string) string {
	_, err := strconv.ParseFloat(s, 64)
	switch {
	case s == "":
		return "empty"
	case err == nil && len(s) <= longest:
		return s
	}
	if runes := []rune(s); len(runes) > longest {
		return strconv.Quote(string(runes[:longest])) + "..."
	}
	return strconv.Quote(s)
}

// Cause strips the operation and the file from an error, for messages that contain them. The text
// of usual errors does not depend on the system.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	for _, usual := range []struct {
		kind error
		text string
	}{
		{fs.ErrNotExist, "no such file or directory"},
		{fs.ErrPermission, "permission denied"},
		{fs.ErrExist, "file exists"},
	} {
		_, isSystems := errors.AsType[syscall.Errno](err)
		if isSystems && errors.Is(err, usual.kind) && err.Error() != usual.text {
			return &cause{err, usual.text}
		}
	}
	return err
}

// A cause is an error of the system with another text.
type cause struct {
	error
	text string
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.error }

// Short prints three digits.
func Short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// Number prints all digits, for files, and nothing for NaN.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v == 0: // without the sign of -0
		return "0"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Date prints the date of a number of days since 1970-01-01.
func Date(days float64) string {
	return time.Unix(int64(math.Floor(days))*86400, 0).UTC().Format(time.DateOnly)
}

// Plain prints all digits as Number does, but a whole number without an exponent.
func Plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v+0, 'f', -1, 64)
	}
	return Number(v)
}

// Wrap breaks a sentence at spaces into lines of at most width characters. A number stays with its per cent
// sign.
func Wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(strings.ReplaceAll(s, " %", "\x00%")) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
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
