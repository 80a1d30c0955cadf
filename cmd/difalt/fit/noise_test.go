package fit

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// uneven returns a table of tasks whose noise differs by a factor of e^sigma, and the inverse variance of every row.
func (w *world) uneven(t *testing.T, prefix string, tasks, rows int, sigma float64, noise map[string]float64) (*dataset.Table, []float64) {
	t.Helper()
	tab, weights := emptyTable(t, len(w.mean)), []float64(nil)
	plain := w.table(t, prefix, tasks, 1) // draws the tasks
	for _, name := range plain.Tasks() {
		noise[name] = math.Exp(sigma * w.rng.NormFloat64())
		for range rows {
			x, y := w.row(w.theta[name])
			if err := tab.Append(name, "", x, y+noise[name]*w.rng.NormFloat64()); err != nil {
				t.Fatal(err)
			}
			weights = append(weights, 1/(noise[name]*noise[name]))
		}
	}
	return assigned(t, tab, 2), weights
}

// errorOf is the root mean square error of the expected targets of fresh rows.
func (w *world) errorOf(t *testing.T, tab *dataset.Table, c Config) float64 {
	t.Helper()
	m, _ := fit(t, tab, c)
	rng := rand.New(rand.NewPCG(8, 8))
	sum, n := 0.0, 0.0
	x := make([]float64, len(w.mean))
	for _, task := range tab.Tasks() {
		theta := w.theta[task]
		for range 40 {
			want := theta[len(x)]
			for j := range x {
				x[j] = rng.NormFloat64()
				want += x[j] * theta[j]
			}
			y, _ := m.Predict(task, x)
			sum += (y - want) * (y - want)
			n++
		}
	}
	return math.Sqrt(sum / n)
}

// Where tasks differ by their noise, a fit is nearly as good as one that is given the variances, and their noise is known to
// what the rows say; where they do not, it is that of equal noise, to the last bit.
func TestNoiseOfTasks(t *testing.T) {
	inFull(t)
	for seed := range uint64(3) {
		w, noise := newWorld(seed, 6), map[string]float64{}
		tab, weights := w.uneven(t, "t", 40, 24, 0.8, noise)
		c := testConfig(t, 2, 0)
		m, r := fit(t, tab, c)
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "differ by their noise") {
			t.Errorf("seed %d: notes %q", seed, notes)
		}
		squares := 0.0
		for task, want := range noise {
			got, err := m.TaskNoise(task)
			if err != nil {
				t.Fatal(err)
			}
			squares += math.Pow(math.Log(got/want), 2) / float64(len(noise))
		}
		// Of 20 degrees of freedom, the logarithm of a standard deviation is known to 1 / sqrt 40.
		if off := math.Sqrt(squares); off > 0.27 {
			t.Errorf("seed %d: noise is off by %v", seed, off)
		}
		own := w.errorOf(t, tab, c)
		c = testConfig(t, 2, 0)
		c.Weights = weights
		given := w.errorOf(t, tab, c)
		t.Logf("seed %d: error %.4f, given variances %.4f", seed, own, given)
		if own > 1.08*given {
			t.Errorf("seed %d: error %v, with known variances %v", seed, own, given)
		}

		same, _ := newWorld(seed, 6).uneven(t, "t", 40, 24, 0, noise)
		m, r = fit(t, same, testConfig(t, 2, 0))
		if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "noise") || m.Parameters().Noise != nil || m.Parameters().Prior.NoisePrior.Freedom != 0 {
			t.Errorf("seed %d: the noise is said to differ: %q", seed, notes)
		}
	}
}

// With one noise for all, tasks that differ by it get none of their own, and where they do not differ the model is the same to the last bit.
func TestCommonNoise(t *testing.T) {
	w, noise := newWorld(2, 6), map[string]float64{}
	uneven, _ := w.uneven(t, "t", 40, 24, 0.8, noise)
	even, _ := newWorld(2, 6).uneven(t, "t", 40, 24, 0, noise)
	c := testConfig(t, 2, -1)
	c.CommonNoise = true
	m, r := fit(t, uneven, c)
	if p := m.Parameters(); p.Noise != nil || p.Prior.NoisePrior.Freedom != 0 || strings.Contains(strings.Join(r.Notes, "\n"), "noise") {
		t.Errorf("tasks have noise of their own: %v, notes %q", p.Noise, r.Notes)
	}
	for _, task := range uneven.Tasks()[1:] {
		first, _ := m.TaskNoise(uneven.Tasks()[0])
		if s, err := m.TaskNoise(task); err != nil || s != first {
			t.Errorf("task %s has the noise %v, another %v (%v)", task, s, first, err)
		}
	}
	common, _ := fit(t, even, c)
	c = testConfig(t, 2, -1)
	if own, _ := fit(t, uneven, c); own.Parameters().Noise == nil {
		t.Error("without the option tasks have no noise of their own: the test says nothing")
	}
	plain, _ := fit(t, even, testConfig(t, 2, -1))
	if !bytes.Equal(fileOf(t, common), fileOf(t, plain)) {
		t.Error("where tasks do not differ by their noise, the model with one noise is another")
	}
}

