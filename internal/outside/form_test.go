package outside

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of form, of CONTRIBUTING's rules of text. A tab counts as four columns.
const (
	mostLines    = 400 // of a file
	mostFunction = 60  // lines of a function, with its header and its end
	mostFields   = 14  // of a struct
	mostComment  = 110 // columns of a line that is a comment
	mostCode     = 120 // columns of another line
)

// The file of larger has a line with the size of everything beyond a limit: a file, a function, a struct,
// the wide lines of a file, or those of the tests of a folder. No size grows, and an entry that fits leaves
// the list.
const larger = "testdata/larger.txt"

var writeLarger = flag.Bool("larger", false, "write the present sizes to "+larger)

// forms collects the sizes of files of Go that exceed the limits, by the names that the file of larger has.
type forms struct {
	sizes map[string]int
	files int
}

// add adds a size, if it exceeds its limit.
func (f *forms) add(name string, size, most int) {
	if size > most {
		f.sizes[name] += size
	}
}

// read adds the sizes of a file.
func (f *forms) read(name string, source []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.files++
	f.add(name, bytes.Count(source, []byte("\n")), mostLines)
	if strings.HasSuffix(name, "_test.go") {
		f.add(path.Dir(name)+": wide lines of tests", wideLines(source), 0)
	} else {
		f.add(name+": wide lines", wideLines(source), 0)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
			f.add(name+": "+receiver(n)+n.Name.Name, lines, mostFunction)
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				f.add(name+": "+n.Name.Name, s.Fields.NumFields(), mostFields)
			}
		}
		return true
	})
	return nil
}

// receiver returns the type of a method with a dot, and nothing for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// wideLines returns the number of lines of a file with too many columns.
func wideLines(source []byte) (wide int) {
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSuffix(line, "\n")
		columns, most := utf8.RuneCountInString(line)+3*strings.Count(line, "\t"), mostCode
		if strings.HasPrefix(line, "//go:") { // instructions have one line
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(line, "\t "), "//") {
			most = mostComment
		}
		if columns > most {
			wide++
		}
	}
	return wide
}

// readForms reads all files of Go but generated ones.
func readForms(root string) (*forms, error) {
	f := &forms{sizes: map[string]int{}}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && at != root) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(at, ".go") {
			return nil
		}
		source, err := os.ReadFile(at)
		if err != nil || bytes.Contains(source[:min(len(source), 400)], []byte("// Code generated ")) {
			return err
		}
		own, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return f.read(filepath.ToSlash(own), source)
	})
	return f, err
}

// exceptions returns the sizes in a list of lines such as "61 folder/file.go: function".
func exceptions(text []byte) (map[string]int, error) {
	list := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var size int
		number, name, found := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(number, &size); err != nil || !found {
			return nil, fmt.Errorf("%q has no size and name", lines.Text())
		}
		list[name] = size
	}
	return list, lines.Err()
}

// compare returns what has grown or is new, and what need not be listed any more.
func (f *forms) compare(listed map[string]int) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(f.sizes)) {
		if size, most := f.sizes[name], listed[name]; size > most {
			faults = append(faults, fmt.Sprintf("%s: %d, in the list of what is larger %d", name, size, most))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if f.sizes[name] == 0 {
			faults = append(faults, name+" fits the limits: delete it from the list")
		}
	}
	return faults
}

// TestForm: files, functions, structs and lines fit the limits, or are in their list and have not grown.
func TestForm(t *testing.T) {
	f, err := readForms("../..")
	if err != nil {
		t.Fatal(err)
	}
	if f.files < 500 {
		t.Errorf("only %d files were read", f.files)
	}
	if *writeLarger {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(f.sizes)) {
			fmt.Fprintln(&text, f.sizes[name], name)
		}
		if err := os.WriteFile(larger, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(larger)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exceptions(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range f.compare(listed) {
		t.Errorf("%s: %s", larger, fault)
	}
}

// TestFormFinds: sizes beyond a limit are found, and so are growth and lines of the list without use.
func TestFormFinds(t *testing.T) {
	source := "package p\n\n" + // a function of 61 lines, a struct of 15 fields, and two wide lines
		"func (t *T[F]) f() {\n" + strings.Repeat("\tg()\n", 59) + "}\n\n" +
		"type T[F any] struct{ a, b, c, d, e, f, g, h, i, j, k, l, m, n, o F }\n\n" +
		"//" + strings.Repeat("é", 109) + "\n\nvar x = `" + strings.Repeat("x", 111) + "` + \"\"\n"
	f := &forms{sizes: map[string]int{}}
	if err := f.read("a/p.go", []byte(source)); err != nil {
		t.Fatal(err)
	}
	if err := f.read("a/p_test.go", []byte("package p\n\n"+strings.Repeat("\tvar y = 1\n", 400))); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a/p.go: T.f": 61, "a/p.go: T": 15, "a/p.go: wide lines": 2, "a/p_test.go": 402}
	if !maps.Equal(f.sizes, want) {
		t.Errorf("found %v, want %v", f.sizes, want)
	}
	listed, err := exceptions(
		[]byte("60 a/p.go: T.f\n20 a/p.go: T\n2 a/p.go: wide lines\n450 a/p_test.go\n61 a/q.go: g\n"))
	if err != nil {
		t.Fatal(err)
	}
	faults := []string{
		"a/p.go: T.f: 61, in the list of what is larger 60",
		"a/q.go: g fits the limits: delete it from the list",
	}
	if got := f.compare(listed); !slices.Equal(got, faults) {
		t.Errorf("faults %q, want %q", got, faults)
	}
}
