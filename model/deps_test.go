package model

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that only predicts links the kernel and gonum's algebra, and nothing that
// reads tables, speaks over networks, draws or parses a command line.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	const own = "github.com/difalt/difalt/"
	allowed := []string{
		own + "model", own + "dataset/schema", own + "kernel", own + "internal/npz", own + "internal/mixedmodel", own + "internal/atomicfile", own + "internal/text", own + "cgo",
		"gonum.org/v1/gonum/", "gonum.org/v1/netlib/", "github.com/klauspost/cpuid", "golang.org/x/sys/",
	}
	found := 0
	for _, path := range strings.Fields(string(out)) {
		ok := false
		for _, prefix := range allowed {
			ok = ok || strings.HasPrefix(path, prefix)
		}
		if !ok {
			t.Errorf("the package depends on %s", path)
		}
		found++
	}
	if found < 5 {
		t.Errorf("go list names %d packages: %s", found, out)
	}
}
