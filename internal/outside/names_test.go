package outside

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTests: every test that docs/privacy.md names exists.
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
	const file = "docs/privacy.md"
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) == 0 {
		t.Errorf("%s names no tests", file)
	}
	for _, m := range names {
		if !strings.Contains(source.String(), "func "+m[1]+"(") {
			t.Errorf("%s names %s, which does not exist", file, m[1])
		}
	}
}
