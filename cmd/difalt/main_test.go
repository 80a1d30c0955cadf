package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/rogpeppe/go-internal/testscript"
)

// asCommand makes the test program the command: tests of signals need real processes.
const asCommand = "DIFALT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	flag.Parse()
	testscript.Main(tests{m}, map[string]func(){program: main})
}

// tests are all tests, which leave no folder.
type tests struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m tests) Run() int {
	code := m.M.Run()
	if fixtureFolder != "" {
		_ = os.RemoveAll(fixtureFolder)
	}
	return code
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRootCommand, args, stdout, stderr)
}

// inFull skips a test with -short.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short: go test without it and make check run it")
	}
}

// difaltCommand runs a command line in this process and returns its output and exit code.
func difaltCommand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return out.String(), err.String(), code
}

// must runs a command line that has to succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := difaltCommand(t, args...)
	if code != 0 {
		t.Fatalf("difalt %q: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// has asserts that an output contains some texts, whatever its line breaks.
func has(t *testing.T, output string, texts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(output), " ")
	for _, want := range texts {
		if !strings.Contains(output, want) && !strings.Contains(flat, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
}

// refuses runs a command line that has to fail with an exit code and a message.
func refuses(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if _, stderr, got := difaltCommand(t, args...); got != code || !strings.Contains(stderr, want) {
		t.Errorf("difalt %q: exit code %d, %q: want %d and %q", args, got, stderr, code, want)
	}
}

// write writes a file, also in a new folder, and returns its path.
func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// records returns the rows of a CSV file, by the names of columns.
func records(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	list, err := csv.NewReader(bytes.NewReader(readFile(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range list[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[list[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// number parses a cell.
func number(t *testing.T, cell string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// folder returns the content of all files in a folder, by path.
func folder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			all[filepath.Join(dir, e.Name())] = readFile(t, dir, e.Name())
		}
	}
	return all
}

// A name of a megabyte does not fill the terminal.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("n", 1e6)
	table := write(t, t.TempDir(), "long.csv", "t,"+name+",y\na,1,2\na,2,3\nb,1,2\nb,2,5\n")
	for _, args := range [][]string{
		{"fit", "--data", table, "--task", "t", "--target", "y"},
		{"fit", "--data", table, "--task", name, "--target", "y"}, {"fit",
			"--" + name},
	} {
		stdout, stderr, _ := difaltCommand(t, args...)
		for line := range strings.Lines(stdout + stderr) {
			if len(line) > 4000+100 {
				t.Errorf("%.60q: a line of %d bytes: %.100q", args, len(line), line)
			}
		}
	}
}

// With --json every command prints one object, which begins with the number of its form, the version and the
// command.
func TestReportsInJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "shops.csv", shops())
	fit := slices.Concat([]string{"fit", "--data", "shops.csv"}, fitShops)
	must(t, append(fit, "--model", "m.npz")...)
	for _, args := range [][]string{
		fit,
		{"check", "shops.csv"},
		{"predict", "--model", "m.npz", "--out", "p.csv", "shops.csv"},
		{"adapt", "--model", "m.npz", "--out", "more.npz", "--missing", "mean", "shops.csv"},
		{"model", "show", "m.npz"},
		{"model", "show", "m.npz", "--out", "effects.csv"},
		{"generate", "--out", "share"},
		{"simulate", "--trials", "1", "--iterations", "2", "--nodes", "2", "--features", "4", "--tasks", "4",
			"--rank", "1", "--out", "runs/a"},
		{"results", "--from", "runs", "--out", "page"},
		{"info"},
	} {
		stdout := must(t, append(args, "--json")...)
		var r struct {
			Schema           int
			Version, Command string
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Errorf("%s: %v:\n%s", args, err, stdout)
			continue
		}
		if r.Schema != 1 || r.Version != cli.Version() || !strings.HasPrefix(strings.Join(args, " "), r.Command) ||
			r.Command == "" {
			t.Errorf("%s: the header is %+v", args, r)
		}
	}
}
