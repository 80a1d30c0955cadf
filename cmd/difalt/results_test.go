package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The paper's figure 2 in miniature, from what simulate left.
func TestResults(t *testing.T) {
	t.Parallel()
	inFull(t)
	base := t.TempDir()
	small := []string{"simulate", "--preset", "fig2a", "--nodes", "5", "--features", "12", "--tasks", "20", "--samples", "12",
		"--rank", "2", "--graph", "er:0.9", "--iterations", "400", "--trials", "2", "--rounds", "3"}
	for _, preset := range []string{"fig2a", "fig2b", "fig2c"} {
		small[2] = preset
		if _, stderr, code := difaltCommand(t, append(small, "--out", filepath.Join(base, "runs", preset))...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		// The trace is not needed.
		if err := os.Remove(filepath.Join(base, "runs", preset, "trace.csv")); err != nil {
			t.Fatal(err)
		}
	}
	docs := filepath.Join(base, "docs")
	stdout, stderr, code := difaltCommand(t, "results", "--from", filepath.Join(base, "runs"), "--out", docs)
	if code != 0 || !strings.Contains(stdout, "results.md about 3 runs") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	page := string(readFile(t, docs, "results.md"))
	for _, want := range []string{
		"## Figure 2", "![Figure 2: connectivity of the graph, equal weights](figures/fig2-equal.svg)", "Dif-AltGDmin",
		"## The paper's statements about them",
		"final distance",
		"## Runs", "| fig2c | equal | 2 | 1 |", "features = 12, tasks = 20", "difalt ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	for _, not := range []string{"Figure 1", "NaN", "%!"} {
		if strings.Contains(page, not) {
			t.Errorf("the page contains %q", not)
		}
	}
	if svg := readFile(t, docs, "figures", "fig2-equal.svg"); !strings.Contains(string(svg), "<svg") {
		t.Error("no figure")
	}
	if _, stderr, code := difaltCommand(t, "results", "--from", filepath.Join(base, "runs")); code != 0 || string(readFile(t, base, "runs", "results.md")) != page {
		t.Errorf("without --out: exit code %d: %s", code, stderr)
	}
}

func TestResultsErrors(t *testing.T) {
	empty, broken, bare := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{broken: "{", bare: "{}"} {
		if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "--from is missing"},
		{[]string{"--from", empty}, exitFailure, "no results"},
		{[]string{"--from", filepath.Join(empty, "none")}, exitFailure, "none"},
		{[]string{"--from", broken}, exitFailure, "summary.json"},
		{[]string{"--from", bare}, exitFailure, "curves.csv"},
	} {
		_, stderr, code := difaltCommand(t, append([]string{"results"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, error %q, want one about %q", c.args, code, stderr, c.want)
		}
	}
}
