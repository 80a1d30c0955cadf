package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// Progress grows to the size of all files, and is told in between.
func TestReadingTellsProgress(t *testing.T) {
	var b strings.Builder
	b.WriteString("task,x,y\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "t%d,%d,%d\n", i%7, i, i%5)
	}
	dir := t.TempDir()
	first, second := write(t, dir, "a.csv", []byte(b.String())), write(t, dir, "b.csv", []byte(strings.ReplaceAll(b.String(), "\nt", "\nu")))
	var last, total, told int64
	o := TableOptions{Task: "task", Target: "y", Progress: func(done, of int64) {
		if done < last || of != int64(2*b.Len()) {
			t.Errorf("%d of %d after %d", done, of, last)
		}
		last, total, told = done, of, told+1
	}}
	if _, err := ReadFiles([]string{first, second}, o); err != nil || last != total || told < 6 {
		t.Errorf("%d of %d, told %d times, %v", last, total, told, err)
	}
	last, total = 0, 0
	o.Progress = func(done, of int64) { last, total = done, of }
	if _, err := Describe(first, o); err != nil || last != int64(b.Len()) || total != last {
		t.Errorf("%d of %d, %v", last, total, err)
	}
}
