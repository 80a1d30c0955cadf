package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A malformed file, and the pieces of the error about it besides its name.
type malformed struct {
	name    string
	content []byte
	o       TableOptions
	want    []string
}

// csvFile is a malformed table of text.
func csvFile(name, content string, want ...string) malformed {
	return malformed{name, []byte(content), columnsTY, want}
}

// with is a malformed table for other options.
func (m malformed) with(change func(o *TableOptions)) malformed {
	change(&m.o)
	return m
}

func siteIsCategorical(o *TableOptions) { o.Categorical = []string{"site"} }
func yearFirst(o *TableOptions)         { o.Dates = "ymd" }

// manyLevels returns rows with one level more than a column may have.
func manyLevels() (rows string) {
	for i := range maxLevels + 1 {
		rows += fmt.Sprintf("x,%d,2\n", i)
	}
	return rows
}

var malformedTexts = []malformed{
	csvFile("empty.csv", "", "the table is empty"),
	csvFile("header.csv", "t,a,y\n", "zero rows"),
	csvFile("no-task.csv", "a,y\n1,2\n", `no column "t" for the task`, `"a", "y"`),
	csvFile("no-target.csv", "t,a\nx,1\n", `no column "y" for the target`, `"t", "a"`),
	csvFile("point.csv", "t;a;y\nx;.5;2\n", "line 2",
		`".5" has '.' as decimal mark`).with(func(o *TableOptions) { o.Decimal = ',' }),
	csvFile("break.csv", "t,a,y\n\"two\nlines\",1,2\nc,bad,2\n", "line 4", `column "a"`, `"bad"`),
	csvFile("dropped-mark.csv", "t,a,h,y\nx,1,1,2\n",
		`column "h" is the mark of held-out rows: it cannot be dropped`).with(func(o *TableOptions) {
		o.Holdout, o.Drop = "h", []string{"h"}
	}),
	csvFile("weight.csv", "t,a,w,y\nx,1,-1,2\n",
		`line 2, column "w": the weight is -1`).with(func(o *TableOptions) { o.Weight = "w" }),
	csvFile("mark.csv", "t,a,h,y\nx,1,.5,2\n",
		`line 2, column "h": the mark is 0.5`).with(func(o *TableOptions) { o.Holdout = "h" }),
	csvFile("duplicate.csv", "t,a,a,y\nx,1,2,3\n", "line 1", `columns 2 and 3 are both named "a"`),
	csvFile("latin1-header.csv", "t,gr\xf6\xdfe,y\nx,1,2\n", "line 1: column 2", "UTF-8"),
	csvFile("same-role.csv", "t,a,y\nx,1,2\n",
		`column "t" cannot be both the task and the target`).with(func(o *TableOptions) { o.Target = "t" }),
	csvFile("text.csv", "t,a,y\nx,1,2\nx,one,2\n", "line 3", `column "a"`, `"one" is not a number`),
	csvFile("text-target.csv", "t,a,y\nx,1,high\n", "line 2", `column "y"`, `"high" is not a number`),
	csvFile("long-text.csv", "t,a,y\nx,1,2\nx,"+strings.Repeat("z", 5000)+",2\n", "line 3", `column "a"`,
		`zzz" is not a number`),
	csvFile("huge.csv", "t,a,y\nx,1,2\nx,1e400,2\n", "line 3", `column "a"`, "1e400 is too large"),
	csvFile("inf.csv", "t,a,y\nx,Inf,2\n", "line 2", `column "a"`, "Inf is too large, or not finite"),
	csvFile("nan.csv", "t,a,b,y\nx,1,NaN,2\nx,NA,,2\n", `1 in column "a" (first on line 3)`,
		`2 in column "b" (first on line 2)`),
	csvFile("short-row.csv", "t,a,y\nx,1,2\nx,1\n", "line 3 has 2 cells", "3 columns"),
	csvFile("truncated-quote.csv", "t,a,y\nx,1,2\n\"x,1,2\nx,1,2\n", "line 3", "does not end", "truncated"),
	csvFile("endless-quote.csv", "t,a,y\nx,1,2\n\"x,"+strings.Repeat("1,2\nx,", 3<<20), "line 3", "does not end"),
	csvFile("quote-inside.csv", "t,a,y\nx\"y,1,2\n", "line 2", "quote within a cell"),
	csvFile("after-quote.csv", "t,a,y\n\"x\"y,1,2\n", "line 2", "text after the quote"),
	csvFile("header-quote.csv", "t,\"a,y\nx,1,2\n", "line 1", "does not end"),
	csvFile("utf16be.csv", "\xfe\xff\x00t\x00,\x00a", `"t", "a"`),
	csvFile("utf16.csv", "t\x00,\x00a\x00,\x00y\x00\n\x00", "line 1 contains zero bytes",
		"in UTF-16 with a byte order mark"),
	csvFile("binary.csv", "\x89XYZ\r\n\x1a\n\x00\x00\x00\rIHDR", "line 1: column 1", "is not a name in UTF-8"),
	csvFile("cr.csv", "t,a,y\rx,1,2\rx,3,4", "line 1 contains a CR"),
	csvFile("cr-quoted.csv", "\"t\",\"a\",\"y\"\r\"x\nz\",1,\"2\"\r\"x\",3,4\r", "a quoted cell"),
	csvFile("latin1-task.csv", "t,a,y\nM\xfcller,1,2\n", "line 2", "UTF-8", `M\xfcller`),
	csvFile("levels.csv", "t,site,y\n"+manyLevels(), "line 10002", `column "site"`,
		`"10000" is the level number 10001: a category has at most 10000`).with(siteIsCategorical),
	csvFile("not-categorical.csv", "t,a,y\nx,1,2\n", `no column "site"`).with(siteIsCategorical),

	csvFile("many.csv", strings.Repeat("x,", 25)+"y\n", `no column "t"`, "and 6 more"),
	csvFile("not-there.csv", "t,a,y\nx,1,2\n",
		`no column "q" for the columns to drop`).with(func(o *TableOptions) { o.Drop = []string{"q"} }),
	csvFile("tie.csv", "T,a;y\nx,1;2\n", `no column "t"`, `did you mean "T"? The header names "T", "a;y"`),
	csvFile("grouped.csv", "t;a;y\nx;1,234,567;2\n", `"1,234,567" is not a plain number`, "marks between thousands"),
	csvFile("square.csv", "t,a,y\nx,-1e151,2\n", "-1e151 is too large, or not finite: the largest is 1e150"),
	csvFile("underscore.csv", "t,a,y\nx,1_000,2\n", `"1_000" is not a number`),
	csvFile("octal.csv", "t,a,y\nx,0o17,2\n", `"0o17" is not a number`),
	csvFile("minus.csv", "t,a,y\nx,\u22121.47,2\n", "\"\u22121.47\" is not a plain number", "write - for U+2212"),
	csvFile("header-again.csv", "t,a,y\nx,1,2\nt,a,y\nz,3,4\n", "line 3", `column "a"`, "second header line"),
	csvFile("units.csv", "t,a,b,y\n,kg,m,cm\nx,1,2,3\n", "line 2", `"cm" is not a number`,
		"second header line, of units"),
	csvFile("zero.csv", "t,a,y\nx,1,2\nx,3,4\nx,\x00,4\n", "line 4", `column "a"`, `"\x00" is not a number`),
	csvFile("mixed-cr.csv", "t,a,y\nx,1,2\rx,3,4\nx,5,6\r\n", "line 2 contains a CR"),
	csvFile("endless-line.csv", "t,a,y\nx,1,"+strings.Repeat("2", 17<<20), "line 2",
		"a line or a quoted cell does not end within 16 MB"),
	csvFile("sep.csv", "sep=?\nt?a?y\nx?1?2\n", `the header names "sep=?"`),
	csvFile("sep-line.csv", "sep=;\nt;a;y\nx;1;2\nx;bad;2\n", `line 4, column "a"`),
	csvFile("no-header.csv", "x,1,2\nx,3,4\n", `the header names "x", "1", "2"`),
	csvFile("date-target.csv", "t,a,y\nx,1,2024-01-31\n", `column "y"`, "is a date").with(yearFirst),
	csvFile("no-day.csv", "t,a,y\nx,2024-02-30,2\n",
		`line 2, column "a": "2024-02-30" looks like a date, but the calendar has no such day`).with(yearFirst),
	csvFile("number-in-dates.csv", "t,a,y\nx,2024-01-31,2\nx,45000,2\n",
		`line 3, column "a": "45000" is not a date, as other cells of the column are`).with(yearFirst),
	csvFile("zero-in-dates.csv", "t,a,y\nx,2024-01-31,2\nx,0,2\n",
		`line 3, column "a": "0" is not a date`).with(yearFirst),
	csvFile("date-in-numbers.csv", "t,a,y\nx,5,2\nx,2024-01-31,2\n",
		`line 3, column "a": "2024-01-31" is not a number, as other cells of the column are`).with(yearFirst),
	csvFile("true-in-dates.csv", "t,a,y\nx,2024-01-31,2\nx,true,2\n",
		`line 3, column "a": "true" is not a date`).with(yearFirst),
	csvFile("true-in-numbers.csv", "t,a,y\nx,1,2\nx,3.5,2\nx,TRUE,2\n",
		`line 4, column "a": "TRUE" is not a number, as other cells of the column are`),
	csvFile("number-in-true.csv", "t,a,y\nx,1,2\nx,false,2\nx,2,2\n",
		`line 4, column "a": "2" is not TRUE or FALSE, as other cells of the column are`),
	csvFile("true-target.csv", "t,a,y\nx,1,2.5\nx,3.5,TRUE\n", `line 3, column "y": "TRUE" is not a number`),
	csvFile("no-level.csv", "t,site,a,y\nx,,1,2\n",
		`column "site" has no value`).with(func(o *TableOptions) { siteIsCategorical(o); o.Missing = MissingKeep }),
	csvFile("same-feature.csv", "t,a=p,a,y\nx,1,p,2\n",
		`two features would be named "a=p"`).with(func(o *TableOptions) { o.Categorical = []string{"a"} }),
	csvFile("nul-level.csv", strings.Repeat("\n", 600<<10)+"t,site,y\nx,p\x00,2\n", "line 614402",
		`the level "p\x00" is not a name`).with(siteIsCategorical),
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
	gz, zst := packed(t, []byte(sample))
	bomb := append([]byte("t,site,y\n"), bytes.Repeat([]byte("x,1,2"+strings.Repeat(" ", 1000)+"\n"), 18<<10)...)
	gzBomb, zstBomb := packed(t, bomb)
	arrow := check.OK(os.ReadFile("testdata/arrow-plain.parquet"))
	gzArrow, _ := packed(t, arrow)
	of := func(name string, content []byte, want ...string) malformed {
		return malformed{name, content, TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}}, want}
	}
	array := func(name string, content []byte, want ...string) malformed {
		return malformed{name, content, TableOptions{Task: "c0", Target: "c1"}, want}
	}
	ids := TableOptions{Task: "id", Target: "y", Schema: only("a"), Missing: MissingDrop}
	nested := ids
	nested.Schema = only("list")
	nan := string([]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	return []malformed{
		of("truncated.gz", gz[:len(gz)-12], "gzip data are damaged or truncated"),
		of("head.gz", gz[:5], "gzip data are damaged or truncated"),
		of("checksum.gz", flipped(gz, -6), "gzip data are damaged or truncated"),
		of("garbage.gz", []byte("\x1f\x8bgarbage, not gzip"), "gzip data are damaged or truncated"),
		of("bomb.gz", gzBomb, "of gzip unpack to", "after line"),
		of("parquet.gz", gzArrow, "it is a file of Parquet within an archive"),
		of("text.gz", append(slices.Clone(gz), "more"...), "after line", "gzip"),
		of("truncated.zst", zst[:len(zst)-9], "zstd data are damaged or truncated"),
		of("checksum.zst", flipped(zst, -1), "zstd data are damaged or truncated"),
		of("garbage.zst", []byte("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff"), "zstd data"),
		of("window.zst", []byte("\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00"), "need a window above 134217728 bytes"),
		of("bomb.zst", zstBomb, "of zstd unpack to"),
		of("sheet.xlsx", []byte("PK\x03\x04\x14\x00sheet"), "zip archive", "saved as CSV"),

		{"truncated.parquet", arrow[:len(arrow)-20], ids, []string{"Parquet file is damaged or truncated"}},
		{"head.parquet", arrow[:6], ids, []string{"Parquet file is damaged or truncated"}},
		{"end.parquet", []byte("PAR1\x00\x00PAR1"), ids, []string{"Parquet file is damaged or truncated"}},
		{"footer.parquet", flipped(arrow, -6), ids, []string{"Parquet"}},
		{"nested.parquet", arrow, nested, []string{`column "list" is nested`}},
		{"column.parquet", arrow, columnsTY, []string{`no column "t"`, `"site"`}},

		array("strings.npy", npy("<U1", "1, 3", strings.Repeat("a\x00\x00\x00", 3)), "(1, 3) string",
			"expected N x k numbers"),
		array("nan.npy", npy("<f8", "1, 3", strings.Repeat("\x00", 16)+nan), `1 in column "c2" (first on row 1)`),
		array("huge.npy",
			npy("<f8", "1, 3",
				strings.Repeat("\x00", 16)+string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e200)))),
			`row 1, column "c2": 1e+200 is too large`),
		array("rows.npy", npy("<f8", "0, 4000000000", ""), "(0, 4000000000) float64", "expected N x k"),
		array("narrow.npy", npy("<f8", "1, 1", strings.Repeat("\x00", 8)), `no column "c1"`),
	}
}

