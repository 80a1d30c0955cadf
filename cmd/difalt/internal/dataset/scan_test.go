package dataset

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
	"github.com/parquet-go/parquet-go"
)

// Scan passes on every row of every format with its features and cells, in order, complete or not.
func TestScan(t *testing.T) {
	s := &mixed.Schema{Columns: []string{"site", "a"},
		Categories: []mixed.Category{{Column: "site", Levels: []string{"p", "q"}}}}
	scan := func(path string, missing Missing, keep ...string) (rows []string, sum *Summary, err error) {
		o := TableOptions{Task: "t", Schema: s, NewLevels: true, Missing: missing, Keep: keep}
		sum, err = Scan([]string{path}, o, func(r *Row) error {
			rows = append(rows, fmt.Sprintf("%q %v %q %v", r.Task, r.Features, r.Kept, r.Complete))
			return nil
		})
		return rows, sum, err
	}
	dir := t.TempDir()
	text := write(t, dir, "t.csv", []byte("t,site,id,a\nx,p, 01,1\n,q,2,2\nz,r,3,NA\n,,,\nz,,5,7\n"))
	rows, sum, err := scan(text, MissingDrop, "id", "t")
	want := []string{`"x" [1 0 1] [" 01" "x"] true`, `"" [0 1 2] ["2" ""] false`, `"z" [0 0 NaN] ["3" "z"] false`,
		`"" [NaN NaN NaN] ["" ""] false`, `"z" [NaN NaN 7] ["5" "z"] false`}
	if err != nil || !slices.Equal(rows, want) || sum.Rows != 5 || sum.Incomplete != 4 ||
		sum.First != text+", line 3" || sum.Filled != nil {
		t.Errorf("drop: %v, %+v, rows\n%s", err, sum, strings.Join(rows, "\n"))
	}
	want[2], want[4] = `"z" [0 0 NaN] ["3" "z"] true`, `"z" [NaN NaN 7] ["5" "z"] true`
	rows, sum, err = scan(text, MissingKeep, "id", "t")
	if err != nil || !slices.Equal(rows, want) ||
		!reflect.DeepEqual(sum.Filled, []MissingCount{{"site", 1}, {"a", 1}}) {
		t.Errorf("keep: %v, %+v, rows\n%s", err, sum, strings.Join(rows, "\n"))
	}
	_, _, err = scan(text, MissingRefuse)
	check.Error(t, err, "there are missing values", `2 in column "a" (first on line 4)`)

	type row struct {
		ID   int64    `parquet:"id"`
		T    string   `parquet:"t"`
		Site *string  `parquet:"site,optional"`
		A    *float64 `parquet:"a,optional"`
	}
	q, v := "q", math.Copysign(0, -1)
	packed := write(t, dir, "t.parquet", written(t, []row{{1 << 62, "x", &q, &v}, {2, "z", nil, nil}}))
	rows, _, err = scan(packed, MissingKeep, "id", "site", "a")
	want = []string{`"x" [0 1 0] ["4611686018427387904" "q" "0"] true`, `"z" [NaN NaN NaN] ["2" "" ""] true`}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("Parquet: %v, rows\n%s", err, strings.Join(rows, "\n"))
	}
	_, _, err = scan(text, MissingDrop, "nothing")
	check.Error(t, err, `no column "nothing" for the columns to keep`)
	stop := errors.New("stop")
	o := TableOptions{Task: "t", Schema: s, NewLevels: true, Missing: MissingDrop}
	if _, err := Scan([]string{text}, o, func(*Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the scan goes on: %v", err)
	}
	if _, err := Scan([]string{text}, TableOptions{Task: "t"}, nil); err == nil {
		t.Error("a scan without a schema")
	}
	_, _, err = scan(write(t, dir, "none.csv", []byte("t,site,a\n")), MissingDrop)
	check.Error(t, err, "zero rows")
}

// Scan holds no more memory late in a table than early in it, from text and Parquet.
func TestScanMemory(t *testing.T) {
	type row struct {
		T string  `parquet:"t"`
		A float64 `parquet:"a"`
	}
	const n = 200_000
	rows := make([]row, n)
	text := []byte("t,a\n")
	for i := range rows {
		rows[i] = row{fmt.Sprintf("task %d", i), float64(i)}
		text = fmt.Appendf(text, "task %d,%d\n", i, i)
	}
	dir := t.TempDir()
	for _, path := range []string{
		write(t, dir, "t.csv", text),
		write(t, dir, "t.parquet", written(t, rows, parquet.MaxRowsPerRowGroup(20_000))),
	} {
		var held [2]uint64
		at := 0
		o := TableOptions{Task: "t", Schema: only("a")}
		_, err := Scan([]string{path}, o, func(*Row) error {
			if at++; at == n/10+7 || at == n-7 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				held[at*2/n] = m.HeapAlloc
			}
			return nil
		})
		if err != nil || at != n || held[1] > held[0]+1<<20 {
			t.Errorf("%s: %v, %d rows; %d bytes after a tenth of the rows, %d at the end", path, err, at, held[0],
				held[1])
		}
	}
}
