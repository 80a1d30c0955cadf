package outside

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTests: every test that docs/privacy.md names exists, and so does every one that the Makefile picks or leaves
// out for the race detector.
func TestNamedTests(t *testing.T) {
	var source strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		source.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, c := range map[string]struct {
		names string
		least int
	}{
		"docs/privacy.md": {"`(Test[A-Za-z]+)`", 15},
		"Makefile":        {`[(|](Test[A-Za-z0-9]+(?:\.\*)?)`, 30},
	} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(c.names).FindAllStringSubmatch(string(text), -1)
		if len(names) < c.least {
			t.Errorf("%s names %d tests", file, len(names))
		}
		for _, m := range names {
			name, some := strings.CutSuffix(m[1], ".*")
			if !some {
				name += "("
			}
			if !strings.Contains(source.String(), "func "+name) {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
		}
	}
}
