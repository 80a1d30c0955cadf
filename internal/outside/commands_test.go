package outside

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// Commands in a sentence or a block: those of the go command that choose tests, targets and scripts.
	goTest     = regexp.MustCompile("(?m)(?:`|^    )[^`\n]*?(go test [^`\n#]*)")
	makeTarget = regexp.MustCompile("(?m)(?:`|^    )make ([a-z-]+)[^`\n]*")
	scriptPath = regexp.MustCompile(`[a-z/]*scripts/[a-z0-9/]+\.(?:sh|py)`)
	chosen     = regexp.MustCompile(`-(?:run|bench)[ =]('[^']*'|\S+)`)
	folderName = regexp.MustCompile(`(?:^| )\./([a-z/]+)`)
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
)

// functions returns the tests and benchmarks of a package.
func functions(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../" + folder + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// choosesNothing reports whether a command of the go command chooses no test of a package by -run or -bench.
func choosesNothing(t *testing.T, goCommand string) bool {
	t.Helper()
	names := []string{}
	for _, m := range folderName.FindAllStringSubmatch(goCommand, -1) {
		names = append(names, functions(t, strings.TrimSuffix(m[1], "/"))...)
	}
	for _, m := range chosen.FindAllStringSubmatch(goCommand, -1) {
		pattern := strings.Trim(m[1], "'")
		if pattern == "^$" {
			continue
		}
		first, _, _ := strings.Cut(pattern, "/")
		expression, err := regexp.Compile(first)
		if err != nil {
			t.Fatalf("%s: %v", goCommand, err)
		}
		found := false
		for _, name := range names {
			found = found || expression.MatchString(name)
		}
		if !found {
			return true
		}
	}
	return false
}

// TestCommandsOfPages: targets of make and scripts that the pages name are there, and every go test chooses a
// test or a benchmark. The commands of the program run in tests of cmd/difalt.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, tests, targets := page(t, "Makefile"), 0, 0
	for _, file := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md",
		"../../BENCHMARKS.md") {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		text := page(t, name)
		for _, m := range goTest.FindAllStringSubmatch(text, -1) {
			tests++
			if choosesNothing(t, strings.TrimSpace(m[1])) {
				t.Errorf("%s: %s chooses no test", name, m[1])
			}
		}
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			targets++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", name, m[1])
			}
		}
		for _, script := range scriptPath.FindAllString(text, -1) {
			if _, err := os.Stat("../../" + script); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if tests < 8 || targets < 20 {
		t.Errorf("the pages have only %d commands of go test and %d of make", tests, targets)
	}
	if !choosesNothing(t, "go test -run 'NoSuchTest' ./topology") ||
		choosesNothing(t, "go test -bench Step/n=4 ./bench") {
		t.Error("a test that is missing is not found, or one that is there")
	}
}
