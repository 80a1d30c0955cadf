//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// section returns the text of a page under a heading, up to the next heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+heading)
	if !found {
		t.Fatalf("no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// indentedBlocks returns the blocks of a page that are indented by four spaces, without the indent.
func indentedBlocks(page string) (blocks []string) {
	for part := range strings.SplitSeq(fence.ReplaceAllString(page, ""), "\n\n") {
		if lines, ok := strings.CutPrefix(strings.TrimLeft(part, "\n"), "    "); ok {
			blocks = append(blocks, regexp.MustCompile(`(?m)^ +`).ReplaceAllString(lines, ""))
		}
	}
	return blocks
}

// The scripts of all pages run, print something and make the files that the pages name.
func TestPagesRun(t *testing.T) {
	inFull(t)
	network := string(readFile(t, here, "../../docs/network.md"))
	for _, script := range pageScripts(t) {
		if script.mpi {
			continue // TestMPIOfPages runs it
		}
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			if out := runScript(t, script); script.name == "network.md, five minutes" {
				checkRounds(t, network, out)
			}
		})
	}
}

// runScript runs the script of a page in a new folder, checks the files that it makes, and returns what it
// prints.
func runScript(t *testing.T, script pageScript) string {
	t.Helper()
	s := newShell(t)
	if script.needs != "" && exec.CommandContext(t.Context(), "sh", "-c", script.needs).Run() != nil {
		t.Skip("skip: ", script.needs)
	}
	out := s.run(t, onThisMachine(t, script.text))
	if out == "" {
		t.Errorf("%s\nprints nothing", script.text)
	}
	for _, file := range script.files {
		if _, err := os.Stat(filepath.Join(s.folder, file)); err != nil {
			t.Errorf("%s\n%v", script.text, err)
		}
	}
	return out
}

// Every command of the documents, of the help and of the manual pages, which are made of the help, is in a
// script that runs, or in notRun. Package internal/outside has those of make and of go test.
func TestAllCommandsOfPagesRun(t *testing.T) {
	ran, used := map[string]bool{}, map[string]bool{}
	texts := []string{}
	for _, script := range pageScripts(t) {
		texts = append(texts, script.text)
	}
	for _, b := range fencedBlocks(string(readFile(t, here, "../../docs/tutorial.md"))) {
		if b.kind == "sh" { // TestTutorial runs it
			texts = append(texts, b.text)
		}
	}
	for _, c := range commandsOf(strings.Join(texts, "\n")) {
		ran[c] = true
	}
	listed := 0
	for name, page := range allPages(t) {
		for _, c := range append(commandsOf(codeOf(page)), wholeCommands(inline(page))...) {
			listed++
			reason := ""
			for words := range notRun {
				if strings.HasPrefix(c, words) {
					reason, used[words] = words, true
				}
			}
			if reason == "" && !ran[c] {
				t.Errorf("%s: nothing runs %q", name, c)
			}
		}
	}
	for words, reason := range notRun {
		if !used[words] {
			t.Errorf("no page has %q, which %s", words, reason)
		}
	}
	if listed < 90 {
		t.Errorf("the pages have only %d commands", listed)
	}
}

// allPages returns the documents, and the help of all commands as a page with a block of examples.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(here, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			pages[filepath.Base(path)] = string(readFile(t, path))
		}
	}
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, _ []string) {
		pages["the help of "+cmd.CommandPath()] = cmd.Long + "\n\n```sh\n" + withoutDescriptions(cmd.Example) +
			"\n```\n"
	})
	return pages
}

// The manual pages have the examples of the help.
func TestExamplesOfManual(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "--out", dir)
	for path, page := range folder(t, filepath.Join(dir, "man")) {
		words := strings.Split(strings.TrimSuffix(filepath.Base(path), ".1"), "-")
		cmd, _, err := newRootCommand(&cli.Streams{}).Find(words[1:])
		if err != nil {
			t.Fatal(err)
		}
		_, examples, _ := strings.Cut(string(page), "\n.EX\n")
		examples, _, _ = strings.Cut(examples, "\n.EE\n")
		if got := strings.ReplaceAll(examples, `\\`, `\`); strings.TrimSpace(got) != strings.TrimSpace(cmd.Example) {
			t.Errorf("%s: the examples are\n%s\nand those of the help\n%s", path, got, cmd.Example)
		}
	}
}

// checkRounds asserts that a page has the number of rounds that a training prints, to a tenth: it differs a
// little where a processor rounds differently.
func checkRounds(t *testing.T, page, output string) {
	t.Helper()
	number := func(pattern, text string) float64 {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q has no number as in %q", text, pattern)
		}
		x, _ := strconv.ParseFloat(m[1], 64)
		return x
	}
	said := number(`example above takes (\d+) rounds`, section(t, page, "How long it takes"))
	if counted := number(`in\s+(\d+)\s+rounds`, output); math.Abs(said-counted) > counted/10 {
		t.Errorf("docs/network.md has %v rounds, and the training had %v", said, counted)
	}
}

// inline returns the commands in the sentences of a page.
func inline(page string) (commands []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		commands = append(commands, commandsOf(strings.Join(strings.Fields(m[1]), " "))...)
	}
	return commands
}

// Links of the documents lead to files of the repository, or elsewhere.
func TestLinksOfPages(t *testing.T) {
	links := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../deploy/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range pages {
			for _, m := range linkInText.FindAllStringSubmatch(string(readFile(t, path)), -1) {
				links++
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
					t.Errorf("%s: a link to nothing: %v", path, err)
				}
			}
		}
	}
	if links < 30 {
		t.Errorf("the documents have only %d links", links)
	}
}

var (
	flagInText    = regexp.MustCompile("(?:^|[ `(])(--[a-z][a-z-]*)")
	programInText = regexp.MustCompile(`(?:^|[ /'])(difalt(?:/paper)? .*)`)
	linkInText    = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
)

