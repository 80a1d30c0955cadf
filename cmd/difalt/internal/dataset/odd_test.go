package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// oddCases is the number of malformed files that TestOddFiles draws.
const oddCases = 240

// Files that are spoilt at random are read to the table that they hold, or refused: by an error of one line
// with the name of the file, within bounded memory. Numbers are finite, names are there, and what a spoilt
// place does not concern is read as before.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	refused := 0
	for i := range oddCases {
		r := rand.New(rand.NewPCG(uint64(i), 26))
		name, content := oddFile(t, r, i)
		t.Run(fmt.Sprintf("%d-%s", i, name), func(t *testing.T) {
			path := write(t, dir, name, content)
			defer os.Remove(path)
			options := []TableOptions{
				{Task: "t", Target: "y", Missing: MissingKeep},
				{Task: "t", Target: "y", Missing: MissingDrop, NA: []string{"-999", "?"}},
			}
			if name == "t.npy" {
				options = []TableOptions{{Task: "c0", Target: "c1"}, {Task: "c0", Target: "c1", Missing: MissingDrop}}
			}
			for _, o := range options {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				tab, err := ReadFiles([]string{path}, o)
				runtime.ReadMemStats(&after)
				// All that was ever allocated, which is more than was held at once.
				if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20+300*uint64(len(content)) {
					t.Errorf("%d bytes were allocated for a file of %d", n, len(content))
				}
				if err != nil {
					refused++
					check.Error(t, err, path)
					if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > len(path)+900 {
						t.Errorf("the error is %.300q", err)
					}
					continue
				}
				checkOdd(t, tab)
			}
		})
	}
	if refused < oddCases/4 || refused > 2*oddCases*19/20 {
		t.Errorf("%d of %d readings were refused", refused, 2*oddCases)
	}
}

// checkOdd asserts what holds for every table: finite numbers or missing ones, names, places, and stable
// remarks.
func checkOdd(t *testing.T, tab *Table) {
	x := make([]float64, len(tab.Features()))
	for i := range tab.Rows() {
		for j, v := range tab.X(x, i) {
			if math.IsInf(v, 0) || math.Abs(v) > 1e150 || v == 0 && math.Signbit(v) {
				t.Fatalf("row %d, %q: %v", i, tab.Features()[j], v)
			}
		}
		if math.IsNaN(tab.Y(i)) || math.IsInf(tab.Y(i), 0) || tab.Tasks()[tab.Task(i)] == "" || tab.Place(i) == "" {
			t.Fatalf("row %d: target %v of task %q at %q", i, tab.Y(i), tab.Tasks()[tab.Task(i)], tab.Place(i))
		}
	}
	if tab.Rows() == 0 {
		t.Error("a table without rows")
	}
}

// oddFile returns file number i: a good table in a format, spoilt in one of many ways, or twice.
func oddFile(t *testing.T, r *rand.Rand, i int) (name string, content []byte) {
	lines := oddLines(r)
	spoils := []func(*rand.Rand, []string) []string{
		oddCell, oddCell, oddCell, oddColumn, oddColumn, strangeRow, strangeRow, oddHeader, oddHeader,
		oddEnds, oddQuotes,
	}
	switch kind := i % 12; {
	case kind < 9:
		lines = spoils[r.IntN(len(spoils))](r, lines)
		if r.IntN(3) == 0 {
			lines = spoils[r.IntN(len(spoils))](r, lines)
		}
		content = oddText(r, lines)
		gz, zst := packed(t, content)
		switch r.IntN(12) {
		case 0:
			return "t.csv.gz", gz
		case 1:
			return "t.csv.zst", zst
		case 2:
			return "t.csv.gz", spoiltBytes(r, gz)
		case 3:
			return "t.csv.zst", spoiltBytes(r, zst)
		}
		return "t.csv", content
	case kind < 11:
		data, m := parquetParts(t)
		content = withFooter(data, marshaled(t, m))
		if r.IntN(2) == 0 { // a length of the footer
			binary.LittleEndian.PutUint32(content[len(content)-8:],
				[]uint32{0, 1, 1 << 20, math.MaxUint32, math.MaxInt32}[r.IntN(5)])
			return "t.parquet", content
		}
		return "t.parquet", spoiltBytes(r, content)
	}
	shape := []string{"2, 3", "2000000000, 3", "3, 2000000000", "0, 3", "3, 0", "-1, 3", "9223372036854775807, 9", "2,",
		"", "2, 3, 1"}[r.IntN(10)]
	return "t.npy",
		npy([]string{"<f8", "<f4", "<i8", "|b1", "<U9", "|O", "<f2"}[r.IntN(7)], shape,
			strings.Repeat("\x00\x00\x00\x00\x00\x00\xf0?", 6))
}

// oddLines returns the lines of a table of tasks, with numbers, a category and row numbers.
func oddLines(r *rand.Rand) []string {
	lines := []string{"t,a,k,Unnamed: 0,y"}
	for i := range 12 + r.IntN(40) {
		lines = append(lines,
			fmt.Sprintf("x%d,%.3f,%s,%d,%.2f", i%4, r.NormFloat64(), []string{"p", "q", "none"}[r.IntN(3)], i,
				r.NormFloat64()*10))
	}
	return lines
}

