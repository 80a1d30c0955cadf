package model

import (
	"encoding"
	"reflect"
	"sync"
	"testing"
)

var (
	_ encoding.BinaryMarshaler   = (*Model)(nil)
	_ encoding.BinaryUnmarshaler = (*Model)(nil)
)

func TestMarshalBinary(t *testing.T) {
	m, _, _ := testModel(t)
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

// One model serves many goroutines; the race detector watches.
func TestPredictConcurrently(t *testing.T) {
	m, _, tab := testModel(t)
	want, err := m.PredictTable(tab)
	if err != nil {
		t.Fatal(err)
	}
	tasks := make([]string, tab.Rows())
	x := make([]float64, 4*tab.Rows())
	for i := range tasks {
		tasks[i] = tab.Tasks()[tab.Task(i)]
		tab.X(x[4*i:], i)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dst := make([]float64, len(tasks))
			for range 20 {
				if err := m.PredictBatch(dst, tasks, x); err != nil || !reflect.DeepEqual(dst, want) {
					t.Errorf("predictions differ: %v", err)
				}
				if y, _, err := m.PredictError(tasks[3], x[12:16]); err != nil || y != want[3] {
					t.Errorf("prediction %v, %v", y, err)
				}
			}
			if _, err := m.MarshalBinary(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	dst := make([]float64, len(tasks))
	if n := testing.AllocsPerRun(20, func() { _ = m.PredictBatch(dst, tasks, x) }); n != 0 {
		t.Errorf("PredictBatch allocates %v times", n)
	}
	check(t, m.PredictBatch(dst[1:], tasks, x), "need")
	check(t, m.PredictBatch(dst, tasks, x[1:]), "need")
	tasks[2] = "nobody"
	check(t, m.PredictBatch(dst, tasks, x), `row 2: the model does not know task "nobody"`)
}