// All commands of the documents and of the help exist, with the flags that are given to them and those that
// they require; and a sentence that mentions a flag means one of some command.
func TestFlagsOfPages(t *testing.T) {
	known := map[string]bool{}
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, _ []string) {
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	})
	commands := 0
	for path, page := range allPages(t) {
		for _, c := range commandsOf(codeOf(page)) {
			if m := programInText.FindStringSubmatch(c); m != nil && !strings.HasPrefix(c, "docker") {
				commands++
				checkCommand(t, path, strings.Fields(strings.Trim(m[1], "'")), true)
			}
		}
		for _, c := range inline(page) {
			if strings.HasPrefix(c, program+" ") {
				checkCommand(t, path, strings.Fields(c), false)
			}
		}
		for _, m := range regexp.MustCompile("`--[^`]*`").FindAllString(page, -1) {
			for _, f := range flagInText.FindAllStringSubmatch(m, -1) {
				if !known[f[1]] {
					t.Errorf("%s: no command has %s", path, f[1])
				}
			}
		}
	}
	if commands < 60 {
		t.Errorf("the documents have only %d commands", commands)
	}
}

// checkCommand asserts that a command and the flags given to it exist, and that those it requires are given
// if it is whole.
func checkCommand(t *testing.T, path string, words []string, whole bool) {
	t.Helper()
	cmd, rest, err := newRootCommand(&cli.Streams{}).Find(words[1:])
	if err != nil {
		t.Errorf("%s: %q: %v", path, words, err)
		return
	}
	given := map[string]bool{}
	// Over MPI there is no list of nodes.
	whole = whole && !slices.Contains(words, "...") && !slices.Contains(words, "mpi")
	for _, w := range rest {
		if name, ok := strings.CutPrefix(w, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			given[name] = true
			if cmd.Flags().Lookup(name) == nil && name != "help" && name != "version" {
				t.Errorf("%s: %s has no flag --%s", path, cmd.CommandPath(), name)
			}
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if whole && strings.HasSuffix(f.Usage, "(required)") && !given[f.Name] {
			t.Errorf("%s: %q lacks --%s", path, words, f.Name)
		}
	})
}

// The page is well formed, its links lead to files and sections that are there, it loads nothing from
// elsewhere, and its figures have descriptions with numbers and the colours of the page.
func TestPage(t *testing.T) {
	x := fixture(t)
	page := string(readFile(t, x.report, "index.html"))
	links := regexp.MustCompile(` href="([^"]+)"`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		section, isSection := strings.CutPrefix(link[1], "#")
		if isSection && !strings.Contains(page, fmt.Sprintf(" id=%q", section)) {
			t.Errorf("%s leads nowhere", link[1])
		}
		if !isSection && !slices.Contains(report.FileNames, link[1]) {
			t.Errorf("%s is not among the names that are claimed", link[1])
		}
	}
	pictures := picture.FindAllStringSubmatch(page, -1)
	for _, p := range pictures {
		if !strings.Contains(p[0], `role="img"`) || len(numberInText.FindAllString(p[1], -1)) < 3 ||
			!strings.Contains(p[0], "var(--chart-") {
			t.Errorf("a figure without role or theme, or with the description %q", p[1])
		}
	}
	found := regexp.MustCompile(`(src|href)="?(https?:)?//`).FindString(page)
	if found != "" || len(links) < 12 || len(pictures) < 3 {
		t.Errorf("it loads %q, and has %d links and %d figures", found, len(links), len(pictures))
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var err error
	for err == nil {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	names := folder(t, x.report)
	for path := range names {
		if !slices.Contains(report.FileNames, filepath.Base(path)) {
			t.Errorf("%s is not among the names that are claimed", path)
		}
	}
	if len(names) != 6+2 || len(pictures) != 3+2 { // the table has two curves
		t.Errorf("%d files and %d figures", len(names), len(pictures))
	}
	rows := records(t, filepath.Join(x.report, "tasks.csv"))
	if len(rows) != 12*7*2 || rows[1]["set"] != "test" || rows[1]["rows"] != "8" {
		t.Errorf("the file of errors has %d rows, the second %v", len(rows), rows[1])
	}
}

// Names from a table are escaped. Without held-out rows the file of errors has training rows alone.
func TestPageEscapes(t *testing.T) {
	dir := t.TempDir()
	table := write(t, dir, "t.csv",
		strings.NewReplacer("price", "<b>x</b>", "shop 1,", "</script><i>,").Replace(shops()))
	must(t, slices.Concat([]string{"fit", "--data", table, "--rank", "0", "--test-fraction", "0",
		"--report", filepath.Join(dir, "r")}, fitShops)...)
	page := string(readFile(t, dir, "r", "index.html"))
	if strings.Contains(page, "<b>x") || strings.Contains(page, "</script>") || !strings.Contains(page, "&lt;b&gt;x") {
		t.Error("names are not escaped")
	}
	rows := records(t, filepath.Join(dir, "r", "tasks.csv"))
	if len(rows) != 12*7 || rows[0]["set"] != "train" || rows[1]["set"] != "train" {
		t.Errorf("the file of errors has %d rows, the first %v", len(rows), rows[0])
	}
}
