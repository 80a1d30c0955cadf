//go:build unix

package main

import (
	"bytes"
	"fmt"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sessionFiles returns the files that sessions begin with, by name.
func sessionFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{"clinics.csv": readFile(t, clinics), "shops.csv": []byte(shops()),
		"shops.npz": readFile(t, fixture(t).model)}
	for name, path := range map[string]string{
		"p.npz":      exported(t),
		"own.npz":    problemOf(t, 0, 1),
		"zero.npz":   problemOf(t, 0, 0),
		"offset.npz": problemOf(t, 100, 1),
	} {
		files[name] = readFile(t, path)
	}
	for path, content := range folder(t, sites(t)) {
		files[filepath.Base(path)] = content
	}
	return files
}

// measured are times in outputs.
var measured = regexp.MustCompile(`(?m)time=\S+| +[\d.e+-]+ s$`)

// goList is a message with a list in brackets, without commas.
var goList = regexp.MustCompile(`(?m)^difalt: .*\[[^\],]* .*\].*$`)

// The commands of testdata/sessions ("$") print the lines below them, and end with code 0 or the one that is
// there. "> NAME TEXT" writes a file, "< NAME" shows one. The last line has the files that commands have
// written. No file from the beginning changes. -update writes the sessions.
func TestSessions(t *testing.T) {
	given := sessionFiles(t)
	names := []string{"help", "usage", "tables", "algorithm"}
	if _, err := os.Stat("/dev/full"); err == nil {
		names = append(names, "full")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			script := string(readFile(t, here, "testdata/sessions", name+".txt"))
			t.Chdir(t.TempDir())
			for name, content := range given {
				write(t, ".", name, string(content))
			}
			var got bytes.Buffer
			for line := range strings.Lines(script) {
				kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				if kind == "" || !strings.Contains("$<>#", kind) {
					continue // an output
				}
				got.WriteString(line)
				switch kind {
				case "$":
					if code := run(t.Context(), strings.Fields(rest), &got, &got); code != 0 {
						fmt.Fprintf(&got, "exit code %d\n", code)
					}
				case "<":
					got.Write(readFile(t, rest))
				case ">":
					name, text, _ := strings.Cut(rest, " ")
					write(t, ".", name, strings.ReplaceAll(text, `\n`, "\n"))
				}
			}
			after := folder(t, ".")
			for name, content := range given {
				if !bytes.Equal(content, after[name]) {
					t.Errorf("%s has changed", name)
				}
				delete(after, name)
			}
			if m := goList.FindString(got.String()); m != "" {
				t.Errorf("a message has a list as Go prints it: %s", m)
			}
			fmt.Fprintf(&got, "files: %q\n", slices.Sorted(maps.Keys(after)))
			version := fmt.Sprintf("%q: %q", "version", cli.Version())
			text := strings.ReplaceAll(got.String(), version, `"version": "VERSION"`)
			golden(t, "sessions/"+name+".txt", measured.ReplaceAllString(text, "TIME"))
		})
	}
}

// Help fits in 80 columns, and the program names its version, processor and kernel.
func TestHelp(t *testing.T) {
	has(t, must(t, "info")+must(t, "--version"), "cpu", "kernel", "workers", "go1.", "difalt version "+cli.Version())
	for line := range strings.Lines(string(readFile(t, "testdata/sessions/help.txt"))) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.HelpWidth {
			t.Errorf("a line of %d: %s", n, line)
		}
	}
}
