package outside

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// page returns a file of the repository as a text.
func page(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// targets returns the names in a variable of the Makefile.
func targets(t *testing.T, variable string) []string {
	t.Helper()
	joined := strings.ReplaceAll(page(t, "Makefile"), "\\\n", "")
	m := regexp.MustCompile(`(?m)^` + variable + ` = (.*)$`).FindStringSubmatch(joined)
	if m == nil {
		t.Fatalf("the Makefile has no %s", variable)
	}
	return strings.Fields(m[1])
}

// TestTargetsAreRun: the workflow runs every target of make check, and CONTRIBUTING has a line with the cost
// of each target of make test and make check.
func TestTargetsAreRun(t *testing.T) {
	workflow, contributing := page(t, ".github/workflows/test.yml"), page(t, "CONTRIBUTING.md")
	quick, checks := targets(t, "TESTS"), targets(t, "CHECKS")
	if len(quick) < 4 || len(checks) < 12 {
		t.Fatalf("make test has the targets %q, and make check %q", quick, checks)
	}
	for _, target := range checks {
		if !regexp.MustCompile(`[ "]` + target + `[ "\n]`).MatchString(workflow) {
			t.Errorf("no job of test.yml runs %s", target)
		}
	}
	for _, target := range append(quick, checks...) {
		if !strings.Contains(contributing, "| `"+target+"` |") {
			t.Errorf("CONTRIBUTING.md has no cost of %s", target)
		}
	}
}

// TestFigures: make figures makes the runs that docs/results.md lists, with as many trials, and the page of
// README's figure.
func TestFigures(t *testing.T) {
	makefile := page(t, "Makefile")
	_, recipe, found := strings.Cut(makefile, "\nfigures:")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	trials := regexp.MustCompile(`(?m)^TRIALS \?= (\d+)$`).FindStringSubmatch(makefile)
	if !found || trials == nil {
		t.Fatal("the Makefile has no figures, or no TRIALS")
	}
	made := map[string]bool{}
	for _, loop := range regexp.MustCompile(`for p in (.*?); do .* simulate (.*?)\) \|\|`).FindAllStringSubmatch(
		recipe, -1) {
		for _, preset := range strings.Fields(loop[1]) {
			command := strings.NewReplacer("$$p", preset, "$(TRIALS)", trials[1]).Replace(loop[2])
			made[regexp.MustCompile(`(--\S+) `).ReplaceAllString(command, "$1=")] = true
		}
	}
	listed := regexp.MustCompile(`(?m)^    difalt simulate (.*)$`).FindAllStringSubmatch(page(t, "docs/results.md"), -1)
	for _, m := range listed {
		if !made[m[1]] {
			t.Errorf("make figures does not run: difalt simulate %s", m[1])
		}
	}
	if len(listed) != len(made) || len(listed) < 9 {
		t.Errorf("docs/results.md lists %d runs, and make figures makes %d", len(listed), len(made))
	}
	if !strings.Contains(recipe, "simulate --out readme") {
		t.Error("make figures does not draw the figure of README.md")
	}
}

// TestCitation: README and the packages that cite the paper name it as CITATION.cff does.
func TestCitation(t *testing.T) {
	citation := page(t, "CITATION.cff")
	_, preferred, _ := strings.Cut(citation, "\npreferred-citation:")
	field := func(name string) string {
		m := regexp.MustCompile(`(?m)^ +` + name + `: (.*)$`).FindStringSubmatch(preferred)
		if m == nil {
			t.Fatalf("CITATION.cff has no %s of the paper", name)
		}
		return m[1]
	}
	for _, file := range []string{"README.md", "difalt/doc.go", "kernel/doc.go"} {
		text := strings.Join(strings.Fields(strings.ReplaceAll(page(t, file), "\n//", " ")), " ")
		for _, part := range []string{field("title"), field("value"), field("year"), "Kang", "Moothedath"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not cite %q", file, part)
			}
		}
	}
}
