package outside

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Numbers that a page states as measured, and what a reader needs to measure them again.
var (
	// Times, rates and their ratios.
	measured = regexp.MustCompile(`\d ?(?:ns|us|GFLOP/s|GB/s|CPU s)\b|\d times (?:as (?:fast|long)|faster|slower)` +
		`|\d %? ?(?:slower|faster)|\btakes? (?:some |about )?\.?\d[\d.,]* (?:s|ms|minutes|seconds)\b`)
	// Errors, shares and their ratios, as in ".995 of the error" or "| 0.733 |".
	share   = regexp.MustCompile(`[ |(*]\d?\.\d{2,3}[ ,.;:)*]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	output  = regexp.MustCompile(`(?m)^    .*$`)
	program = regexp.MustCompile(`\bby\s+(?:a|the|the\s+same)\s+program\b|\bby\s+programs\b`)
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

// fewShares is the number of errors and shares that a section may have without a day: as settings of a
// method.
const fewShares = 3

// unsourced returns the first error or share of a section that has more than fewShares of them, but names
// either no day, or neither a command nor the program that computed them. Code blocks do not count: tests run
// their commands and compare the outputs.
func unsourced(section string) string {
	if day.MatchString(section) && (command.MatchString(section) || program.MatchString(section)) {
		return ""
	}
	text := output.ReplaceAllString(fenced.ReplaceAllString(section, ""), "")
	list := share.FindAllString(strings.ReplaceAll(text, "\n", " "), -1)
	if len(list) <= fewShares {
		return ""
	}
	return strings.TrimRight(strings.Trim(list[0], " |(*,;:)"), ".")
}

// sections returns the sections of a page. A page whose last section lists its runs is one section.
func sections(text string) []string {
	if strings.Contains(text, "\n## Runs\n") {
		return []string{text}
	}
	return strings.Split(text, "\n## ")
}

// TestMeasuredNumbers: a section of a page that states a time, a rate or a ratio of speeds names the day and
// a command. A section with errors or shares names the day, and a command or a program. BENCHMARKS.md has
// them above each table: a test of bench/peers writes it.
func TestMeasuredNumbers(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md",
		"../../CHANGELOG.md") {
		for _, section := range sections(page(t, strings.TrimPrefix(filepath.ToSlash(file), "../../"))) {
			heading, _, _ := strings.Cut(section, "\n")
			if number := unfounded(section); number != "" {
				t.Errorf("%s, %s: %q without a day, or without a command", file, heading, number)
			}
			if strings.HasSuffix(file, "tutorial.md") { // a test of cmd/difalt compares its numbers with outputs
				continue
			}
			if number := unsourced(section); number != "" {
				t.Errorf("%s, %s: %q without a day, or without a command or program", file, heading, number)
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
	for section, want := range map[string]string{
		"| a | 0.733 | 0.811 |\n| b | 0.912 | 0.934 |":                                   "0.733",
		"Errors are .995, .994, (.96) and .91 of it (2026-11-27).":                       ".995",
		"Errors are .995, .994, (.96) and .91 of it (2026-11-27, by a program).":         "",
		"`make figures`, 2026-11-27: .995, .994, .96 and .91.":                           "",
		"It keeps .91, .95 and .05 of the rows.":                                         "",
		"The output:\n\n    .91 .92 .93 .94 .95 .96\n\n```\n .91 .92 .93 .94 .95\n```\n": "",
	} {
		if got := unsourced(section); got != want {
			t.Errorf("%q has the error or share %q, want %q", section, got, want)
		}
	}
}
