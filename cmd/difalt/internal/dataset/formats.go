package dataset

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// otherFormats are formats that are not tables here, by their bytes at a place.
var otherFormats = []struct {
	at          int
	start, name string
}{
	{0, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc2\xea\x81\x60", "a file of SAS"},
	{0, "\xff\xff\xff\xff", "a stream of Arrow"},
	{0, "\x89PNG\r\n", "a picture"},
	{0, "\xff\xd8\xff", "a picture"},
	{257, "ustar", "an archive of tar"},
	{8, "DUCK", "a database of DuckDB"},
	{0, "\x80\x02", "a pickle of Python"},
	{0, "\x80\x03", "a pickle of Python"},
	{0, "\x80\x04", "a pickle of Python"},
	{0, "\x80\x05", "a pickle of Python"},
	{0, "PARE", "an encrypted file of Parquet"},
	{0, "ORC\x08", "a file of ORC"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet or document of an old Office program"},
	{0, "ARROW1", "a file of Arrow (Feather)"},
	{0, "FEA1", "a file of Feather"},
	{0, "Obj\x01", "a file of Avro"},
	{0, "\x89HDF\r\n", "a file of HDF5"},
	{0, "SQLite format 3\x00", "a database of SQLite"},
	{0, "RDX2\n", "a file of R"},
	{0, "RDX3\n", "a file of R"},
	{0, "X\n\x00\x00\x00", "a file of R"},
	{0, "$FL2", "a file of SPSS"},
	{0, "$FL3", "a file of SPSS"},
	{0, "version https://git-lfs", "a pointer of Git LFS (git lfs pull fetches the file)"},
	{0, "HEADER RECORD*******", "a transport file of SAS"},
	{0, "\xfd7zXZ\x00", "an archive of xz"},
	{0, "7z\xbc\xaf\x27\x1c", "an archive of 7-Zip"},
	{0, "Rar!\x1a", "an archive of RAR"},
	{0, "\x04\x22\x4d\x18", "an archive of LZ4"},
	{0, "%PDF-", "a PDF"},
	{0, magicGzip, "an archive within an archive"},
	{0, magicZstd, "an archive within an archive"},
	{0, magicZip, "a zip archive"},
	{0, magicParquet, "a file of Parquet within an archive"},
	{0, magicNPY, "an array of NumPy within an archive"},
}

// formsOfFormats are the forms of further formats; the last that matches counts.
var formsOfFormats = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^BZh[1-9]1AY&SY`), "an archive of bzip2"},
	{regexp.MustCompile(`^[h-s][\x01\x02]\x01\x00`), "a file of Stata"},
	{regexp.MustCompile(`^MATLAB \d\.\d MAT-file`), "a file of MATLAB"},
	{regexp.MustCompile(`^\s*(\{\s*("|\})|\[\s*(\{|\[|\]))`), "JSON"},
	{regexp.MustCompile(`^\s*<(!|\?|[A-Za-z])[^,;\t|]*>`), "HTML or XML"},
	{regexp.MustCompile(`^<stata_dta>`), "a file of Stata"},
}

// checkText refuses the beginning of a file that is not a table in text.
func checkText(sample []byte) error {
	what := ""
	for _, f := range otherFormats {
		if bytes.HasPrefix(sample[min(f.at, len(sample)):], []byte(f.start)) {
			what = f.name
		}
	}
	for _, f := range formsOfFormats {
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
