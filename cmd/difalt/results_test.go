package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// The page about the folder of a single run has its figure, its table and the command that made it.
func TestResultsOfOneRun(t *testing.T) {
	dir := t.TempDir()
	simulate(t, dir, "--trials", "1") // which the second replaces
	simulate(t, dir, "--trials", "2")
	has(t, must(t, "results", "--from", dir), "results.md about 1 run")
	page := string(readFile(t, dir, "results.md"))
	has(t, page, "## Run 1", "(figures/run-1.svg)", "| method | metropolis weights |", "| DGD variant | ends at ",
		"    difalt simulate --nodes=4 ", " --trials=2 --out="+dir+"\n")
	for _, not := range []string{"Figure 1", "--trials=1", "NaN", "%!"} {
		if strings.Contains(page, not) {
			t.Errorf("the page contains %q", not)
		}
	}
	has(t, string(readFile(t, dir, "figures", "run-1.svg")), "<svg")
}

func TestResultsErrors(t *testing.T) {
	empty, broken, bare := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, broken, "summary.json", "{")
	write(t, bare, "summary.json", "{}")
	for dir, want := range map[string]string{empty: "no results", filepath.Join(empty, "none"): "none", broken: "summary.json", bare: "summary.json"} {
		refuses(t, exitFailure, want, "results", "--from", dir)
	}
}
