package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page about the folder of a single run has its figure, its table and the command that made it.
func TestResultsOfOneRun(t *testing.T) {
	dir := t.TempDir()
	simulate(t, dir, "--trials", "1")
	simulate(t, dir, "--trials", "2") // a second command, which continues
	stdout, stderr, code := difaltCommand(t, "results", "--from", dir)
	if code != 0 || !strings.Contains(stdout, "results.md about 1 run") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	page := string(readFile(t, dir, "results.md"))
	for _, want := range []string{"## Run 1", "(figures/run-1.svg)", "| method | metropolis weights |", "| DGD variant | ends at ", "| own settings | metropolis | 2 | 1 |  |",
		"    difalt simulate --nodes=4 ", " --trials=1 --out=" + dir + "\n", " --trials=2 --out=" + dir + "\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, not := range []string{"Figure 1", "NaN", "%!"} {
		if strings.Contains(page, not) {
			t.Errorf("the page contains %q", not)
		}
	}
	if svg := readFile(t, dir, "figures", "run-1.svg"); !strings.Contains(string(svg), "<svg") {
		t.Error("no figure")
	}
}

func TestResultsErrors(t *testing.T) {
	empty, broken, bare := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{broken: "{", bare: "{}"} {
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{empty: "no results", filepath.Join(empty, "none"): "none", broken: "settings.json", bare: "settings.json"} {
		_, stderr, code := difaltCommand(t, "results", "--from", dir)
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, error %q, want one about %q", dir, code, stderr, want)
		}
	}
}
