package dataset

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"golang.org/x/text/unicode/norm"
)

// Spelling finds names that differ from a name of a list in their spelling alone: in case, blanks, leading
// zeros, as 1 and 1.0, or in characters that are invisible or look alike.
type Spelling map[string]string

// NewSpelling returns the spellings of names.
func NewSpelling(names []string) Spelling {
	s := Spelling{}
	for _, name := range names {
		s[spelled(name)] = name
	}
	return s
}

// Other returns a name of the list in another spelling.
func (s Spelling) Other(name string) (other string, ok bool) {
	other, ok = s[spelled(name)]
	return other, ok && other != name
}

// AlikeLevels returns sentences on the levels of a schema that differ in their spelling alone.
func AlikeLevels(s *mixed.Schema) (list []string) {
	for _, c := range s.Categories {
		if alike := alikeIn(c.Levels); alike != nil {
			list = append(list, fmt.Sprintf("Levels of %s that differ in their spelling alone are different "+
				"levels: %s.", text.Visible(c.Column), text.List(alike)))
		}
	}
	return list
}

// alikeIn returns the pairs of names in a list that differ in their spelling alone, in words.
func alikeIn(list []string) (pairs []string) {
	first := map[string]string{}
	for _, name := range list {
		key := spelled(name)
		if other, twice := first[key]; twice {
			pairs = append(pairs, Pair(other, "and", name))
		} else {
			first[key] = name
		}
	}
	return pairs
}

// Pair joins two names of one spelling by a word.
func Pair(a, word, b string) string {
	return fmt.Sprintf(`"%s" %s "%s"%s`, text.Visible(a), word, text.Visible(b), oddRune(a, b)+moreBlanks(a, b))
}

// moreBlanks says that names differ in their numbers of blanks alone, which a line of words does not show.
func moreBlanks(a, b string) string {
	if len(a) != len(b) && strings.ReplaceAll(a, " ", "") == strings.ReplaceAll(b, " ", "") {
		return " (one has more blanks)"
	}
	return ""
}

// oddRune names a character that only one of two names has, where it is not ASCII: it may look like a
// character of the other name, or be invisible. The result is empty without such a character.
func oddRune(a, b string) string {
	for _, names := range [][2]string{{a, b}, {b, a}} {
		lacks := func(r rune) bool { return r >= utf8.RuneSelf && !strings.ContainsRune(names[1], r) }
		if i := strings.IndexFunc(names[0], lacks); i >= 0 {
			r, _ := utf8.DecodeRuneInString(names[0][i:])
			return fmt.Sprintf(" (one has %U)", r)
		}
	}
	return ""
}

// lookalikes are capitals of Cyrillic and Greek that look like capitals of Latin.
var lookalikes = strings.NewReplacer(
	"А", "A", "В", "B", "Е", "E", "К", "K", "М", "M", "Н", "H", "О", "O", "Р", "P", "С", "C", "Т", "T",
	"У", "Y", "Х", "X", "І", "I", "Ѕ", "S", "Ј", "J",
	"Α", "A", "Β", "B", "Ε", "E", "Ζ", "Z", "Η", "H", "Ι", "I", "Κ", "K", "Μ", "M", "Ν", "N", "Ο", "O",
	"Ρ", "P", "Τ", "T", "Υ", "Y", "Χ", "X")

// spelled returns the common spelling of names that differ in case, blanks, leading zeros, or as 1 and 1.0.
// It takes Unicode to one form, hyphens and quotes to ASCII, and invisible characters out.
func spelled(name string) string {
	s := name
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		s = strings.ToUpper(strings.Map(plainRune, norm.NFKC.String(s)))
		s = lookalikes.Replace(s)
	}
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	s = strings.TrimSuffix(s, ".0")
	end := strings.LastIndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) + 1
	return s[:end] + strings.TrimLeft(s[end:], "0")
}

// plainRune returns the character of ASCII for hyphens and quotes of any kind, and -1 for invisible
// characters.
func plainRune(r rune) rune {
	switch {
	case unicode.Is(unicode.Cf, r):
		return -1
	case unicode.Is(unicode.Pd, r), r == '\u2212':
		return '-'
	case r == '\u2018', r == '\u2019', r == '\u02bc', r == '\u00b4':
		return '\''
	}
	return r
}
