package difalt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// New tasks along the same directions are predicted from few samples, in any unit of the responses; the model
// stays as it was.
func TestModelAdapt(t *testing.T) {
	rng := rand.New(rand.NewPCG(121, 122))
	u := [][]float64{gaussian(rng, 12), gaussian(rng, 12)}
	k, more := &table{}, &table{}
	k.add(rng, u, 20, 14)
	more.add(rng, u, 4, 5)
	for _, fy := range []float64{1, 2e7, 1e-150} {
		m := fitted(t, k.scaled([]float64{1}, fy).tasks(t), difalt.Options{Rank: 2})
		before, err := saved(m)
		if err != nil {
			t.Fatal(err)
		}
		s := more.scaled([]float64{1}, fy)
		s.x, s.y = append(s.x, nil, s.x[0][:1]), append(s.y, nil, s.y[0][:1])
		adapted, err := m.Adapt(t.Context(), s.tasks(t))
		if err != nil {
			t.Fatal(err)
		}
		checkTruth(t, "adapted", adapted, more, []float64{1}, fy)
		if after, _ := saved(m); adapted.Len() != 6 || m.Len() != 20 || !bytes.Equal(after, before) {
			t.Errorf("%d adapted tasks, %d before; or the model changed", adapted.Len(), m.Len())
		}
		if adapted.Tasks[0] != lsq.OK || adapted.Tasks[4] != lsq.Underdetermined || adapted.Tasks[5] == lsq.OK {
			t.Errorf("statuses %v", adapted.Tasks)
		}
		if y := adapted.Predict(nil, 5, s.x[5][0]); !(math.Abs(y[0]-s.y[5][0]) <= 1e-9*math.Abs(s.y[5][0])) {
			t.Errorf("a task of one sample predicts %v there, want %v", y, s.y[5])
		}
	}
	// Adapting to the training tasks gives their coefficients again, also with a ridge and with weights.
	w := make([]float64, 20*14)
	for i := range w {
		w[i] = rng.Float64()
	}
	tasks, err := k.tasks(t).Weighted(w)
	if err != nil {
		t.Fatal(err)
	}
	m := fitted(t, tasks, difalt.Options{Rank: 2, Ridge: 3})
	again, err := m.Adapt(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	e := floats.Distance(again.B, m.B, 2) + floats.Distance(again.Intercepts, m.Intercepts, 2)
	if !(e <= 1e-9*floats.Norm(m.Intercepts, 2)) {
		t.Errorf("coefficients of the same tasks differ by %g", e)
	}
}

func TestModelAdaptErrors(t *testing.T) {
	k := newTable(rand.New(rand.NewPCG(123, 124)), 8, 9, 5, 2)
	tasks := k.tasks(t)
	m := fitted(t, tasks, difalt.Options{Rank: 2})
	var none context.Context
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	bad := kernel.NewBuilder(5, []int{1, 3}, kernel.Float64)
	bad.SetRow(1, 2, make([]float64, 5), math.Inf(-1))
	half := *m
	half.B = half.B[1:]
	for text, f := range map[string]func() (*difalt.Model, error){
		"need a context": func() (*difalt.Model, error) { return m.Adapt(none, tasks) },
		"need tasks":     func() (*difalt.Model, error) { return m.Adapt(t.Context(), nil) },
		"4 features, the model has 5": func() (*difalt.Model, error) {
			return m.Adapt(t.Context(), newTable(rand.New(rand.NewPCG(1, 1)), 1, 2, 4, 1).tasks(t))
		},
		"task 1, row 2: the response is": func() (*difalt.Model, error) { return m.Adapt(t.Context(), bad.Tasks()) },
		"context canceled":               func() (*difalt.Model, error) { return m.Adapt(ended, tasks) },
		"no representation": func() (*difalt.Model, error) {
			return new(difalt.Model).Adapt(t.Context(), tasks)
		},
		"15 coefficients": func() (*difalt.Model, error) { return half.Adapt(t.Context(), tasks) },
	} {
		if got, err := f(); got != nil || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, f := range map[string]func(){
		"Theta": func() { m.Theta(8) }, "zero model": func() { new(difalt.Model).Predict(nil, 0, nil) },
		"task": func() { m.Predict(nil, 8, k.x[0][0]) }, "negative": func() { m.Predict(nil, -1, k.x[0][0]) },
		"row": func() { m.Predict(nil, 0, k.x[0][0][1:]) }, "nil row": func() { m.Predict(nil, 0, nil) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "difalt: the ") {
					t.Errorf("%s: panic %v", name, text)
				}
			}()
			f()
		}()
	}
	dst := m.Predict([]float64{1}, 3, k.x[3]...)
	first := dst[0]
	if n := check.Allocations(10, func() { m.Predict(dst[:0], 3, k.x[3][0]) }); n != 0 || len(dst) != 10 || first != 1 {
		t.Errorf("%d allocations; %v", n, dst)
	}
	if m.Predict(dst[:0], 2) == nil || len(m.Predict(nil, 2)) != 0 {
		t.Error("no rows have predictions")
	}
}

