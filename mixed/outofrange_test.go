package mixed

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A noise below the rounding errors of a task's other variances counts as these errors: the task has a
// posterior, that of least squares where deviations are free.
func TestNoiseBelowRounding(t *testing.T) {
	const n, p = 40, 4
	r, s := rand.New(rand.NewPCG(4, 5)), new(solver)
	x, y, want := make([]float64, n*p), make([]float64, n), []float64{2, -1, .5, 3}
	for i := range n {
		for j := range p {
			x[i*p+j] = r.NormFloat64()
			y[i] += want[j] * x[i*p+j]
		}
	}
	products := &taskData{Rows: n, G: make([]float64, p*p), C: make([]float64, p)}
	products.AddRows(x, y)
	for _, v := range y {
		products.YY += v * v
	}
	prior := &Prior{Deviations: []float64{1e5, 1e5, 1e5, 1e5}, Noise: Noise{Variance: leastNoise}}
	for form, task := range map[string]*taskData{"rows": {Rows: n, X: x, Y: y}, "products": products} {
		if err := s.Set(prior, task); err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		theta, cov := make([]float64, p), make([]float64, p*p)
		s.Coefficients(theta, cov, make([]float64, p), nil)
		for j, v := range theta {
			if !(math.Abs(v-want[j]) <= 1e-3) || !(cov[j*p+j] >= 0 && cov[j*p+j] <= 1e-3) {
				t.Errorf("%s: coefficient %d is %v with variance %v, want %v", form, j, v, cov[j*p+j], want[j])
			}
		}
	}
}

// poisoned returns the stats of a table whose task t03 has products that are no numbers.
func poisoned(t *testing.T) *stats {
	s := statsOf(t, drawing{tasks: 6, rows: 20, features: 2, slopes: .5, noise: 1}.table(t, 3), false, 1)
	check.Done(s.hold(t.Context()))
	s.packed[3][0] = math.NaN()
	return s
}

// Numbers out of range are an error that names the task and says what to look for.
func TestErrorNamesTask(t *testing.T) {
	s := poisoned(t)
	c := s.newOptimiser(s.tasks, s.start(), 3)
	err := optimiseAll(t.Context(), c)
	check.Error(t, err, `task "t03": numbers are out of range: look for features, targets and weights`)
	own := new(Error)
	check.FailIf(t, !errors.As(err, &own) || own.PublicText() != "numbers are out of range",
		"the text for others is not silent about the task: %v", err)
}

// What only describes a fit is left out where a task is out of range: sums over all tasks report that.
func TestDescriptionsWithoutTask(t *testing.T) {
	whole := statsOf(t, drawing{tasks: 6, rows: 20, features: 2, slopes: .5, noise: 1}.table(t, 3), false, 1)
	s, q := poisoned(t), whole.start()
	c := &choice{s: s, optimum: optimum{q: q, m: check.OK(whole.meanPosterior(t.Context(), whole.tasks, q))}}
	residuals, err := s.residualsOfTasks(t.Context(), c.m, s.tasks)
	check.FailIf(t, err != nil || len(residuals) != 6, "residuals %v, %v", residuals, err)
	_, far, err := c.distances(t.Context())
	check.FailIf(t, err != nil || far, "distances: far %v, %v", far, err)
	f := &fitter{rows: s.rows, in: s.rows.in}
	list, err := f.predictWithout(t.Context(), c)
	check.FailIf(t, err != nil || len(list.rows) > 0, "rows without themselves: %v, %v", list, err)
}

// manyOwners is the Sums of one of several owners, whose others add nothing.
type manyOwners struct{ Local }

func (manyOwners) Owners() int { return 3 }

// A single owner adds up numbers of any size; between several owners masks bound them.
func TestLargestNumberOfSum(t *testing.T) {
	for _, c := range []struct {
		sums Sums
		v    float64
		ok   bool
	}{
		{Local{}, 1e300, true}, {Local{}, math.Inf(1), false}, {Local{}, math.NaN(), false},
		{manyOwners{}, 1 << 54, true}, {manyOwners{}, 1 << 55, false},
	} {
		r := &rows{sums: c.sums}
		err := r.add(context.Background(), "numbers", &total{v: []float64{c.v}})
		known := err == nil || errors.Is(err, errNumeric)
		check.FailIf(t, (err == nil) != c.ok || !known, "%v of %d: %v", c.v, c.sums.Owners(), err)
	}
}

// Held-out rows may be as far from the training rows as numbers go: the fit ends, with their errors.
func TestHeldOutRowsFarOff(t *testing.T) {
	for _, c := range []struct {
		target, feature, want float64
	}{
		{1e50, 0, 1e50}, {-1e60, 0, 1e60}, {1e149, 0, math.NaN()}, {0, 1e149, math.NaN()}, {-1e149, 1e149, math.NaN()},
	} {
		table := drawing{tasks: 5, rows: 12, features: 2, slopes: .5, noise: 1}.table(t, 1)
		held := make([]bool, table.Rows())
		held[7], table.Targets[7], table.Values[1][7] = true, c.target, c.feature
		_, report := fitted(t, table, Options{}, held...)
		got := report.Scores[0].Test.RMSE
		if !finite(got) || c.want > 0 && !(math.Abs(got/c.want-1) <= 1e-9) {
			t.Errorf("target %v, feature %v: the error is %v, want %v", c.target, c.feature, got, c.want)
		}
	}
}