// 95 % intervals of single targets hold them in quiet tasks and in noisy ones, and in new ones, in 91 to 98 of 100 cases: the
// noise here is lognormal, and the prior is not.
func TestNoiseCoverage(t *testing.T) {
	inFull(t)
	hits := map[string]*rate{}
	for seed := range uint64(6) {
		w, noise := newWorld(seed+50, 5), map[string]float64{}
		tab, _ := w.uneven(t, "old", 40, 16, 0.8, noise)
		m, _ := fit(t, tab, testConfig(t, 2, 0))
		more, _ := w.uneven(t, "new", 40, 8, 0.8, noise)
		a, err := m.Adapt(more)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range a.Tasks() {
			// Of new tasks, eight rows cannot tell which are quiet: their intervals are right in the mean.
			kind := "new"
			switch {
			case task[:3] == "old" && noise[task] > 1:
				kind = "noisy"
			case task[:3] == "old":
				kind = "quiet"
			}
			if hits[kind] == nil {
				hits[kind] = &rate{}
			}
			s, err := a.TaskNoise(task)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				x, want := w.row(w.theta[task])
				y, e, err := a.PredictError(task, x)
				if err != nil {
					t.Fatal(err)
				}
				hits[kind].add(math.Abs(want+noise[task]*w.rng.NormFloat64()-y) < 1.96*math.Hypot(e, s))
			}
		}
	}
	for kind, r := range hits {
		t.Logf("%s: %.3f", kind, r.share())
		if r.share() < 0.91 || r.share() > 0.98 {
			t.Errorf("intervals of %s tasks cover %.3f", kind, r.share())
		}
	}
}

// Nodes in processes of their own find the same noise, to the last bit.
func TestNoiseApart(t *testing.T) {
	w := weights(t, "path", 3, topology.Metropolis)
	train := func(net *consensus.Network) (*outcome, error) {
		rng, tab := rand.New(rand.NewPCG(6, 6)), emptyTable(t, 3)
		for task := range 24 {
			level, noise, x := rng.NormFloat64(), math.Exp(rng.NormFloat64()), make([]float64, 3)
			for range 12 {
				for j := range x {
					x[j] = rng.NormFloat64()
				}
				y := level + x[0] - x[1] + noise*rng.NormFloat64()
				for _, g := range net.Hosted() {
					if task%3 != g {
						continue
					}
					if err := tab.Append(fmt.Sprint(task), fmt.Sprint(g), x, y); err != nil {
						return nil, err
					}
				}
			}
		}
		c := testConfig(t, 3, 0)
		c.Network = net
		c.Options.Agreement.RoundByRound = true
		m, r, err := Fit(t.Context(), tab, c)
		return &outcome{m, r}, err
	}
	whole, err := train(network(t, w))
	if err != nil {
		t.Fatal(err)
	}
	p := whole.m.Parameters()
	if p.Noise == nil {
		t.Fatal("the noise of tasks is said to be the same")
	}
	out, failed := apart(t, w, [][]int{{0}, {1}, {2}}, train)
	for g := range out {
		if failed[g] != nil {
			t.Fatal(failed[g])
		}
		q := out[g].m.Parameters()
		if !reflect.DeepEqual(p.Prior.NoisePrior, q.Prior.NoisePrior) || !reflect.DeepEqual(whole.r.Notes, out[g].r.Notes) {
			t.Errorf("node %d: %+v, want %+v", g, q.Prior.NoisePrior, p.Prior.NoisePrior)
		}
		for k, task := range q.Tasks {
			want, _ := whole.m.TaskNoise(task)
			if got, _ := out[g].m.TaskNoise(task); got != want {
				t.Errorf("task %s: noise %v (%v), want %v", task, got, q.Noise[k], want)
			}
		}
	}
}

// Also from tasks of one row to many, whose slopes differ too, coefficients are known better with noise of the tasks' own than with one for all, if the
// climbs arrive that are compared for that.
func TestNoiseOfShortTasks(t *testing.T) {
	const seeds, tasks, features, constant, fresh = 8, 300, 13, 2, 5
	ratio := 0.0
	for seed := range uint64(seeds) {
		rng, tab := rand.New(rand.NewPCG(seed, 25)), emptyTable(t, features)
		type row struct {
			task string
			x    []float64
			y    float64
		}
		var held []row
		for task := range tasks {
			theta, own := make([]float64, features), make([]float64, features)
			for j := range theta {
				theta[j], own[j] = 0.1*rng.NormFloat64(), rng.NormFloat64()
			}
			name, level, noise := fmt.Sprint(task), rng.NormFloat64(), 0.3*math.Exp(0.7*rng.NormFloat64())
			n := 1 + int(16*rng.Float64()*rng.Float64())
			for i := range n + fresh {
				x, y := make([]float64, features), level
				for j := range x {
					if x[j] = own[j]; j >= constant {
						x[j] = 0.6*own[j] + 0.8*rng.NormFloat64()
					}
					y += theta[j] * x[j]
				}
				if i >= n {
					held = append(held, row{name, x, y})
				} else if err := tab.Append(name, "", x, y+noise*rng.NormFloat64()); err != nil {
					t.Fatal(err)
				}
			}
		}
		tab = assigned(t, tab, 2)
		score := func(common bool) (sum float64) {
			c := testConfig(t, 2, -1)
			c.Owners, c.CommonNoise = false, common
			m, r := fit(t, tab, c)
			if own := m.Parameters().Noise != nil; own == common || !r.Converged {
				t.Errorf("seed %d: noise of the tasks' own %v, want %v; converged %v", seed, own, !common, r.Converged)
			}
			for _, h := range held {
				y, err := m.Predict(h.task, h.x)
				if err != nil {
					t.Fatal(err)
				}
				sum += (y - h.y) * (y - h.y)
			}
			return math.Sqrt(sum / float64(len(held)))
		}
		own, common := score(false), score(true)
		t.Logf("seed %d: error %.4f, with common noise %.4f", seed, own, common)
		ratio += own / common / seeds
	}
	if ratio > 0.995 {
		t.Errorf("the error is %v of that with common noise", ratio)
	}
}