// The model of a decentralised result predicts as Theta does, and as Scaling.Undo after Standardize.
func TestResultModel(t *testing.T) {
	p := draw(t, 3, 12, 9, 20, 2, 2, .01, 1)
	res := run(t, p, network(t, "ring", 3, 1), difalt.Options{Rank: 2, Method: difalt.Accelerated, Ridge: .5})
	row := make([]float64, 12)
	for i, k := range p.Nodes {
		m := res.Model(i, nil)
		for task := range k.Len() {
			k.Row(row, task, 0)
			want := floats.Dot(res.Theta(i, task), row)
			got := m.Predict(nil, task, row)[0]
			if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) || m.Ridge != .5 || m.Intercepts != nil {
				t.Errorf("node %d, task %d: %g, want %g; ridge %g", i, task, got, want, m.Ridge)
			}
			if e := floats.Distance(m.Theta(task), res.Theta(i, task), 2); !(e <= 1e-14) {
				t.Errorf("node %d, task %d: theta differs by %g", i, task, e)
			}
		}
		adapted, err := m.Adapt(t.Context(), k)
		if err != nil || !(floats.Distance(adapted.B, m.B, 2) <= 1e-8) {
			t.Errorf("node %d: adapted coefficients differ by %g, %v", i, floats.Distance(adapted.B, m.B, 2), err)
		}
	}
	q, net := moved(p, 5, nil), network(t, "ring", 3, 1)
	nodes, scaling, err := features.Standardize(t.Context(), net, q.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	res = run(t, &difalt.Problem{Nodes: nodes}, net, difalt.Options{Rank: 2, Method: difalt.Accelerated})
	for i, k := range q.Nodes {
		m := res.Model(i, scaling)
		u, b, intercepts := scaling.Undo(i, res.U[i], res.B[i])
		for task := range k.Len() {
			k.Row(row, task, 0)
			want := intercepts[task]
			for j := range 2 {
				want += b[2*task+j] * floats.Dot(u.Col(j), row)
			}
			if got := m.Predict(nil, task, row)[0]; !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
				t.Errorf("node %d, task %d: %g, by Undo %g", i, task, got, want)
			}
		}
	}
}

func saved(m *difalt.Model) ([]byte, error) {
	var b bytes.Buffer
	err := m.Save(&b)
	return b.Bytes(), err
}

// A disk has room for a number of bytes.
type disk int

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), int(*d))
	*d -= disk(n)
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// Files that end early, with any other byte, of other versions, or with sizes that nobody has the memory for,
// are errors and take no memory.
func TestModelFileMalformed(t *testing.T) {
	m := fitted(t, newTable(rand.New(rand.NewPCG(127, 128)), 6, 9, 5, 2).tasks(t), difalt.Options{Rank: 2})
	file := must(saved(m))
	refused := func(name string, b []byte) {
		t.Helper()
		got, err := difalt.LoadModel(bytes.NewReader(b))
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), "difalt: model: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range file {
		_, err := difalt.LoadModel(bytes.NewReader(file[:n]))
		if err == nil || err.Error() != "difalt: model: the file ends too early" {
			t.Errorf("%d of %d bytes: %v", n, len(file), err)
		}
		for bit := range 8 {
			b := slices.Clone(file)
			b[n] ^= 1 << bit
			refused("a bit changed", b)
		}
	}
	const header = len("difalt model\n") // version, intercepts, status, iterations, features, rank, tasks
	put := func(at int, v uint64) []byte {
		b := slices.Clone(file)
		binary.LittleEndian.PutUint64(b[header+at:], v)
		return b
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, huge := range []uint64{1 << 30, 1 << 38, 1 << 40, 1 << 62, 1<<64 - 1} {
		refused("features", put(14, huge))
		refused("rank", put(22, huge))
		refused("tasks", put(30, huge))
		refused("iterations", put(6, huge))
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 20*16<<10*8 {
		t.Errorf("%d bytes for sizes that are not there", grown)
	}
	refused("version", append([]byte("difalt model\n\x02\x00\x00\x00"), file[header+4:]...))
	refused("text", []byte("u,b\n1,2\n"))
}

// Whatever the bytes, LoadModel returns an error or a model that is saved as the same bytes.
func FuzzLoadModel(f *testing.F) {
	u := kernel.NewBasis(2, 1)
	u.Set(1, 0, 1)
	f.Add(must(saved(&difalt.Model{U: u, B: []float64{1, 2}, Intercepts: []float64{3, 4},
		Tasks: make([]lsq.Status, 2)})))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := difalt.LoadModel(bytes.NewReader(file))
		if err != nil {
			return
		}
		if again, err := saved(m); err != nil || !bytes.HasPrefix(file, again) {
			t.Errorf("saved as other bytes, %v", err)
		}
	})
}

