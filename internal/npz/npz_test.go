package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// file returns a .npz file with entries of the given content.
func file(t testing.TB, content []byte, names ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check.Done(z.Close())
	return buf.Bytes()
}

// array returns an array in the NPY format with the given header text.
func array(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint16([]byte(magic), uint16(len(header))), header...), data...)
}

// of returns the header of an array.
func of(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, order, shape)
}

func open(b []byte) (*Reader, error) { return NewReader(bytes.NewReader(b), int64(len(b))) }

// opened returns array a of a file.
func opened(t testing.TB, b []byte) (*Array, error) {
	t.Helper()
	r, err := open(b)
	if err != nil {
		return nil, err
	}
	return r.Array("a")
}

func TestRoundTrip(t *testing.T) {
	floats := []float64{0, -1.5, math.Pi, 1e300, 5e-324, math.Inf(1)}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Float64s("f", []int{2, 3}, floats)
	w.Rows("g", []int{2}, true, func(dst []float64, _ int) { copy(dst, []float64{0.1, -3}) })
	w.Ints("i", []int{0, -7, math.MaxInt >> 11})
	w.Bytes("b", []byte{0, 255, 7})
	w.Float64s("none", []int{0, 4}, nil)
	check.Done(w.Close())
	r, err := open(buf.Bytes())
	if err != nil || !reflect.DeepEqual(r.Names(), []string{"f", "g", "i", "b", "none"}) || r.Has("q") || !r.Has("b") {
		t.Fatalf("names %q, %v", r.Names(), err)
	}
	get := func(name string) *Array { return check.OK(r.Array(name)) }
	for name, c := range map[string]struct {
		shape string
		read  func() (any, error)
		want  any
	}{
		"f": {"(2, 3) float64", func() (any, error) { return get("f").Float64s() }, floats},
		"g": {"(2,) float32", func() (any, error) { return get("g").Float64s() },
			[]float64{float64(float32(0.1)), -3}},
		"i":    {"(3,) int64", func() (any, error) { return get("i").Ints() }, []int{0, -7, math.MaxInt >> 11}},
		"b":    {"(3,) uint8", func() (any, error) { return get("b").Bytes() }, []byte{0, 255, 7}},
		"none": {"(0, 4) float64", func() (any, error) { return get("none").Float64s() }, []float64{}},
	} {
		if v, err := c.read(); err != nil || !reflect.DeepEqual(v, c.want) || get(name).String() != c.shape {
			t.Errorf("array %q is %s with %v, %v: want %s with %v", name, get(name), v, err, c.shape, c.want)
		}
	}
	if _, err := r.Array("f", -1, 3); err != nil {
		t.Error(err)
	}
}