// parquetParts returns the pages and the metadata of a Parquet file with columns t, a, b and y of 96 rows.
func parquetParts(t testing.TB) (data []byte, m *format.FileMetaData) {
	t.Helper()
	type row struct {
		T string  `parquet:"t"`
		A float64 `parquet:"a"`
		B int32   `parquet:"b,dict"`
		Y float64 `parquet:"y"`
	}
	var rows []row
	for i := range 96 {
		rows = append(rows, row{"x", float64(i), int32(i % 3), 1})
	}
	b := written(t, rows, parquet.MaxRowsPerRowGroup(48))
	end := len(b) - 8
	start := end - int(binary.LittleEndian.Uint32(b[end:]))
	m = new(format.FileMetaData)
	check.Done(thrift.Unmarshal(new(thrift.CompactProtocol), b[start:end], m))
	return b[:start], m
}

// marshaled returns a value in thrift's compact protocol.
func marshaled(t testing.TB, v any) []byte {
	t.Helper()
	b := check.OK(thrift.Marshal(new(thrift.CompactProtocol), v))
	return b
}

func withFooter(data, footer []byte) []byte {
	b := append(slices.Clone(data), footer...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), magicParquet...)
}

// malformedFooters returns files whose metadata are not those of a Parquet file.
func malformedFooters() (list []malformed) {
	raw := func(name string, footer ...byte) {
		list = append(list,
			malformed{name + ".parquet", withFooter([]byte(magicParquet), footer), columnsTY,
				[]string{"Parquet file is damaged or truncated", "thrift data"}})
	}
	for bits := 20; bits < 32; bits++ { // a list of 2^bits structs
		raw(fmt.Sprint("list-", bits),
			append(append([]byte{0x15, 2, 0x19, 0xfc}, binary.AppendUvarint(nil, 1<<bits)...), 0, 0, 0)...)
		raw(fmt.Sprint("text-", bits),
			append(append([]byte{0x15, 2, 0x68}, binary.AppendUvarint(nil, 1<<bits)...), 'a', 0)...)
		raw(fmt.Sprint("map-", bits),
			append(append([]byte{0x1b}, binary.AppendUvarint(nil, 1<<bits)...), 0x55, 2, 2, 0)...)
	}
	raw("in-a-list",
		append(append([]byte{0x15, 2, 0x19, 0x1c, 0x48}, binary.AppendUvarint(nil, 1<<27)...), 'a', 0, 0)...)
	raw("deep-lists", bytes.Repeat([]byte{0x19}, 4<<20)...)
	raw("deep-structs", bytes.Repeat([]byte{0x1c}, 4<<20)...)
	raw("empty-structs", append([]byte{0x19, 0xfc, 0x80, 0x80, 0x80, 2}, make([]byte, 4<<20)...)...)
	raw("kind", 0x1f, 0)
	raw("varint", append([]byte{0x15}, bytes.Repeat([]byte{0xff}, 20)...)...)
	list = append(list,
		malformed{"footer-size.parquet", []byte("PAR1\x00\x00\x00\x00\xff\xff\xff\xffPAR1"), columnsTY,
			[]string{"does not end like a Parquet file"}})
	list = append(list,
		malformed{"encrypted.parquet", []byte("PAR1\x00\x00\x00\x00\x04\x00\x00\x00PARE"), columnsTY,
			[]string{"does not end like a Parquet file"}})
	return list
}

