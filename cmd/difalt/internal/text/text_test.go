package text

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := Table{{"method", "KB"}, {"dif", "1000"}, {"åltgdmin", ""}}
	var b strings.Builder
	table.Write(&b)
	if want := "method      KB\ndif       1000\nåltgdmin\n"; b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
	if got, want := table.Markdown(), "| method | KB |\n|---|---|\n| dif | 1000 |\n| åltgdmin |  |"; got != want {
		t.Errorf("in Markdown\n%s\nwant\n%s", got, want)
	}
}

func TestWrap(t *testing.T) {
	const all = "äää bb cccc 12 % ddddddddddddd e"
	for width, want := range map[int]string{
		100: all,
		11:  "äää bb cccc\n12 %\nddddddddddddd\ne",
		14:  "äää bb cccc\n12 %\nddddddddddddd\ne",
		16:  "äää bb cccc 12 %\nddddddddddddd e",
	} {
		if got := Wrap(all, width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 12: "12 runs"} {
		if got := Plural(n, "run"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestNames(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e\n", "f", "g", "h", "i", "j"}
	for n, want := range map[int]string{
		0:  "",
		1:  `"a"`,
		2:  `"a", "b"`,
		5:  `"a", "b", "c", "d", "e\n"`,
		10: `"a", "b", "c", "d", "e\n" and 5 more`,
	} {
		if got := Names(all[:n]); got != want {
			t.Errorf("%d names: %s, want %s", n, got, want)
		}
	}
}

// Names of a file cannot write elsewhere on a terminal, nor turn a line around, nor fill pages.
func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"größe (m²)":             "größe (m²)",
		"":                       "",
		"a\x1b[31mb":             `a\x1b[31mb`,
		"x\u202ey":               `x\u202ey`,
		"l\nm\tn":                `l\nm\tn`,
		"it's":                   "it's",
		"\xff":                   "\ufffd",
		strings.Repeat("é", 101): strings.Repeat("é", 100) + "...",
		"日本":                     "日本",
	} {
		if got := Visible(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	var b strings.Builder
	Table{{"feature", "mean"}, {"x\x1b[2J", "1"}}.Write(&b)
	if want := "feature   mean\nx\\x1b[2J     1\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if got := Names([]string{strings.Repeat("n", 1e6)}); len(got) > 110 {
		t.Errorf("a name of %d bytes", len(got))
	}
}

// A value in a message cannot be mistaken for a word of the message.
func TestValue(t *testing.T) {
	for s, want := range map[string]string{
		"":      "empty",
		"-1":    "-1",
		"1e9":   "1e9",
		"wrong": `"wrong"`,
		",":     `","`,
		"a\nb":  `"a\nb"`,
	} {
		if got := Value(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// A list is typed in a shell as a flag reads it: a text with a comma, a quote or a line break is a cell of
// CSV.
func TestShellList(t *testing.T) {
	for want, list := range map[string][]string{
		`a,b`:                   {"a", "b"},
		`'a b,c'`:               {"a b", "c"},
		`'"a,b",c'`:             {"a,b", "c"},
		`'"say ""x"""'`:         {`say "x"`},
		`'it'\''s'`:             {"it's"},
		`$'"two\nlines",it\'s'`: {"two\nlines", "it's"},
		`$'"\\\r"'`:             {"\\\r"},
		`$'x\u202ey'`:           {"x\u202ey"},
	} {
		if got := ShellList(list...); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}
