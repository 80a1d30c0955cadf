package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The first command of README.md builds what the simulation needs and no more: networks and formats of tables
// would more than double the time of a first build.
func TestLinksLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}{{with .Module}} {{.Path}}{{end}}",
		".").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"github.com/difalt/difalt", "github.com/difalt/difalt/cmd/difalt", "github.com/dustin/go-humanize",
		"github.com/inconshreveable/mousetrap", "github.com/klauspost/cpuid/v2", "github.com/spf13/cobra",
		"github.com/spf13/pflag", "golang.org/x/sys",
		"golang.org/x/term", "gonum.org/v1/gonum"}
	packages := 0
	for line := range strings.Lines(string(out)) {
		path, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages++
		if module == "" && (path == "net/http" || path == "crypto/tls") ||
			module != "" && !slices.Contains(want, module) {
			t.Errorf("it links %s of %s", path, module)
		}
	}
	if packages < 100 {
		t.Errorf("go list names %d packages", packages)
	}
}
