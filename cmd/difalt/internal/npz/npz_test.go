package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
)

// file returns a .npz file with one array of the given bytes.
func file(t testing.TB, name string, content []byte) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// array returns an array in the NPY format with the given header text.
func array(header string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0, 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(header)))
	return append(append(b, header...), data...)
}

func open(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	floats := []float64{0, -1.5, math.Pi, 1e300, 5e-324, math.Inf(1)}
	ints := []int{0, -7, min(1<<52, math.MaxInt)}
	strs := []string{"", "plain", "naïve 東京 🙂"}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Float64s("f", []int{2, 3}, floats)
	w.Rows("g", []int{2}, true, func(dst []float64, _ int) { copy(dst, []float64{0.1, -3}) })
	w.Ints("i", ints)
	w.Strings("s", []int{3}, strs)
	w.Float64s("none", []int{0, 4}, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, buf.Bytes())
	if !reflect.DeepEqual(r.Names(), []string{"f", "g", "i", "s", "none"}) {
		t.Errorf("names are %q", r.Names())
	}
	get := func(name, want string) *Array {
		a, err := r.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.String() != want {
			t.Errorf("array %q is %s, want %s", name, a, want)
		}
		return a
	}
	if v, err := get("f", "(2, 3) float64").Float64s(); err != nil || !reflect.DeepEqual(v, floats) {
		t.Errorf("floats: %v, %v", v, err)
	}
	if v, err := get("g", "(2,) float32").Float64s(); err != nil || v[0] != float64(float32(0.1)) || v[1] != -3 {
		t.Errorf("float32: %v, %v", v, err)
	}
	if v, err := get("i", "(3,) int64").Ints(); err != nil || !reflect.DeepEqual(v, ints) {
		t.Errorf("ints: %v, %v", v, err)
	}
	if v, err := get("s", "(3,) string").Strings(); err != nil || !reflect.DeepEqual(v, strs) {
		t.Errorf("strings: %q, %v", v, err)
	}
	if v, err := get("none", "(0, 4) float64").Float64s(); err != nil || len(v) != 0 {
		t.Errorf("no floats: %v, %v", v, err)
	}
}

func TestWriterCountsElements(t *testing.T) {
	w := NewWriter(io.Discard)
	w.Float64s("f", []int{2, 3}, []float64{1})
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "1 elements do not fill the shape [2 3]") {
		t.Errorf("error is %v", err)
	}
}

// Types and headers that other writers use.
func TestReadTypes(t *testing.T) {
	for _, c := range []struct {
		header string
		data   []byte
		want   []float64
	}{
		{"{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }\n", []byte{1, 0xff}, []float64{1, -1}},
		{"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", []byte{1, 0xff}, []float64{1, 255}},
		{"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", []byte{1, 0}, []float64{1, 0}},
		{"{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }\n", []byte{0xfe, 0xff}, []float64{-2}},
		{"{'descr': '>u4', 'fortran_order': False, 'shape': (1,), }\n", []byte{0, 0, 1, 2}, []float64{258}},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", []byte{0, 0, 0x80, 0x3f}, []float64{1}},
		// Fortran order: columns (1, 2) and (3, 4) make rows (1, 3) and (2, 4).
		{"{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }\n", []byte{1, 2, 3, 4}, []float64{1, 3, 2, 4}},
		{`{"shape": (2,), "fortran_order": False, "descr": "|u1"}`, []byte{8, 9}, []float64{8, 9}},
	} {
		a, err := open(t, file(t, "a", array(c.header, c.data...))).Array("a")
		if err != nil {
			t.Errorf("%s: %v", c.header, err)
			continue
		}
		if v, err := a.Float64s(); err != nil || !reflect.DeepEqual(v, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.header, v, err, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n"
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"no magic", []byte("hello, this is text"), "does not start like an array"},
		{"version", append([]byte(magic), 9, 0, 1, 0, '\n'), "version 9"},
		{"short header", array(good)[:20], "header is truncated"},
		{"huge header", append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff), "header claims more than"},
		{"not a dictionary", array("hello\n", 1, 2), `header "hello" cannot be read`},
		{"records", array("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n"), "structured array"},
		{"two shapes", array("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'shape': (1,), }\n", 1, 2), "cannot be read"},
		{"objects", array("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n"), `type "|O" is not supported`},
		{"half precision", array("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }\n", 1, 2), `type "<f2" is not supported`},
		{"complex", array("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }\n", 1, 2), `type "<c8" is not supported`},
		{"negative shape", array("{'descr': '|u1', 'fortran_order': False, 'shape': (-2,), }\n", 1, 2), "cannot be read"},
		{"huge shape", array("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 1), "too large"},
		{"strings of nothing", array("{'descr': '<U0', 'fortran_order': False, 'shape': (9999999999,), }\n"), `type "<U0" is not supported`},
		{"few bytes", array(good, 1), "(2,) uint8 needs 2 bytes, but 1 are there"},
		{"many bytes", array(good, 1, 2, 3), "(2,) uint8 needs 2 bytes, but 3 are there"},
	} {
		_, err := open(t, file(t, "a", c.content)).Array("a")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `array "a"`) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestDamage(t *testing.T) {
	b := file(t, "a", array("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", 1, 2))
	i := bytes.Index(b, []byte("}\n\x01\x02"))
	b[i+2] = 7
	a, err := open(t, b).Array("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Float64s(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error is %v", err)
	}
}

// A file whose table of contents claims far more than it holds must be refused
// before memory is set aside for it.
func TestBomb(t *testing.T) {
	content := array("{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776,), }\n", 1)
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "a.npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(len(content)), UncompressedSize64: 1<<40 + uint64(len(content)) - 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, buf.Bytes()).Array("a"); err == nil || !strings.Contains(err.Error(), "claims to unpack to 1099511627856 bytes") {
		t.Errorf("error is %v", err)
	}
}

