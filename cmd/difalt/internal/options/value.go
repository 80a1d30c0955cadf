package options

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
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
	set   func(string) error // sets the variable; an error begins with "must be" or describes the fault
}

const (
	boolean = "bool"
	list    = "stringSlice"
)

// String returns the text that was given, or the default.
func (v *Value) String() string { return v.text }

// Type returns the kind of value.
func (v *Value) Type() string { return v.kind }

// Set parses a text. It refuses empty texts, which shells leave where a variable is not set, empty entries of
// lists, and a second text unless the value is a list. Its errors continue the name of the flag.
func (v *Value) Set(s string) error {
	switch {
	case s == "":
		return errors.New("is empty: leave it out, or give it a value")
	case v.given && v.kind != list:
		return fmt.Errorf("is given twice, as %s the second time: give it once", text.ShellWord(s))
	}
	if err := v.set(s); err != nil {
		return fmt.Errorf("is %s: %w", text.ShellWord(s), err)
	}
	if v.given {
		s = v.text + "," + s
	}
	v.text, v.given = s, true
	return nil
}

// Count is a whole number from least to most. The present value of *p is the default, and may lie outside.
func Count(p *int, least, most int) *Value {
	return &Value{kind: "int", text: strconv.Itoa(*p), set: func(s string) (err error) {
		if *p, err = strconv.Atoi(s); err != nil || *p < least || *p > most {
			err = fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return err
	}}
}

// A Range is the set of numbers from Least to Most, or those above Least if Open is set.
type Range struct {
	Least, Most float64
	Open        bool
}

// Number is a number in a range. The present value of *p is the default, and may lie outside.
func Number(p *float64, r Range) *Value {
	return &Value{kind: "float64", text: text.Number(*p), set: func(s string) (err error) {
		from := "from"
		if r.Open {
			from = "above"
		}
		*p, err = strconv.ParseFloat(s, 64)
		if err != nil || !(*p >= r.Least && *p <= r.Most) || r.Open && *p == r.Least {
			err = fmt.Errorf("must be a number %s %g to %.3g", from, r.Least, r.Most)
		}
		return err
	}}
}

// Longest is the longest time that can be given. A float64 holds it exactly.
const Longest = 2_400 * time.Hour

// Span is a time from least to Longest. An empty default leaves the variable unchanged.
func Span(p *time.Duration, value string, least time.Duration) *Value {
	return newValue("duration", value, func(s string) (err error) {
		if *p, err = time.ParseDuration(s); err != nil || *p < least || *p > Longest {
			err = fmt.Errorf("must be a time such as 90s or 1h30m, from %v to %v", least, Longest)
		}
		return err
	})
}

// Seed is a whole number without a range of its own.
func Seed(p *uint64) *Value {
	return newValue("uint64", "1", func(s string) (err error) {
		if *p, err = strconv.ParseUint(s, 10, 64); err != nil {
			err = fmt.Errorf("must be a whole number from 0 to %d", uint64(math.MaxUint64))
		}
		return err
	})
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
		entries, err := csv.NewReader(strings.NewReader(s)).Read()
		switch {
		case err != nil:
			return errors.New("must be texts with commas between them")
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

// Yes is true if it is given.
func Yes(p *bool) *Value {
	return &Value{kind: boolean, text: strconv.FormatBool(*p), set: func(s string) (err error) {
		if *p, err = strconv.ParseBool(s); err != nil {
			err = errors.New("must be true or false")
		}
		return err
	}}
}

// Word is a text that parse translates. An empty default leaves the variable unchanged.
func Word[T any](p *T, value string, parse func(string) (T, error)) *Value {
	return newValue("text", value, func(s string) (err error) { *p, err = parse(s); return err })
}

// OneOf is one of several words, each with its value; wanted lists the words. The first word is the default.
func OneOf[T any](p *T, wanted string, values map[string]T) *Value {
	first, _, _ := strings.Cut(wanted, ",")
	return Word(p, first, func(s string) (T, error) {
		v, ok := values[s]
		if !ok {
			return v, fmt.Errorf("must be one of %s", wanted)
		}
		return v, nil
	})
}

// newValue returns a value that is set to its default, if it has one.
func newValue(kind, value string, set func(string) error) *Value {
	if value != "" {
		if err := set(value); err != nil {
			panic(err) // a default that its own parser refuses
		}
	}
	return &Value{kind: kind, text: value, set: set}
}
