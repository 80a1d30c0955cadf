//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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

// README's commands for one owner and the five minutes of docs/network.md run as they are written, and
// write the files that the pages name; README's commands for several owners run where they do not need
// other machines.
func TestPagesRun(t *testing.T) {
	inFull(t)
	readme, network := string(readFile(t, "../../README.md")), string(readFile(t, "../../docs/network.md"))
	owners := section(t, readme, "Tables: several owners")
	five := section(t, network, "Five minutes")
	runs, _, _ := strings.Cut(runExamples, "  # one of several processes")
	for _, c := range []struct {
		name   string
		blocks []string
		files  []string
	}{
		{"one owner", indentedBlocks(section(t, readme, "Tables: one owner")), []string{"clinics.npz", "predictions.csv"}},
		{"five minutes", append(indentedBlocks(five), inline(five)...), []string{"m.npz", "p.csv"}},
		{"several owners", append(indentedBlocks(five)[:1], linesWith(owners, "difalt cluster|difalt up")...),
			[]string{"keys/cluster.json", "keys/a.key", "m.npz"}},
		{"help of run", []string{runs}, []string{"result.npz", "b.state"}},
		{"simulate", linesWith(readme, "go run ./cmd/difalt"), []string{"difalt-out/figure.svg"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			// The command paper has some of the commands of difalt, by the same code.
			here := strings.NewReplacer("go run ./cmd/difalt/paper", "difalt", "go run ./cmd/difalt", "difalt")
			script := here.Replace(strings.Join(c.blocks, "\n"))
			out := s.run(t, script)
			if out == "" {
				t.Errorf("%s\nprints nothing", script)
			}
			if c.name == "five minutes" {
				checkRounds(t, network, out)
			}
			for _, file := range c.files {
				if _, err := os.Stat(filepath.Join(s.folder, file)); err != nil {
					t.Errorf("%s\n%v", script, err)
				}
			}
		})
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
	for _, m := range regexp.MustCompile("`(difalt [^`]*)`").FindAllStringSubmatch(page, -1) {
		commands = append(commands, strings.Join(strings.Fields(m[1]), " "))
	}
	return commands
}

// linesWith returns the lines of a page that begin with one of some words, behind an indent.
func linesWith(page, words string) []string {
	return regexp.MustCompile(`(?m)^    (?:`+words+`).*$`).FindAllString(page, -1)
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
			for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(readFile(t, path)), -1) {
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
	commandInText = regexp.MustCompile(`(?m)(?:^|[|;&(] *|do +|-np \d+ |go run \./cmd/)(difalt(?:/paper)? (?:\\\n|[^|>#&\n])*)`)
	flagInText    = regexp.MustCompile("(?:^|[ `(])(--[a-z][a-z-]*)")
)

// All commands of the documents and of the help exist, with the flags that are given to them and those that
// they require; and a sentence that mentions a flag means one of some command.
func TestFlagsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	known, texts := map[string]bool{}, map[string]string{} // texts by what contains them
	for _, path := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		texts[path] = string(readFile(t, path))
	}
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, _ []string) {
		cmd.InitDefaultHelpFlag()
		texts["the help of "+cmd.CommandPath()] = cmd.Long + "\n\nExamples:\n" + cmd.Example + "\n"
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	})
	commands := 0
	for path, page := range texts {
		code := indentedBlocks(page)
		if _, examples, ok := strings.Cut(page, "\nExamples:\n"); ok {
			code = append(code, regexp.MustCompile(`(?m)^ +`).ReplaceAllString(examples, ""))
		}
		for _, b := range fencedBlocks(page) {
			code = append(code, b.text)
		}
		for _, m := range commandInText.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
			commands++
			checkCommand(t, path, strings.Fields(strings.ReplaceAll(m[1], "\\\n", " ")), true)
		}
		for _, c := range inline(page) {
			checkCommand(t, path, strings.Fields(c), false)
		}
		for _, m := range regexp.MustCompile("`--[^`]*`").FindAllString(page, -1) {
			for _, f := range flagInText.FindAllStringSubmatch(m, -1) {
				if !known[f[1]] {
					t.Errorf("%s: no command has %s", path, f[1])
				}
			}
		}
	}
	if commands < 40 {
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
	whole = whole && !slices.Contains(words, "...") && !slices.Contains(words, "mpi") // over MPI there is no list of nodes
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
		if !strings.Contains(p[0], `role="img"`) || len(numberInText.FindAllString(p[1], -1)) < 3 || !strings.Contains(p[0], "var(--chart-") {
			t.Errorf("a figure without role or theme, or with the description %q", p[1])
		}
	}
	if found := regexp.MustCompile(`(src|href)="?(https?:)?//`).FindString(page); found != "" || len(links) < 12 || len(pictures) < 3 {
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
	if rows := records(t, filepath.Join(x.report, "tasks.csv")); len(rows) != 12*7*2 || rows[1]["set"] != "test" || rows[1]["rows"] != "8" {
		t.Errorf("the file of errors has %d rows, the second %v", len(rows), rows[1])
	}
}

// Names from a table are escaped. Without held-out rows the file of errors has training rows alone.
func TestPageEscapes(t *testing.T) {
	dir := t.TempDir()
	table := write(t, dir, "t.csv", strings.NewReplacer("price", "<b>x</b>", "shop 1,", "</script><i>,").Replace(shops()))
	must(t, slices.Concat([]string{"fit", "--data", table, "--rank", "0", "--test-fraction", "0", "--report", filepath.Join(dir, "r")}, fitShops)...)
	page := string(readFile(t, dir, "r", "index.html"))
	if strings.Contains(page, "<b>x") || strings.Contains(page, "</script>") || !strings.Contains(page, "&lt;b&gt;x") {
		t.Error("names are not escaped")
	}
	if rows := records(t, filepath.Join(dir, "r", "tasks.csv")); len(rows) != 12*7 || rows[0]["set"] != "train" || rows[1]["set"] != "train" {
		t.Errorf("the file of errors has %d rows, the first %v", len(rows), rows[0])
	}
}
