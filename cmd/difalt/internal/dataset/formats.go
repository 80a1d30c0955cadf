package dataset

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// otherFormats are formats that are not tables here, by their first bytes.
var otherFormats = []struct{ start, name string }{
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet or document of an old Office program"},
	{"ARROW1", "a file of Arrow (Feather)"},
	{"FEA1", "a file of Feather"},
	{"Obj\x01", "a file of Avro"},
	{"\x89HDF\r\n", "a file of HDF5"},
	{"SQLite format 3\x00", "a database of SQLite"},
	{"\x80\x04\x95", "a pickle of Python"},
	{"RDX2\n", "a file of R"},
	{"RDX3\n", "a file of R"},
	{"X\n\x00\x00\x00", "a file of R"},
	{"$FL2", "a file of SPSS"},
	{"HEADER RECORD*******", "a transport file of SAS"},
	{"\xfd7zXZ\x00", "an archive of xz"},
	{"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip"},
	{"Rar!\x1a", "an archive of RAR"},
	{"\x04\x22\x4d\x18", "an archive of LZ4"},
	{"%PDF-", "a PDF"},
	{magicGzip, "an archive within an archive"},
	{magicZstd, "an archive within an archive"},
	{magicZip, "a zip archive"},
	{magicParquet, "a file of Parquet within an archive"},
	{magicNPY, "an array of NumPy within an archive"},
}

// textFormats are texts that are not tables here.
var textFormats = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^BZh[1-9]1AY&SY`), "an archive of bzip2"},
	{regexp.MustCompile(`^\s*(\{\s*("|\})|\[\s*(\{|\[|\]))`), "JSON"},
	{regexp.MustCompile(`^\s*<(!|\?|[A-Za-z])[^,;\t|]*>`), "HTML or XML"},
}

// checkText refuses the beginning of a file that is not a table in text.
func checkText(sample []byte) error {
	what := ""
	for _, f := range otherFormats {
		if bytes.HasPrefix(sample, []byte(f.start)) {
			what = f.name
		}
	}
	for _, f := range textFormats {
		if f.form.Match(sample[:min(len(sample), 1000)]) {
			what = f.name
		}
	}
	if what != "" {
		return fmt.Errorf("it is %s: expected CSV, plain or in gzip or zstd, Parquet or .npy", what)
	}
	line, _, _ := bytes.Cut(sample, []byte("\n"))
	if bytes.IndexByte(line, 0) >= 0 {
		return onLine(1, " contains zero bytes: expected CSV in UTF-8, or in UTF-16 with a byte order mark")
	}
	return nil
}

// headerHint returns what may be wrong with a header that lacks a column, as the end of a sentence; empty
// where nothing is known.
func headerHint(header []string) string {
	if len(header) == 1 {
		return ". Is the first line a title, or the delimiter none of , ; tab and |?"
	}
	for _, name := range header {
		if _, err := parseNumber(name, '.'); err == nil && strings.Contains(name, ".") {
			return ". Is the line with the names missing?"
		}
	}
	return ""
}
