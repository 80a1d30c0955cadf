package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func packGzip(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packZstd(t testing.TB, b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

// utf16LE encodes ASCII with a byte order mark.
func utf16LE(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}

// write puts a file in a folder and returns its path.
func write(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const sample = "t,site,a,y\nx,p,1,2\nx,q,3,4.5\nz,p,-5e-1,6\n"

// checkSample asserts that a table is the sample above.
func checkSample(t *testing.T, name string, tab *Table, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if f := tab.Features(); !reflect.DeepEqual(f, []string{"site=p", "site=q", "a"}) {
		t.Errorf("%s: features %q", name, f)
	}
	if tasks := tab.Tasks(); !reflect.DeepEqual(tasks, []string{"x", "z"}) {
		t.Errorf("%s: tasks %q", name, tasks)
	}
	want := [][]float64{{1, 0, 1}, {0, 1, 3}, {1, 0, -0.5}}
	for i, w := range want {
		if x := tab.X(make([]float64, 3), i); !reflect.DeepEqual(x, w) || tab.Y(i) != []float64{2, 4.5, 6}[i] {
			t.Errorf("%s: row %d is %v, %v", name, i, x, tab.Y(i))
		}
	}
}

// The same rows come from every format that text can have.
func TestReadFilesOfText(t *testing.T) {
	dir := t.TempDir()
	o := TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}}
	for name, b := range map[string][]byte{
		"plain.csv":  []byte(sample),
		"gzip.csv":   packGzip(t, []byte(sample)),
		"zstd":       packZstd(t, []byte(sample)),
		"bom.csv.gz": packGzip(t, []byte("\ufeff"+sample)),
		"crlf.csv":   []byte(strings.ReplaceAll(sample, "\n", "\r\n")),
		"two.gz":     append(packGzip(t, []byte(sample[:20])), packGzip(t, []byte(sample[20:]))...),
		"quotes.csv": []byte("\"t\",site,a,\"y\"\n\"x\",p,\"1\",2\n\"x\", q ,3,4.5\nz,\"p\",\"-5e-1\",6"),
		"utf16.csv":  utf16LE(sample),
		"blank.csv":  []byte("t,site,a,y\n\nx,p,1,2\n\r\nx,q,3,4.5\n\nz,p,-.5,6\n\n"),
	} {
		tab, err := ReadFiles([]string{write(t, dir, name, b)}, o)
		checkSample(t, name, tab, err)
	}
	semicolon, tab := o, o
	semicolon.Delimiter, tab.Delimiter = ';', '\t'
	table, err := ReadCSV(strings.NewReader(strings.ReplaceAll(sample, ",", ";")), semicolon)
	checkSample(t, "semicolon", table, err)
	table, err = ReadCSV(strings.NewReader(strings.ReplaceAll(sample, ",", "\t")), tab)
	checkSample(t, "tab", table, err)
}

// A quoted cell may hold delimiters, quotes and line breaks, and lines still count.
func TestQuotedCells(t *testing.T) {
	text := "t,note,a\n\"a,\"\"b\"\"\",\"two\nlines, one \"\"cell\"\"\",1\nc,,bad\n"
	_, err := ReadCSV(strings.NewReader(text), TableOptions{Task: "t", Schema: only("a")})
	checkMessage(t, "line after a break", err, []string{"line 4", `column "a"`, `"bad"`})
	tab, err := ReadCSV(strings.NewReader(strings.Replace(text, "bad", "2", 1)), TableOptions{Task: "t", Schema: only("a")})
	if err != nil || tab.Tasks()[0] != `a,"b"` || tab.Rows() != 2 {
		t.Errorf("%v, %v", tab, err)
	}
}

// Rows and lines are counted right however long the text.
func TestLongCSV(t *testing.T) {
	var b strings.Builder
	b.WriteString("t,note,a,y\n")
	const rows = 60_000
	for i := range rows {
		b.WriteString("task")
		b.WriteByte(byte('a' + i%7))
		b.WriteString(",\"some text\nof two lines\",")
		b.WriteString(strings.Repeat("1", 1+i%9))
		b.WriteString(",3\n")
	}
	o := TableOptions{Task: "t", Target: "y", Drop: []string{"note"}}
	tab, err := ReadCSV(strings.NewReader(b.String()), o)
	if err != nil || tab.Rows() != rows {
		t.Fatalf("%v, %v", tab, err)
	}
	for i := range rows {
		want := (math.Pow10(1+i%9) - 1) / 9
		if x := tab.X(make([]float64, 1), i); x[0] != want || tab.Task(i) != i%7 {
			t.Fatalf("row %d is %v of task %d", i, x, tab.Task(i))
		}
	}
	_, err = ReadCSV(strings.NewReader(b.String()+"t,note,one,2\n"+b.String()), o)
	checkMessage(t, "far down", err, []string{"line 120002", `column "a"`, `"one" is not a number`})
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "site-a.csv", []byte("t,x,y\n1,1,2\n2,3,4\n"))
	write(t, dir, "site-b.csv.gz", packGzip(t, []byte("y,x,t\n6,5,3\n")))
	o := TableOptions{Task: "t", Target: "y"}
	tab, err := ReadFiles([]string{filepath.Join(dir, "site-*")}, o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(tab.Tasks(), []string{"1", "2", "3"}) || tab.Rows() != 3 || tab.Y(2) != 6 || tab.X(make([]float64, 1), 2)[0] != 5 {
		t.Errorf("tasks %q, row 2 with %v", tab.Tasks(), tab.Y(2))
	}
	write(t, dir, "site-c.csv", []byte("t,x,y,z\n4,1,2,3\n"))
	_, err = ReadFiles([]string{filepath.Join(dir, "site-*")}, o)
	checkMessage(t, "other columns", err, []string{"site-c.csv: ", `column "z" is not in the files before`})
	_, err = ReadFiles([]string{filepath.Join(dir, "none-*")}, o)
	checkMessage(t, "no match", err, []string{"no file matches", "none-*"})
	a := filepath.Join(dir, "site-a.csv")
	_, err = ReadFiles([]string{a, a}, o)
	checkMessage(t, "twice", err, []string{"site-a.csv is named twice"})
}

// A schema, also one that went through JSON, reads other files to the same features.
func TestSchema(t *testing.T) {
	o := TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}}
	tab, err := ReadCSV(strings.NewReader(sample), o)
	checkSample(t, "first", tab, err)
	b, err := json.Marshal(tab.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var s schema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	o = TableOptions{Task: "t", Schema: &s}
	other, err := ReadCSV(strings.NewReader("extra,a,site,t\n0,7,q,new\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	if x := other.X(make([]float64, 3), 0); !reflect.DeepEqual(x, []float64{0, 1, 7}) || !reflect.DeepEqual(other.Features(), tab.Features()) {
		t.Errorf("row %v of %q", x, other.Features())
	}
	_, err = ReadCSV(strings.NewReader("a,site,t\n7,r,new\n"), o)
	checkMessage(t, "unknown level", err, []string{"line 2", `column "site"`, `level "r" is not known`, `["p" "q"]`})
}

func TestMissing(t *testing.T) {
	const text = "t,a,site,y\nx,1,p,1\nx,NA,q,2\nz,null,,3\nz,5,p,\n,6,p,5\nz,nan,q,6\n"
	o := TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}}
	_, err := ReadCSV(strings.NewReader(text), o)
	if !errors.Is(err, ErrMissing) {
		t.Errorf("error %v is not ErrMissing", err)
	}
	checkMessage(t, "refuse", err, []string{`3 in column "a" (first on line 3)`, `1 in column "site" (first on line 4)`, `1 in column "y" (first on line 5)`, `1 in column "t" (first on line 6)`})
	o.Missing = MissingDrop
	tab, err := ReadCSV(strings.NewReader(text), o)
	if err != nil || tab.Rows() != 1 || tab.Dropped() != 5 || tab.Missing() != nil {
		t.Errorf("drop: %v, %v", tab, err)
	}
	o.Missing = MissingKeep
	tab, err = ReadCSV(strings.NewReader(text), o)
	if err != nil || tab.Rows() != 4 || tab.Dropped() != 2 || !reflect.DeepEqual(tab.Missing(), []MissingCount{{"a", 3}, {"site", 1}}) {
		t.Fatalf("keep: %v, %v", tab, err)
	}
	if x := tab.X(make([]float64, 3), 2); !math.IsNaN(x[0]) || !math.IsNaN(x[1]) || !math.IsNaN(x[2]) {
		t.Errorf("row 2 is %v, want NaN", x)
	}
	o.Missing = MissingDrop
	_, err = ReadCSV(strings.NewReader("t,a,site,y\nx,,p,1\n"), o)
	checkMessage(t, "nothing left", err, []string{"zero rows", "all 1 lack values"})
}

// Progress grows to the size of all files, and is reported in between.
func TestProgress(t *testing.T) {
	text := "task,x,y\n" + strings.Repeat("a,1,2\n", 30_000)
	dir := t.TempDir()
	first, second := write(t, dir, "a.csv", []byte(text)), write(t, dir, "b.csv", []byte(text))
	last, calls := int64(0), 0
	o := TableOptions{Task: "task", Target: "y", Progress: func(done, of int64) {
		if done < last || of != int64(2*len(text)) {
			t.Errorf("%d of %d after %d", done, of, last)
		}
		last = done
		calls++
	}}
	if _, err := ReadFiles([]string{first, second}, o); err != nil || last != int64(2*len(text)) || calls < 5 {
		t.Errorf("%d of %d in %d calls, %v", last, 2*len(text), calls, err)
	}
}
