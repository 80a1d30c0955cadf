package outside

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shown has the names that go doc shows of a package: Name, and Type.Name for methods and fields.
type shown map[string]bool

// showPackages returns the names of all public packages, by package name.
func showPackages(t *testing.T) map[string]shown {
	t.Helper()
	packages := make(map[string]shown)
	const format = "{{.ImportPath}}\t{{.Name}}\t{{.Dir}}\t{{join .GoFiles \"\t\"}}" // a folder may have blanks
	for _, line := range strings.Split(string(goRun(t, "../..", "list", "-f", format, "./...")), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 4 || internal(f[0]) || f[1] == "main" {
			continue
		}
		var files []*ast.File
		fset := token.NewFileSet()
		for _, name := range f[3:] {
			file, err := parser.ParseFile(fset, filepath.Join(f[2], name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		p, err := doc.NewFromFiles(fset, files, f[0])
		if err != nil {
			t.Fatal(err)
		}
		packages[f[1]] = show(p)
	}
	return packages
}

// show returns the names of a package.
func show(p *doc.Package) shown {
	names := make(shown)
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				names[name] = true
			}
		}
	}
	functions := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			names[prefix+f.Name] = true
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions("", p.Funcs)
	for _, typ := range p.Types {
		names[typ.Name] = true
		values(typ.Consts)
		values(typ.Vars)
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
		ast.Inspect(typ.Decl, func(n ast.Node) bool { // fields, and methods of interfaces
			if field, ok := n.(*ast.Field); ok {
				for _, name := range field.Names {
					names[typ.Name+"."+name.Name] = true
				}
			}
			_, function := n.(*ast.FuncType)
			return !function
		})
	}
	return names
}

var (
	code    = regexp.MustCompile("(?s)```go\n(.*?)```|`([^`\n]+)`")
	ofOne   = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	ofAType = regexp.MustCompile(`(?:^|[^.\w])([A-Z]\w*)\.([A-Z]\w*)`)
)

// missing returns the names in the code of a text that go doc does not show: package.Name, package.Type.Name,
// and Type.Name for a type that a public package has. checked is the number of names that it compared.
func missing(packages map[string]shown, text string) (names []string, checked int) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		piece := m[1] + m[2]
		for _, n := range ofOne.FindAllStringSubmatch(piece, -1) {
			if p := packages[n[1]]; p != nil {
				checked++
				names = append(names, unshown(p, n[2], n[3])...)
			}
		}
		for _, n := range ofAType.FindAllStringSubmatch(piece, -1) {
			of := slices.DeleteFunc(values(packages), func(s shown) bool { return !s[n[1]] })
			checked += min(len(of), 1)
			if len(of) > 0 && !slices.ContainsFunc(of, func(s shown) bool { return s[n[1]+"."+n[2]] }) {
				names = append(names, n[1]+"."+n[2])
			}
		}
	}
	return names, checked
}

// unshown returns the name of a package, or of one of its types, that go doc does not show.
func unshown(p shown, name, member string) []string {
	switch {
	case !p[name]:
		return []string{name}
	case member != "" && !p[name+"."+member]:
		return []string{name + "." + member}
	}
	return nil
}

func values(packages map[string]shown) (list []shown) {
	for _, p := range packages {
		list = append(list, p)
	}
	return list
}

// TestNamesAreShown: go doc shows every name of a public package that README or a page of docs has in its
// code.
func TestNamesAreShown(t *testing.T) {
	packages := showPackages(t)
	for _, name := range []string{"Network.Sum", "Network.Broadcast", "Network.Gather", "Network.Bind",
		"Network.Confirm"} {
		if !packages["consensus"][name] {
			t.Errorf("go doc does not show consensus %s", name)
		}
	}
	for name, most := range map[string]int{"consensus": 25, "transport": 18} {
		top := 0
		for n := range packages[name] {
			if !strings.Contains(n, ".") {
				top++
			}
		}
		if top == 0 || top > most {
			t.Errorf("package %s has %d names, want at most %d", name, top, most)
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages of docs, %v", len(pages), err)
	}
	all := 0
	for _, file := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md",
		"../../BENCHMARKS.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names, checked := missing(packages, string(text))
		all += checked
		for _, name := range names {
			t.Errorf("%s names %s, which go doc does not show", filepath.Base(file), name)
		}
	}
	if all < 10 {
		t.Errorf("README and docs have %d names of public packages", all)
	}
	for text, want := range map[string]string{
		"`consensus.Network.Sums`": "Network.Sums", "`consensus.Sum`": "Sum", "`Network.Sums`": "Network.Sums",
		"```go\nx := consensus.Old(1)\n```":                               "Old",
		"`consensus.Network.Sum`, `Network.Sum`, `os.Foo`, consensus.Sum": "",
	} {
		names, _ := missing(packages, text)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q is missing, want %q", text, got, want)
		}
	}
}
