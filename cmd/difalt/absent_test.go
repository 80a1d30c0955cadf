package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// absentShops returns the table of shops with rows of weight 0 between its own, of the same shops and of
// another one. Their numbers are far from all others.
func absentShops() string {
	lines := strings.Split(strings.TrimSpace(shops()), "\n")
	out := lines[0] + ",w\n"
	for i, line := range lines[1:] {
		cells := strings.Split(line, ",")
		if i%9 == 0 {
			for _, j := range []int{1, 3, 5} {
				cells[j] = fmt.Sprint(500 + 17*i + 100*j)
			}
			if i%2 == 0 {
				cells[0], cells[2] = "nowhere", ""
			}
			out += strings.Join(cells, ",") + ",0\n"
		}
		out += line + ",3\n"
	}
	return out
}

// Rows of weight 0 are as absent: in the draw of held-out rows, in the numbers of tasks and rows, in errors,
// and in the figures of the page.
func TestRowsOfWeightZero(t *testing.T) {
	report := func(table string, more ...string) (text string, files map[string][]byte) {
		t.Chdir(t.TempDir())
		file := write(t, ".", "t.csv", table)
		text = must(t, slices.Concat([]string{"fit", file, "--report", "report"}, fitShops, more)...)
		return text, folder(t, "report")
	}
	got, gotFiles := report(absentShops(), "--sample-weights", "w")
	want, wantFiles := report(shops())
	const said = "40 rows of weight 0 taken as absent.\n"
	has(t, got, said)
	place := regexp.MustCompile(`\bline\s\d+|\b\d+, task`)
	want = place.ReplaceAllString(want, "#")
	got = place.ReplaceAllString(strings.ReplaceAll(got, said, ""), "#")
	if difference := cmp.Diff(linesOf(want), linesOf(got)); difference != "" {
		t.Errorf("rows of weight 0 change the report: %s", difference)
	}
	if len(wantFiles) < 8 {
		t.Errorf("%d files have no curve among them", len(wantFiles))
	}
	for name, text := range wantFiles {
		if filepath.Ext(name) != ".svg" {
			continue
		}
		if difference := cmp.Diff(linesOf(string(text)), linesOf(string(gotFiles[name]))); difference != "" {
			t.Errorf("rows of weight 0 change %s: %.2000s", name, difference)
		}
	}
}
