package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/pflag"
)

// A value is a flag whose text parse translates. It implements pflag.Value.
type value[T any] struct {
	p     *T
	kind  string // as in the help
	text  string // as given, or the default
	words []string
	parse func(string) (T, error) // an error names the values that are allowed
}

// String returns the text that was given, or the default.
func (v *value[T]) String() string { return v.text }

// Type returns the kind of value.
func (v *value[T]) Type() string { return v.kind }

// Words returns the words that the value can be; nil where the values are not a list of words.
func (v *value[T]) Words() []string { return v.words }

// Set parses a text and sets the variable.
func (v *value[T]) Set(s string) error {
	parsed, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.p, v.text = parsed, s
	return nil
}

// Kinds of values, as pflag calls its own.
const (
	boolKind = "bool"
	intKind  = "int"
	listKind = "stringSlice"
	textKind = "text" // pflag writes defaults of the kind "string" in quotes
)

// Parsed is a text that parse translates, by default the given text for the present value of *p. Where parse
// accepts some words only, shells complete them and errors list them.
func Parsed[T any](p *T, text string, parse func(string) (T, error), words ...string) pflag.Value {
	return &value[T]{p: p, kind: textKind, text: text, words: words, parse: func(s string) (T, error) {
		v, err := parse(s)
		if err != nil && len(words) > 0 {
			err = fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return v, err
	}}
}

// errNoWord is the error about a word that a list does not have; [Parsed] prints the list.
var errNoWord = errors.New("it is none of the words")

// Named is the value that a word names. The first of the words is the default.
func Named[T any](p *T, named map[string]T, words ...string) pflag.Value {
	*p = named[words[0]]
	return Parsed(p, words[0], func(s string) (T, error) {
		if !slices.Contains(words, s) {
			return *p, errNoWord
		}
		return named[s], nil
	}, words...)
}

// OneOf is one of several words. The present value of *p is the default, which may be empty.
func OneOf(p *string, words ...string) pflag.Value {
	return Parsed(p, *p, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", errNoWord
		}
		return s, nil
	}, words...)
}

// Many is the end of ranges of counts that have no other end.
const Many = 1_000_000_000

// Count is a whole number from least to most. The present value of *p is the default, and may lie outside.
func Count(p *int, least, most int) pflag.Value {
	return &value[int]{p: p, kind: intKind, text: strconv.Itoa(*p), parse: func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}}
}

// CountOrOff is a whole number from 0. A 0 becomes off; the default is usual, and leaves *p as it is.
func CountOrOff(p *int, usual, off int) pflag.Value {
	count := Count(p, 0, Many).(*value[int])
	parse := count.parse
	count.text = strconv.Itoa(usual)
	count.parse = func(s string) (int, error) {
		n, err := parse(s)
		if n == 0 {
			n = off
		}
		return n, err
	}
	return count
}

// A Range is the set of numbers from Least to Most, or those above Least if Open is set.
type Range struct {
	Least, Most float64
	Open        bool
}

// Huge is the end of ranges of numbers that have no other end: its square is finite.
const Huge = 1e150

// Positive is the range of the finite numbers above 0.
var Positive = Range{Most: Huge, Open: true}

// String returns the range in words.
func (r Range) String() string {
	from := "from"
	if r.Open {
		from = "above"
	}
	most := fmt.Sprintf("%.3g", r.Most)
	if shown, _ := strconv.ParseFloat(most, 64); shown > r.Most {
		most = "less than " + most
	}
	return fmt.Sprintf("a number %s %g to %s", from, r.Least, most)
}

// Number is a number in a range. The present value of *p is the default, which may lie outside of the range.
func Number(p *float64, r Range) pflag.Value {
	return &value[float64]{p: p, kind: "float64", text: text.Number(*p), parse: func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		inside := x >= r.Least && x <= r.Most && !(r.Open && x == r.Least)
		if err != nil || !inside {
			return 0, fmt.Errorf("must be %v", r)
		}
		return x, nil
	}}
}

// longestSpan is the end of the range of times.
const longestSpan = 2_400 * time.Hour

// Span is a time from 1 ns to 100 days. The present value of *p is the default.
func Span(p *time.Duration) pflag.Value {
	parse := func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > longestSpan {
			return 0, fmt.Errorf("must be a time such as 90s or 1h30m, from 1ns to %v", longestSpan)
		}
		return d, nil
	}
	return &value[time.Duration]{p: p, kind: "duration", text: p.String(), parse: parse}
}

// Address is an address to listen on, HOST:PORT or :PORT. The present value of *p is the default, which may
// be empty.
func Address(p *string) pflag.Value {
	return Parsed(p, *p, func(s string) (string, error) {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			return "", errors.New("must be HOST:PORT or :PORT")
		}
		return s, nil
	})
}

// Seed is any whole number of 64 bits. The present value of *p is the default.
func Seed(p *uint64) pflag.Value {
	parse := func(s string) (uint64, error) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("must be a whole number from 0 to %d", uint64(math.MaxUint64))
		}
		return n, nil
	}
	return &value[uint64]{p: p, kind: "uint64", text: strconv.FormatUint(*p, 10), parse: parse}
}

// A list is texts with commas between them, in quotes as in CSV where a text has a comma. An empty text is
// the list without entries.
type list struct {
	p     *[]string
	text  string
	given bool
}

// List is a list of texts. The present value of *p is the default, which the first list replaces; later lists
// add to it.
func List(p *[]string) pflag.Value { return &list{p: p, text: strings.Join(*p, ",")} }

// String returns the lists that were given, or the default.
func (l *list) String() string { return l.text }

// Type returns the kind of value.
func (l *list) Type() string { return listKind }

// Set adds a list.
func (l *list) Set(s string) error {
	entries, err := entriesOf(s)
	if err != nil {
		return err
	}
	if !l.given {
		*l.p, l.text, l.given = entries, s, true
		return nil
	}
	*l.p = append(*l.p, entries...)
	l.text = strings.Trim(l.text+","+s, ",")
	return nil
}

// entriesOf returns the entries of a list.
func entriesOf(s string) ([]string, error) {
	if s == "" {
		return []string{}, nil
	}
	r := csv.NewReader(strings.NewReader(s))
	entries, err := r.Read()
	_, after := r.Read()
	switch {
	case err != nil:
		return nil, errors.New("must be texts with commas between them")
	case after != io.EOF:
		const format = "a text with a line break needs double quotes around it, as %s has"
		return nil, fmt.Errorf(format, text.ShellList(s))
	case slices.Contains(entries, ""):
		return nil, errors.New("one of its entries is empty")
	}
	return entries, nil
}

// A strict value refuses an empty text, which shells leave where a variable is not set, and a second text,
// unless it is a list.
type strict struct {
	pflag.Value
	given bool
}

// Type returns the kind of value.
func (v *strict) Type() string {
	if kind := v.Value.Type(); kind != "string" {
		return kind
	}
	return textKind
}

// Set passes a text on.
func (v *strict) Set(s string) error {
	switch {
	case v.Type() == listKind:
	case s == "":
		return errors.New("leave it out, or give it a value")
	case v.given:
		return errors.New("the flag is given twice: give it once")
	}
	err := v.Value.Set(s)
	if err != nil && v.Type() == boolKind {
		return errors.New("must be true or false")
	}
	v.given = true
	return err
}
