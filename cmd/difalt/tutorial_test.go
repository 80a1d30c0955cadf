package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTutorial runs the commands of docs/tutorial.md as they stand there, in its order,
// and asserts that what they print, and what it computes from predictions, is what the page says.
func TestTutorial(t *testing.T) {
	inFull(t)
	content, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("../../docs", link[1])); err != nil {
			t.Errorf("the tutorial has a link to nothing: %v", err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(examples, "examples"); err != nil {
		t.Skip(err)
	}
	// Commands of which the page has all that they print, from some words on.
	shown := map[int]string{0: "", 2: "What tasks share", 3: "", 6: "", 7: ""}
	ours, scripts := 0, 0
	for _, block := range codeBlocks(page) {
		switch first, _, _ := strings.Cut(block, " "); first {
		case "difalt":
			for command := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				ours++
				stdout, stderr, code := difaltCommand(t, strings.Fields(command)[1:]...)
				if code != 0 || stdout == "" {
					t.Errorf("%s: exit code %d: %s", command, code, stderr)
				}
				if from, ok := shown[ours-1]; ok {
					checkShown(t, command, stdout[max(strings.Index(stdout, from), 0):], page)
				}
			}
		case "awk", "for":
			scripts++
			runScript(t, block, page)
		}
	}
	if ours < 8 || scripts < 2 {
		t.Errorf("found only %d commands and %d scripts in the tutorial", ours, scripts)
	}
}

// checkShown looks for every line of an output on the page, with numbers that differ by no more than
// another processor may make them.
func checkShown(t *testing.T, command, stdout, page string) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		fields := strings.Fields(line)
		same := func(other string) bool {
			words := strings.Fields(other)
			return strings.HasPrefix(other, "    ") && slices.EqualFunc(fields, words, sameWord)
		}
		if len(fields) > 0 && !slices.ContainsFunc(strings.Split(page, "\n"), same) {
			t.Errorf("%s: the tutorial does not show %q", strings.TrimSpace(command), line)
		}
	}
}

// sameWord compares words, those that are numbers to 1 %, and by their size where they are a
// distance to what was converged to.
func sameWord(a, b string) bool {
	x, errA := strconv.ParseFloat(strings.TrimRight(a, ".;:,"), 64)
	y, errB := strconv.ParseFloat(strings.TrimRight(b, ".;:,"), 64)
	if a == b || errA != nil || errB != nil {
		return a == b
	}
	return math.Abs(x-y) <= 0.01*math.Abs(y)+1e-4 || max(x, y) < 1e-5
}

// codeBlocks returns the indented blocks of a page, without the indent.
func codeBlocks(page string) (blocks []string) {
	for part := range strings.SplitSeq(page, "\n\n") {
		if lines, ok := strings.CutPrefix(part, "    "); ok {
			blocks = append(blocks, strings.ReplaceAll(lines, "\n    ", "\n"))
		}
	}
	return blocks
}

// runScript runs a script of awk's, where there is one, and looks for what it prints.
func runScript(t *testing.T, script, page string) {
	t.Helper()
	for _, program := range []string{"sh", "awk", "paste"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("not run: %v", err)
			return
		}
	}
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil || len(out) == 0 {
		t.Errorf("%s: %v: %s", script, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(page, "    "+line) {
			t.Errorf("the tutorial does not say %q", line)
		}
	}
}
