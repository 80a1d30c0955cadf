package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Intervals of 95 % for tasks that a model has never seen, by the prior alone, cover expected targets and targets in 92 to 98 of 100 cases: over
// tables in which tasks differ by a level, by slopes of their own, and along two directions, ten tasks included.
func TestCoverageOfUnseenTasks(t *testing.T) {
	inFull(t)
	for _, s := range []struct {
		kind                  string
		tasks, rows, tables   int
		level, slopes, shared float64
	}{
		{"levels", 10, 12, 60, 1, 0, 0}, {"levels", 60, 6, 20, 1, 0, 0}, {"slopes", 12, 15, 60, 0.5, 0.5, 0}, {"directions", 40, 15, 30, 0.5, 0, 0.8},
	} {
		var expected, single rate
		for seed := range uint64(s.tables) {
			r := rand.New(rand.NewPCG(seed, 99))
			const k = 4
			var mean, axis [k]float64
			for j := range k {
				mean[j], axis[j] = r.NormFloat64(), s.shared*r.NormFloat64()
			}
			task := func() (theta [k + 1]float64) {
				b := r.NormFloat64()
				for j := range k {
					theta[j] = mean[j] + b*axis[j] + s.slopes*r.NormFloat64()
				}
				theta[k] = 3 + s.level*r.NormFloat64()
				return theta
			}
			row := func(theta *[k + 1]float64) (x []float64, y float64) {
				y = theta[k]
				for j := range k {
					x = append(x, r.NormFloat64())
					y += theta[j] * x[j]
				}
				return x, y
			}
			tab := emptyTable(t, k)
			for i := range s.tasks {
				theta := task()
				for range s.rows {
					x, y := row(&theta)
					if err := tab.Append(fmt.Sprint("old", i), "", x, y+r.NormFloat64()); err != nil {
						t.Fatal(err)
					}
				}
			}
			m, _ := fit(t, assigned(t, tab, 2), testConfig(t, 2, 0))
			for range 100 {
				theta := task()
				x, y := row(&theta)
				p, err := m.PredictAnyError("new", x)
				if err != nil {
					t.Fatal(err)
				}
				expected.add(math.Abs(p.Y-y) < 1.96*p.StandardError)
				single.add(math.Abs(p.Y-y-r.NormFloat64()) < 1.96*p.SampleError)
			}
		}
		t.Logf("%+v: expected targets %.3f, targets %.3f", s, expected.share(), single.share())
		for what, r := range map[string]rate{"expected targets": expected, "targets": single} {
			if r.share() < 0.92 || r.share() > 0.98 {
				t.Errorf("%+v: intervals of %s cover %.3f", s, what, r.share())
			}
		}
	}
}