// A service refuses a run before it starts.
func TestOptionsValidate(t *testing.T) {
	for _, c := range []struct {
		rank, features, tasks int
		ok                    bool
	}{
		{4, 0, 0, true}, {4, 4, 4, true},
		{4, 3, 9, false}, {4, 9, 3, false}, {0, 9, 9, false}, {9, 0, 8, false}, {9, 8, 0, false},
	} {
		o := difalt.Options{Rank: c.rank}
		err := o.Validate(c.features, c.tasks)
		var parameter *difalt.ParameterError
		if (err == nil) != c.ok || err != nil && (!errors.As(err, &parameter) || parameter.Name != "Rank") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestParameterValue: the error about a field has its value, in its type.
func TestParameterValue(t *testing.T) {
	for name, c := range map[string]struct {
		o    difalt.Options
		want any
	}{
		"Method":          {difalt.Options{Rank: 1, Method: 9}, difalt.Method(9)},
		"Rank":            {difalt.Options{Rank: -2}, -2},
		"Codec":           {difalt.Options{Rank: 1, Codec: consensus.Int8}, consensus.Int8},
		"Iterations":      {difalt.Options{Rank: 1, Iterations: 2_000_000_000}, 2_000_000_000},
		"Rounds":          {difalt.Options{Rank: 1, Rounds: -3}, -3},
		"StartRounds":     {difalt.Options{Rank: 1, StartRounds: -4}, -4},
		"PowerIterations": {difalt.Options{Rank: 1, PowerIterations: -5}, -5},
		"Workers":         {difalt.Options{Rank: 1, Workers: 5000}, 5000},
		"Step":            {difalt.Options{Rank: 1, Step: -1e-7}, -1e-7},
		"Ridge":           {difalt.Options{Rank: 1, Ridge: 1e200}, 1e200},
		"Tolerance":       {difalt.Options{Rank: 1, Tolerance: math.Inf(1)}, math.Inf(1)},
		"Kappa":           {difalt.Options{Rank: 1, Kappa: -1}, -1.0},
		"Mu":              {difalt.Options{Rank: 1, Mu: 1e70}, 1e70},
	} {
		var parameter *difalt.ParameterError
		if err := c.o.Validate(0, 0); !errors.As(err, &parameter) || parameter.Name != name ||
			parameter.Value != c.want {
			t.Errorf("%s: %v, want the value %v", name, err, c.want)
		}
	}
}

// TestRidgeOfWeights: a ridge is too large for weights that are tiny, and the error has the caller's ridge.
func TestRidgeOfWeights(t *testing.T) {
	tasks := newTable(rand.New(rand.NewPCG(151, 152)), 8, 8, 4, 2).tasks(t)
	w := make([]float64, tasks.TotalSamples())
	for i := range w {
		w[i] = 1e-250
	}
	tiny, err := tasks.Weighted(w)
	if err != nil {
		t.Fatal(err)
	}
	_, err = difalt.Options{Rank: 2, Ridge: .5}.Fit(t.Context(), tiny)
	var parameter *difalt.ParameterError
	if !errors.As(err, &parameter) || parameter.Value != .5 || !strings.Contains(err.Error(), "times the mean weight") {
		t.Errorf("%v", err)
	}
}

// A nil context is an error, and a nil basis panics with a constant message.
func TestNil(t *testing.T) {
	p, net := draw(t, 1, 6, 4, 9, 2, 2, 0, 1), network(t, "complete", 1, 1)
	var none context.Context
	if _, err := difalt.Run(none, p, net, difalt.Options{Rank: 2}); err == nil ||
		err.Error() != "difalt: need a context" {
		t.Errorf("Run: %v", err)
	}
	if _, err := difalt.Initialize(none, p, net, difalt.Options{Rank: 2}); err == nil ||
		err.Error() != "difalt: need a context" {
		t.Errorf("Initialize: %v", err)
	}
	defer func() {
		if text := recover(); text != "difalt: a basis is nil" {
			t.Errorf("SubspaceDistance: %v", text)
		}
	}()
	difalt.SubspaceDistance(p.Truth, nil)
}