// malformedParquet are files whose footers lie.
func malformedParquet(t testing.TB) (list []malformed) {
	lie := func(name string, change func(m *format.FileMetaData), want ...string) {
		data, m := parquetParts(t)
		change(m)
		list = append(list, malformed{name + ".parquet", withFooter(data, marshaled(t, m)), columnsTY, want})
	}
	chunk := func(name string, column int, change func(c *format.ColumnMetaData), want ...string) {
		lie(name, func(m *format.FileMetaData) { change(&m.RowGroups[1].Columns[column].MetaData) },
			append(want, "row group 1")...)
	}
	lie("rows-few", func(m *format.FileMetaData) { m.NumRows = 95 }, "the row groups claim 96 rows, the file 95")
	lie("rows-many", func(m *format.FileMetaData) { m.NumRows = 97 }, "the row groups claim 96 rows, the file 97")
	lie("rows-huge", func(m *format.FileMetaData) { m.NumRows = 1 << 50 }, "claims to hold 1125899906842624 rows")
	lie("rows-negative", func(m *format.FileMetaData) { m.NumRows = -1 }, "num_rows=-1")
	lie("group-rows", func(m *format.FileMetaData) {
		m.RowGroups[0].NumRows = 47
		m.RowGroups[1].NumRows = 49
	}, "row group 0", "48 values in 47 rows")
	lie("group-negative", func(m *format.FileMetaData) { m.RowGroups[0].NumRows = -48 }, "row group 0 num_rows=-48")
	lie("group-columns", func(m *format.FileMetaData) { m.RowGroups[1].Columns = m.RowGroups[1].Columns[:2] },
		"does not have enough columns")
	for name, kind := range map[string]format.Type{
		"int32":   format.Int32,
		"int64":   format.Int64,
		"float":   format.Float,
		"boolean": format.Boolean,
	} {
		lie("schema-"+name, func(m *format.FileMetaData) { m.Schema[2].Type.V = kind }, "row group 0", `column "a"`,
			"contradict")
		chunk("chunk-"+name, 1, func(c *format.ColumnMetaData) { c.Type = kind }, `column "a"`, "contradict")
	}
	chunk("path", 1, func(c *format.ColumnMetaData) { c.PathInSchema = []string{"y"} }, `column "a"`, `"y"`)
	chunk("swapped", 0, func(c *format.ColumnMetaData) { c.PathInSchema = nil }, `column "t"`)
	for _, n := range []int64{0, 24, 47, 49, 96, -48, 1 << 40} {
		chunk(fmt.Sprint("values-", n), 3, func(c *format.ColumnMetaData) { c.NumValues = n },
			fmt.Sprintf("%d values in 48 rows", n))
	}
	for _, n := range []int64{-5, 0, 3, 1 << 30, 1 << 50} {
		chunk(fmt.Sprint("offset-", n), 1, func(c *format.ColumnMetaData) { c.DataPageOffset = n }, "its pages are at")
		chunk(fmt.Sprint("behind-dictionary-", n), 2, func(c *format.ColumnMetaData) { c.DataPageOffset = n },
			"its pages are at")
		if n != 0 {
			chunk(fmt.Sprint("dictionary-", n), 2, func(c *format.ColumnMetaData) { c.DictionaryPageOffset = n },
				"its pages are at")
		}
		if n != 0 && n != 3 {
			chunk(fmt.Sprint("packed-", n), 1, func(c *format.ColumnMetaData) { c.TotalCompressedSize = n },
				"its pages are at")
		}
	}
	chunk("packed-3", 1, func(c *format.ColumnMetaData) { c.TotalCompressedSize = 3 }, "the header of the page")
	chunk("packed-0", 1, func(c *format.ColumnMetaData) { c.TotalCompressedSize = 0 },
		"its pages hold 0 values in 48 rows")
	return slices.Concat(list, malformedFooters(), malformedPages(t))
}

