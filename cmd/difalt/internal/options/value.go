package options

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Value parses, checks and keeps the text of a flag. It implements pflag.Value.
type Value struct {
	kind  string             // as in the help; "bool" and "stringSlice" have a meaning for pflag
	text  string             // as given, or the default
	given bool               // at least once
	words []string           // that the value can be, for completion; nil if these are no list
	set   func(string) error // sets the variable; an error says what the value must be, or its fault
}

const (
	boolean = "bool"
	list    = "stringSlice"
)

// Words returns the words that the value can be, nil if there is no list of them.
func (v *Value) Words() []string { return v.words }

// Among adds the words that the value can be, for completion.
func (v *Value) Among(words ...string) *Value {
	v.words = words
	return v
}

// String returns the text that was given, or the default.
func (v *Value) String() string { return v.text }

// Type returns the kind of value.
func (v *Value) Type() string { return v.kind }

// Set parses a text. It refuses empty texts, which shells leave where a variable is not set, empty entries of
// lists, and a second text unless the value is a list. Its errors say what is wrong with the text.
func (v *Value) Set(s string) error {
	switch {
	case s == "":
		return errors.New("leave it out, or give it a value")
	case v.given && v.kind != list:
		return errors.New("the flag is given twice: give it once")
	}
	if err := v.set(s); err != nil {
		return err
	}
	if v.given {
		s = v.text + "," + s
	}
	v.text, v.given = s, true
	return nil
}

// Parsed is a value that parse translates. wanted describes the texts that it accepts.
func Parsed[T any](p *T, kind, value, wanted string, parse func(string) (T, bool)) *Value {
	return &Value{kind: kind, text: value, set: func(s string) error {
		v, ok := parse(s)
		if !ok {
			return errors.New("must be " + wanted)
		}
		*p = v
		return nil
	}}
}

// Count is a whole number from least to most. The present value of *p is the default, and may lie outside.
func Count(p *int, least, most int) *Value {
	wanted := fmt.Sprintf("a whole number from %d to %d", least, most)
	return Parsed(p, "int", strconv.Itoa(*p), wanted, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= least && n <= most
	})
}

// A Range is the set of numbers from Least to Most, or those above Least if Open is set.
type Range struct {
	Least, Most float64
	Open        bool
}

// Many is the end of ranges of counts that have none by themselves.
const Many = 1_000_000_000

// Huge is the end of ranges of numbers that have none by themselves: its square is finite.
const Huge = 1e150

// Positive are the finite numbers above 0.
var Positive = Range{Most: Huge, Open: true}

// Number is a number in a range. The present value of *p is the default, and may lie outside.
func Number(p *float64, r Range) *Value {
	from := map[bool]string{true: "above", false: "from"}[r.Open]
	most := fmt.Sprintf("%.3g", r.Most)
	if shown, _ := strconv.ParseFloat(most, 64); shown > r.Most {
		most = "less than " + most
	}
	wanted := fmt.Sprintf("a number %s %g to %s", from, r.Least, most)
	return Parsed(p, "float64", text.Number(*p), wanted, func(s string) (float64, bool) {
		x, err := strconv.ParseFloat(s, 64)
		return x, err == nil && x >= r.Least && x <= r.Most && !(r.Open && x == r.Least)
	})
}

// Span is a time from 1 ns to 100 days, by default value.
func Span(p *time.Duration, value time.Duration) *Value {
	const longest = 2_400 * time.Hour
	*p = value
	wanted := fmt.Sprintf("a time such as 90s or 1h30m, from 1ns to %v", longest)
	return Parsed(p, "duration", value.String(), wanted, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d > 0 && d <= longest
	})
}

// Seed is a whole number without a range of its own, by default 1.
func Seed(p *uint64) *Value {
	*p = 1
	wanted := fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64))
	return Parsed(p, "uint64", "1", wanted, func(s string) (uint64, bool) {
		n, err := strconv.ParseUint(s, 10, 64)
		return n, err == nil
	})
}

// Yes is true if it is given.
func Yes(p *bool) *Value {
	return Parsed(p, boolean, strconv.FormatBool(*p), "true or false", func(s string) (bool, bool) {
		v, err := strconv.ParseBool(s)
		return v, err == nil
	})
}

// OneOf is one of several words; the first is the default.
func OneOf(p *string, words ...string) *Value {
	*p = words[0]
	return Parsed(p, "text", words[0], "one of "+strings.Join(words, ", "), func(s string) (string, bool) {
		return s, slices.Contains(words, s)
	}).Among(words...)
}

// Text is any text. The present value of *p is the default.
func Text(p *string) *Value {
	return &Value{kind: "text", text: *p, set: func(s string) error { *p = s; return nil }}
}

// List is texts with commas between them, in quotes as in CSV where a text has a comma. The present value of
// *p is the default, which the first list replaces; later ones add to it.
func List(p *[]string) *Value {
	v := &Value{kind: list, text: strings.Join(*p, ",")}
	v.set = func(s string) error {
		r := csv.NewReader(strings.NewReader(s))
		entries, err := r.Read()
		_, after := r.Read()
		switch {
		case err != nil:
			return errors.New("must be texts with commas between them")
		case after != io.EOF:
			return errors.New("a text with a line break needs double quotes around it")
		case strings.Contains(","+s+",", ",,"):
			return errors.New("one of its entries is empty")
		case !v.given:
			*p = nil
		}
		*p = append(*p, entries...)
		return nil
	}
	return v
}

// Word is a text that parse translates. An empty default leaves the variable unchanged; parse must accept any
// other one.
func Word[T any](p *T, value string, parse func(string) (T, error)) *Value {
	if value != "" {
		*p, _ = parse(value)
	}
	return &Value{kind: "text", text: value, set: func(s string) (err error) { *p, err = parse(s); return err }}
}
