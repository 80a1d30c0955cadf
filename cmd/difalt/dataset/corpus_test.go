package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/kernel"
)

// A malformed file, and what the error must say besides the name of the file.
type malformed struct {
	name    string
	content []byte
	o       dataset.TableOptions
	want    []string
}

var columns = dataset.TableOptions{Task: "t", Target: "y"}

// text is a malformed table of text.
func text(name, content string, want ...string) malformed {
	return malformed{name, []byte(content), columns, want}
}

// with is a malformed table for other options.
func (m malformed) with(change func(o *dataset.TableOptions)) malformed {
	change(&m.o)
	return m
}

func malformedTexts() []malformed {
	single := func(o *dataset.TableOptions) { o.Storage = kernel.Float32 }
	node := func(o *dataset.TableOptions) { o.Node = "n" }
	comma := func(o *dataset.TableOptions) { o.Delimiter = ',' }
	point := func(o *dataset.TableOptions) { o.Delimiter, o.Decimal = ';', '.' }
	site := func(o *dataset.TableOptions) { o.Categorical = []string{"site"} }
	var many strings.Builder
	many.WriteString("t,site,y\n")
	for i := range 10_001 {
		fmt.Fprintf(&many, "x,%d,2\n", i)
	}
	return []malformed{
		text("empty.csv", "", "the table is empty"),
		text("bom.csv", "\ufeff", "the table is empty"),
		text("blank.csv", "\n\r\n\n", "the table is empty"),
		text("header.csv", "t,a,y\n", "zero rows"),
		text("no-task.csv", "a,y\n1,2\n", `no column "t" for the task`, `["a" "y"]`),
		text("no-target.csv", "t,a\nx,1\n", `no column "y" for the target`, `["t" "a"]`),
		text("no-node.csv", "t,a,y\nx,1,2\n", `no column "n" for the node`).with(node),
		text("no-features.csv", "t,y\nx,1\n", "no feature columns", `["t" "y"]`),
		text("duplicate.csv", "t,a,a,y\nx,1,2,3\n", "line 1", `columns 2 and 3 are both named "a"`),
		text("unnamed.csv", "t,,y\nx,1,2\n", "no feature columns"),
		text("latin1-header.csv", "t,gr\xf6\xdfe,y\nx,1,2\n", "line 1: column 2", "UTF-8"),
		text("same-role.csv", "t,a,y\nx,1,2\n", "cannot be both the task and the target").with(func(o *dataset.TableOptions) { o.Target = "t" }),
		text("text.csv", "t,a,y\nx,1,2\nx,one,2\n", "line 3", `column "a"`, `"one" is not a number`),
		text("text-target.csv", "t,a,y\nx,1,high\n", "line 2", `column "y"`, `"high" is not a number`),
		text("long-text.csv", "t,a,y\nx,"+strings.Repeat("z", 5000)+",2\n", "line 2", `column "a"`, `zzz..." is not a number`),
		text("decimal-comma.csv", "t;a;y\nx;1,5;2\n", "line 2", `column "a"`, `"1,5" is not a number`).with(point),
		text("thousands.csv", "t,a,y\nx,\"1,234\",2\n", "line 2", `column "a"`, `"1,234" is a number with a decimal comma, or with a comma between thousands`),
		text("two-numbers.csv", "t,a,y\nx,1 2,2\n", "line 2", `column "a"`, `"1 2" is not a number`),
		text("exponent.csv", "t,a,y\nx,1e,2\n", "line 2", `column "a"`, `"1e" is not a number`),
		text("huge.csv", "t,a,y\nx,1,2\nx,1e400,2\n", "line 3", `column "a"`, "1e400 is too large"),
		text("huge-target.csv", "t,a,y\nx,1,-1e999\n", "line 2", `column "y"`, "-1e999 is too large"),
		text("huge-float32.csv", "t,a,y\nx,1e39,2\n", "line 2", `column "a"`, "1e39 is too large for float32").with(single),
		text("inf.csv", "t,a,y\nx,Inf,2\n", "line 2", `column "a"`, "the value is Inf"),
		text("infinity.csv", "t,a,y\nx,1,-infinity\n", "line 2", `column "y"`, "the value is -infinity"),
		text("nan.csv", "t,a,b,y\nx,1,NaN,2\nx,NA,,2\n", `1 in column "a" (first on line 3)`, `2 in column "b" (first on line 2)`),
		text("null-target.csv", "t,a,y\nx,1,null\n", `1 in column "y" (first on line 2)`),
		text("no-task-name.csv", "t,a,y\nx,1,2\n ,1,2\n", `1 in column "t" (first on line 3)`),
		text("short-row.csv", "t,a,y\nx,1,2\nx,1\n", "line 3 has 2 cells", "3 columns"),
		text("long-row.csv", "t,a,y\nx,1,2,\n", "line 2 has 4 cells", "3 columns"),
		text("truncated.csv", "t,a,y\nx,1,2\nx", "line 3 has 1 cells", "3 columns"),
		text("truncated-quote.csv", "t,a,y\nx,1,2\n\"x,1,2\nx,1,2\n", "line 3", "does not end", "truncated"),
		text("endless-quote.csv", "t,a,y\nx,1,2\n\"x,"+strings.Repeat("1,2\nx,", 3<<20), "line 3", "does not end"),
		text("quote-inside.csv", "t,a,y\nx\"y,1,2\n", "line 2", "quote within a cell"),
		text("after-quote.csv", "t,a,y\n\"x\"y,1,2\n", "line 2", "text after the quote"),
		text("header-quote.csv", "t,\"a,y\nx,1,2\n", "line 1", "does not end"),
		text("utf16le.csv", "\xff\xfet\x00,\x00a\x00", `["t" "a"]`),
		text("utf16be.csv", "\xfe\xff\x00t\x00,\x00a", `["t" "a"]`),
		text("utf16.csv", "t\x00,\x00a\x00,\x00y\x00\n\x00", "UTF-16 without a byte order mark"),
		text("utf32.csv", "\xff\xfe\x00\x00t\x00\x00\x00", "UTF-32"),
		text("binary.csv", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not text"),
		text("cr.csv", "t,a,y\rx,1,2\rx,3,4", "CR alone"),
		text("cr-quoted.csv", "\"t\",\"a\",\"y\"\r\"x\nz\",1,\"2\"\r\"x\",3,4\r", "CR alone"), // LF within a cell
		text("cr-quoted-later.csv", "t;a;y\r\"x\nz\";1;2\r", "CR alone"),
		text("semicolons.csv", "t;a;y\nx;1;2\n", `no column "t"`, `["t;a;y"]`).with(comma),
		text("two-nodes.csv", "t,a,y,n\nx,1,2,p\nx,1,2,q\n", "line 3", `task "x"`, `node "q" here`, `node "p" before`).with(node),
		text("latin1-task.csv", "t,a,y\nM\xfcller,1,2\n", "line 2", "UTF-8", `M\xfcller`),
		text("levels.csv", many.String(), "line 10002", `column "site"`, `"10000" is the level number 10001`).with(site),
		text("not-categorical.csv", "t,a,y\nx,1,2\n", `no column "site"`).with(site),
		text("level.csv", "t,site,y\nx,p,2\nx,r,3\n", "line 3", `column "site"`, `level "r" is not known`).with(func(o *dataset.TableOptions) {
			o.Schema = &schema.Schema{Columns: []string{"site"}, Categories: []schema.Category{{Column: "site", Levels: []string{"p"}}}}
		}),
	}
}

// Every malformed file is an error that says where and what, for little memory, and
// gives no table.
func TestMalformedFiles(t *testing.T) {
	dir := t.TempDir()
	tables := append(malformedTexts(), malformedArchives(t)...)
	check := func(m malformed, read func(path string) (any, error)) {
		path := filepath.Join(dir, m.name)
		if err := os.WriteFile(path, m.content, 0o666); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := read(path)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error, want one with %q", m.name, m.want)
			return
		}
		for _, piece := range append(m.want, path) {
			if !strings.Contains(err.Error(), piece) {
				t.Errorf("%s: error %q lacks %q", m.name, err, piece)
			}
		}
		if len(err.Error()) > len(path)+500 {
			t.Errorf("%s: the error has %d bytes", m.name, len(err.Error()))
		}
		// All that was ever allocated, which is more than was held at once.
		if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", m.name, n, len(m.content))
		}
		if out != nil {
			t.Errorf("%s: there is a result besides the error", m.name)
		}
	}
	for _, m := range tables {
		check(m, func(path string) (any, error) { return result(dataset.ReadFiles([]string{path}, m.o)) })
	}
	problems, models := malformedProblems(t), malformedModels(t)
	for _, m := range problems {
		check(m, func(path string) (any, error) { return result(problemfile.Read(path)) })
	}
	for _, m := range models {
		check(m, func(path string) (any, error) { return result(model.Load(path)) })
	}
	if n := len(tables) + len(problems) + len(models); n < 60 {
		t.Errorf("there are %d malformed files, want 60 or more", n)
	}
}

// result hides the type of a pointer, and keeps nil.
func result[T any](p *T, err error) (any, error) {
	if p == nil {
		return nil, err
	}
	return p, err
}
