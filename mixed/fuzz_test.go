package mixed

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// FuzzLoad: bytes of any kind are refused with an error, or give a model that works: it predicts, lists its
// effects, adapts, and is written to a file that gives the same file once more.
func FuzzLoad(f *testing.F) {
	wide, _ := wideAndFull()
	for _, p := range []Parameters{full(), synthetic(), wide} {
		file := bytesOf(f, check.OK(New(p)))
		f.Add(file)
		f.Add(file[:len(file)/2])
		f.Add(bytes.Replace(file, []byte(`"rank":2`), []byte(`"rank":9`), 1))
		f.Add(bytes.Replace(file, []byte(`"scale":3`), []byte(`"scale":0`), 1))
		f.Add(bytes.Replace(file, []byte("<f8"), []byte("<f4"), 1))
	}
	f.Fuzz(func(t *testing.T, file []byte) { useFile(t, file) })
}

// FuzzArrays is FuzzLoad for files that are whole, but have another header and other numbers in one array.
func FuzzArrays(f *testing.F) {
	wide, _ := wideAndFull()
	models := []*Model{check.OK(New(full())), check.OK(New(wide))}
	for i, m := range models {
		c := contentsOf(f, m)
		for _, name := range c.names {
			f.Add(i, c.header, name, 3, 0.)
			f.Add(i, c.header, name, 0, -1e300)
			f.Add(i, c.header, name, 1, 5e-324)
		}
		f.Add(i, strings.Replace(c.header, `"rank"`, `"Rank"`, 1), "", 0, 0.)
		f.Add(i, strings.Replace(c.header, `"columns"`,
			`"columns":[],"categories":[{"column":"b","levels":["u"]}],"x"`, 1), "", 0, 0.)
	}
	f.Fuzz(func(t *testing.T, model int, header, name string, at int, v float64) {
		c := contentsOf(t, models[max(model, 0)%len(models)])
		c.header = header
		if list := c.numbers[name]; len(list) > 0 {
			list[max(at, 0)%len(list)] = v
		}
		useFile(t, c.file(t))
	})
}

// useFile uses the model of a file, if there is one.
func useFile(t *testing.T, file []byte) {
	t.Helper()
	m, err := readBytes(file)
	if err != nil {
		return
	}
	use(t, m)
	again := bytesOf(t, m)
	loaded, err := readBytes(again)
	if err != nil {
		t.Fatalf("a model that was loaded and saved cannot be loaded: %v", err)
	}
	check.FailIf(t, !bytes.Equal(bytesOf(t, loaded), again), "the file of a loaded model has other bytes")
}

// use calls all that a model can do. Errors are fine, panics are not; what it predicts are numbers.
func use(t *testing.T, m *Model) {
	t.Helper()
	x := make([]float64, len(m.Features()))
	rows := &list{features: m.Features(), tasks: append(slices.Clone(m.Tasks()[:1]), "another")}
	for _, v := range []float64{0, 1, math.NaN(), -1e9, 1e200} {
		for j := range x {
			x[j] = v
		}
		for i, task := range rows.tasks {
			p, err := m.PredictError(task, x)
			if err == nil && (!finite(p.Value) || math.IsNaN(p.StandardError) || math.IsNaN(p.SampleError)) {
				t.Errorf("task %q, features %v: prediction %+v", task, v, p)
			}
			rows.task, rows.x, rows.y = append(rows.task, i), append(rows.x, slices.Clone(x)), append(rows.y, 1)
		}
		if adapted, err := m.Adapt(t.Context(), rows); err == nil {
			if _, err := adapted.PredictError("another", x); err != nil && v == 0 {
				t.Errorf("a model that adapts does not predict: %v", err)
			}
		}
	}
	for _, e := range m.Effects() {
		if math.IsNaN(e.StandardError) || math.IsNaN(e.Deviation) {
			t.Errorf("effect %+v", e)
		}
	}
	m.Noise()
	m.Unit()
}
