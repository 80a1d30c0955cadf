package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// On collinear features the final objective is that of 2,000 plain scaled steps, or less,
// and comes in a fifth of their iterations, those of the search for the start included.
// DIFALT_TEST_SCHOOL names a file with the School data, to look at those as well.
func TestObjectiveOnCollinearFeatures(t *testing.T) {
	tables := map[string]*dataset.Table{"clinics": readTable(t, "../examples/clinics.csv", "clinic", "score", "patient")}
	if path := os.Getenv("DIFALT_TEST_SCHOOL"); path != "" {
		tables["school"] = readTable(t, path, "task", "y")
	}
	for seed := range uint64(10) {
		tables[fmt.Sprint("table ", seed)] = correlated(t, seed)
	}
	var ratios []float64
	for name, tab := range tables {
		c := testConfig(t, len(tab.Nodes()), 3)
		c.TuneRidge, c.Ridge, c.Baselines, c.Options.Iterations = false, 1, false, 0
		if name == "school" {
			c.Ridge = 100 // what Fit chooses
		}
		f, p := finalProblem(t, tab, &c)
		ours := finalCurve(t, f, p)
		plain := *p
		plain.U0, plain.Moments = nil, nil
		o := c.Options
		o.Method, o.Iterations, o.Tolerance, o.Ridge = difalt.ScaledDiffusion, 2000, -1, c.Ridge
		want := objectives(t, &plain, c.Network, o)
		last, least := ours[len(ours)-1], want[len(want)-1]
		ratio := float64(searchIterations+arrival(ours)) / float64(arrival(want))
		ratios = append(ratios, ratio)
		t.Logf("%s: objective %.8g after %d + %d iterations, arrived after %d; plain steps %.8g, arrived after %d: ratio %.3f",
			name, last, searchIterations, len(ours)-1, arrival(ours), least, arrival(want), ratio)
		if last > least*(1+1e-6) {
			t.Errorf("%s: the objective is %.9g, that of plain steps %.9g", name, last, least)
		}
	}
	slices.Sort(ratios)
	if m := ratios[len(ratios)/2]; m > 0.2 {
		t.Errorf("the median of the ratios of iterations is %.2f: %.2f", m, ratios)
	}
}

// arrival is the first iteration that is within 1e-6 of the last objective.
func arrival(curve []float64) int {
	last := curve[len(curve)-1]
	return slices.IndexFunc(curve, func(v float64) bool { return v <= last*(1+1e-6) })
}

// finalProblem is what the final run of Fit gets, with its start.
func finalProblem(t *testing.T, tab *dataset.Table, c *Config) (*fitter, *difalt.Problem) {
	t.Helper()
	d, err := newDesign(t.Context(), tab, c)
	if err != nil {
		t.Fatal(err)
	}
	f := &fitter{design: d, c: c, report: &Report{}, tuned: d.layout}
	chosen, err := f.chooseAll(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := f.pack(chosen.MeanRidge)
	if err := f.startFinal(t.Context(), p, chosen); err != nil {
		t.Fatal(err)
	}
	return f, p
}

func finalCurve(t *testing.T, f *fitter, p *difalt.Problem) []float64 {
	t.Helper()
	o := f.c.Options
	o.Ridge, o.Step = f.c.Ridge, f.step
	return objectives(t, p, f.net, o)
}

// objectives returns those of all iterates.
func objectives(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options) (all []float64) {
	t.Helper()
	s, err := difalt.NewSolver(p, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range s.Iterations(t.Context()) {
		res, err := s.Result()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for g, tasks := range p.Nodes {
			sum += objective(tasks, res.U[g], res.B[g], o.Ridge)
		}
		all = append(all, sum)
	}
	return all
}

func readTable(t *testing.T, path, task, target string, drop ...string) *dataset.Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := dataset.ReadCSV(f, dataset.TableOptions{Task: task, Target: target, Drop: drop})
	if err != nil {
		t.Fatal(err)
	}
	return assigned(t, tab, 10)
}

// correlated is a table of 12 features that are sums of few, with variances over four
// orders of magnitude.
func correlated(t *testing.T, seed uint64) *dataset.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	const d = 12
	var mix [d][d]float64
	for i := range d {
		for j := range d {
			mix[i][j] = r.NormFloat64() * math.Pow(10, -2*float64(j)/(d-1))
		}
	}
	tab, err := dataset.NewTable(names(d), true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	var v [2][d]float64
	for k := range v {
		for j := range v[k] {
			v[k][j] = r.NormFloat64()
		}
	}
	for k := range 30 {
		c := [2]float64{r.NormFloat64(), r.NormFloat64()}
		for range 15 + r.IntN(20) {
			var x, z [d]float64
			y := r.NormFloat64()
			for j := range z {
				z[j] = r.NormFloat64()
			}
			for i := range x {
				for j := range z {
					x[i] += mix[i][j] * z[j]
				}
				y += x[i] * (c[0]*v[0][i] + c[1]*v[1][i])
			}
			if err := tab.Append(fmt.Sprint(k), "", x[:], y); err != nil {
				t.Fatal(err)
			}
		}
	}
	return assigned(t, tab, 5)
}
