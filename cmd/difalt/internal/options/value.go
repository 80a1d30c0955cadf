package options

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/spf13/pflag"
)

// A Value binds an option to what it sets.
type Value struct {
	// Target points to what the option sets.
	Target any
	// Least and Most are the ends of the range of a number, which belong to it. Both are 0
	// for what is no number.
	Least, Most float64

	add   func(s *pflag.FlagSet, name, usage string)
	check func() string // what is wrong with the number
	parse func() error  // sets Target by the text that was given
}

// A want is the error of a word: what was wanted.
type want string

func (w want) Error() string { return "want " + string(w) }

// Count is a whole number from least to most. The default may lie beyond them.
func Count(p *int, value, least, most int) Value {
	return Value{
		Target: p, Least: float64(least), Most: float64(most),
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

// Number is a number from least to most, which wanted says in words.
func Number(p *float64, value, least, most float64, wanted string) Value {
	return Value{
		Target: p, Least: least, Most: most,
		add: func(s *pflag.FlagSet, name, usage string) { s.Float64Var(p, name, value, usage) },
		check: func() string {
			switch {
			case *p >= least && *p <= most:
				return ""
			case *p > most && most > 1: // which is only there so that nothing overflows
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
		Target: p, Least: float64(least), Most: float64(Longest),
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
	return Value{Target: p, add: func(s *pflag.FlagSet, name, usage string) { s.Uint64Var(p, name, value, usage) }}
}

// Text is any text.
func Text(p *string, value string) Value {
	return Value{Target: p, add: func(s *pflag.FlagSet, name, usage string) { s.StringVar(p, name, value, usage) }}
}

// List is texts with commas between them.
func List(p *[]string, value []string) Value {
	return Value{Target: p, add: func(s *pflag.FlagSet, name, usage string) { s.StringSliceVar(p, name, value, usage) }}
}

// Yes is true if it is given.
func Yes(p *bool) Value {
	return Value{Target: p, add: func(s *pflag.FlagSet, name, usage string) { s.BoolVar(p, name, *p, usage) }}
}

// when sets something to a value if the option is given.
func when[T any](p *T, value T) Value {
	var on bool
	v := Yes(&on)
	v.Target = p
	v.parse = func() error {
		if on {
			*p = value
		}
		return nil
	}
	return v
}

// Word is a text that stands for something; an empty one leaves that as it is.
func Word[T any](p *T, value string, parse func(string) (T, error)) Value {
	var typed string
	v := Text(&typed, value)
	v.Target = p
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

// within gives the number that a word is a range, for those who look at the table.
func (v Value) within(least, most float64) Value {
	v.Least, v.Most = least, most
	return v
}

// auto is the word that leaves a number to the program.
const auto = "auto"

// parseRank returns the rank of fit.Config: 0 leaves it to the program, -1 is none.
func parseRank(s string) (int, error) {
	if s == auto {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || n < 0:
		return 0, want("auto or a number, 0 for no representation")
	case n > many:
		return 0, want(fmt.Sprintf("at most %d", many))
	case n == 0:
		return -1, nil
	}
	return n, nil
}

// parseStep returns the step size eta, 0 to leave it to the program.
func parseStep(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case s == auto:
		return 0, nil
	case err != nil || !(v > 0) || math.IsInf(v, 0):
		return 0, want("auto or a positive number")
	case v > difalt.MaxStep:
		return 0, want(fmt.Sprintf("at most %v", difalt.MaxStep))
	}
	return v, nil
}

// parseRidge returns a ridge parameter, nil to leave it to the program.
func parseRidge(s string) (*float64, error) {
	if s == auto {
		return nil, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || !(v >= 0):
		return nil, want("auto or a number that is not negative")
	case v > difalt.MaxRidge && !math.IsInf(v, 1):
		return nil, want(fmt.Sprintf("at most %v, or inf", difalt.MaxRidge))
	}
	return &v, nil
}

// OneOf returns what parses a word that stands for a value, and says otherwise what was wanted.
func OneOf[T any](wanted string, values map[string]T) func(string) (T, error) {
	return func(s string) (v T, err error) {
		v, ok := values[s]
		if !ok {
			err = want(wanted)
		}
		return v, err
	}
}
