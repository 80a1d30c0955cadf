package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// Files that NumPy wrote, in C order of float64 and in Fortran order of big-endian
// float32, hold the task and x[i, j] = 10 i + j + 1/2 and y[i] = i.
func TestReadNPY(t *testing.T) {
	for _, path := range []string{"testdata/numpy-c.npy", "testdata/numpy-fortran.npy"} {
		tab, err := ReadFiles([]string{path}, TableOptions{Task: "c0", Target: "c3"})
		less := check.OK(ReadFiles([]string{path}, TableOptions{Task: "c0", Target: "c3", Drop: []string{"c1"}}))
		check.FailIf(t, less.X(make([]float64, 1), 2)[0] != 21.5, "without c1: %s", shown(less))
		checkTable(t, tab, err,
			`["3" "1" "7"] ["c1" "c2"] 0 [0.5 1.5 0] 0 [10.5 11.5 1] 1 [20.5 21.5 2] 1 [30.5 31.5 3] 2 [40.5 41.5 4]`)
	}
}

// Files that Arrow wrote, with and without dictionaries, and in one or more groups.
func TestReadParquet(t *testing.T) {
	o := TableOptions{Task: "id", Target: "y", Drop: []string{"when", "list"}, Categorical: []string{"site"}}
	keep := o
	keep.Missing = MissingKeep
	for _, path := range []string{"testdata/arrow.parquet", "testdata/arrow-plain.parquet"} {
		_, err := ReadFiles([]string{path}, o)
		check.Error(t, err, path, `1 in column "site" (first on row 4)`, `1 in column "a" (first on row 3)`)
		tab, err := ReadFiles([]string{path}, keep)
		checkTable(t, tab, err,
			`["k3" "k1" "k7"] ["site=p" "site=q" "a" "b" "flag"] 0 [1 0 0.5 1 1 0] 0 [0 1 10.5 11 0 1] `+
				`1 [1 0 NaN 21 1 2] 1 [NaN NaN 30.5 31 0 3] 2 [0 1 40.5 41 1 4]`)
	}
	for column, want := range map[string]string{"list": "nested", "site": "holds strings"} {
		_, err := ReadFiles([]string{"testdata/arrow.parquet"},
			TableOptions{Task: "id", Target: "y", Schema: only(column)})
		check.Error(t, err, `column "`+column+`"`, want)
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Errorf("%s: no option is proposed", column)
		}
	}
	_, err := ReadFiles([]string{"testdata/arrow.parquet"}, TableOptions{Task: "id", Target: "site", Schema: only("b")})
	check.Error(t, err, `column "site" holds strings: expected numbers`)
}

// A file that Arrow wrote. The days of a date are counted from 1970, decimals rounded once, names keep all
// digits.
func TestParquetTypes(t *testing.T) {
	const tasks = `["18446744073709551615" "9223372036854775809" "9007199254740993"]`
	read := func(task, column string, missing Missing) (*Table, error) {
		return ReadFiles([]string{"testdata/types.parquet"},
			TableOptions{Task: task, Target: "y", Schema: only(column), Missing: missing})
	}
	for column, want := range map[string][3]float64{
		"signed":   {-1 << 63, 1 << 53, math.NaN()},
		"dec32":    {123.45, -0.01, math.NaN()},
		"dec64":    {12345678901.2345, -0.0001, 7},
		"day":      {-1, 19782, math.NaN()},
		"ms":       {1.25, -0.5, math.NaN()},
		"us":       {1.25, -0.5, math.NaN()},
		"ns":       {1.25, -0.5, math.NaN()},
		"unsigned": {1 << 64, 1 << 63, 0},
	} {
		t.Run(column, func(t *testing.T) {
			tab, err := read("id", column, MissingKeep)
			checkTable(t, tab, err,
				fmt.Sprintf("%s [%q] 0 [%v 0] 1 [%v 1] 2 [%v 2]", tasks, column, want[0], want[1], want[2]))
			dates := map[string]bool{"day": true, "ms": true, "us": true, "ns": true}[column]
			check.FailIf(t, dates != (tab.Notes() != nil), "notes %v", tab.Notes())
		})
	}
	for column, want := range map[string]string{
		"dec32":  `["123.45" "-0.01"]`,
		"day":    `["1969-12-31" "2024-02-29"]`,
		"ns":     `["1970-01-02T06:00:00Z" "1969-12-31T12:00:00Z"]`,
		"signed": `["-9223372036854775808" "9007199254740993"]`,
	} {
		tab, err := read(column, "unsigned", MissingDrop)
		check.FailIf(t, err != nil || fmt.Sprintf("%q", tab.Tasks()) != want,
			"tasks of %s: %v, want %s (%v)", column, tab, want, err)
	}
	_, err := read("id", "time", MissingRefuse)
	check.Error(t, err, `column "time" is of type TIME`)
}

