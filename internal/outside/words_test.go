package outside

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A glossary has the rules of CONTRIBUTING's tables of words.
type glossary struct {
	retired map[string]string   // what to write in place of a word or phrase
	rooms   map[string][]string // the folders of a word

	retiredWords, roomWords *regexp.Regexp // match the words of these tables
}

// parseGlossary returns the glossary of a page, and its text without the section that contains it.
func parseGlossary(t *testing.T, page string) (g glossary, rest string) {
	t.Helper()
	before, section, found := strings.Cut(page, "\n## Words\n")
	section, after, more := strings.Cut(section, "\n## ")
	if !found || !more {
		t.Fatal("CONTRIBUTING.md has no section of words with another one after it")
	}
	g = glossary{retired: map[string]string{}, rooms: map[string][]string{}}
	heading := ""
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case strings.HasPrefix(line, "|---"):
		case len(cells) != 2: // not a row
			heading = ""
		case heading == "":
			heading = cells[0]
		default:
			g.add(heading, cells)
		}
	}
	g.compile()
	return g, before + after
}

// compile sets the patterns of all words.
func (g *glossary) compile() {
	g.retiredWords, g.roomWords = pattern(g.retired), pattern(g.rooms)
}

// add adds a row of the table with a heading.
func (g *glossary) add(heading string, cells []string) {
	for _, word := range strings.Split(cells[0], ", ") {
		switch heading {
		case "retired":
			g.retired[word] = cells[1]
		case "word of a room":
			g.rooms[word] = strings.Split(cells[1], ", ")
		}
	}
}

// pattern matches any of some words or phrases, whole and in any case.
func pattern[V any](words map[string]V) *regexp.Regexp {
	var list []string
	for word := range words {
		list = append(list, strings.ReplaceAll(regexp.QuoteMeta(word), " ", `\s+`))
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(list, "|") + `)\b`)
}

// within reports whether a folder is one of some folders, or in one.
func within(folder string, folders []string) bool {
	for _, f := range folders {
		if folder == f || strings.HasPrefix(folder, f+"/") {
			return true
		}
	}
	return false
}

// faults returns the words of a text, from a folder, that the glossary does not allow there, with what to do.
// Documents outside of code folders have no room.
func (g *glossary) faults(folder, text string, code bool) (list []string) {
	for _, found := range g.retiredWords.FindAllString(text, -1) {
		word := strings.Join(strings.Fields(strings.ToLower(found)), " ")
		list = append(list, found+": write "+g.retired[word])
	}
	if !code {
		return list
	}
	for _, found := range g.roomWords.FindAllString(text, -1) {
		if rooms := g.rooms[strings.ToLower(found)]; !within(folder, rooms) {
			list = append(list, found+": a word of "+strings.Join(rooms, ", "))
		}
	}
	return list
}

// prose returns the comments and the texts of a file of Go.
func prose(source []byte) string {
	var s scanner.Scanner
	var text strings.Builder
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		_, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return text.String()
		case token.COMMENT, token.STRING:
			literal = strings.ReplaceAll(literal, "\n//", " ")
			text.WriteString(strings.TrimPrefix(literal, "//") + "\n")
		}
	}
}

// capital matches the beginning of a word inside of an identifier.
var capital = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// names returns the words of the identifiers of a file of Go, with a mark between two identifiers.
func names(source []byte) string {
	var s scanner.Scanner
	var text strings.Builder
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, 0)
	for {
		switch _, kind, literal := s.Scan(); kind {
		case token.EOF:
			return text.String()
		case token.IDENT:
			text.WriteString(capital.ReplaceAllString(strings.ReplaceAll(literal, "_", " "), "$1$3 $2$4") + " ;\n")
		}
	}
}

// faultsOfFile returns the faults of a document or of a file of Go: of its comments, texts and identifiers.
func (g *glossary) faultsOfFile(name string, content []byte) []string {
	folder := path.Dir(name)
	if !strings.HasSuffix(name, ".go") {
		return g.faults(folder, string(content), false)
	}
	list := g.faults(folder, prose(content), true)
	for _, fault := range g.faults("", names(content), false) {
		list = append(list, "identifier: "+fault)
	}
	return list
}

// TestGlossary: comments, messages, help, documents and identifiers have no retired word, and a word of a
// room means what it means there. CONTRIBUTING has the glossary.
func TestGlossary(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	g, rest := parseGlossary(t, string(page))
	if len(g.retired) < 20 || len(g.rooms) < 6 {
		t.Fatalf("the glossary has %d retired words and %d words of rooms", len(g.retired), len(g.rooms))
	}
	for word, rooms := range g.rooms {
		for _, room := range rooms {
			if _, err := os.Stat(filepath.Join(root, room)); err != nil {
				t.Errorf("%s: %v", word, err)
			}
		}
	}
	files := 0
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || strings.HasPrefix(name, ".") && at != root {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md") || name == "words_test.go" {
			return nil
		}
		content, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		if at == filepath.Join(root, "CONTRIBUTING.md") {
			content = []byte(rest)
		}
		relative, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		files++
		for _, fault := range g.faultsOfFile(filepath.ToSlash(relative), content) {
			t.Errorf("%s: %s", relative, fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// TestGlossaryFinds: the rules see words in comments and texts, over the ends of lines, and retired words in
// identifiers, too.
func TestGlossaryFinds(t *testing.T) {
	g := glossary{
		retired: map[string]string{"learning rate": "step size", "door": "way"},
		rooms:   map[string][]string{"frame": {"consensus"}},
	}
	g.compile()
	for source, want := range map[string]int{
		"package a // The learning rate": 1, "package a\n// The learning\n// rate is a Door.": 2,
		`package a; var b = "a door"`: 1,
		"package a; var door = 1":     0, "package a // outdoors, frames": 0, "package a // a frame": 1,
	} {
		if got := g.faults("mixed", prose([]byte(source)), true); len(got) != want {
			t.Errorf("%q has the faults %q, want %d", source, got, want)
		}
	}
	for source, want := range map[string]int{
		"package a; var frontDoor, rate = 1, 2": 1, "package a; var learningRate = 1": 1,
		"package a; var outdoors = 1":       0,
		"package a; var learning, Rate = 1": 0, "package a // a door": 0, "package a; var door_2 = 1": 1,
		"package a; var DOORs, DOORKey = 1": 1,
	} {
		if got := g.faults("", names([]byte(source)), false); len(got) != want {
			t.Errorf("the identifiers of %q have the faults %q, want %d", source, got, want)
		}
	}
	if got := g.faults("consensus/internal/rounds", "a frame", true); got != nil {
		t.Errorf("a word in its room is a fault: %q", got)
	}
	if got := g.faults("consensusless", "a frame", true); len(got) != 1 {
		t.Errorf("a word in another room of nearly the same name is no fault: %q", got)
	}
	if got := g.faults("docs", "a frame, a door", false); len(got) != 1 {
		t.Errorf("a document has the faults %q", got)
	}
}
