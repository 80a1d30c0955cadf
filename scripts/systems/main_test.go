package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a module of one package with a test, and returns a checker of its folder.
func write(t *testing.T, code, test string) *checker {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26.0\n",
		"unix/u.go": "//go:build unix\n\npackage unix\n",
		"m.go":      "package m\n\n" + code,
		"m_test.go": "package m\n\nimport \"testing\"\n\n" + test,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
			os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	c := newChecker(dir)
	c.files, c.parsed = standard.files, standard.parsed
	return c
}

// standard keeps the syntax of Go's own packages, which all tests import.
var standard = newChecker("")

const right = "func TestM(t *testing.T) {}\n"

// Each fault is found on the systems that have it, and on no other one.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		code, test string
		good, bad  string
		want       string
	}{
		"an int of 32 bits": {"var M int = 1 << 40\n", right, "linux/amd64", "linux/386", "1 << 40"},
		"an int of 32 bits in a function": {"func M() int { return 1 << 40 }\n", right, "linux/s390x", "linux/386",
			"1 << 40"},
		"an int of 32 bits in a test": {"", "func TestM(t *testing.T) { t.Log(int(1 << 40)) }\n", "darwin/arm64",
			"linux/386",
			"m_test.go"},
		"a file of another system": {"import _ \"example.com/m/unix\"\n", right, "linux/amd64", "windows/amd64",
			"unix"},
		"a signal": {"import \"syscall\"\n\nvar M = syscall.SIGWINCH\n", right, "freebsd/amd64",
			"windows/amd64", "SIGWINCH"},
	} {
		t.Run(name, func(t *testing.T) {
			checked := write(t, c.code, c.test)
			if n, err := checked.check(c.good, "./..."); n == 0 || err != nil {
				t.Errorf("%s: %d packages, %v", c.good, n, err)
			}
			if _, err := checked.check(c.bad, "./..."); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want a fault at %s", c.bad, err, c.want)
			}
		})
	}
}

// A system that Go does not have, an import that is not there, and a pattern without packages are errors,
// too.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ code, system, pattern, want string }{
		"no system":   {"", "linux", "./...", "GOOS/GOARCH"},
		"no such one": {"", "linux/abacus", "./...", "GOOS/GOARCH"},
		"no package":  {"", "linux/386", "./none/...", "none"},
		"no import":   {"import _ \"example.com/m/none\"\n", "linux/386", "./...", "example.com/m/none"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := write(t, c.code, right).check(c.system, c.pattern); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