// Truth values of Parquet are the numbers 0 and 1, as those of CSV. Tasks, levels and kept cells have the
// words.
func TestParquetTruth(t *testing.T) {
	type row struct {
		T bool    `parquet:"t"`
		K bool    `parquet:"k"`
		B bool    `parquet:"b"`
		Y float64 `parquet:"y"`
	}
	path := write(t, t.TempDir(), "t.parquet", written(t, []row{{true, false, true, 1}, {false, true, false, 2}}))
	tab, err := ReadFiles([]string{path}, TableOptions{Task: "t", Target: "y", Categorical: []string{"k"}})
	checkTable(t, tab, err, `["true" "false"] ["k=false" "k=true" "b"] 0 [1 0 1 1] 1 [0 1 0 2]`)
	o := TableOptions{Task: "t", Schema: tab.Schema(), NewLevels: true, Keep: []string{"b"}}
	var kept []string
	_, err = Scan([]string{path}, o, func(r *Row) error { kept = append(kept, r.Kept...); return nil })
	check.FailIf(t, err != nil || !slices.Equal(kept, []string{"true", "false"}), "kept cells %q (%v)", kept, err)
}

// A file that Arrow wrote: decimals of 5 and 16 bytes, and times of INT96, as Spark has them.
func TestParquetDecimals(t *testing.T) {
	read := func(task string, columns ...string) (*Table, error) {
		return ReadFiles([]string{"testdata/arrow-decimal.parquet"},
			TableOptions{Task: task, Target: "y", Schema: only(columns...), Missing: MissingKeep})
	}
	tab, err := read("t", "money", "big", "when")
	checkTable(t, tab, err,
		`["a" "b"] ["money" "big" "when"] 0 [22.027 -1.2345678901234567e+31 19753.5 0] 0 [-0.001 1e-05 -0.25 1] `+
			fmt.Sprintf("1 [1.23456789e+06 NaN %v 2]", 19782+.5/86400))
	for column, want := range map[string]string{
		"money": `["22.027" "-0.001" "1234567.890"]`, "big": `["-12345678901234567890123456789012.34567" "0.00001"]`,
		"when": `["2024-01-31T12:00:00Z" "1969-12-31T18:00:00Z" "2024-02-29T00:00:00.5Z"]`,
	} {
		feature := map[bool]string{true: "big", false: "money"}[column == "money"]
		tab, err := read(column, feature)
		check.FailIf(t, err != nil || fmt.Sprintf("%q", tab.Tasks()) != want,
			"tasks of %s: %v, want %s (%v)", column, tab, want, err)
	}
}

