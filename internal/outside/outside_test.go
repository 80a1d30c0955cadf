// Package outside holds the tests of what somebody sees who imports this module.
package outside

import (
	"bufio"
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/difalt/difalt"

// compiles skips a test with -short that compiles the library again: with another tag, or the oldest gonum.
func compiles(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short: it compiles much")
	}
}

// goRun returns what the go command prints in a folder, outside the workspace: it downloads the gonum that
// the library requires, if only the newer gonum of the workspace is there.
func goRun(t *testing.T, folder string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// The tests of a module of somebody else compile that use every public package.
func TestCompilesOutside(t *testing.T) {
	compiles(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := func(from, to string, change func(string) string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), []byte(change(string(b))), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(s string) string { return s }
	copied("testdata/outside_test.go", "outside_test.go", same)
	copied(filepath.Join(root, "go.sum"), "go.sum", same)
	copied(filepath.Join(root, "go.mod"), "go.mod", func(text string) string {
		return strings.Replace(text, "module "+module, "module example.com/outside", 1) +
			fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", module, module, root)
	})
	goRun(t, dir, "vet", "-mod=mod", ".")
}

// Nothing that a public package exports may be of a type that lives in an internal one: nobody
// outside could write down its name, or make a value of it.
func TestNoInternalTypeIsExported(t *testing.T) {
	compiles(t)
	exports := map[string]string{}
	var public []string
	lines := bufio.NewScanner(
		bytes.NewReader(goRun(t, "../..", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}",
			"./...")))
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), " ", 3) // the path of the export data may have blanks
		if len(f) < 3 || f[2] == "" {
			continue // only tests
		}
		exports[f[0]] = f[2]
		if strings.HasPrefix(f[0], module+"/") && f[1] != "main" && !internal(f[0]) {
			public = append(public, f[0])
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s has no export data", path)
		}
		return os.Open(exports[path])
	})
	if len(public) < 10 {
		t.Errorf("there are %d public packages: %q", len(public), public)
	}
	for _, path := range public {
		p, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				checkObject(t, path+"."+name, o)
			}
		}
	}
}

func internal(path string) bool { return strings.Contains("/"+path+"/", "/internal/") }

// checkObject checks the type of an exported name, and of a type its exported fields and methods.
func checkObject(t *testing.T, where string, o types.Object) {
	check := func(where string, of types.Type) {
		types.TypeString(of, func(p *types.Package) string { // of every named type that it mentions
			if strings.HasPrefix(p.Path(), module+"/") && internal(p.Path()) {
				t.Errorf("%s mentions package %s, which nobody outside can import", where, p.Path())
			}
			return p.Path()
		})
	}
	name, isType := o.(*types.TypeName)
	if !isType || name.IsAlias() {
		check(where, o.Type())
		return
	}
	if fields, isStruct := o.Type().Underlying().(*types.Struct); !isStruct {
		check(where, o.Type().Underlying())
	} else {
		for f := range fields.Fields() {
			if f.Exported() {
				check(where+"."+f.Name(), f.Type())
			}
		}
	}
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		if m.Obj().Exported() {
			check(where+"."+m.Obj().Name(), m.Type())
		}
	}
}

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

// TestReadme: every block of Go in README.md stands in an example that compiles.
func TestReadme(t *testing.T) {
	var examples strings.Builder
	for _, file := range []string{"difalt/example_test.go", "kernel/readme_test.go", "kernel/blas/example_test.go",
		"mixed/example_test.go", "README.md"} {
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

// below lists, for each package of the library, what it must not link: arrows point down only.
var below = map[string][]string{
	"./kernel/...":    {"topology", "consensus", "difalt", "private", "mixed"},
	"./topology":      {"kernel", "consensus", "difalt", "private", "mixed"},
	"./consensus/...": {"difalt", "private", "mixed"},
	"./difalt/...":    {"private", "mixed"},
	"./private":       {"mixed"},
}

// The library's packages import downwards only, and none of them links the program.
func TestImportsPointDown(t *testing.T) {
	for packages, never := range below {
		for _, dep := range strings.Fields(string(goRun(t, "../..", "list", "-deps", packages))) {
			room, ok := strings.CutPrefix(dep, module+"/")
			room, _, _ = strings.Cut(room, "/")
			if ok && (room == "cmd" || slices.Contains(never, room)) {
				t.Errorf("%s links %s", packages, dep)
			}
		}
	}
}

// The tag noasm, which programs set for gonum, takes no tier away: the processor is detected without cpuid
// then.
func TestNoasm(t *testing.T) {
	compiles(t)
	goRun(t, "../..", "vet", "-tags", "noasm", "./kernel")
	goRun(t, "../..", "test", "-tags", "noasm", "./internal/processor")
}

// The library links three foreign modules, x/sys behind cpuid, and x/exp behind the distributions of the
// oldest gonum.
func TestDependencies(t *testing.T) {
	want := []string{"github.com/klauspost/cpuid/v2", "golang.org/x/exp", "golang.org/x/sys", "gonum.org/v1/gonum",
		"gonum.org/v1/netlib"}
	modules := func(args ...string) []string {
		args = append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"},
			args...)
		list := strings.Fields(string(goRun(t, "../..", args...)))
		slices.Sort(list)
		return slices.Compact(list)
	}
	for _, m := range modules("-tags", "openblas", "./...") {
		if !slices.Contains(want, m) {
			t.Errorf("the library links %s", m)
		}
	}
	if list := modules("./difalt"); len(list) > 3 {
		t.Errorf("package difalt links %q", list)
	}
}
