package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A mutant is a file of a package with one error in it.
type mutant struct {
	of     *target
	file   string
	source []byte // of the file, without the error
	edit
}

// text returns the file with the error.
func (m *mutant) text() []byte {
	return append(append(bytes.Clone(m.source[:m.from]), m.to...), m.source[m.until:]...)
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s/%s:%d: %s -> %s", m.of.ImportPath, filepath.Base(m.file), m.line,
		oneLine(string(m.source[m.from:m.until])), oneLine(m.to))
}

// mutantsOf returns every mutant of a package. Generated files have none.
func mutantsOf(of *target) ([]mutant, error) {
	var all []mutant
	for _, name := range of.GoFiles {
		path := filepath.Join(of.Dir, name)
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(file) {
			continue
		}
		f := finder{fset: fset, source: source}
		ast.Inspect(file, f.visit)
		for _, e := range f.edits {
			all = append(all, mutant{of, path, source, e})
		}
	}
	return all, nil
}

// An edit replaces a range of bytes of a file.
type edit struct {
	from, until, line int
	to                string
}

// A finder collects the edits of one file.
type finder struct {
	fset   *token.FileSet
	source []byte
	edits  []edit
}

func (f *finder) add(from, until token.Pos, to string) {
	start, end := f.fset.Position(from), f.fset.Position(until)
	f.edits = append(f.edits, edit{start.Offset, end.Offset, start.Line, to})
}

// text returns the source of a node.
func (f *finder) text(n ast.Node) string {
	return string(f.source[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

// other is the operator that takes the place of each.
var other = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.MUL: token.ADD, token.SHL: token.SHR, token.SHR: token.SHL,
}

// exchanged are the operators that give another result with exchanged operands.
var exchanged = map[token.Token]bool{token.SUB: true, token.QUO: true, token.REM: true, token.LSS: true,
	token.GTR: true}

// visit adds the edits of a node. Declarations at package level, such as tables, have none.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST && n.Tok != token.TYPE && n.Tok != token.IMPORT
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "panic" {
			return false // of a message
		}
	case *ast.BinaryExpr:
		if to, ok := other[n.Op]; ok {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
		}
		if exchanged[n.Op] {
			f.add(n.Pos(), n.End(), "("+f.text(n.Y)+") "+n.Op.String()+" ("+f.text(n.X)+")")
		}
	case *ast.IfStmt:
		if f.text(n.Cond) == "err != nil" {
			f.add(n.Cond.Pos(), n.Cond.End(), "err != nil && false")
		}
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	}
	return true
}

// drop adds the edits that drop a statement.
func (f *finder) drop(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt:
			f.add(s.Pos(), s.End(), "")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.add(s.Pos(), s.End(), "")
			}
		}
	}
}

// oneLine returns Go source in one line.
func oneLine(source string) string {
	return cmp.Or(strings.Join(strings.Fields(source), " "), "nothing")
}
