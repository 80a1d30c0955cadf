package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// writeSites writes three files, which hold the same columns: cells with semicolons,
// a column of levels, and one row of the last file without a value.
func writeSites(t *testing.T) (dir string) {
	dir = t.TempDir()
	for g := range 3 {
		var b strings.Builder
		b.WriteString("store;region;price;revenue\n")
		for i := range 60 {
			region := []string{"north", "south"}[i%2]
			fmt.Fprintf(&b, "s%d-%d;%s;%d;%d\n", g, i/12, region, i%7, 3*(i%7)+10*(i%2)+g)
		}
		if g == 2 {
			b.WriteString("s2-0;north;NA;5\n")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("site-%d.csv", g)), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Files of several sites are one node each, and the model applies the levels that it
// learned to other files.
func TestFitSeveralFiles(t *testing.T) {
	dir := writeSites(t)
	model := filepath.Join(dir, "m.npz")
	fit := []string{
		"fit", "--data", filepath.Join(dir, "site-*.csv"), "--task", "store", "--target", "revenue", "--categorical", "region",
		"--delimiter", ";", "--rank", "1", "--graph", "complete", "--iterations", "20", "--model", model, "--float32",
	}
	_, stderr, code := difaltCommand(t, fit...)
	for _, want := range []string{"site-2.csv", `1 in column "price" (first on line 62)`} {
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, message %q lacks %q", code, stderr, want)
		}
	}
	stdout, stderr, code := difaltCommand(t, append(fit, "--missing", "drop")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"15 tasks, 3 features", "3 nodes", "1 row left out"} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) { // lines break by the length of the path
			t.Errorf("output lacks %q:\n%s", want, stdout)
		}
	}
	out := filepath.Join(dir, "p.csv")
	predict := func(table string, more ...string) (string, int) {
		path := filepath.Join(dir, "new.csv")
		if err := os.WriteFile(path, []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := difaltCommand(t, append([]string{"predict", "--model", model, "--data", path, "--out", out}, more...)...)
		return stderr, code
	}
	if stderr, code := predict("region,store,price\nsouth,s1-2,4\n"); code != 0 {
		t.Fatal(stderr)
	}
	stderr, code = predict("region,store,price\nwest,s1-2,4\n", "--known-only")
	if code != exitFailure || !strings.Contains(stderr, `new.csv: line 2, column "region": the level "west" is not known: it may be ["north" "south"]`) {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
	if stderr, code := predict("region,store,price\nwest,s1-2,4\nnorth,s1-2,4\nsouth,s9-9,4\n", "--standard-errors"); code != 0 {
		t.Fatal(stderr)
	}
	rows := records(t, out)
	width := func(i int) float64 {
		v, err := strconv.ParseFloat(rows[i]["stderr"], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if rows[0]["known"] != "false" || rows[1]["known"] != "true" || rows[2]["known"] != "false" || !(width(0) > width(1) && width(2) > width(1)) {
		t.Errorf("a new level, known, a new task: %v", rows)
	}
}

// Missing features become means in fit, predict and adapt, and all of them say so.
func TestMissingMean(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := writeSites(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("new.csv"), []byte("store;region;price;revenue\nnew;;4;7\nnew;south;;9\nnew;north;1;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want []string
		args []string
	}{
		{
			[]string{"15 tasks, 3 features", "filled with the mean of the training rows: 1 in \"price\"."},
			[]string{
				"fit", "--data", path("site-*.csv"), "--task", "store", "--target", "revenue", "--categorical", "region", "--rank", "1",
				"--graph", "complete", "--iterations", "20", "--model", path("m.npz"), "--report", path("report"),
			},
		},
		{
			[]string{"1 row left out", `1 in "region", 1 in "price"`},
			[]string{"adapt", "--model", path("m.npz"), "--data", path("new.csv"), "--out", path("m2.npz")},
		},
		{
			[]string{`1 in "region", 1 in "price"`, "predictions for 3 rows"},
			[]string{"predict", "--model", path("m2.npz"), "--data", path("new.csv"), "--out", path("p.csv"), "--stderr"},
		},
	} {
		stdout, stderr, code := difaltCommand(t, append(c.args, "--delimiter", ";", "--missing", "mean")...)
		if code != 0 {
			t.Fatal(stderr)
		}
		said := strings.Join(strings.Fields(stdout), " ")
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: output lacks %q:\n%s", c.args[0], want, stdout)
			}
		}
	}
	if page := string(readFile(t, path("report"), "index.html")); !strings.Contains(page, "filled with the mean of the training rows: 1 in") {
		t.Error("the page does not say what was filled")
	}
	if rows := records(t, path("p.csv")); len(rows) != 3 || rows[1]["prediction"] == "" || rows[1]["stderr"] == "" {
		t.Errorf("predictions are %v", rows)
	}
}