// malformedPages are files whose headers of pages lie.
func malformedPages(t testing.TB) (list []malformed) {
	const claims = "claims 48 values, and "
	for name, c := range map[string]struct {
		change func(h *format.PageHeader)
		want   string
	}{
		"page-plain":           {func(h *format.PageHeader) { h.UncompressedPageSize = 1<<31 - 1 }, claims},
		"page-plain-negative":  {func(h *format.PageHeader) { h.UncompressedPageSize = -1 }, claims},
		"page-packed":          {func(h *format.PageHeader) { h.CompressedPageSize++ }, claims},
		"page-packed-negative": {func(h *format.PageHeader) { h.CompressedPageSize = -1 }, claims},
		"page-values": {func(h *format.PageHeader) {
			h.DataPageHeaderV2.V.NumValues = 47
			h.DataPageHeader.V.NumValues = 0
		}, "hold 47 values in 48 rows"},
		"page-values-negative": {func(h *format.PageHeader) {
			h.DataPageHeaderV2.V.NumValues = -48
			h.DataPageHeader.V.NumValues = 0
		}, "claims -48 values"},
	} {
		data, m := parquetParts(t)
		chunk, h := &m.RowGroups[1].Columns[1].MetaData, new(format.PageHeader)
		page := data[chunk.DataPageOffset:][:chunk.TotalCompressedSize]
		n, err := thriftLen(page)
		if err == nil {
			err = thrift.Unmarshal(new(thrift.CompactProtocol), page[:n], h)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.change(h)
		page = append(marshaled(t, h), page[n:]...)
		chunk.DataPageOffset, chunk.TotalCompressedSize = int64(len(data)), int64(len(page))
		list = append(list, malformed{name + ".parquet", withFooter(append(data, page...), marshaled(t, m)), columnsTY,
			[]string{`row group 1, column "a"`, c.want}})
	}
	return list
}

// TestMalformedFiles: every malformed file gives an error with place and cause, takes little memory, and
// gives no table.
func TestMalformedFiles(t *testing.T) {
	dir := t.TempDir()
	all := slices.Concat(malformedTexts, malformedArchives(t), malformedParquet(t))
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			path := write(t, dir, m.name, m.content)
			defer os.Remove(path)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			table, err := ReadFiles([]string{path}, m.o)
			runtime.ReadMemStats(&after)
			check.Error(t, err, append(m.want, path)...)
			if err != nil && len(err.Error()) > len(path)+500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			// All that was ever allocated, which is more than was held at once.
			if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
				t.Errorf("%d bytes were allocated for a file of %d", n, len(m.content))
			}
			check.FailIf(t, table != nil && err != nil, "there is a table besides the error")
		})
	}
}