// TestArrayErrors: arrays of another type or shape, and one that is missing.
func TestArrayErrors(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Float64s("f", []int{2, 3}, make([]float64, 6))
	w.Rows("g", []int{2}, true, func([]float64, int) {})
	w.Ints("i", []int{1, 2, 3})
	w.Float64s("none", []int{0, 4}, nil)
	check.Done(w.Close())
	r := check.OK(open(buf.Bytes()))
	get := func(name string) *Array { return check.OK(r.Array(name)) }
	for want, read := range map[string]func() error{
		`array "f": it is (2, 3) float64: expected integers`: func() error {
			_, err := get("f").Ints()
			return err
		},
		`array "f": it is (2, 3) float64: expected strings`: func() error {
			_, err := get("f").Strings()
			return err
		},
		`array "i": it is (3,) int64: expected uint8`: func() error {
			_, err := get("i").Bytes()
			return err
		},
		`array "q" is missing: the file has "f", "g", "i", "none"`: func() error {
			_, err := r.Array("q")
			return err
		},
		`array "f" is (2, 3) float64: expected the shape (2, 4)`: func() error {
			_, err := r.Array("f", 2, 4)
			return err
		},
		`array "none" is (0, 4) float64: expected the shape (n, 4)`: func() error {
			_, err := r.Array("none", -1, 4)
			return err
		},
		`array "g" is (2,) float32: expected the shape (2, 1)`: func() error {
			_, err := r.Array("g", 2, 1)
			return err
		},
	} {
		if err := read(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestOpen: a folder, a file that ends too early, a file that is not there, and a good one.
func TestOpen(t *testing.T) {
	_, err := Open(t.TempDir())
	check.Error(t, err, "it is a folder")
	path := filepath.Join(t.TempDir(), "a.npz")
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Ints("i", []int{0, -7})
	check.Done(w.Close())
	for content, want := range map[string]string{"short": "not a complete .npz file", buf.String(): ""} {
		check.Done(os.WriteFile(path, []byte(content), 0o600))
		if r, err := Open(path); want == "" {
			check.Done(errors.Join(err, r.Close()))
		} else {
			check.Error(t, err, want)
		}
	}
	if _, err := Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTypes: types and headers that NumPy writes give their numbers, in C order, whole and by rows.
func TestTypes(t *testing.T) {
	float := func(order binary.AppendByteOrder, v float64) []byte {
		return order.AppendUint64(nil, math.Float64bits(v))
	}
	for _, c := range []struct {
		header string
		data   []byte
		want   []float64
	}{
		{of("<f8", "False", "1,"), float(binary.LittleEndian, -0.1), []float64{-0.1}},
		{of(">f8", "False", "1,"), float(binary.BigEndian, -0.1), []float64{-0.1}},
		{of("<f4", "False", ""), []byte{0, 0, 0x80, 0x3f}, []float64{1}},
		{of("<i8", "False", "1,"), []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []float64{-2}},
		{of("<i4", "False", "1,"), []byte{0xfe, 0xff, 0xff, 0xff}, []float64{-2}},
		{of("<i2", "False", "1,"), []byte{0xfe, 0xff}, []float64{-2}},
		{of("|i1", "False", "2,"), []byte{1, 0xff}, []float64{1, -1}},
		{of("<u8", "False", "1,"), []byte{1, 2, 0, 0, 0, 0, 0, 0}, []float64{513}},
		{of(">u4", "False", "1,"), []byte{0xf0, 0, 1, 2}, []float64{0xf0000102}},
		{of("<u2", "False", "1,"), []byte{0xfe, 0xff}, []float64{0xfffe}},
		{of("|u1", "False", "2, 1"), []byte{1, 0xff}, []float64{1, 255}},
		{of("|b1", "False", "2,"), []byte{1, 0}, []float64{1, 0}},
		// Fortran order: columns (1, 2, 3) and (4, 5, 6) make rows (1, 4), (2, 5) and (3, 6).
		{of("|u1", "True", "3, 2"), []byte{1, 2, 3, 4, 5, 6}, []float64{1, 4, 2, 5, 3, 6}},
		{of("|u1", "True", "2,"), []byte{1, 2}, []float64{1, 2}},
		{of("|u1", "True", "2, 1, 3"), []byte{1, 4, 2, 5, 3, 6}, []float64{1, 2, 3, 4, 5, 6}},
		{of("|u1", "False", "2, 1, 2"), []byte{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
		{`{"shape": (2,), "fortran_order": False, "descr": "|u1"}`, []byte{8, 9}, []float64{8, 9}},
	} {
		t.Run(c.header, func(t *testing.T) {
			a := check.OK(opened(t, file(t, array(c.header, c.data...), "a.npy")))
			if v, err := a.Float64s(); err != nil || !reflect.DeepEqual(v, c.want) {
				t.Errorf("%v, %v, want %v", v, err, c.want)
			}
			if len(a.Shape) == 0 {
				return
			}
			var rows []float64
			err := a.Rows(func(i int, v []float64) error {
				check.FailIf(t, i*a.Shape[len(a.Shape)-1] != len(rows), "row %d after %v", i, rows)
				rows = append(rows, v...)
				return nil
			})
			check.FailIf(t, err != nil || !reflect.DeepEqual(rows, c.want), "rows %v, %v, want %v", rows, err, c.want)
		})
	}
}

func TestReadErrors(t *testing.T) {
	huge := []byte{0, 0, 0, 0, 0, 0, 0x20, 0}
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"no magic", []byte("hello, this is text"), "does not start like an array"},
		{"version", append([]byte("\x93NUMPY\x02\x00"), 1, 0, '\n'), "version 1"},
		{"short header", array(of("|u1", "False", "2,"))[:20], "header is truncated"},
		{"not a dictionary", array("hello\n", 1, 2), `header "hello" cannot be read`},
		{"no order", array("{'descr': '|u1', 'shape': (2,)}", 1, 2), "cannot be read"},
		{"no shape", array("{'descr': '|u1', 'fortran_order': False}", 1, 2), "cannot be read"},
		{"records", array("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n"),
			"is it a structured array?"},
		{"no type", array("{'fortran_order': False, 'shape': (2,)}"), `type "" is not supported`},
		{"objects", array(of("|O", "False", "2,")), `type "|O" is not supported`},
		{"half precision", array(of("<f2", "False", "1,"), 1, 2), `type "<f2" is not supported`},
		{"order", array(of("?f8", "False", "1,"), 1, 2), `type "?f8" is not supported`},
		{"strings of nothing", array(of("<U0", "False", "9,")), `type "<U0" is not supported`},
		{"long strings", array(of("<U262145", "False", "1,")), `type "<U262145" is not supported`},
		{"negative shape", array(of("|u1", "False", "-2,")), "cannot be read"},
		{"huge shape", array(of("<f8", "False", "4294967295, 4294967295, 4294967295"), 1), "float64 needs 633825"},
		{"huge axis", array(of("<f8", "False", "4294967296"), 1), "cannot be read"},
		{"few bytes", array(of("|u1", "False", "2,"), 1), "(2,) uint8 needs 2 bytes, but 1 are there"},
		{"many bytes", array(of("|u1", "False", "2,"), 1, 2, 3), "(2,) uint8 needs 2 bytes, but 3 are there"},
		{"large integer", array(of("<i8", "False", "1,"), huge...), "integer 9007199254740992 is too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := opened(t, file(t, c.content, "a.npy"))
			if err == nil {
				_, err = a.Float64s()
			}
			check.Error(t, err, c.want)
			check.Error(t, err, `array "a"`)
		})
	}
}

// TestFaultsInBothOrders: an array that is damaged, that holds a number which cannot be kept, or whose reader
// fails, ends with that error however it is read, in C order and in Fortran order.
func TestFaultsInBothOrders(t *testing.T) {
	large := binary.LittleEndian.AppendUint64([]byte{1, 2, 3, 4, 5, 6, 0, 0}, 1<<60)
	for _, order := range []string{"False", "True"} {
		damaged := file(t, array(of("|u1", order, "2, 2"), 1, 2, 3, 4), "a.npy")
		damaged[bytes.Index(damaged, []byte("}\n\x01\x02"))+2] = 7
		for want, content := range map[string][]byte{
			"it is damaged or truncated":               damaged,
			"integer 1152921504606846976 is too large": file(t, array(of("<i8", order, "1, 2"), large...), "a.npy"),
			"expected numbers":                         file(t, array(of("<U1", order, "1, 1"), 0, 0, 0, 0), "a.npy"),
		} {
			a := check.OK(opened(t, content))
			_, err := a.Float64s()
			check.Error(t, err, `array "a": `, want)
			check.Error(t, a.Rows(func(int, []float64) error { return nil }), `array "a": `, want)
		}
		calls, own := 0, errors.New("the reader ends")
		a := check.OK(opened(t, file(t, array(of("|u1", order, "2, 2"), 1, 2, 3, 4), "a.npy")))
		err := a.Rows(func(int, []float64) error { calls++; return own })
		check.FailIf(t, !errors.Is(err, own) || calls != 1, "order %s: %v after %d rows", order, err, calls)
	}
}

// TestContents: a file of other entries, or that claims more than it holds, is refused, and the error about a
// missing array shows five names of 60,000.
func TestContents(t *testing.T) {
	_, err := open(file(t, nil, "a.npy", "a.npy"))
	check.Error(t, err, `array "a" is there twice`)
	damaged := file(t, array(of("|u1", "False", "1"), 1), "a.npy")
	damaged[0] = 'X' // of the header before the array
	_, err = opened(t, damaged)
	check.Error(t, err, `array "a": it is damaged or truncated`)
	_, err = open(file(t, nil, "readme.txt"))
	check.Error(t, err, `entry "readme.txt" is not an array`)
	_, err = open([]byte("text"))
	check.Error(t, err, "not a complete .npz file")
	var strange []string
	for i := range 60_000 {
		strange = append(strange, fmt.Sprintf("strange%d.npy", i))
	}
	_, err = opened(t, file(t, nil, strange...))
	check.Error(t, err, `"strange4" and 59995 more`)

	var bomb bytes.Buffer
	content := array(of("|u1", "False", "1099511627776,"), 1)
	z := zip.NewWriter(&bomb)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "a.npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(len(content)), UncompressedSize64: 1<<40 + uint64(len(content)) - 1,
	})
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	_, err = open(bomb.Bytes())
	check.Error(t, err, "claims 1099511627856 bytes")
}

// TestStrings: the strings that NumPy writes, of any width and in both orders of bytes, end before trailing
// zeros; an array of strings is no array of numbers.
func TestStrings(t *testing.T) {
	want := []string{"", "plain", "naïve 東京 🙂"}
	for sign, order := range map[string]binary.AppendByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
		var data []byte
		for _, s := range want {
			runes := []rune(s)
			for i := range 16 {
				c := uint32(0)
				if i < len(runes) {
					c = uint32(runes[i])
				}
				data = order.AppendUint32(data, c)
			}
		}
		a := check.OK(opened(t, file(t, array(of(sign+"U16", "False", "3,"), data...), "a.npy")))
		got, err := a.Strings()
		check.FailIf(t, err != nil || !reflect.DeepEqual(got, want), "%s: %q, %v: want %q", sign, got, err, want)
		_, err = a.Float64s()
		check.Error(t, err, `array "a": it is (3,) string: expected numbers`)
	}
}

