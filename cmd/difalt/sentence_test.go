package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Messages are one line of ordinary length, whatever is in a file.
func TestSentence(t *testing.T) {
	t.Parallel()
	inFull(t)
	for _, text := range []string{"a\nb\tc", "\u202eevil", strings.Repeat("é", 1e6), strings.Repeat("é ", 1e6), "difalt: x: difalt: y"} {
		s := sentence(errors.New(text))
		if strings.ContainsAny(s, "\n\t\u202e") || len(s) > longestSentence+3 || !utf8.ValidString(s) || s == "" {
			t.Errorf("%.50q: %d bytes: %.100q", text, len(s), s)
		}
	}
	name := strings.Repeat("n", 1e6)
	var b strings.Builder
	fmt.Fprintf(&b, "t,x,y,%s\n", name)
	for i := range 40 {
		fmt.Fprintf(&b, "%c,%d,%d,%d\n", 'a'+i%4, i, i*7%13, 2*i)
	}
	path := filepath.Join(t.TempDir(), "long.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(t.TempDir(), "m.npz")
	for _, args := range [][]string{
		{"fit", "--data", path, "--task", "t", "--target", "y", "--model", model}, {"describe", path, "--task", "t"}, {"model", "show", model},
		{"predict", "--model", model, "--data", path}, {"fit", "--data", path, "--task", name, "--target", "y"}, {"fit", "--" + name},
	} {
		out, errs, code := difaltCommand(t, args...)
		for _, line := range strings.Split(out+errs, "\n") {
			if len(line) > longestSentence+100 || code == exitFailure && !strings.HasPrefix(errs, "difalt: ") {
				t.Errorf("%.60q: exit code %d, a line of %d bytes: %.100q", args, code, len(line), line)
			}
		}
	}
}

// Sentences ask what is behind this writer how wide they may be.
var _ interface{ Behind() io.Writer } = (*checkedWriter)(nil)
