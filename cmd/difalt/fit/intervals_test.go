package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
)

// How far a row is off when it is left out is what the posterior of its task without that row says, with the noise that the other rows leave.
func TestLeftOut(t *testing.T) {
	w, noise := newWorld(4, 4), map[string]float64{}
	tab, _ := w.uneven(t, "t", 20, 9, 0.7, noise)
	c := testConfig(t, 2, -1)
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	p := &mixedmodel.Prior{W: d.width(), Intercept: 0.7, Spread: 0.2, MeanVariance: 1}
	e := &estimate{
		Posterior: &mixedmodel.Posterior{Prior: p, Mean: make([]float64, p.W), MeanCovariance: make([]float64, p.W*p.W), S: p.Covariance(), Noise: 0.4},
		noise:     &evidence.TaskNoise{Variance: [][]float64{{0.3}}, Freedoms: [][]float64{{11}}},
	}
	const weight = 1.7
	all := func(int) bool { return true }
	task := d.layout[0][0]
	whole := d.taskOf(task, all).Weighted(weight)
	got := d.leftOut(e, p.Deviations(), 0, 0, task, weight, &whole)
	var want []float64
	for out := range got {
		rest := d.taskOf(task, func(at int) bool { return at != out }).Weighted(weight)
		known := *e.Posterior
		known.Noise = 1
		theta, cov := make([]float64, p.W), make([]float64, p.W*p.W)
		if !known.Coefficients(&rest, theta, cov) {
			t.Fatal("no posterior")
		}
		z, at := make([]float64, p.W), 0
		d.eachTraining([]int{task}, func(i int) {
			if y := d.row(z, i); at == out {
				off, spread := y, 1.0
				for j := range z {
					off -= z[j] * theta[j]
					for k := range z {
						spread += weight * z[j] * cov[j*p.W+k] * z[k]
					}
				}
				v := max((11*0.3-off*off/spread)/10, 0.05*0.3)
				want = append(want, math.Abs(off)/math.Sqrt(v*spread)/(mixedmodel.Normal95*mixedmodel.Interval95(10)))
			}
			at++
		})
	}
	checkClose(t, "left out", got, want)
}

// Where tasks of few rows have slopes of their own, and noise that differs between tasks and grows along a feature, 92 of 100 fresh targets
// at least lie within their intervals.
func TestWideIntervals(t *testing.T) {
	hits, n := 0.0, 0.0
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		noise, theta := map[string]float64{}, map[string][]float64{}
		tab := emptyTable(t, 2)
		row := func(task string) (x []float64, y float64) {
			x = []float64{2 * rng.Float64(), rng.NormFloat64()}
			want := theta[task][0]*x[0] + theta[task][1]*x[1] + theta[task][2]
			return x, want + noise[task]*math.Exp(x[0])*rng.NormFloat64()
		}
		for k := range 40 {
			task := string(rune('A'+k/26)) + string(rune('a'+k%26))
			noise[task], theta[task] = 0.3*math.Exp(0.8*rng.NormFloat64()), []float64{3 + 2*rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			for range 6 {
				x, y := row(task)
				if err := tab.Append(task, "", x, y); err != nil {
					t.Fatal(err)
				}
			}
		}
		m, _ := fit(t, assigned(t, tab, 2), testConfig(t, 2, -1))
		if m.Parameters().Noise == nil {
			t.Error("tasks have no noise of their own: the test says nothing")
		}
		for _, task := range tab.Tasks() {
			for range 20 {
				x, target := row(task)
				y, e, err := m.PredictError(task, x)
				if err != nil {
					t.Fatal(err)
				}
				s, _ := m.TaskNoise(task)
				n++
				if math.Abs(target-y) <= mixedmodel.Normal95*math.Hypot(e, s) {
					hits++
				}
			}
		}
	}
	if rate := hits / n; rate < 0.92 || rate > 0.98 {
		t.Errorf("%.3f of the targets lie within their intervals", rate)
	}
}
