package text

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a sentence at spaces into lines of at most so many characters. A number
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
