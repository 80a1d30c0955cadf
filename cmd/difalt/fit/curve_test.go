package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// planted is data without mean, y = x' U* b + noise, of standard normal features, b
// and 10 % of noise: its standard deviation is a tenth of that of x' U* b.
type planted struct {
	rng   *rand.Rand
	truth *kernel.Basis
	theta map[string][]float64
}

func newPlanted(seed uint64, d, r int) *planted {
	p := &planted{rng: rand.New(rand.NewPCG(seed, 1)), theta: map[string][]float64{}}
	m := mat.NewDense(d, r, nil)
	for i := range d {
		for j := range r {
			m.Set(i, j, p.rng.NormFloat64())
		}
	}
	p.truth = kernel.BasisOf(m)
	p.truth.Orthonormalize(make([]float64, r*r), make([]float64, r))
	return p
}

func (p *planted) table(t *testing.T, prefix string, tasks, n int) *dataset.Table {
	t.Helper()
	d, r := p.truth.Dims()
	tab := emptyTable(t, d)
	x := make([]float64, d)
	for k := range tasks {
		theta := make([]float64, d)
		for j := range r {
			b := p.rng.NormFloat64()
			for i, v := range p.truth.Col(j) {
				theta[i] += b * v
			}
		}
		name := fmt.Sprint(prefix, k)
		p.theta[name] = theta
		noise := 0.1 * math.Sqrt(floats.Dot(theta, theta))
		for range n {
			for i := range x {
				x[i] = p.rng.NormFloat64()
			}
			if err := tab.Append(name, "", x, floats.Dot(x, theta)+noise*p.rng.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab
}

// From 2r samples of tasks never seen, the error must be within 10 % of that of an
// oracle that knows U*.
func TestFewShotIsNearTheOracle(t *testing.T) {
	for seed := range uint64(3) {
		const d, r = 40, 4
		p := newPlanted(seed, d, r)
		tab := p.table(t, "old", 150, 30)
		if err := tab.AssignBlocks(4); err != nil {
			t.Fatal(err)
		}
		c := testConfig(t, 4, r)
		c.Plain = true
		c.Options.Iterations = 400
		m, _ := fit(t, tab, c)
		few := p.table(t, "new", 400, 2*r)
		a, err := m.Adapt(few)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, 400)
		for k := range all {
			all[k] = k
		}
		packed, err := few.Pack(dataset.Layout{all}, nil, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := difalt.Adapt(p.truth, packed[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		var ours, oracle float64
		for k, name := range few.Tasks() {
			theta, _, _ := a.Coefficients(name)
			for i, want := range p.theta[name] {
				known := 0.0
				for j, v := range b[k*r:][:r] {
					known += v * p.truth.At(i, j)
				}
				ours += (theta[i] - want) * (theta[i] - want)
				oracle += (known - want) * (known - want)
			}
		}
		got := math.Sqrt(ours / oracle)
		t.Logf("seed %d: error %.4f of the oracle's", seed, got)
		if got > 1.1 {
			t.Errorf("seed %d: the error is %.3f times that of the oracle", seed, got)
		}
	}
}

// For tasks never seen, the curve of the shared representation must fall below the
// shared mean with few samples, and stay below one ridge per task while those are
// fewer than the features.
func TestLearningCurve(t *testing.T) {
	k := newTruth(31, 12, 0.5)
	tab := k.table(t, 60, 20, 30, 3)
	c := testConfig(t, 3, 4)
	m, _ := fit(t, tab, c)
	fresh := emptyTable(t, 12)
	for i := range 30 {
		k.add(t, fresh, fmt.Sprint("new", i), 24+i%3)
	}
	k.add(t, fresh, "short", 4)
	points, leftOut, err := LearningCurve(m, fresh, CurveConfig{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(leftOut) != 1 || leftOut[0] != `"short" (4 rows)` {
		t.Errorf("left out: %q", leftOut)
	}
	want := []int{1, 2, 3, 5, 8}
	if len(points) != len(want) {
		t.Fatalf("%+v", points)
	}
	for i, p := range points {
		if p.Samples != want[i] || p.Ours.Rows != 5*(10*(24+25+26)-30*8) || p.Ours.Rows != p.Single.Rows || p.Ours.Rows != p.Pooled.Rows {
			t.Errorf("point %+v", p)
		}
		if p.Pooled != points[0].Pooled {
			t.Error("the shared mean depends on the samples")
		}
	}
	for _, p := range points { // never worse than what needs no model
		if p.Ours.RMSE > p.Mean.RMSE || p.Ours.RMSE > p.Single.RMSE {
			t.Errorf("after %d samples: %+v", p.Samples, p)
		}
	}
	last := points[len(points)-1]
	if last.Ours.RMSE > 0.6*last.Pooled.RMSE || last.Ours.RMSE > 0.8*last.Single.RMSE || last.Ours.RMSE > points[0].Ours.RMSE {
		t.Errorf("after 8 samples: %+v", last)
	}
}

// A point of the curve is what Adapt and PredictTable give.
func TestLearningCurveIsAdapt(t *testing.T) {
	m, k, _ := testModel(t)
	fresh := emptyTable(t, 4)
	k.add(t, fresh, "new", 9)
	points, _, err := LearningCurve(m, fresh, CurveConfig{Samples: []int{8}, Repeats: 40})
	if err != nil {
		t.Fatal(err)
	}
	// With one row held out of nine, the squared errors are among nine known ones.
	var known []float64
	x := make([]float64, 4)
	for out := range 9 {
		rest := emptyTable(t, 4)
		for i := range 9 {
			if i != out {
				if err := rest.Append("new", "", fresh.X(x, i), fresh.Y(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		a, err := m.Adapt(rest)
		if err != nil {
			t.Fatal(err)
		}
		y, _ := a.Predict("new", fresh.X(x, out))
		known = append(known, math.Abs(fresh.Y(out)-y))
	}
	if mae := points[0].Ours.MAE; points[0].Ours.Rows != 40 || mae < minimum(known) || mae > -minimum(negative(known)) {
		t.Errorf("mean error %v of %v", points[0].Ours, known)
	}
	single, _, err := LearningCurve(m, fresh, CurveConfig{Samples: []int{8}, Repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range known {
		if math.Abs(e-single[0].Ours.MAE) < 1e-10*(1+e) {
			return
		}
	}
	t.Errorf("the error %v is none of %v", single[0].Ours.MAE, known)
}

func minimum(v []float64) float64 {
	least := math.Inf(1)
	for _, e := range v {
		least = min(least, e)
	}
	return least
}

func negative(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, e := range v {
		out[i] = -e
	}
	return out
}

func TestLearningCurveErrors(t *testing.T) {
	m, k, tab := testModel(t)
	fresh := emptyTable(t, 4)
	k.add(t, fresh, "new", 9)
	for _, c := range []struct {
		table  *dataset.Table
		config CurveConfig
		want   string
	}{
		{tab, CurveConfig{}, `knows task "0" already`},
		{emptyTable(t, 3), CurveConfig{}, "the table has the features"},
		{emptyTable(t, 4), CurveConfig{}, "the table has no rows"},
		{fresh, CurveConfig{Repeats: -1}, "repeats is -1"},
		{fresh, CurveConfig{Workers: -1}, "workers is -1"},
		{fresh, CurveConfig{Samples: []int{3, 2}}, "[3 2]: want ascending"},
		{fresh, CurveConfig{Samples: []int{0}}, "want ascending numbers from 1"},
		{fresh, CurveConfig{Samples: []int{9}}, "no task has more than 9 rows"},
	} {
		_, _, err := LearningCurve(m, c.table, c.config)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
}
