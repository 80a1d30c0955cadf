package model

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A prediction is target mean + (standardised x, 1)' theta, by dense algebra.
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
		want := p.Scaling.Target + p.Scaling.TargetScale*mat.Dot(z, mat.NewVecDense(5, p.Theta[5*k:5*k+5]))
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
	if !errors.Is(err, ErrUnknownTask) {
		t.Errorf("%v is not ErrUnknownTask", err)
	}
	for want, x := range map[string][]float64{
		"feature 2 is -Inf":            {0, 0, math.Inf(-1), 0},
		"feature 1 is +Inf":            {0, math.Inf(1), math.Inf(-1), 0},
		"the prediction is not finite": {1.7e308, -1.7e308, 1.7e308, -1.7e308},
	} {
		_, err = m.Predict("1", x)
		check(t, err, want)
		check(t, m.PredictBatch(make([]float64, 1), []string{"1"}, x), want)
		if errors.Is(err, ErrUnknownTask) {
			t.Errorf("%v is ErrUnknownTask", err)
		}
	}
	if y, err := m.Predict("1", []float64{0, math.NaN(), math.Inf(1), 0}); err != nil || !math.IsNaN(y) {
		t.Errorf("with NaN: %v, %v", y, err)
	}
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

// Coefficients of a new task, and their covariance, are those of the joint normal distribution, by dense
// algebra: given all rows, with what the model knows as the prior.
func TestAdaptIsThePosterior(t *testing.T) {
	p := testParameters(t)
	p.Prior.Uncertainty = nil
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{1, 3, 9, 700} { // also more rows than a compressor holds
		rows := newRows(m)
		rows.add(r, "new", n, []float64{1, 2, 3, 4}, 5, 1)
		a, err := m.Adapt(rows)
		if err != nil {
			t.Fatal(err)
		}
		// (S^-1 + Z'Z)^-1, S = L L' + spread + intercept + covariance of the mean.
		prior := mat.NewDense(5, 5, nil)
		l := mat.NewDense(2, 5, p.Prior.Loadings)
		prior.Mul(l.T(), l)
		prior.Add(prior, mat.NewDense(5, 5, p.Prior.MeanCovariance))
		for j := range 4 {
			prior.Set(j, j, prior.At(j, j)+p.Prior.Spread*p.Prior.Slopes[j])
		}
		prior.Set(4, 4, prior.At(4, 4)+p.Prior.Intercept)
		z, e := mat.NewDense(n, 5, nil), mat.NewVecDense(n, nil)
		for i, x := range rows.x {
			row := z.RawRowView(i)
			copy(row, x)
			p.Scaling.Apply(row)
			e.SetVec(i, (rows.y[i]-7)/4-mat.Dot(mat.NewVecDense(5, row), mat.NewVecDense(5, p.Mean)))
		}
		var precision, cov mat.Dense
		if err := precision.Inverse(prior); err != nil {
			t.Fatal(err)
		}
		var gram mat.Dense
		gram.Mul(z.T(), z)
		precision.Add(&precision, &gram)
		if err := cov.Inverse(&precision); err != nil {
			t.Fatal(err)
		}
		var right, theta mat.VecDense
		right.MulVec(z.T(), e)
		theta.MulVec(&cov, &right)
		theta.AddVec(&theta, mat.NewVecDense(5, p.Mean))
		q := a.Parameters()
		checkClose(t, "coefficients", q.Theta[75:], theta.RawVector().Data)
		last := mat.NewVecDense(5, z.RawRowView(n-1))
		_, got, err := a.PredictError("new", rows.x[n-1])
		checkClose(t, "standard error", []float64{got}, []float64{4 * math.Sqrt(0.3*mat.Inner(last, &cov, last))})
		if err != nil || len(a.Tasks()) != 16 || len(m.Tasks()) != 15 || q.NodeOf[15] != -1 || q.Samples[15] != n {
			t.Errorf("%v, %d tasks, node %d, %d rows", err, len(a.Tasks()), q.NodeOf[15], q.Samples[15])
		}
		_, err = a.Adapt(rows)
		check(t, err, `knows task "new" already`)
		rows.x[n-1][2] = math.Inf(1)
		_, err = m.Adapt(rows)
		check(t, err, `task "new", row `)
	}
	x := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.PredictError("3", x) }); n != 0 {
		t.Errorf("PredictError allocates %v times", n)
	}
}

// A service adapts a model before it knows any task.
func TestModelWithoutTasks(t *testing.T) {
	p := testParameters(t)
	p.Tasks, p.NodeOf, p.Samples, p.Theta, p.Covariance = nil, nil, nil, nil, nil
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	rows := newRows(m)
	rows.add(rand.New(rand.NewPCG(1, 1)), "a", 9, []float64{1, 2, 3, 4}, 5, 0.1)
	a, err := m.Adapt(rows)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := a.PredictTable(rows); err != nil || math.IsNaN(y[8]) {
		t.Errorf("predictions %v, %v", y, err)
	}
	_, e, err := a.PredictError("a", rows.x[0])
	if err != nil || !math.IsNaN(e) {
		t.Errorf("standard error %v, %v", e, err)
	}
}

// Where tasks differ by their noise, a new one has that of its rows, with some of what is usual: of many
// rows the first, of one the second; and a model keeps both in its file.
func TestAdaptEstimatesTheNoise(t *testing.T) {
	p := testParameters(t)
	p.Tasks, p.NodeOf, p.Samples, p.Theta, p.Covariance = nil, nil, nil, nil, nil
	p.Prior.NoisePrior = NoisePrior{Scale: 0.1, Freedom: 6}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	rows := newRows(m)
	r := rand.New(rand.NewPCG(4, 4))
	rows.add(r, "quiet", 400, []float64{1, 2, 3, 4}, 5, 0.5)
	rows.add(r, "noisy", 400, []float64{1, 2, 3, 4}, 5, 6)
	rows.add(r, "short", 1, []float64{1, 2, 3, 4}, 5, 1)
	a, err := m.Adapt(rows)
	if err != nil {
		t.Fatal(err)
	}
	data, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Model
	if err := read.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	// The 97.5 % quantile of Student's t with 6 or 7 degrees of freedom is 2.45 or 2.36; that of the normal one 1.96.
	usual := 4 * math.Sqrt(0.1)
	for task, want := range map[string][2]float64{"quiet": {0.45, 0.58}, "noisy": {5.5, 6.5}, "short": {usual * 1.05, usual * 1.5}} {
		got, err := a.TaskNoise(task)
		if same, _ := read.TaskNoise(task); err != nil || got != same || got < want[0] || got > want[1] {
			t.Errorf("%s: %v, read %v (%v), want between %v", task, got, same, err, want)
		}
	}
	_, err = a.TaskNoise("nobody")
	check(t, err, `does not know task "nobody"`)
}

// FillMissing of another number of features is a mistake of the program, not of the data.
func TestFillMissingPanics(t *testing.T) {
	m := testModel(t)
	for _, n := range []int{0, 3, 5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d of 4 features are filled", n)
				}
			}()
			m.FillMissing(make([]float64, n))
		}()
	}
}
