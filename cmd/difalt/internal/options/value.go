package options

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// A Value binds an option to the variable that it sets.
type Value struct {
	add   func(s *pflag.FlagSet, name, usage string)
	check func() string // returns the fault of a number, or nothing
	parse func() error  // sets the variable of a word
}

// A want is the error of a word; it names the accepted ones.
type want string

func (w want) Error() string { return "want " + string(w) }

// Count is a whole number from least to most. The default may lie beyond them.
func Count(p *int, value, least, most int) Value {
	return Value{
		add: func(s *pflag.FlagSet, name, usage string) { s.IntVar(p, name, value, usage) },
		check: func() string {
			switch {
			case *p < least:
				return fmt.Sprintf("is %d: need at least %d", *p, least)
			case *p > most:
				return fmt.Sprintf("is %d: want at most %d", *p, most)
			}
			return ""
		},
	}
}

// Number is a number from least to most; wanted describes that range.
func Number(p *float64, value, least, most float64, wanted string) Value {
	return Value{
		add: func(s *pflag.FlagSet, name, usage string) { s.Float64Var(p, name, value, usage) },
		check: func() string {
			switch {
			case *p >= least && *p <= most:
				return ""
			case *p > most && most > 1: // a bound against overflow
				return fmt.Sprintf("is %v: must be at most %v", *p, most)
			}
			return fmt.Sprintf("is %v: %s", *p, wanted)
		},
	}
}

// Longest is the longest time that can be given. A float64 has it exactly.
const Longest = 2_400 * time.Hour

// Span is a time from least, 0 or 1 ns, to Longest.
func Span(p *time.Duration, value, least time.Duration) Value {
	return Value{
		add: func(s *pflag.FlagSet, name, usage string) { s.DurationVar(p, name, value, usage) },
		check: func() string {
			switch {
			case *p < least && least == 0:
				return fmt.Sprintf("is %v: must not be negative", *p)
			case *p < least:
				return fmt.Sprintf("is %v: must be positive", *p)
			case *p > Longest:
				return fmt.Sprintf("is %v: want at most %v", *p, Longest)
			}
			return ""
		},
	}
}

// Seed is a number without a range.
func Seed(p *uint64, value uint64) Value {
	return Value{add: func(s *pflag.FlagSet, name, usage string) { s.Uint64Var(p, name, value, usage) }}
}

// Text is any text.
func Text(p *string, value string) Value {
	return Value{add: func(s *pflag.FlagSet, name, usage string) { s.StringVar(p, name, value, usage) }}
}

// List is texts with commas between them.
func List(p *[]string, value []string) Value {
	return Value{add: func(s *pflag.FlagSet, name, usage string) { s.StringSliceVar(p, name, value, usage) }}
}

// Yes is true if it is given.
func Yes(p *bool) Value {
	return Value{add: func(s *pflag.FlagSet, name, usage string) { s.BoolVar(p, name, *p, usage) }}
}

// Word is a text that parse translates; an empty one leaves the variable unchanged.
func Word[T any](p *T, value string, parse func(string) (T, error)) Value {
	var typed string
	v := Text(&typed, value)
	v.parse = func() error {
		if typed == "" {
			return nil
		}
		x, err := parse(typed)
		if err == nil {
			*p = x
		}
		return err
	}
	return v
}

// auto is the word that leaves a number to the data.
const auto = "auto"

// parseRank returns a rank, nil for auto.
func parseRank(s string) (*int, error) {
	if s == auto {
		return nil, nil
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || n < 0:
		return nil, want("auto or a whole number from 0")
	case n > many:
		return nil, want(fmt.Sprintf("at most %d", many))
	}
	return &n, nil
}

// OneOf returns the parser of one of several words; wanted lists them.
func OneOf[T any](wanted string, values map[string]T) func(string) (T, error) {
	return func(s string) (v T, err error) {
		v, ok := values[s]
		if !ok {
			err = want(wanted)
		}
		return v, err
	}
}
