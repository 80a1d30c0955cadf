package minimum

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A meeting adds rows of two processes with a node each. Its ends wait for one another.
type meeting struct {
	rows [2]chan []float64
}

type end struct {
	*meeting
	node int
}

func (e end) Hosted() []int { return []int{e.node} }

func (e end) Sum(ctx context.Context, rows [][]float64) error {
	e.rows[1-e.node] <- append([]float64(nil), rows[0]...)
	select {
	case other := <-e.rows[e.node]:
		if len(other) != len(rows[0]) {
			return errors.New("rows of different lengths")
		}
		floats.Add(rows[0], other)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestArguments: wrong arguments of one node are an error at all nodes, which names them where they are, and
// no node waits.
func TestArguments(t *testing.T) {
	tasks, u, _ := setting(14, func(int) float64 { return 1 }, .1)
	nan := u[1].Clone()
	nan.Col(1)[2] = math.NaN()
	for want, c := range map[string]struct {
		tasks []*kernel.Tasks
		u     []*kernel.Basis
		o     Options
	}{
		"tasks of 0 nodes and 0 bases":     {nil, nil, Options{}},
		"tasks of 1 nodes and 0 bases":     {tasks[1:], nil, Options{}},
		"tasks of 2 nodes":                 {tasks, u, Options{}},
		"node 1 has no tasks":              {[]*kernel.Tasks{nil}, u[1:], Options{}},
		"node 1 has no tasks or no basis":  {tasks[1:], []*kernel.Basis{nil}, Options{}},
		"6 features and a basis of 5 rows": {tasks[1:], []*kernel.Basis{kernel.NewBasis(5, 2)}, Options{}},
		"node 1 is not orthonormal":        {tasks[1:], []*kernel.Basis{nan}, Options{}},
		"the ridge is NaN":                 {tasks[1:], u[1:], Options{Ridge: math.NaN()}},
		"the ridge is -1":                  {tasks[1:], u[1:], Options{Ridge: -1}},
		"different sizes":                  {tasks[1:], []*kernel.Basis{kernel.NewBasis(6, 3)}, Options{}},
	} {
		m := &meeting{rows: [2]chan []float64{make(chan []float64, 1), make(chan []float64, 1)}}
		var other error
		var wg sync.WaitGroup
		wg.Go(func() { _, other = Check(t.Context(), end{m, 0}, tasks[:1], u[:1], Options{}) })
		_, err := Check(t.Context(), end{m, 1}, c.tasks, c.u, c.o)
		wg.Wait()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if want != "different sizes" && !errors.Is(other, sums.ErrElsewhere) || other == nil {
			t.Errorf("%q: the other node returns %v", want, other)
		}
	}
	if _, err := Check(t.Context(), nil, tasks, u, Options{}); err == nil {
		t.Error("no error without a network")
	}
	second := u[1].Clone()
	if _, err := Check(t.Context(), together{}, tasks, []*kernel.Basis{u[0], kernel.NewBasis(6, 1)},
		Options{}); err == nil {
		t.Error("no error for bases of different ranks")
	}
	if out, err := Check(t.Context(), together{}, tasks, []*kernel.Basis{u[0], second}, Options{}); err != nil ||
		out.Verdict != Minimum {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestInterpolation: where some U fit any responses the verdict is Undetermined: with at most r (d - r) = 8
// samples besides r of every task, unless a ridge makes a difference, and with as many columns of U as
// features.
func TestInterpolation(t *testing.T) {
	square := func() *kernel.Basis {
		u := kernel.NewBasis(6, 6)
		for j := range 6 {
			u.Col(j)[j] = 1
		}
		return u
	}
	for _, c := range []struct {
		name  string
		n     int
		ridge float64
		u     *kernel.Basis
		want  bool
	}{
		{"two samples for two coefficients", 2, 0, nil, true},
		{"one sample", 1, 0, nil, true},
		{"three samples", 3, 0, nil, false},
		{"a ridge", 2, .5, nil, false},
		{"a square U", 14, 0, square(), true},
		{"a square U and a ridge", 14, .5, square(), true},
	} {
		tasks, u, _ := setting(c.n, func(int) float64 { return 1 }, .1)
		if c.u != nil {
			u = []*kernel.Basis{c.u, c.u}
		}
		out, err := Check(t.Context(), together{}, tasks, u, Options{Ridge: c.ridge})
		if err != nil {
			t.Fatal(err)
		}
		// A verdict for other reasons has looked at directions.
		if got := out.Verdict == Undetermined && math.IsNaN(out.WeakestDirection); got != c.want {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

// TestSamplesForAll: U has r (d - r) = 8 unknowns, and a task of three samples leaves one equation. Eight
// tasks fit any responses, and the ninth does not.
func TestSamplesForAll(t *testing.T) {
	const d, r = 6, 2
	for count := 7; count <= 10; count++ {
		var tasks []*kernel.Tasks
		rng := rand.New(rand.NewPCG(9, uint64(count)))
		for _, part := range []int{count / 2, count - count/2} {
			b := kernel.NewBuilder(d, slices.Repeat([]int{r + 1}, part), kernel.Float64)
			for task := range part {
				for i := range r + 1 {
					x := make([]float64, d)
					for j := range x {
						x[j] = rng.NormFloat64()
					}
					b.SetRow(task, i, x, rng.NormFloat64())
				}
			}
			tasks = append(tasks, b.Tasks())
		}
		_, u, _ := setting(4, func(int) float64 { return 1 }, .1)
		out, err := Check(t.Context(), together{}, tasks, u, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Verdict == Undetermined && out.SingularValues == nil; got != (count <= r*(d-r)) {
			t.Errorf("%d tasks: %+v", count, out)
		}
	}
}

// TestMisuse: no context, and totals that describe no data, are errors.
func TestMisuse(t *testing.T) {
	tasks, u, _ := setting(12, func(int) float64 { return 1 }, .1)
	var none context.Context
	if _, err := Check(none, together{}, tasks, u, Options{}); err == nil {
		t.Error("Check without a context has no error")
	}
	for _, totals := range []Totals{{}, {24, 288, -1, 1}, {24, math.NaN(), 1, 1}, {24, 288, 1, math.Inf(1)}} {
		if _, err := Check(t.Context(), together{}, tasks, u, Options{Totals: &totals}); err == nil {
			t.Errorf("Check takes the totals %+v", totals)
		}
	}
}
