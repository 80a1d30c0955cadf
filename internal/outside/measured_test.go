package outside

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Times, rates and their ratios that a page states as measured, and what a reader needs to measure them
// again.
var (
	measured = regexp.MustCompile(`\d ?(?:ns|us|GFLOP/s|GB/s|CPU s)\b|\d times (?:as (?:fast|long)|faster|slower)` +
		`|\d %? ?(?:slower|faster)|\btakes? (?:some |about )?\.?\d[\d.,]* (?:s|ms|minutes|seconds)\b`)
	day     = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	command = regexp.MustCompile("(?m)^    [a-z]|`(?:go|make|difalt|DIFALT_)[^`]*`")
)

// unfounded returns the first measured number of a section without a day or a command, or "".
func unfounded(section string) string {
	if day.MatchString(section) && command.MatchString(section) {
		return ""
	}
	return measured.FindString(section)
}

// TestMeasuredNumbers: a section of a page that states a time, a rate or a ratio of speeds names the day and
// a command. BENCHMARKS.md has them above each table: a test of bench/peers writes it.
func TestMeasuredNumbers(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md") {
		for _, section := range strings.Split(page(t, strings.TrimPrefix(filepath.ToSlash(file), "../../")), "\n## ") {
			if number := unfounded(section); number != "" {
				heading, _, _ := strings.Cut(section, "\n")
				t.Errorf("%s, %s: %q without a day, or without a command", file, heading, number)
			}
		}
	}
	for section, want := range map[string]string{
		"It takes 3.5 s.":                       "takes 3.5 s",
		"It is 2.5 times as fast.":              "5 times as fast",
		"The stage needs 12 ns (2026-11-27).":   "2 ns",
		"12 ns: `make bench`, 2026-11-27.":      "",
		"Rows of 12 numbers, 3 times as many.":  "",
		"A node waits for 30 s, then it fails.": "",
	} {
		if got := unfounded(section); got != want {
			t.Errorf("%q has the measured number %q, want %q", section, got, want)
		}
	}
}
