package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// Intervals of 95 % cover expected targets, and targets, of known tasks and of new ones that were
// adapted from few rows, in 92.5 to 97.5 of 100 cases: means over simulated tables of the model's own form, whose standard
// errors are about half a percent.
func TestCoverage(t *testing.T) {
	inFull(t)
	for _, s := range []struct{ tasks, features, rows, tables int }{{40, 8, 20, 8}, {12, 20, 30, 12}, {100, 6, 10, 8}} {
		var known, response, fresh rate
		for seed := range uint64(s.tables) {
			w := newWorld(seed, s.features)
			tab := w.table(t, "old", s.tasks, s.rows)
			m, _ := fit(t, assigned(t, tab, 2), testConfig(t, 2, 0))
			more := w.table(t, "new", 20, 6)
			a, err := m.Adapt(more)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range a.Tasks() {
				theta := w.theta[task]
				for range 10 {
					x, want := w.row(theta)
					y, e, err := a.PredictError(task, x)
					if err != nil {
						t.Fatal(err)
					}
					if task[:3] == "new" {
						fresh.add(math.Abs(y-want) < 1.96*e)
						continue
					}
					known.add(math.Abs(y-want) < 1.96*e)
					response.add(math.Abs(y-want-w.rng.NormFloat64()) < 1.96*math.Hypot(e, m.Noise()))
				}
			}
		}
		t.Logf("%+v: known %.3f, responses %.3f, new %.3f", s, known.share(), response.share(), fresh.share())
		for what, r := range map[string]rate{"known tasks": known, "responses": response, "new tasks": fresh} {
			if r.share() < 0.925 || r.share() > 0.985 {
				t.Errorf("%+v: intervals of %s cover %.3f", s, what, r.share())
			}
		}
	}
}

// From 12 tasks the variances of the slopes of many features are known badly, and the evidence may even be for none: intervals of expected targets
// count that. 30 tables of each kind have a standard error of about one percent.
func TestCoverageOfOwnSlopes(t *testing.T) {
	inFull(t)
	for _, s := range []struct {
		tasks, features, rows int
		slopes                float64
	}{{12, 20, 25, 0.2}, {8, 8, 15, 0.3}} {
		var known rate
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 78))
			tab, theta := emptyTable(t, s.features), make([][]float64, s.tasks)
			row := func(k int) (x []float64, y float64) {
				y = theta[k][s.features]
				for j := range s.features {
					x = append(x, r.NormFloat64())
					y += x[j] * theta[k][j]
				}
				return x, y
			}
			for k := range theta {
				for j := range s.features {
					theta[k] = append(theta[k], 0.1*float64(j%7-3)+s.slopes*r.NormFloat64())
				}
				theta[k] = append(theta[k], 3+r.NormFloat64())
				for range s.rows {
					x, y := row(k)
					if err := tab.Append(fmt.Sprint(k), "", x, y+r.NormFloat64()); err != nil {
						t.Fatal(err)
					}
				}
			}
			c := testConfig(t, 2, 0)
			c.Owners = false
			m, _ := fit(t, assigned(t, tab, 2), c)
			for k := range theta {
				for range 10 {
					x, want := row(k)
					y, e, err := m.PredictError(fmt.Sprint(k), x)
					if err != nil {
						t.Fatal(err)
					}
					known.add(math.Abs(y-want) < 1.96*e)
				}
			}
		}
		if t.Logf("%+v: %.3f", s, known.share()); known.share() < 0.925 || known.share() > 0.975 {
			t.Errorf("%+v: intervals cover %.3f", s, known.share())
		}
	}
}

type rate struct{ hits, all float64 }

func (r *rate) add(hit bool) {
	r.all++
	if hit {
		r.hits++
	}
}

func (r *rate) share() float64 { return r.hits / r.all }

// A world has tasks with a level and coefficients of rank 2 about a mean, and noise of variance 1.
type world struct {
	rng   *rand.Rand
	mean  []float64
	axes  [2][]float64
	theta map[string][]float64 // the level last
}

func newWorld(seed uint64, features int) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 77)), theta: map[string][]float64{}}
	for range features {
		w.mean = append(w.mean, 0.7*w.rng.NormFloat64())
		for a := range w.axes {
			w.axes[a] = append(w.axes[a], 0.6*w.rng.NormFloat64())
		}
	}
	return w
}

// row draws features and returns the expected target of a task.
func (w *world) row(theta []float64) (x []float64, y float64) {
	y = theta[len(w.mean)]
	for j := range w.mean {
		x = append(x, w.rng.NormFloat64())
		y += x[j] * theta[j]
	}
	return x, y
}

func (w *world) table(t *testing.T, prefix string, tasks, rows int) *dataset.Table {
	t.Helper()
	tab := emptyTable(t, len(w.mean))
	for k := range tasks {
		name, c := fmt.Sprint(prefix, k), [2]float64{w.rng.NormFloat64(), w.rng.NormFloat64()}
		var theta []float64
		for j, v := range w.mean {
			theta = append(theta, v+c[0]*w.axes[0][j]+c[1]*w.axes[1][j])
		}
		theta = append(theta, w.rng.NormFloat64())
		w.theta[name] = theta
		for range rows {
			x, y := w.row(theta)
			if err := tab.Append(name, "", x, y+w.rng.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab
}
