//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fenced is a fenced block of a page: its kind, its text, and where the text begins and ends.
type fenced struct {
	kind, text string
	from, to   int
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func fencedBlocks(page string) (list []fenced) {
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		list = append(list, fenced{page[m[2]:m[3]], page[m[4]:m[5]], m[4], m[5]})
	}
	return list
}

// A shell runs commands of a page in a folder with the examples, where this test program is difalt. It keeps
// the variables that they export.
type shell struct{ folder, exports string }

var export = regexp.MustCompile(`(?m)^export .*\n`)

func newShell(t *testing.T) *shell {
	t.Helper()
	for _, program := range []string{"sh", "awk", "paste", "cut", "head", "grep"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("skip: ", err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	s := shell{folder: t.TempDir()}
	if err := os.Symlink(examples, filepath.Join(s.folder, "examples")); err != nil {
		t.Fatal(err)
	}
	return &s
}

// stageLine is a line of progress, which appears when a stage takes longer than it does on a machine with
// nothing else to do.
var stageLine = regexp.MustCompile(`(?m)^stage \d+ of \d+: .*\n`)

// run returns the output and the messages of commands that have to succeed.
func (s *shell) run(t *testing.T, commands string) string {
	t.Helper()
	s.exports += strings.Join(export.FindAllString(commands, -1), "")
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", s.exports+commands) // TestMain puts difalt into the path
	cmd.Dir = s.folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", commands, err, out)
	}
	return stageLine.ReplaceAllString(string(out), "")
}

// The commands of docs/tutorial.md print what it shows: the block of text after them, or nothing; and its
// figures come from the report. -update writes both.
func TestTutorial(t *testing.T) {
	const path = "../../docs/tutorial.md"
	page := string(readFile(t, path))
	s, blocks := newShell(t), fencedBlocks(page)
	var written strings.Builder
	end, shown := 0, 0
	for i, b := range blocks {
		if b.kind != "sh" {
			continue
		}
		got, want := s.run(t, b.text), ""
		if i+1 < len(blocks) && blocks[i+1].kind == "text" {
			want = blocks[i+1].text
			shown++
			written.WriteString(page[end:blocks[i+1].from] + got)
			end = blocks[i+1].to
		}
		if diff := cmp.Diff(linesOf(want), linesOf(got)); diff != "" && !*update {
			t.Errorf("%s(-docs/tutorial.md +output; -update writes it):\n%s", b.text, diff)
		}
	}
	if shown < 7 {
		t.Errorf("the page shows %d outputs", shown)
	}
	for _, figure := range []string{"tasks", "lines"} {
		path := "../../docs/figures/tutorial-" + figure + ".svg"
		got := string(readFile(t, s.folder, "report", figure+".svg"))
		if *update {
			write(t, filepath.Dir(path), filepath.Base(path), got)
		} else if diff := cmp.Diff(linesOf(string(readFile(t, path))), linesOf(got)); diff != "" {
			t.Errorf("%s is not the figure of the report; -update writes it", path)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(written.String()+page[end:]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Every decimal number in the sentences of the tutorial is a number of its blocks, rounded.
func TestTutorialQuotesItsNumbers(t *testing.T) {
	page := string(readFile(t, "../../docs/tutorial.md"))
	var there []float64
	for _, b := range fencedBlocks(page) {
		for _, word := range numberInText.FindAllString(b.text, -1) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			there = append(there, x)
		}
	}
	quoted := regexp.MustCompile(`\d+\.\d+`).FindAllString(fence.ReplaceAllString(page, ""), -1)
	if len(quoted) < 10 {
		t.Errorf("the sentences have %d decimal numbers", len(quoted))
	}
	for _, word := range quoted {
		_, digits, _ := strings.Cut(word, ".")
		if !slices.ContainsFunc(there, func(x float64) bool {
			return strings.TrimPrefix(strconv.FormatFloat(x, 'f', len(digits), 64), "-") == word
		}) {
			t.Errorf("docs/tutorial.md has %s in a sentence, and in no block", word)
		}
	}
}