// TestMostUnpacked: the arrays of a file may unpack to 64 MB together, or to 100 times the size of the file.
// A little more is refused before it is read.
func TestMostUnpacked(t *testing.T) {
	for extra, want := range map[int]string{0: "", 1: `array "1" claims 33554433 bytes`} {
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		for i, size := range []int{32 << 20, 32<<20 + extra} {
			w := check.OK(z.Create(fmt.Sprintf("%d.npy", i))) // deflated
			check.OK(w.Write(make([]byte, size)))
		}
		check.Done(z.Close())
		check.FailIf(t, packed.Len() > 1<<20, "the file has %d bytes", packed.Len())
		if _, err := open(packed.Bytes()); want != "" {
			check.Error(t, err, want)
		} else {
			check.Done(err)
		}
	}
}

// TestOpenMatrix: a file must hold one matrix of numbers of its size, with elements.
func TestOpenMatrix(t *testing.T) {
	for want, content := range map[string][]byte{
		"(2, 3) uint8 needs 6 bytes, but 2 are there":   array(of("|u1", "True", "2, 3"), 1, 4),
		"(2,) uint8: expected N x k numbers":            array(of("|u1", "False", "2,"), 1, 2),
		"(0, 4000000000) uint8: expected N x k numbers": array(of("|u1", "False", "0, 4000000000")),
		"(1, 1) string: expected N x k numbers":         array(of("<U1", "False", "1, 1"), 1, 0, 0, 0),
	} {
		_, err := OpenMatrix(bytes.NewReader(content), int64(len(content)))
		check.Error(t, err, want)
	}
	content := array(of("|u1", "True", "2, 3"), 1, 4, 2, 5, 3, 6)
	a, err := OpenMatrix(bytes.NewReader(content), int64(len(content)))
	check.FailIf(t, err != nil || a.String() != "(2, 3) uint8", "%v, %v", a, err)
}
