package model

import (
	"bytes"
	"encoding"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"gonum.org/v1/gonum/mat"
)

var (
	_ encoding.BinaryMarshaler   = (*Model)(nil)
	_ encoding.BinaryUnmarshaler = (*Model)(nil)
)

func TestSaveLoad(t *testing.T) {
	p := testParameters(t)
	p.Schema = schema.Schema{Columns: []string{"f0", "site", "f3"}, Categories: []schema.Category{{Column: "site", Levels: []string{"p", "q=r"}}}}
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

// Covariances that are made when they are asked for are as good as others: writing keeps none, and predicting makes them once.
func TestCovarianceOf(t *testing.T) {
	p, calls := testParameters(t), 0
	given, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	all := p.Covariance
	p.Covariance, p.CovarianceOf = nil, func(t int, packed []float64) {
		copy(packed, all[t*len(packed):])
		calls++
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := m.MarshalBinary()
		want, _ := given.MarshalBinary()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("the file is another: %v", err)
		}
	}
	if calls != 2*len(p.Tasks) {
		t.Errorf("%d covariances were made to write %d twice", calls, len(p.Tasks))
	}
	calls = 0
	x := []float64{1, -2, 3, 0.5}
	for range 2 {
		for _, task := range p.Tasks {
			y, e, err := m.PredictError(task, x)
			wantY, wantE, _ := given.PredictError(task, x)
			if err != nil || y != wantY || e != wantE {
				t.Errorf("task %s: %v with error %v (%v), want %v with %v", task, y, e, err, wantY, wantE)
			}
		}
	}
	table := newRows(m)
	table.add(rand.New(rand.NewPCG(1, 2)), "new", 3, x, 1, 0.1)
	adapted, err := m.Adapt(table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := adapted.Covariance("3")
	want, _ := given.Covariance("3")
	if err != nil || !mat.Equal(got, want) {
		t.Errorf("the adapted model has %v (%v), want %v", got, err, want)
	}
	if calls != len(p.Tasks) {
		t.Errorf("%d covariances were made to predict by %d", calls, len(p.Tasks))
	}
}

// The arrays of a file must be those that Save documents.
func TestFileLayout(t *testing.T) {
	m := testModel(t)
	r := reader(t, m)
	shapes := map[string]string{
		"header": "(1,) string", "mean": "(5,) float64", "loadings": "(5, 2) float64", "slopes": "(4,) float64", "slopes_freedom": "(4,) float64", "mean_covariance": "(5, 5) float64", "doubt": "(12, 12) float64",
		"theta": "(15, 5) float64", "covariance": "(15, 15) float64", "center": "(4,) float64",
		"scale": "(4,) float64", "Theta": "(4, 15) float64", "constant": "(15,) float64", "task": "(15,) string", "node": "(15,) int64",
		"node_name": "(3,) string", "feature": "(4,) string", "samples": "(15,) int64", "fill": "(4,) float64",
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
		{func(p *Parameters) { p.NodeOf = append([]int{7}, p.NodeOf[1:]...) }, `array "node": entry 0 is 7: want -1 to 2`},
		{func(p *Parameters) { p.Tasks = append([]string{"1"}, p.Tasks[1:]...) }, `array "task": entry 1 is "1", which is there twice`},
		{func(p *Parameters) { p.Samples = p.Samples[1:] }, `array "samples" is (14,) int64: want the shape [15]`},
		{func(p *Parameters) { p.Samples = append([]int{-5}, p.Samples[1:]...) }, `array "samples": entry 0 is -5: want 0 or more`},
		{func(p *Parameters) { p.Prior.Slopes = []float64{1, 0, 1, 1} }, "a variance of slopes of the model is 0"},
		{func(p *Parameters) { p.Prior.Noise = -1 }, "a variance of the model is -1"},
	} {
		bad := *m
		c.change(&bad.p)
		_, err := read(reader(t, &bad))
		check(t, err, c.want)
	}
	for text, want := range map[string]string{
		`{"format":"difalt model","version":9}`: "has version 9: this program reads version 8; a newer difalt wrote it",
		`{"format":"difalt model","version":4}`: "has version 4: this program reads version 8; train the model again",
		`{"format":"other"}`:                    "not a model file: its header is",
		`nonsense`:                              "not a model file: its header is",
		`{"format":"difalt model","version":6,"rank":-1,"method":"dif"}`:                     "rank -1",
		`{"format":"difalt model","version":7,"log_target":true}`:                            "has version 7 and the logarithm of the target, which version 8 has",
		`{"format":"difalt model","version":6,"alternatives":[{"weight":0.5}]}`:              "has version 6 and alternatives, which version 7 has",
		`{"format":"difalt model","version":7,"alternatives":[{"weight":0.5,"rank":-1}]}`:    "rank -1",
		`{"format":"difalt model","version":6,"rank":2,"method":"dif"}`:                      `array "feature" is missing`,
		`{"format":"difalt model","version":6,"rank":9999999999999999999999,"method":"dif"}`: "not a model file",
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
		`array "mean" has 5 entries: want 4`:    func(p *Parameters) { p.Scaling.Constant = false },
		`array "theta" has 74 entries: want 75`: func(p *Parameters) { p.Theta = p.Theta[1:] },
		`array "doubt": entry (3, 4) is not`:    func(p *Parameters) { p.Prior.Uncertainty.SetSym(4, 3, math.NaN()) },
		`array "doubt" is of order 11: want 12`: func(p *Parameters) { p.Prior.Uncertainty = mat.NewSymDense(11, nil) },
		"which is there twice":                  func(p *Parameters) { p.Schema.Columns = []string{"a", "b", "a", "c"}; p.Schema.Categories = nil },
		"the unit of the target is 0":           func(p *Parameters) { p.Scaling.TargetScale = 0 },
		`array "mean" has 4 entries: want 5`:    func(p *Parameters) { p.Mean = p.Mean[1:] },
		`array "fill" has 4 entries: want 2`:    func(p *Parameters) { p.Schema.Columns = p.Schema.Columns[:2] },
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
