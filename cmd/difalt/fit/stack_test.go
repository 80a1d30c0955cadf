package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// farms returns a table of tasks of few rows with one effect for all of a feature that is far from normal, levels, and noise that grows with what is expected; and
// how far predictions of fresh rows are off what is expected, in the root of the mean square, and how many of the fresh targets lie within their intervals.
func farms(t *testing.T, seed uint64, slopes float64) (*dataset.Table, func(*model.Model) (off, within float64)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 40))
	tab := emptyTable(t, 4)
	theta, size := map[string][]float64{}, map[string]float64{}
	row := func(task string, rng *rand.Rand) (x []float64, want float64) {
		x = []float64{size[task] * math.Exp(0.5*rng.NormFloat64()), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		own := theta[task]
		return x, own[0] + own[1]*x[0] + own[2]*x[1] + own[3]*x[2]
	}
	noise := func(x []float64) float64 {
		if slopes > 0 {
			return 1
		}
		return 2 * x[0]
	}
	for k := range 100 {
		task := fmt.Sprint("farm ", k)
		size[task] = math.Exp(0.8 * rng.NormFloat64())
		theta[task] = []float64{10 + rng.NormFloat64(), 5 + slopes*rng.NormFloat64(), 1 + slopes*rng.NormFloat64(), slopes * rng.NormFloat64()}
		for range 5 {
			x, want := row(task, rng)
			if err := tab.Append(task, "", x, want+noise(x)*rng.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab, func(m *model.Model) (off, within float64) {
		fresh, sum, n := rand.New(rand.NewPCG(seed, 41)), 0.0, 0.0
		for _, task := range tab.Tasks() {
			for range 50 {
				x, want := row(task, fresh)
				got, e, err := m.PredictError(task, x)
				if err != nil {
					t.Fatal(err)
				}
				s, _ := m.TaskNoise(task)
				if math.Abs(want+noise(x)*fresh.NormFloat64()-got) <= mixedmodel.Normal95*math.Hypot(e, s) {
					within++
				}
				sum += (got - want) * (got - want)
				n++
			}
		}
		return math.Sqrt(sum / n), within / n
	}
}

// Noise that grows with the target looks like slopes of the tasks' own where these have few rows, and the evidence takes it for that: intercepts alone are averaged with it, and what is expected is
// found better. Where slopes do differ, and noise is what the model says, they are not there.
func TestInterceptsAreAveraged(t *testing.T) {
	for _, slopes := range []float64{0, 1} {
		var with, without, held float64
		averaged := 0
		for seed := range uint64(8) {
			tab, off := farms(t, seed, slopes)
			c := testConfig(t, 2, 0)
			c.Owners, c.Curves, c.LogTarget = false, []string{}, new(bool)
			m, r := fit(t, assigned(t, tab, 2), c)
			weight, sum := 0.0, 0.0
			for _, k := range r.Tried {
				if sum += k.Weight; k.Rank == 0 && math.IsInf(k.Ridge, 1) {
					weight = k.Weight
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("seed %d: weights add up to %v", seed, sum)
			}
			if weight > 0 {
				averaged++
			}
			c.Rank = -1 // which averages nothing
			other, _ := fit(t, assigned(t, tab, 2), c)
			e, in := off(m)
			before, _ := off(other)
			with, without, held = with+math.Log(e)/8, without+math.Log(before)/8, held+in/8
			t.Logf("slopes %v, seed %d: weight %.2f, rank %d, error %.3f, without %.3f; %.3f within intervals", slopes, seed, weight, r.Chosen.Rank, e, before, in)
		}
		gain := math.Exp(with - without)
		t.Logf("slopes %v: error %.3f of that without, averaged %d times", slopes, gain, averaged)
		if slopes == 0 && (averaged < 6 || gain > 0.9) || slopes == 1 && (averaged > 0 || gain > 1.02) {
			t.Errorf("slopes %v: error %.3f of that without, averaged %d of 8 times", slopes, gain, averaged)
		}
		if held < 0.93 || held > 0.98 {
			t.Errorf("slopes %v: %.3f of fresh targets lie within their intervals", slopes, held)
		}
	}
}

// The weight of another candidate is that of the least squares of errors of rows by posteriors of their tasks without them, less its squared standard error over tasks, relative to it.
func TestLeftOutWeight(t *testing.T) {
	w := newWorld(5, 3)
	tab := assigned(t, w.table(t, "t", 30, 5), 2)
	c := testConfig(t, 2, -1)
	d, rows := trainingRows(t, tab, &c)
	var points []*evidence.Point
	for _, spread := range []float64{0.5, 0.02} {
		pt, err := rows.Evaluate(t.Context(), &evidence.Point{Prior: &mixedmodel.Prior{W: d.width(), Intercept: 0.7, Spread: spread, MeanVariance: 1}})
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, pt)
	}
	var gain, apart float64
	var pairs [][2]float64
	for _, task := range slices.Concat(d.layout...) {
		var pair [2]float64
		for out := range d.taskOf(task, func(int) bool { return true }).Rows {
			var off [2]float64
			for k, pt := range points {
				rest, theta := d.taskOf(task, func(at int) bool { return at != out }), make([]float64, pt.W)
				if !pt.Posterior().Coefficients(rest, theta, nil) {
					t.Fatal("no posterior")
				}
				z, at := make([]float64, pt.W), 0
				d.eachTraining([]int{task}, func(i int) {
					if y := d.row(z, i); at == out {
						off[k] = y - floats.Dot(z, theta)
					}
					at++
				})
			}
			pair[0] += off[0] * (off[0] - off[1])
			pair[1] += (off[0] - off[1]) * (off[0] - off[1])
		}
		gain, apart, pairs = gain+pair[0], apart+pair[1], append(pairs, pair)
	}
	want, variance := min(gain/apart, 1), 0.0
	for _, p := range pairs {
		variance += math.Pow((p[0]-want*p[1])/apart, 2) * float64(len(pairs)) / float64(len(pairs)-1)
	}
	want *= max(1-variance/(want*want), 0)
	got, err := d.leftOutWeight(t.Context(), rows, []*candidate{{Point: points[0], weight: 1}}, points[1])
	if err != nil || math.Abs(got-want) > 1e-9 || want < 0.05 || want > 0.95 {
		t.Errorf("the weight is %v, want %v: %v", got, want, err)
	}
}