// oddCells are cells that programs and people write.
var oddCells = []string{
	"", " ", "NA", "N/A", "#N/A", "#DIV/0!", "NULL", "None", "nan", "inf", "-Infinity", "1e308", "1e400",
	"1e-400", "-0", "-0.0", "0x1p3", "0b1", "1_0", "1,5", "\"1,5\"", "\"1,234.5\"", "1.234.567", "12 000",
	"12'000", "(3.5)", "3.5-", "+4", "--4", "4 %", "€4", "4 kg", "½", "\u22124", "٣", "true", "TRUE", "yes",
	"2024-01-31", "31.01.2024", "1/2/2024", "2024-02-30", "1-Jan-24", "13:45", "1998 Q1", "2024-W05", "=1+1",
	"\"\"\"\"", "\"a\nb\"", "\x00", "\xff", "\ufeff", "\u2028", "\x1b[2J", "..", "?", "-", ".", "'",
	strings.Repeat("9", 400), strings.Repeat("k", 5000), "007", "9007199254740993", "</script>", "%s%n",
	"C:\\x", "a;b", "a\tb", "a|b", "-999", "99999",
}

func oddCell(r *rand.Rand, lines []string) []string {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(lines))
		cells := strings.Split(lines[at], ",")
		cells[r.IntN(len(cells))] = oddCells[r.IntN(len(oddCells))]
		lines[at] = strings.Join(cells, ",")
	}
	return lines
}

// oddColumn puts one or two cells into a whole column.
func oddColumn(r *rand.Rand, lines []string) []string {
	at, some := r.IntN(5), []string{oddCells[r.IntN(len(oddCells))], oddCells[r.IntN(len(oddCells))]}
	for i := 1; i < len(lines); i++ {
		if cells := strings.Split(lines[i], ","); at < len(cells) {
			cells[at] = some[i%(1+r.IntN(2))]
			lines[i] = strings.Join(cells, ",")
		}
	}
	return lines
}

func strangeRow(r *rand.Rand, lines []string) []string {
	at := r.IntN(len(lines) + 1)
	odd := []string{"", "  ", ",,,,", ",,,", ",,,,,", "Total,1,p,1,9", "t,a,k,Unnamed: 0,y", "kg,m,,,cm", "# a comment",
		"x1", lines[len(lines)-1], "-----"}
	return append(lines[:at:at], append([]string{odd[r.IntN(len(odd))]}, lines[at:]...)...)
}

func oddHeader(r *rand.Rand, lines []string) []string {
	odd := []string{
		"", "t", "t,y", "t,a,a,Unnamed: 0,y", "t,a,k,,y", ",,,,", "T,A,K,N,Y", "t, a ,k,Unnamed: 0, y",
		"\"t\",\"a\",\"k\",\"n\",\"y\"", "t,a,k,X,y", "t,a,k=p,k,y", "sep=,\nt,a,k,n,y", "sep=;\nt,a,k,n,y",
		"t,a,k,n,y,", "a,k,n,y", "t;a;k;n;y", "t,t,t,t,t", "t,a,k,\"n\nn\",y", "\xfft,a,k,n,y",
		strings.Repeat("c,", 3000) + "t", "t,index,k,_c0,y",
	}
	lines[0] = odd[r.IntN(len(odd))]
	return lines
}

func oddEnds(r *rand.Rand, lines []string) []string {
	for i := range lines {
		if r.IntN(3) == 0 {
			lines[i] += []string{",", " ", "\t", "\r", ";", ",,"}[r.IntN(6)]
		}
	}
	return lines
}

func oddQuotes(r *rand.Rand, lines []string) []string {
	at := r.IntN(len(lines))
	k := r.IntN(len(lines[at]) + 1)
	lines[at] = lines[at][:k] + []string{`"`, `""`, `"x`, `x"`, "\"\n"}[r.IntN(5)] + lines[at][k:]
	return lines
}

// oddText joins lines with one of the ends of lines and in one of the encodings.
func oddText(r *rand.Rand, lines []string) []byte {
	text := strings.Join(lines, []string{"\n", "\n", "\n", "\n", "\r\n", "\r\n", "\n\n", "\r", "\n\r"}[r.IntN(9)])
	if r.IntN(2) == 0 {
		text += "\n"
	}
	switch r.IntN(10) {
	case 0:
		text = "\ufeff" + text
	case 1:
		text = strings.ReplaceAll(text, ",", []string{";", "\t", "|", ", ", ",,"}[r.IntN(5)])
	case 2:
		b := []byte{0xff, 0xfe}
		for _, c := range []byte(text) {
			b = append(b, c, 0)
		}
		return b[:len(b)-r.IntN(2)]
	case 3:
		return spoiltBytes(r, []byte(text))
	}
	return []byte(text)
}

// spoiltBytes changes, cuts or doubles some bytes.
func spoiltBytes(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(3) {
		if len(b) < 8 {
			return b
		}
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.IntN(256))
		case 2:
			b = b[:at]
		case 3:
			n := min(1+r.IntN(30), len(b)-at)
			b = append(b[:at:at], b[at+n:]...)
		default:
			n := min(1+r.IntN(30), len(b)-at)
			b = append(b[:at+n:at+n], b[at:]...)
		}
	}
	return b
}
