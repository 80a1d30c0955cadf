package outside

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme: every block of Go in README.md stands in an example that compiles.
func TestReadme(t *testing.T) {
	var examples strings.Builder
	for _, file := range []string{"difalt/example_test.go", "kernel/readme_test.go", "kernel/blas/example_test.go", "README.md"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if file != "README.md" {
			examples.Write(text)
			continue
		}
		blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		if len(blocks) < 3 {
			t.Errorf("README.md has %d blocks of Go", len(blocks))
		}
		for _, b := range blocks {
			code, _, _ := strings.Cut(b[1], " // package")
			if !strings.Contains(examples.String(), strings.TrimSuffix(code, "\n")) {
				t.Errorf("no example has this block of README.md:\n%s", b[1])
			}
		}
	}
}
