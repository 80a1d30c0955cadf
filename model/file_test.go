package model

import (
	"bytes"
	"encoding"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/difalt/difalt/internal/npz"
)

var (
	_ encoding.BinaryMarshaler   = (*Model)(nil)
	_ encoding.BinaryUnmarshaler = (*Model)(nil)
)

func TestSaveLoad(t *testing.T) {
	p := testParameters(t)
	p.Schema = Schema{Columns: []string{"f0", "site", "f3"}, Categories: []Category{{"site", []string{"p", "q=r"}}}}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.npz")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	l, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, l) {
		t.Error("the model that was loaded is not the one that was saved")
	}
	check(t, m.Save(filepath.Join(t.TempDir(), "no", "m.npz")), "no such file")
	_, err = Load(path + "x")
	check(t, err, path+"x: no such file")
}

// A file of an earlier difalt, from a table with a categorical
// column and missing values, must predict what that difalt predicted.
func TestLoadOldFile(t *testing.T) {
	m, err := Load("testdata/version3.npz")
	if err != nil {
		t.Fatal(err)
	}
	rows, predictions := readCSV(t, "testdata/rows.csv"), readCSV(t, "testdata/predictions.csv")
	levels := map[string][3]float64{"north": {1, 0, 0}, "south": {0, 1, 0}, "west": {0, 0, 1}}
	for i, row := range rows[1:] { // shop, size, region, price
		size, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			size = math.NaN()
		}
		price, _ := strconv.ParseFloat(row[3], 64)
		l := levels[row[2]]
		x := []float64{size, l[0], l[1], l[2], price}
		m.FillMissing(x)
		y, e, err := m.PredictError(row[0], x)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, 3)
		for j := range want {
			want[j], _ = strconv.ParseFloat(predictions[1+i][1+j], 64)
		}
		checkClose(t, "row "+strconv.Itoa(i), []float64{y, e, math.Hypot(e, m.Noise())}, want)
	}
	want := Schema{Columns: []string{"size", "region", "price"}, Categories: []Category{{"region", []string{"north", "south", "west"}}}}
	if p := m.Parameters(); !reflect.DeepEqual(p.Schema, want) || p.Method != "dif" || p.TaskColumn != "shop" || p.TargetColumn != "sales" {
		t.Errorf("schema %+v, method %q, columns %q and %q", p.Schema, p.Method, p.TaskColumn, p.TargetColumn)
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The arrays of a file must be those that Save documents.
func TestFileLayout(t *testing.T) {
	m := testModel(t)
	r := reader(t, m)
	shapes := map[string]string{
		"header": "(1,) string", "U": "(3, 5, 3) float64", "B": "(3, 15) float64", "mean": "(5,) float64", "center": "(4,) float64",
		"scale": "(4,) float64", "Theta": "(4, 15) float64", "constant": "(15,) float64", "task": "(15,) string", "node": "(15,) int64",
		"node_name": "(3,) string", "feature": "(4,) string", "samples": "(15,) int64", "fill": "(4,) float64", "precision": "(15, 3, 3) float64",
	}
	if len(r.Names()) != len(shapes) {
		t.Errorf("the file has %q", r.Names())
	}
	for name, want := range shapes {
		if a, err := r.Array(name); err != nil || a.String() != want {
			t.Errorf("array %q is %v, %v, want %s", name, a, err, want)
		}
	}
	a, _ := r.Array("Theta")
	data, _ := a.Float64s()
	theta, _, _ := m.Coefficients("7")
	for j := range theta {
		if data[15*j+7] != theta[j] {
			t.Errorf("Theta[%d, 7] is %v, want %v", j, data[15*j+7], theta[j])
		}
	}
}

func reader(t testing.TB, m *Model) *npz.Reader {
	t.Helper()
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoadErrors(t *testing.T) {
	m := testModel(t)
	for _, c := range []struct {
		change func(p *Parameters)
		want   string
	}{
		{func(p *Parameters) { p.Scaling.Scale = []float64{1, 0, 1, 1} }, `array "scale": entry 1 is 0`},
		{func(p *Parameters) { p.Mean = []float64{1, 0, math.NaN(), 1, 1} }, `array "mean": entry 2 is NaN`},
		{func(p *Parameters) { p.NodeOf = append([]int{7}, p.NodeOf[1:]...) }, `array "node": entry 0 is 7: want 0 to 2`},
		{func(p *Parameters) { p.Tasks = append([]string{"1"}, p.Tasks[1:]...) }, `array "task" names task "1" twice`},
		{func(p *Parameters) { p.Samples = p.Samples[1:] }, `array "samples" is (14,) int64: want the shape [15]`},
		{func(p *Parameters) { p.Ridge = -1 }, "ridge -1"},
	} {
		bad := *m
		c.change(&bad.p)
		_, err := read(reader(t, &bad))
		check(t, err, c.want)
	}
	for text, want := range map[string]string{
		`{"format":"difalt model","version":4}`: "has version 4: this program reads version 3; a newer difalt wrote it",
		`{"format":"difalt model","version":2}`: "has version 2: this program reads version 3; train the model again",
		`{"format":"other"}`:                    "not a model file: its header is",
		`nonsense`:                              "not a model file: its header is",
		`{"format":"difalt model","version":3,"rank":0,"method":"dif"}`:                      "rank 0",
		`{"format":"difalt model","version":3,"rank":2,"method":"dif"}`:                      `array "feature" is missing`,
		`{"format":"difalt model","version":3,"rank":9999999999999999999999,"method":"dif"}`: "not a model file",
	} {
		var buf bytes.Buffer
		w := npz.NewWriter(&buf)
		w.Strings("header", []int{1}, []string{text})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.npz")
		if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		check(t, err, want)
		check(t, err, path)
	}
}

// New must name what does not fit.
func TestNewErrors(t *testing.T) {
	for want, change := range map[string]func(p *Parameters){
		"no bases":                           func(p *Parameters) { p.U = nil },
		"node 0 is 5 x 3: want 4 x 3":        func(p *Parameters) { p.Scaling.Constant = false },
		`array "B" has 44 entries: want 45`:  func(p *Parameters) { p.B = p.B[1:] },
		`array "mean" has 4 entries: want 5`: func(p *Parameters) { p.Mean = p.Mean[1:] },
		`array "fill" has 4 entries: want 2`: func(p *Parameters) { p.Schema.Columns = p.Schema.Columns[:2] },
	} {
		p := testParameters(t)
		change(&p)
		_, err := New(p)
		check(t, err, want)
	}
}

func TestMarshalBinary(t *testing.T) {
	m := testModel(t)
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var l Model
	if err := l.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, &l) {
		t.Error("the model that was read is not the one that was written")
	}
	check(t, l.UnmarshalBinary(data), "models are immutable")
	var empty Model
	check(t, empty.UnmarshalBinary(data[:len(data)/2]), "not a complete .npz file")
	check(t, empty.UnmarshalBinary(nil), "not a complete .npz file")
	if !reflect.DeepEqual(empty, Model{}) {
		t.Error("a failed UnmarshalBinary changed the model")
	}
}