func TestWrongKind(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Float64s("f", []int{1}, []float64{1})
	w.Strings("s", []int{1}, []string{"x"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, buf.Bytes())
	f, _ := r.Array("f")
	s, _ := r.Array("s")
	for _, c := range []struct {
		call func() error
		want string
	}{
		{func() error { _, err := f.Ints(); return err }, `array "f": it is (1,) float64: expected integers`},
		{func() error { _, err := f.Strings(); return err }, `array "f": it is (1,) float64: expected strings`},
		{func() error { _, err := s.Float64s(); return err }, `array "s": it is (1,) string: expected numbers`},
		{func() error { _, err := r.Array("q"); return err }, `array "q" is missing: the file has "f", "s"`},
	} {
		if err := c.call(); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestDuplicateAndForeignEntries(t *testing.T) {
	for name, want := range map[string]string{"a": "twice", "readme.txt": "not an array"} {
		var buf bytes.Buffer
		z := zip.NewWriter(&buf)
		for range 2 {
			entry := name
			if !strings.Contains(name, ".") {
				entry += ".npy"
			}
			if _, err := z.Create(entry); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// FuzzHeader: an array of whatever header is read whole, or refused.
func FuzzHeader(f *testing.F) {
	f.Add("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1), }\n", make([]byte, 16))
	f.Add("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }\n", make([]byte, 16))
	f.Fuzz(func(t *testing.T, header string, data []byte) {
		if len(header) > math.MaxUint16 {
			return
		}
		r, err := NewReader(bytes.NewReader(file(t, "a", array(header, data...))), int64(len(file(t, "a", array(header, data...)))))
		if err != nil {
			return
		}
		a, err := r.Array("a")
		if err != nil {
			return
		}
		n := 0
		if a.Text() {
			var s []string
			s, err = a.Strings()
			n = len(s)
		} else {
			var v []float64
			v, err = a.Float64s()
			n = len(v)
		}
		if err == nil && n != a.Len() {
			t.Fatalf("%d entries of %v", n, a)
		}
	})
}

// TestReadMatrix: rows come in C order whatever that of the file, and what is not a matrix
// of numbers of that size is refused.
func TestReadMatrix(t *testing.T) {
	const fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n"
	for _, c := range []struct {
		name    string
		content []byte
		want    string // error
	}{
		{"fortran", array(fortran, 1, 4, 2, 5, 3, 6), ""},
		{"short", array(fortran, 1, 4), "(2, 3) uint8 needs 6 bytes, but 2 are there"},
		{"vector", array("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", 1, 2), "expected N x k numbers"},
		{"strings", array("{'descr': '|S1', 'fortran_order': False, 'shape': (1, 2), }\n", 1, 2), "expected N x k numbers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, n, k, err := ReadMatrix(bytes.NewReader(c.content), int64(len(c.content)))
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
			case err != nil || n != 2 || k != 3 || !reflect.DeepEqual(v, []float64{1, 2, 3, 4, 5, 6}):
				t.Errorf("%v, %d x %d, %v", v, n, k, err)
			}
		})
	}
}

// TestManyNames: the error about a missing array shows five names of 60,000.
func TestManyNames(t *testing.T) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range 60_000 {
		if _, err := z.Create(fmt.Sprintf("strange%d.npy", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, buf.Bytes()).Array("X")
	if err == nil || !strings.Contains(err.Error(), `"strange4" and 59995 more`) || len(err.Error()) > 200 {
		t.Errorf("error is %.300v", err)
	}
}
