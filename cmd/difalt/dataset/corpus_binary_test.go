package dataset_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const table = "t,a,y\nx,1,2\nx,3,4\nz,5,6\n"

func packed(t testing.TB, content []byte) (gz, zst []byte) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), z.EncodeAll(content, nil)
}

// flipped returns b with byte i, counted from the end if negative, changed.
func flipped(b []byte, i int) []byte {
	b = slices.Clone(b)
	b[(i+len(b))%len(b)] ^= 0x55
	return b
}

// npy is a file in the NPY format.
func npy(descr, shape, data string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape)
	return []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text + data)
}

// malformedArchives are tables that are compressed, Parquet or NPY.
func malformedArchives(t testing.TB) []malformed {
	gz, zst := packed(t, []byte(table))
	bomb := append([]byte("t,a,y\n"), bytes.Repeat([]byte("x,1,2"+strings.Repeat(" ", 1000)+"\n"), 18<<10)...)
	gzBomb, zstBomb := packed(t, bomb)
	arrow, err := os.ReadFile("testdata/arrow-plain.parquet")
	if err != nil {
		t.Fatal(err)
	}
	gzArrow, _ := packed(t, arrow)
	of := func(name string, content []byte, want ...string) malformed {
		return malformed{name, content, columns, want}
	}
	array := func(name string, content []byte, want ...string) malformed {
		return malformed{name, content, dataset.TableOptions{Task: "c0", Target: "c1"}, want}
	}
	ids := dataset.TableOptions{Task: "id", Target: "y", Features: []string{"a"}, Missing: dataset.MissingDrop}
	nested := ids
	nested.Features = []string{"list"}
	nan := string([]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	return []malformed{
		of("truncated.gz", gz[:len(gz)-12], "gzip data end too early"),
		of("head.gz", gz[:5], "gzip data end too early"),
		of("checksum.gz", flipped(gz, -6), "gzip data are damaged", "checksum"),
		of("garbage.gz", []byte("\x1f\x8bgarbage, not gzip"), "gzip data are damaged"),
		of("bomb.gz", gzBomb, "of gzip unpack to more than", "after line"),
		of("parquet.gz", gzArrow, "not text"),
		of("text.gz", append(slices.Clone(gz), "more"...), "after line", "gzip"),
		of("truncated.zst", zst[:len(zst)-9], "zstd data end too early"),
		of("checksum.zst", flipped(zst, -1), "zstd data are damaged", "checksum"),
		of("garbage.zst", []byte("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff"), "zstd data"),
		of("bomb.zst", zstBomb, "of zstd unpack to more than"),
		of("sheet.xlsx", []byte("PK\x03\x04\x14\x00sheet"), "zip archive", "saved as CSV"),

		{"truncated.parquet", arrow[:len(arrow)-20], ids, []string{"Parquet file is damaged or truncated"}},
		{"head.parquet", arrow[:6], ids, []string{"Parquet file is damaged or truncated"}},
		{"footer.parquet", flipped(arrow, -6), ids, []string{"Parquet"}},
		{"nested.parquet", arrow, nested, []string{`column "list" is nested`}},
		{"column.parquet", arrow, columns, []string{`no column "t"`, `"site"`}},

		array("truncated.npy", npy("<f8", "2, 3", "short"), "(2, 3) float64", "needs 48 bytes, but 5 are there"),
		array("header.npy", npy("<f8", "2, 3", "")[:40], "header is truncated"),
		array("vector.npy", npy("<f8", "2,", strings.Repeat("\x00", 16)), "(2,) float64", "want N x k"),
		array("claim.npy", npy("<f8", "1000000000, 1000000", ""), "needs", "but 0 are there"),
		array("overflow.npy", npy("<f8", "9223372036854775807, 9223372036854775807", ""), "too large"),
		array("complex.npy", npy("<c16", "1, 2", strings.Repeat("\x00", 32)), `"<c16" is not supported`),
		array("half.npy", npy("<f2", "1, 2", "\x00\x00\x00\x00"), `"<f2" is not supported`),
		array("object.npy", npy("|O", "1, 2", "pickle"), `"|O" is not supported`),
		array("strings.npy", npy("<U1", "1, 3", strings.Repeat("a\x00\x00\x00", 3)), "(1, 3) string", "want N x k numbers"),
		array("version.npy", append([]byte("\x93NUMPY\x09\x00"), make([]byte, 20)...), "version 9"),
		array("nan.npy", npy("<f8", "1, 3", strings.Repeat("\x00", 16)+nan), `1 in column "c2" (first on row 1)`),
		array("rows.npy", npy("<f8", "0, 3", ""), "zero rows"),
		array("narrow.npy", npy("<f8", "1, 1", strings.Repeat("\x00", 8)), `no column "c1"`),
	}
}

// archive is a zip archive of the given entries, deflated.
func archive(t testing.TB, entries ...any) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.Create(entries[i].(string))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(entries[i+1].([]byte)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// malformedProblems are problem files. Those whose arrays do not agree with each
// other are in TestReadErrors of package problemfile.
func malformedProblems(t testing.TB) []malformed {
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	x, y, task := npy("<f8", "2, 3", zeros(48)), npy("<f8", "2,", zeros(16)), npy("<i8", "2,", zeros(16))
	whole := archive(t, "X.npy", x, "y.npy", y, "task.npy", task)
	of := func(name string, content []byte, want ...string) malformed {
		return malformed{name: name, content: content, want: want}
	}
	with := func(name string, x []byte, want ...string) malformed {
		return of(name, archive(t, "X.npy", x, "y.npy", y, "task.npy", task), want...)
	}
	return []malformed{
		of("empty.npz", nil, "not a complete .npz file"),
		of("text.npz", []byte(table), "not a complete .npz file"),
		of("truncated.npz", whole[:len(whole)-30], "not a complete .npz file"),
		of("damaged.npz", flipped(whole, 60), `array "X"`),
		of("entry.npz", archive(t, "readme.txt", []byte("hello")), `entry "readme.txt" is not an array`),
		of("twice.npz", archive(t, "X.npy", x, "X.npy", x), `array "X" is there twice`),
		of("none.npz", archive(t), `array "X" is missing`),
		with("bomb.npz", npy("<f8", "100, 100000", zeros(80_000_000)), `array "X"`, "claims to unpack to"),
		with("claim.npz", npy("<f8", "1000000, 1000000", zeros(80)), `array "X"`, "but 80 are there"),
		with("long-header.npz", []byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f{"), `array "X"`, "header claims more than"),
		with("no-header.npz", []byte("1,2,3"), `array "X"`, "does not start like an array"),
		with("object.npz", npy("|O", "2, 3", "pickle"), `array "X"`, `"|O" is not supported`),
		with("record.npz", npy("V16", "2,", zeros(32)), `array "X"`, `"V16" is not supported`),
		with("rows.npz", npy("<f8", "3, 3", zeros(72)), `array "task" is (2,) int64`, "X, which is (3, 3) float64"),
	}
}

// trained returns a model file: two features and four tasks on two nodes.
func trained(t testing.TB) []byte {
	m, err := model.New(model.Parameters{
		Schema: schema.Schema{Columns: []string{"a", "b"}}, Method: "dif",
		Scaling: model.Scaling{Fill: []float64{1, 2}, Center: []float64{1, 2}, Scale: []float64{1, 2}, TargetScale: 1},
		Prior:   model.Prior{Rank: 1, Loadings: []float64{1, 0}, MeanCovariance: make([]float64, 4), Noise: 1},
		Mean:    []float64{1, 2}, Nodes: []string{"0", "1"},
		Tasks: []string{"task0", "task1", "task2", "task3"}, NodeOf: []int{0, 0, 1, 1}, Samples: []int{6, 6, 6, 6},
		Theta: []float64{1, 2, 3, 4, 5, 6, 7, 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := m.Write(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// changed returns an archive in which change has replaced entries; nil leaves one out.
func changed(t testing.TB, whole []byte, change func(name string, b []byte) []byte) []byte {
	r, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	var entries []any
	for _, e := range r.File {
		f, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		if b = change(strings.TrimSuffix(e.Name, ".npy"), b); b != nil {
			entries = append(entries, e.Name, b)
		}
	}
	return archive(t, entries...)
}

// malformedModels are model files.
func malformedModels(t testing.TB) []malformed {
	whole := trained(t)
	of := func(name string, content []byte, want ...string) malformed {
		return malformed{name: name, content: content, want: want}
	}
	with := func(array string, b []byte) []byte {
		return changed(t, whole, func(name string, old []byte) []byte {
			if name == array {
				return b
			}
			return old
		})
	}
	entry := func(fill func(w *npz.Writer)) (b []byte) {
		var buf bytes.Buffer
		w := npz.NewWriter(&buf)
		fill(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		changed(t, buf.Bytes(), func(_ string, old []byte) []byte { b = old; return old })
		return b
	}
	header := func(text string) []byte {
		return entry(func(w *npz.Writer) { w.Strings("header", []int{1}, []string{text}) })
	}
	nan := entry(func(w *npz.Writer) { w.Float64s("theta", []int{4, 2}, []float64{1, 2, math.NaN(), 4, 5, 6, 7, 8}) })
	return []malformed{
		of("text-model.npz", []byte(table), "not a complete .npz file"),
		of("truncated-model.npz", whole[:len(whole)/2], "not a complete .npz file"),
		of("no-header-model.npz", with("header", nil), `no array "header"`),
		of("json-model.npz", with("header", header("{")), "not a model file", "header"),
		of("other-model.npz", with("header", header(`{"format": "other"}`)), "not a model file"),
		of("future-model.npz", with("header", header(`{"format": "difalt model", "version": 999}`)), "version 999"),
		of("header-model.npz", with("header", npy("<f8", "1,", "12345678")), `array "header"`, "(1,) float64"),
		of("no-mean-model.npz", with("mean", nil), `array "mean" is missing`),
		of("shape-model.npz", with("theta", npy("<f8", "1, 1, 1", "12345678")), `array "theta" is (1, 1, 1) float64`, "want the shape"),
		of("nan-model.npz", with("theta", nan), `array "theta"`, "entry 2", "NaN"),
		of("scale-model.npz", with("scale", npy("<f8", "2,", strings.Repeat("\x00", 16))), `array "scale": entry 0 is 0`),
		of("node-model.npz", with("node", entry(func(w *npz.Writer) { w.Ints("node", []int{0, 0, 1, 7}) })), `array "node": entry 3 is 7`),
		of("task-model.npz", with("task", entry(func(w *npz.Writer) { w.Strings("task", []int{4}, []string{"a", "b", "a", "c"}) })), `array "task"`, "twice"),
		of("crc-model.npz", flipped(whole, 300), `array "header"`),
	}
}
