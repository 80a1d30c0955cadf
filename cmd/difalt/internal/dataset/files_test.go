package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// packed returns content compressed by gzip and by zstd, both with checksums.
func packed(t testing.TB, content []byte) (gz, zst []byte) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(content)
	if err == nil {
		err = w.Close()
	}
	z, err2 := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return buf.Bytes(), z.EncodeAll(content, nil)
}

// write puts a file in a folder and returns its path.
func write(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	check.Done(os.WriteFile(path, b, 0o666))
	return path
}

// sample is a table, and sampleTable is how it is shown with levels of sites.
const (
	sample      = "t,site,a,y\nx,p,1,2\nx,q,3,4.5\nz,p,-5e-1,6\n"
	sampleTable = `["x" "z"] ["site=p" "site=q" "a"] 0 [1 0 1 2] 0 [0 1 3 4.5] 1 [1 0 -0.5 6]`
)

// TestReadFilesOfText: the same rows come from every format that text can have.
func TestReadFilesOfText(t *testing.T) {
	dir := t.TempDir()
	gz, zst := packed(t, []byte(sample))
	bom, _ := packed(t, []byte("\ufeff"+sample))
	one, _ := packed(t, []byte(sample[:20]))
	two, _ := packed(t, []byte(sample[20:]))
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, c := range []byte(sample) {
		little, big = append(little, c, 0), append(big, 0, c)
	}
	for name, b := range map[string][]byte{
		"plain.csv":   []byte(sample),
		"gzip.csv":    gz,
		"zstd":        zst,
		"bom.csv":     []byte("\ufeff" + sample),
		"bom.csv.gz":  bom,
		"two.gz":      append(one, two...),
		"crlf.csv":    []byte(strings.ReplaceAll(sample, "\n", "\r\n")),
		"quotes.csv":  []byte("\"t\", site ,a,\"y\"\n\"x\",p,\"1\",2\n\"x\", q ,3,4.5\nz,\"p\",\"-5e-1\",6"),
		"utf16.csv":   little,
		"utf16be.csv": big,
		"blank.csv":   []byte(strings.Repeat("\n", 600<<10) + "t,site,a,y\n\nx,p,1,2\n\r\nx,q,3,4.5\n\nz,p,-.5,6\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := ReadFiles([]string{write(t, dir, name, b)},
				TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}})
			checkTable(t, tab, err, sampleTable)
		})
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "site-a.csv", []byte("t,x,y\n1,1,2\n2,3,4\n"))
	gz, _ := packed(t, []byte("y,x,t\n6,5,3\n"))
	write(t, dir, "site-b.csv.gz", gz)
	all := filepath.Join(dir, "site-*")
	tab, err := ReadFiles([]string{all}, columnsTY)
	checkTable(t, tab, err, `["1" "2" "3"] ["x"] 0 [1 2] 1 [3 4] 2 [5 6]`)
	write(t, dir, "site-c.csv", []byte("t,x,y,z\n4,1,2,3\n"))
	for want, patterns := range map[string][]string{
		`site-c.csv: column "z" is not in the files before`: {all},
		"no file matches":                {filepath.Join(dir, "none-*")},
		"is not a pattern of file names": {filepath.Join(dir, "[.csv")},
		"site-a.csv is named twice":      {a, a},
		"no file is named":               nil,
		"none.csv: no such file":         {filepath.Join(dir, "none.csv")},
		"is a directory":                 {dir},
	} {
		if runtime.GOOS == "windows" && want == "is a directory" {
			want = dir
		}
		_, err = ReadFiles(patterns, columnsTY)
		check.Error(t, err, want)
	}
}

// TestProgress: progress grows to the size of all files, and is reported in between.
func TestProgress(t *testing.T) {
	text := "task,x,y\n" + strings.Repeat("a,1,2\n", 30_000)
	dir := t.TempDir()
	first, second := write(t, dir, "a.csv", []byte(text)), write(t, dir, "b.csv", []byte(text))
	last, calls := int64(0), 0
	o := TableOptions{Task: "task", Target: "y", Progress: func(done, of int64) {
		check.FailIf(t, done < last || of != int64(2*len(text)), "%d of %d after %d", done, of, last)
		last = done
		calls++
	}}
	if _, err := ReadFiles([]string{first, second}, o); err != nil || last != int64(2*len(text)) || calls < 5 {
		t.Errorf("%d of %d in %d calls, %v", last, 2*len(text), calls, err)
	}
}
