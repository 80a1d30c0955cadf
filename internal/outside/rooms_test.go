package outside

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms returns the packages that CONTRIBUTING.md lists, from the top of the house to the
// bottom, and the folders of internal that it names.
func rooms(t *testing.T) (order []string, internals map[string]bool) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## The rooms of the house\n")
	section, _, _ = strings.Cut(section, "\nImports point down this list only")
	if !found {
		t.Fatal("CONTRIBUTING.md has no list of rooms")
	}
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z_/]+)  +\S`).FindAllStringSubmatch(section, -1) {
		order = append(order, m[1])
	}
	internals = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \| \S`).FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			internals[name] = true
		}
	}
	return order, internals
}

// room returns the place in the house of a package of this module, the longest that fits.
func room(order []string, pkg string) int {
	for pkg = strings.TrimPrefix(pkg, module+"/"); pkg != "."; pkg = path.Dir(pkg) {
		if k := slices.Index(order, pkg); k >= 0 {
			return k
		}
	}
	return -1
}

// The list of rooms is complete and its arrows point down: no package imports one that stands
// above it. Packages of internal serve several rooms, but none of them imports a command.
func TestImportsPointDown(t *testing.T) {
	order, internals := rooms(t)
	const topInternal = module + "/internal/"
	packages := 0
	for line := range strings.Lines(string(goRun(t, "../..", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./..."))) {
		f := strings.Fields(line)
		if !strings.HasPrefix(f[0], module+"/") {
			continue
		}
		packages++
		if name, ok := strings.CutPrefix(f[0], topInternal); ok {
			name, _, _ = strings.Cut(name, "/")
			if !internals[name] {
				t.Errorf("CONTRIBUTING.md does not say what internal/%s is for", name)
			}
		} else if room(order, f[0]) < 0 && !strings.HasPrefix(f[0], module+"/examples") && !strings.HasPrefix(f[0], module+"/scripts") {
			t.Errorf("CONTRIBUTING.md does not say what %s is for", f[0])
		}
		for _, imported := range f[1:] {
			if strings.HasPrefix(imported, module+"/cmd") {
				t.Errorf("%s imports the command %s", f[0], imported)
			}
			from, to := room(order, f[0]), room(order, imported)
			if !strings.HasPrefix(imported, module+"/") || strings.HasPrefix(imported, topInternal) || strings.HasPrefix(f[0], topInternal) || from < 0 {
				continue
			}
			if to < from {
				t.Errorf("%s imports %s, which stands above it", f[0], imported)
			}
		}
	}
	if packages < 40 || len(order) < 20 || len(internals) < 15 {
		t.Errorf("found %d packages, %d rooms and %d folders of internal", packages, len(order), len(internals))
	}
}

// What computes imports nothing but the standard library and its few dependencies, and what
// an embedding program needs links neither file formats nor plots nor sockets.
func TestDependencies(t *testing.T) {
	for _, c := range []struct {
		packages string
		only     []string // prefixes of what may be linked beside the standard library; nil: all but never
		never    []string
	}{
		{"./kernel/... ./topology ./consensus/... ./difalt", []string{
			module + "/kernel", module + "/cgo", module + "/topology", module + "/consensus", module + "/difalt", module + "/internal/scratch", module + "/internal/pads", module + "/internal/noise",
			"gonum.org/v1/gonum", "gonum.org/v1/netlib", "github.com/klauspost/cpuid", "golang.org/x/sys",
		}, nil},
		{"./model", []string{
			module + "/model", module + "/dataset/schema", module + "/kernel", module + "/cgo", module + "/internal/npz", module + "/internal/mixedmodel", module + "/internal/atomicfile", module + "/internal/text",
			"gonum.org/v1/gonum", "gonum.org/v1/netlib", "github.com/klauspost/cpuid", "golang.org/x/sys",
		}, nil},
		{"./difalt ./model ./fit ./dataset", nil, []string{"google.golang.org/grpc", module + "/engine", "gonum.org/v1/plot", "github.com/spf13"}},
	} {
		args := append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, strings.Fields(c.packages)...)
		for _, dep := range strings.Fields(string(goRun(t, "../..", args...))) {
			starts := func(prefix string) bool { return strings.HasPrefix(dep, prefix) }
			if slices.ContainsFunc(c.never, starts) || c.only != nil && !slices.ContainsFunc(c.only, starts) {
				t.Errorf("%s link %s", c.packages, dep)
			}
		}
	}
}
