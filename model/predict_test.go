package model

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A prediction is target mean + (standardised x, 1)' (mean + U b), by dense algebra.
func TestPredict(t *testing.T) {
	m := testModel(t)
	p := m.Parameters()
	r := rand.New(rand.NewPCG(1, 1))
	rows := newRows(m)
	for _, task := range []string{"3", "0", "14"} {
		rows.add(r, task, 4, make([]float64, 4), 0, 1)
	}
	rows.x[2][1] = math.NaN()
	all, err := m.PredictTable(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range rows.x {
		if n := m.FillMissing(x); n > 0 != (i == 2) || i == 2 && x[1] != p.Scaling.Fill[1] {
			t.Errorf("row %d: %d values were filled in, now %v", i, n, x)
		}
		task := rows.tasks[rows.task[i]]
		k := m.index[task]
		z := mat.NewVecDense(5, nil)
		for j := range x {
			z.SetVec(j, (x[j]-p.Scaling.Center[j])/p.Scaling.Scale[j])
		}
		z.SetVec(4, 1)
		var theta mat.VecDense
		theta.MulVec(p.U[p.NodeOf[k]], mat.NewVecDense(3, p.B[3*k:3*k+3]))
		theta.AddVec(&theta, mat.NewVecDense(5, p.Mean))
		want := p.Scaling.Target + mat.Dot(z, &theta)
		got, err := m.Predict(task, x)
		if err != nil || math.Abs(got-want) > 1e-12*(1+math.Abs(want)) || all[i] != got {
			t.Fatalf("row %d: %v and %v, %v, want %v", i, got, all[i], err, want)
		}
	}
	x := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { _, _ = m.Predict("3", x) }); n != 0 {
		t.Errorf("Predict allocates %v times", n)
	}
}

func TestPredictErrors(t *testing.T) {
	m := testModel(t)
	_, err := m.Predict("99", make([]float64, 4))
	check(t, err, `the model does not know task "99": add it with adapt`)
	_, _, err = m.Coefficients("99")
	check(t, err, `task "99"`)
	_, err = m.Predict("1", make([]float64, 3))
	check(t, err, "x has 3 features, the model 4")
	other := newRows(m)
	for _, task := range []string{"1", "u", "v", "w", "x", "y", "z"} {
		other.add(rand.New(rand.NewPCG(1, 1)), task, 1, make([]float64, 4), 0, 1)
	}
	_, err = m.PredictTable(other)
	check(t, err, `does not know tasks "u", "v", "w", "x", "y" and 1 more: add them with adapt`)
	_, err = m.PredictTable(&memory{features: []string{"f0"}})
	check(t, err, `the table has the features ["f0"], the model ["f0" "f1" "f2" "f3"]`)
}

// One model serves many goroutines; the race detector watches.
func TestPredictConcurrently(t *testing.T) {
	m := testModel(t)
	r := rand.New(rand.NewPCG(1, 1))
	rows := newRows(m)
	for k := range 15 {
		rows.add(r, m.Tasks()[k], 5, make([]float64, 4), 0, 1)
	}
	want, err := m.PredictTable(rows)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []string
	var x []float64
	for i := range rows.y {
		tasks, x = append(tasks, rows.tasks[rows.task[i]]), append(x, rows.x[i]...)
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

// New tasks whose theta is mean + U b are recovered from as many rows as the rank, and
// the old ones stay what they are.
func TestAdapt(t *testing.T) {
	m := testModel(t)
	p := m.Parameters()
	r := rand.New(rand.NewPCG(2, 2))
	// The new tasks are copies of old ones of node 1 under other names.
	few := newRows(m)
	for _, old := range []string{"6", "8"} {
		theta, constant, err := m.Coefficients(old)
		if err != nil {
			t.Fatal(err)
		}
		few.add(r, "like "+old, 3, theta, constant, 0)
	}
	a, singular, err := m.Adapt(few, 1, 0)
	if err != nil || singular != nil {
		t.Fatal(err, singular)
	}
	q := a.Parameters()
	if len(a.Tasks()) != 17 || len(m.Tasks()) != 15 || q.NodeOf[15] != 1 || q.Samples[16] != 3 {
		t.Errorf("%d tasks, node %d, %d rows", len(a.Tasks()), q.NodeOf[15], q.Samples[16])
	}
	for _, task := range append([]string{"like 6", "like 8"}, p.Tasks...) {
		got, constant, err := a.Coefficients(task)
		if err != nil {
			t.Fatal(err)
		}
		want, wantConstant, _ := m.Coefficients(strings.TrimPrefix(task, "like "))
		checkClose(t, "task "+task, append([]float64{constant}, got...), append([]float64{wantConstant}, want...))
	}
	one := newRows(m)
	one.add(r, "one", 1, make([]float64, 4), 0, 1)
	if _, singular, err = m.Adapt(one, 0, 0); err != nil || len(singular) != 1 || !strings.Contains(singular[0], `"one" (underdetermined)`) {
		t.Errorf("one row without ridge: %q, %v", singular, err)
	}
	_, _, err = a.Adapt(few, 0, 1)
	check(t, err, `knows task "like 6" already`)
	_, _, err = m.Adapt(few, 3, 1)
	check(t, err, "the model has nodes 0 to 2")
	_, _, err = m.Adapt(few, 0, -1)
	check(t, err, "ridge is -1")
	few.x[4][2] = math.Inf(1)
	_, _, err = m.Adapt(few, 0, 1)
	check(t, err, `task "like 8", row 4`)
	_, err = m.NodeIndex("x")
	check(t, err, `no node "x": its nodes are ["n0" "n1" "n2"]`)
	if g, err := m.NodeIndex("n2"); g != 2 || err != nil {
		t.Errorf("node n2 is %d, %v", g, err)
	}
}

// A service adapts a model before it knows any task.
func TestModelWithoutTasks(t *testing.T) {
	p := testParameters(t)
	p.Tasks, p.NodeOf, p.Samples, p.B, p.Precision = nil, nil, nil, nil, nil
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	rows := newRows(m)
	rows.add(rand.New(rand.NewPCG(1, 1)), "a", 9, []float64{1, 2, 3, 4}, 5, 0.1)
	a, _, err := m.Adapt(rows, 2, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := a.PredictTable(rows); err != nil || math.IsNaN(y[8]) {
		t.Errorf("predictions %v, %v", y, err)
	}
}
