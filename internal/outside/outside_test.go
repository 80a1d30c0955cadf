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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/difalt/difalt"

// goRun returns what the go command prints in a folder.
func goRun(t *testing.T, folder string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
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
			fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, root)
	})
	goRun(t, dir, "vet", "-mod=mod", ".")
}

// Nothing that a public package exports may be of a type that lives in an internal one: nobody
// outside could write down its name, or make a value of it.
func TestNoInternalTypeIsExported(t *testing.T) {
	exports := map[string]string{}
	var public []string
	lines := bufio.NewScanner(bytes.NewReader(goRun(t, "../..", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", "./...")))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 3 {
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

// checkObject checks what an exported name shows: its type, and of a type its exported fields and methods.
func checkObject(t *testing.T, where string, o types.Object) {
	name, isType := o.(*types.TypeName)
	if !isType {
		checkType(t, where, o.Type())
		return
	}
	if !name.IsAlias() {
		checkType(t, where, o.Type().Underlying())
	}
	methods := types.NewMethodSet(types.NewPointer(o.Type()))
	for i := range methods.Len() {
		if m := methods.At(i).Obj(); m.Exported() {
			checkType(t, where+"."+m.Name(), m.Type())
		}
	}
}

// checkType fails if a type mentions one of an internal package.
func checkType(t *testing.T, where string, of types.Type) {
	tuple := func(of *types.Tuple) {
		for v := range of.Variables() {
			checkType(t, where, v.Type())
		}
	}
	switch of := of.(type) {
	case *types.Alias:
		checkName(t, where, of.Obj())
	case *types.Named:
		checkName(t, where, of.Obj())
		for a := range of.TypeArgs().Types() {
			checkType(t, where, a)
		}
	case *types.Pointer:
		checkType(t, where, of.Elem())
	case *types.Slice:
		checkType(t, where, of.Elem())
	case *types.Array:
		checkType(t, where, of.Elem())
	case *types.Chan:
		checkType(t, where, of.Elem())
	case *types.Map:
		checkType(t, where, of.Key())
		checkType(t, where, of.Elem())
	case *types.Signature:
		tuple(of.Params())
		tuple(of.Results())
	case *types.Interface:
		for m := range of.Methods() {
			checkType(t, where+"."+m.Name(), m.Type())
		}
	case *types.Struct:
		for f := range of.Fields() {
			if f.Exported() {
				checkType(t, where+"."+f.Name(), f.Type())
			}
		}
	}
}

func checkName(t *testing.T, where string, o *types.TypeName) {
	if p := o.Pkg(); p != nil && strings.HasPrefix(p.Path(), module+"/") && internal(p.Path()) {
		t.Errorf("%s is of type %s.%s, which nobody outside can name", where, p.Path(), o.Name())
	}
}
