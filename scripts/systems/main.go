// The systems command checks the types of packages and of their tests as the compiler would for other
// systems: from source, and without compiling anything. It takes seconds where builds take minutes, and
// finds constants that overflow an int of 32 bits, names that a system lacks, and files that are missing.
// It cannot find errors in assembly, of the back end or of the linker.
//
//	go run ./scripts/systems linux/386,windows/amd64 ./... [linux/s390x ./cmd/difalt/...]
//
// Its arguments are pairs: a list of systems, and a pattern of packages.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 || len(args)%2 != 0 {
		fmt.Fprintln(os.Stderr, "usage: systems GOOS/GOARCH[,...] PACKAGES ...")
		os.Exit(2)
	}
	c, code := newChecker("."), 0
	for i := 0; i < len(args); i += 2 {
		for system := range strings.SplitSeq(args[i], ",") {
			n, err := c.check(system, args[i+1])
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s:\n%v\n", system, err)
				code = 1
				continue
			}
			fmt.Printf("note: %s: the types of %d packages in %s hold\n", system, n, args[i+1])
		}
	}
	os.Exit(code)
}

// A listed package is what go list prints about one.
type listed struct {
	ImportPath string
	Dir        string
	ForTest    string // the package whose test needs this variant
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// A checker parses a file once for all systems.
type checker struct {
	folder string // where patterns are resolved
	files  *token.FileSet
	parsed map[string]*ast.File
}

func newChecker(folder string) *checker {
	return &checker{folder: folder, files: token.NewFileSet(), parsed: map[string]*ast.File{}}
}

// check checks packages, their tests and what they import for a system such as linux/386, and returns the
// number of packages of the modules here. Their functions are checked in full, of other packages the
// declarations only.
func (c *checker) check(system, pattern string) (own int, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	sizes := types.SizesFor("gc", goarch)
	if !ok || sizes == nil {
		return 0, fmt.Errorf("expected GOOS/GOARCH")
	}
	list, err := c.list(goos, goarch, pattern)
	if err != nil {
		return 0, err
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, p := range list {
		generated := strings.HasSuffix(p.ImportPath, ".test") // the main package of tests
		if p.ImportPath == "unsafe" || generated {
			continue
		}
		here := p.Module != nil && p.Module.Main
		err = errors.Join(err, c.checkPackage(p, done, sizes, !here))
		if here && p.ForTest == "" {
			own++
		}
	}
	if own == 0 {
		return 0, fmt.Errorf("%s has no package of the modules here", pattern)
	}
	return own, err
}

// list returns packages with their tests, and before each one what it imports.
func (c *checker) list(goos, goarch, pattern string) (list []*listed, err error) {
	cmd := exec.Command("go", "list", "-deps", "-test",
		"-json=ImportPath,Dir,ForTest,GoFiles,ImportMap,Module,Error", pattern)
	cmd.Dir, cmd.Env = c.folder, append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		list = append(list, p)
	}
}

// checkPackage checks a package whose imports are done, and adds it to these.
func (c *checker) checkPackage(p *listed, done map[string]*types.Package, sizes types.Sizes, declarations bool) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := c.parse(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var faults []error
	config := types.Config{
		Importer:         imports{p, done},
		Sizes:            sizes,
		IgnoreFuncBodies: declarations,
		Error:            func(err error) { faults = append(faults, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // without the variant
	done[p.ImportPath], _ = config.Check(path, c.files, files, nil)
	return errors.Join(faults...)
}

// parse returns the syntax of a file.
func (c *checker) parse(path string) (*ast.File, error) {
	if file := c.parsed[path]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(c.files, path, nil, parser.SkipObjectResolution)
	c.parsed[path] = file
	return file, err
}

// imports are the imports of a package.
type imports struct {
	of   *listed
	done map[string]*types.Package
}

// Import returns the package that a path stands for in the package.
func (i imports) Import(path string) (*types.Package, error) {
	if full := i.of.ImportMap[path]; full != "" {
		path = full
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s imports %s, which is not listed", i.of.ImportPath, path)
}
