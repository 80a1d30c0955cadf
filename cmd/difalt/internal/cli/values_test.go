package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// Values accept the ends of their ranges and refuse what lies beyond them, in words that name the range; a
// text that is refused changes nothing.
func TestValues(t *testing.T) {
	count, limit, number, positive, span, seed := 3, 0, 0.5, 1.0, time.Minute, uint64(1)
	word, listen, level := "b", "", 0
	for name, c := range map[string]struct {
		value   pflag.Value
		initial string
		good    []string
		bad     []string
		want    string
		keeps   func() bool // whether the variable has the value of the last good text
	}{
		"count": {Count(&count, 1, 9), "3", []string{"1", "9"}, []string{"0", "10", "1.5", "x", "9e0"},
			"must be a whole number from 1 to 9", func() bool { return count == 9 }},
		"limit": {CountOrOff(&limit, 12, -1), "12", []string{"5", "0"}, []string{"-1", "1000000001"},
			"must be a whole number from 0 to 1000000000", func() bool { return limit == -1 }},
		"number": {Number(&number, Range{Least: -1, Most: 2}),
			"0.5", []string{"-1", "2e0"}, []string{"-1.01", "NaN", "Inf", "2.1"},
			"must be a number from -1 to 2", func() bool { return number == 2 }},
		"share": {Number(&positive, Range{Most: math.Nextafter(1, 0), Open: true}), "1", []string{"0.9999999999"},
			[]string{"0", "1"}, "must be a number above 0 to less than 1",
			func() bool { return positive == 0.9999999999 }},
		"span": {Span(&span), "1m0s", []string{"2400h", "1ns"}, []string{"0s", "2401h", "-1s", "5"},
			"must be a time such as 90s or 1h30m, from 1ns to 2400h0m0s", func() bool { return span == 1 }},
		"seed": {Seed(&seed), "1", []string{"0", "18446744073709551615"}, []string{"-1", "18446744073709551616"},
			"must be a whole number from 0 to 18446744073709551615", func() bool { return seed == math.MaxUint64 }},
		"address": {Address(&listen), "", []string{"host:7001", "[::1]:0", ":65535"},
			[]string{"x", "a:b:c", "host:65536", "host:-1"},
			"must be HOST:PORT or :PORT", func() bool { return listen == ":65535" }},
		"word": {OneOf(&word, "a", "b"), "b", []string{"b", "a"}, []string{"c", "A"}, "must be one of a, b",
			func() bool { return word == "a" }},
		"parsed": {Parsed(&level, "info", func(s string) (int, error) { return len(s), nil }, "info"), "info",
			[]string{"xyz"}, nil, "", func() bool { return level == 3 }},
	} {
		if c.value.String() != c.initial {
			t.Errorf("%s: the default is %q, want %q", name, c.value, c.initial)
		}
		for _, s := range c.good {
			if err := c.value.Set(s); err != nil || c.value.String() != s {
				t.Errorf("%s: %q becomes %q, %v", name, s, c.value, err)
			}
		}
		for _, s := range c.bad {
			if err := c.value.Set(s); err == nil || err.Error() != c.want {
				t.Errorf("%s: %q: %v, want %q", name, s, err, c.want)
			}
		}
		if !c.keeps() {
			t.Errorf("%s does not have the value of the last text that it accepted", name)
		}
	}
}

// The first list replaces the default, later ones add to it, and quotes keep commas.
func TestList(t *testing.T) {
	all := []string{"usual"}
	v := List(&all)
	for _, s := range []string{`a,"b, c"`, `"d,,e"`} {
		if err := v.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a", "b, c", "d,,e"}; !slices.Equal(all, want) || v.String() != `a,"b, c","d,,e"` {
		t.Errorf("%q, as text %q, want %q", all, v, want)
	}
	for text, want := range map[string]string{
		"a,,b": "one of its entries is empty",
		",":    "one of its entries is empty",
		"a\nb": `a text with a line break needs double quotes around it, as $'"a\nb"' has`,
		`"a`:   "must be texts with commas between them",
	} {
		if err := v.Set(text); err == nil || err.Error() != want || len(all) != 3 {
			t.Errorf("%q: %v, want %q; %q", text, err, want, all)
		}
	}
}

// An empty list replaces the default, and adds nothing to another list.
func TestEmptyList(t *testing.T) {
	for _, c := range []struct{ texts, want []string }{
		{[]string{""}, []string{}}, {[]string{"", "a"}, []string{"a"}}, {[]string{"a", ""}, []string{"a"}},
	} {
		all := []string{"usual"}
		v := List(&all)
		for _, s := range c.texts {
			if err := v.Set(s); err != nil {
				t.Fatal(err)
			}
		}
		if all == nil || !slices.Equal(all, c.want) || v.String() != strings.Join(c.want, ",") {
			t.Errorf("%q: %q, as text %q, want %q", c.texts, all, v, c.want)
		}
	}
}

// Every flag refuses an empty text, and a second one, unless it is a list.
func TestStrict(t *testing.T) {
	set, on, name, list := pflag.NewFlagSet("", pflag.ContinueOnError), false, "", []string(nil)
	set.BoolVar(&on, "on", false, "")
	set.StringVar(&name, "name", "x", "")
	set.Var(List(&list), "list", "")
	set.VisitAll(func(f *pflag.Flag) { f.Value = &strict{Value: f.Value} })
	for _, args := range [][]string{{"--on="}, {"--on=maybe"}, {"--name="}, {"--name=a", "--name=b"}} {
		if err := set.Parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if err := set.Parse([]string{"--on", "--list=", "--list=a", "--list=b"}); err != nil || !on || name != "a" ||
		!slices.Equal(list, []string{"a", "b"}) {
		t.Errorf("%v, %v, %q, %q", err, on, name, list)
	}
}

// TestWords: an error about a flag with a list of words lists them, and says the value once, whatever parse
// says.
func TestWords(t *testing.T) {
	var level int
	refuse := func(s string) (int, error) { return 0, fmt.Errorf("unknown level %q", s) }
	err := Parsed(&level, "a", refuse, "a", "b").Set("x")
	if err == nil || !strings.Contains(err.Error(), "must be one of a, b") || strings.Contains(err.Error(), "unknown") {
		t.Errorf("with words: %v", err)
	}
	if err := Parsed(&level, "a", refuse).Set("x"); err == nil || !strings.Contains(err.Error(), `unknown level "x"`) {
		t.Errorf("without words: %v", err)
	}
}
