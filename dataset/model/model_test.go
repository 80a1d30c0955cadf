package model

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/internal/npz"
	"gonum.org/v1/gonum/mat"
)

func testModel(t testing.TB) (*Model, *truth, *dataset.Table) {
	t.Helper()
	k := newTruth(11, 4, 0.2)
	tab := k.table(t, 15, 10, 14, 3)
	c := testConfig(t, 3, 4)
	c.TaskColumn, c.TargetColumn = "site", "score"
	m, _ := fit(t, tab, c)
	return m, k, tab
}

// A prediction is target mean + (standardised x, 1)' (mean + U b).
func TestPredict(t *testing.T) {
	m, _, tab := testModel(t)
	x := make([]float64, 4)
	all, err := m.PredictTable(tab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tab.Rows() {
		k := tab.Task(i)
		tab.X(x, i)
		z := mat.NewVecDense(5, nil)
		for j := range x {
			z.SetVec(j, (x[j]-m.center[j])/m.scale[j])
		}
		z.SetVec(4, 1)
		var theta mat.VecDense
		theta.MulVec(m.Basis(tab.Node(k)), mat.NewVecDense(4, m.b[4*k:4*k+4]))
		theta.AddVec(&theta, mat.NewVecDense(5, m.mean))
		want := m.target + mat.Dot(z, &theta)
		got, err := m.Predict(tab.Tasks()[k], x)
		if err != nil || math.Abs(got-want) > 1e-12*math.Abs(want) || all[i] != got {
			t.Fatalf("row %d: %v and %v, %v, want %v", i, got, all[i], err, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = m.Predict("3", x) }); n != 0 {
		t.Errorf("Predict allocates %v times", n)
	}
}

func TestPredictErrors(t *testing.T) {
	m, k, _ := testModel(t)
	_, err := m.Predict("99", make([]float64, 4))
	check(t, err, `the model does not know task "99": add it with adapt`)
	_, _, err = m.Coefficients("99")
	check(t, err, `task "99"`)
	_, err = m.Predict("1", make([]float64, 3))
	check(t, err, "x has 3 features, the model 4")
	other := emptyTable(t, 4)
	for _, task := range []string{"1", "u", "v", "w", "x", "y", "z"} {
		k.add(t, other, task, 1)
	}
	_, err = m.PredictTable(other)
	check(t, err, `does not know tasks "u", "v", "w", "x", "y" and 1 more: add them with adapt`)
	narrow := emptyTable(t, 3)
	_, err = m.PredictTable(narrow)
	check(t, err, `the table has the features ["f0" "f1" "f2"], the model ["f0" "f1" "f2" "f3"]`)
}

func TestAdapt(t *testing.T) {
	m, k, tab := testModel(t)
	few := emptyTable(t, 4)
	k.add(t, few, "new", 8)
	k.add(t, few, "newer", 3)
	a, singular, err := m.Adapt(few, 1, 0.1)
	if err != nil || singular != nil {
		t.Fatal(err, singular)
	}
	if len(a.Tasks()) != 17 || len(m.Tasks()) != 15 || a.Nodes()[a.nodeOf[15]] != "1" || a.samples[16] != 3 {
		t.Errorf("%d tasks, node %d, %d rows", len(a.Tasks()), a.nodeOf[15], a.samples[16])
	}
	before, _ := m.PredictTable(tab)
	after, err := a.PredictTable(tab)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("old tasks are predicted differently: %v", err)
	}
	// The new task follows its truth far better than the shared mean does.
	theta, _, _ := a.Coefficients("new")
	var off, spread float64
	for j, want := range k.theta["new"] {
		off += math.Pow((theta[j]-want)*float64(j+1), 2)
		spread += math.Pow((k.mean[j]-want)*float64(j+1), 2)
	}
	if off > 0.1*spread {
		t.Errorf("squared distance to the truth is %v, that of the mean %v", off, spread)
	}
	if _, singular, err = m.Adapt(oneRow(t, k), 0, 0); err != nil || len(singular) != 1 || !strings.Contains(singular[0], `"one" (underdetermined)`) {
		t.Errorf("one row without ridge: %q, %v", singular, err)
	}
	_, _, err = m.Adapt(tab, 0, 1)
	check(t, err, `knows task "0" already`)
	_, _, err = m.Adapt(few, 3, 1)
	check(t, err, "the model has nodes 0 to 2")
	_, _, err = m.Adapt(few, 0, -1)
	check(t, err, "ridge is -1")
	_, err = m.NodeIndex("x")
	check(t, err, `no node "x": its nodes are ["0" "1" "2"]`)
}

func oneRow(t testing.TB, k *truth) *dataset.Table {
	tab := emptyTable(t, 4)
	k.add(t, tab, "one", 1)
	return tab
}

func TestSaveLoad(t *testing.T) {
	m, _, tab := testModel(t)
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
	want, _ := m.PredictTable(tab)
	if got, err := l.PredictTable(tab); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("predictions differ: %v", err)
	}
	check(t, m.Save(filepath.Join(t.TempDir(), "no", "m.npz")), "no such file")
}

// The arrays of a file must be those that Save documents.
func TestFileLayout(t *testing.T) {
	m, _, _ := testModel(t)
	r := reader(t, m)
	shapes := map[string]string{
		"header": "(1,) string", "U": "(3, 5, 4) float64", "B": "(4, 15) float64", "mean": "(5,) float64", "center": "(4,) float64",
		"scale": "(4,) float64", "Theta": "(4, 15) float64", "constant": "(15,) float64", "task": "(15,) string", "node": "(15,) int64",
		"node_name": "(3,) string", "feature": "(4,) string", "samples": "(15,) int64", "fill": "(4,) float64", "precision": "(15, 4, 4) float64",
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
	var buf bytes.Buffer
	if err := m.Write(&buf); err != nil {
		t.Fatal(err)
	}
	r, err := npz.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoadErrors(t *testing.T) {
	m, _, _ := testModel(t)
	for _, c := range []struct {
		change func(m *Model)
		want   string
	}{
		{func(m *Model) { m.scale = []float64{1, 0, 1, 1} }, `array "scale": entry 1 is 0`},
		{func(m *Model) { m.mean = []float64{1, 0, math.NaN(), 1, 1} }, `array "mean": entry 2 is NaN`},
		{func(m *Model) { m.nodeOf = append([]int{7}, m.nodeOf[1:]...) }, `array "node": entry 0 is 7: want 0 to 2`},
		{func(m *Model) { m.tasks = append([]string{"1"}, m.tasks[1:]...) }, "names a task twice"},
		{func(m *Model) { m.samples = m.samples[1:] }, `array "samples" is (14,) int64: want the shape [15]`},
		{func(m *Model) { m.method = 99 }, "unknown method"},
	} {
		bad := *m
		c.change(&bad)
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
		`{"format":"difalt model","version":3,"rank":2,"method":"dif","ridge":-1}`:           "ridge -1",
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
	}
	path := filepath.Join(t.TempDir(), "cut.npz")
	var buf bytes.Buffer
	if err := m.Write(&buf); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes()[:buf.Len()/2], 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	check(t, err, "not a complete .npz file")
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}