// A file that Arrow wrote: numbers of 16 bits, the largest and the least among them, null and -0.
func TestParquetHalves(t *testing.T) {
	read := func(task string) (*Table, error) {
		o := TableOptions{Task: task, Target: "y", Schema: only("half"), Missing: MissingKeep}
		return ReadFiles([]string{"testdata/arrow-half.parquet"}, o)
	}
	tab, err := read("t")
	checkTable(t, tab, err,
		`["a" "b"] ["half"] 0 [1.5 0] 0 [-0.25 1] 1 [65504 2] 1 [5.960464477539063e-08 3] 1 [NaN 4] 1 [0 5]`)
	for bits, want := range map[uint16]float64{
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x7e00: math.NaN(), 0x3c01: 1 + 1./1024,
		0x03ff: 1023. / (1 << 24), 0xc000: -2,
	} {
		value := parquet.FixedLenByteArrayValue(binary.LittleEndian.AppendUint16(nil, bits))
		if got := half(value); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
}

// A damaged Parquet file is an error or another table, never a panic.
func TestDamagedParquet(t *testing.T) {
	whole := check.OK(os.ReadFile("testdata/arrow-plain.parquet"))
	dir := t.TempDir()
	o := TableOptions{Task: "id", Target: "y", Schema: only("b", "flag")}
	for n := 0; n < len(whole); n += 7 {
		path := write(t, dir, "short.parquet", whole[:n])
		if _, err := ReadFiles([]string{path}, o); err == nil {
			t.Fatalf("no error with %d of %d bytes", n, len(whole))
		}
		b := append([]byte(nil), whole...)
		b[n] ^= 0xff
		if tab, err := ReadFiles([]string{write(t, dir, "flipped.parquet", b)}, o); err == nil {
			checkNumbers(t, tab)
		}
	}
}

// Damaged dictionaries and damaged values are refused where the file has checksums.
func TestParquetChecksums(t *testing.T) {
	type row struct {
		T string  `parquet:"t"`
		A float64 `parquet:"a,dict"`
		B float64 `parquet:"b"`
		Y float64 `parquet:"y"`
	}
	whole := written(t, []row{{"x", 1, 1, 2}, {"x", 1.2345, 5.4321, 4}, {"z", 3, 8, 5}})
	for column, v := range map[string]float64{"a": 1.2345, "b": 5.4321} {
		at := bytes.Index(whole, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		path := write(t, t.TempDir(), "damaged.parquet", flipped(whole, at+6))
		_, err := ReadFiles([]string{path}, columnsTY)
		check.Error(t, err, fmt.Sprintf("column %q", column), "checksum")
	}
}

// Whole numbers that float64 rounds are named, as in CSV.
func TestParquetLongCodes(t *testing.T) {
	type row struct {
		T string  `parquet:"t"`
		A int64   `parquet:"a"`
		B uint64  `parquet:"b"`
		Y float64 `parquet:"y"`
	}
	var rows []row
	for i := range 30 {
		rows = append(rows, row{"x", 1<<53 + int64(i), math.MaxUint64 - uint64(i), float64(i * i % 7)})
	}
	table, err := ReadFiles([]string{write(t, t.TempDir(), "codes.parquet", written(t, rows))}, columnsTY)
	if err != nil {
		t.Fatal(err)
	}
	remarks := strings.Join(table.Remarks(), "\n")
	want := `Cells of "a", "b" have more digits than numbers keep, such as 9007199254740993`
	check.FailIf(t, !strings.Contains(remarks, want), "remarks %q", remarks)
}

// written returns a Parquet file with the given rows.
func written[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	check.Done(parquet.Write(&buf, rows, options...))
	return buf.Bytes()
}

// TestCodecs: every codec is read but LZ4_RAW, which is refused where it is in use.
func TestCodecs(t *testing.T) {
	type row struct {
		T    string  `parquet:"t"`
		A    float64 `parquet:"a"`
		Y    float64 `parquet:"y"`
		Note string  `parquet:"note,lz4"`
	}
	dir := t.TempDir()
	for _, codec := range []compress.Codec{
		&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw,
	} {
		path := write(t, dir, "t.parquet",
			written(t, []row{{"x", 1, 2, "n"}, {"x", 3, 4, "n"}}, parquet.Compression(codec)))
		tab, err := ReadFiles([]string{path}, TableOptions{Task: "t", Target: "y", Drop: []string{"note"}})
		if codec == &parquet.Lz4Raw {
			check.Error(t, err, "is compressed by LZ4_RAW", "snappy or zstd")
			continue
		}
		checkTable(t, tab, err, `["x"] ["a"] 0 [1 2] 0 [3 4]`)
		_, err = ReadFiles([]string{path}, TableOptions{Task: "t", Target: "y", Categorical: []string{"note"}})
		check.Error(t, err, `column "note": it is compressed by LZ4_RAW`)
	}
}

// Columns of floats over many pages and groups, with dictionaries and without, must
// come back as they were written, missing values included.
func TestParquetFloatPages(t *testing.T) {
	type row struct {
		Task string   `parquet:"task"`
		A    *float64 `parquet:"a,optional"`
		B    *float32 `parquet:"b,optional,dict"`
		C    float64  `parquet:"c,dict"`
		D    float32  `parquet:"d"`
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows, want := make([]row, 3000), `["k"] ["a" "b" "c" "d"]`
	for i := range rows {
		rows[i] = row{Task: "k", C: float64(r.IntN(9)), D: float32(r.IntN(700)) / 4}
		a, b := r.NormFloat64(), float32(r.IntN(700))/4
		values := []any{math.NaN(), math.NaN(), rows[i].C, rows[i].D}
		if r.IntN(5) > 0 {
			rows[i].A, values[0] = &a, a
		}
		if r.IntN(5) > 0 {
			rows[i].B, values[1] = &b, b
		}
		want += fmt.Sprint(" 0 ", values)
	}
	path := write(t, t.TempDir(), "t.parquet",
		written(t, rows, parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(1100)))
	tab, err := ReadFiles([]string{path}, TableOptions{Task: "task", Missing: MissingKeep})
	checkTable(t, tab, err, want)
}

// Arrow writes groups without rows, whose columns have no pages; only a file of such groups alone is refused,
// as a table without rows. Columns of one name are named without a line, which the file does not have.
func TestOddParquet(t *testing.T) {
	table, err := ReadFiles([]string{"testdata/arrow-empty-groups.parquet"}, TableOptions{Task: "t", Target: "y"})
	if err != nil || table.Rows() != 6 || len(table.Tasks()) != 2 || table.Y(5) != 3 {
		t.Errorf("%+v, %v", table, err)
	}
	for name, want := range map[string]string{
		"empty": "the table has zero rows after the column names", "twice": `columns 2 and 3 are both named "x"`,
	} {
		path := "testdata/arrow-" + name + ".parquet"
		if _, err := ReadFiles([]string{path}, TableOptions{Task: "t"}); err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
