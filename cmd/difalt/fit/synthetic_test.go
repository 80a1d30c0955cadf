package fit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// A truth is a known model: y = level_t + x' (mean + V c_t) + noise, with x_j of
// mean j and deviation j + 1.
type truth struct {
	rng   *rand.Rand
	mean  []float64
	v     [][2]float64
	noise float64
	theta map[string][]float64
	level map[string]float64
}

func newTruth(seed uint64, features int, noise float64) *truth {
	k := &truth{rng: rand.New(rand.NewPCG(seed, 7)), noise: noise, theta: map[string][]float64{}, level: map[string]float64{}}
	for j := range features {
		scale := 1 / float64(j+1) // so that all features matter equally
		k.mean = append(k.mean, scale*k.rng.NormFloat64())
		k.v = append(k.v, [2]float64{scale * k.rng.NormFloat64(), scale * k.rng.NormFloat64()})
	}
	return k
}

// add appends n rows of a task.
func (k *truth) add(t testing.TB, tab *dataset.Table, task string, n int) {
	t.Helper()
	if k.theta[task] == nil {
		c := [2]float64{k.rng.NormFloat64(), k.rng.NormFloat64()}
		for j := range k.mean {
			k.theta[task] = append(k.theta[task], k.mean[j]+k.v[j][0]*c[0]+k.v[j][1]*c[1])
		}
		k.level[task] = 5 + k.rng.NormFloat64()
	}
	x := make([]float64, len(k.mean))
	for range n {
		for j := range x {
			x[j] = float64(j) + float64(j+1)*k.rng.NormFloat64()
		}
		y := k.level[task] + floats.Dot(x, k.theta[task]) + k.noise*k.rng.NormFloat64()
		if err := tab.Append(task, "", x, y); err != nil {
			t.Fatal(err)
		}
	}
}

// table returns a table of tasks "0", "1", ... with between lo and hi rows each, on
// the given number of nodes.
func (k *truth) table(t testing.TB, tasks, lo, hi, nodes int) *dataset.Table {
	t.Helper()
	tab := emptyTable(t, len(k.mean))
	for i := range tasks {
		k.add(t, tab, fmt.Sprint(i), lo+k.rng.IntN(hi-lo+1))
	}
	if err := tab.AssignBlocks(nodes); err != nil {
		t.Fatal(err)
	}
	return tab
}

func emptyTable(t testing.TB, features int) *dataset.Table {
	t.Helper()
	tab, err := dataset.NewTable(names(features), true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func names(features int) []string {
	all := make([]string, features)
	for j := range all {
		all[j] = fmt.Sprintf("f%d", j)
	}
	return all
}

// testConfig is what the command uses for a table of owners, with fewer iterations and one worker.
func testConfig(t testing.TB, nodes, rank int) Config {
	t.Helper()
	g, err := topology.Ring(nodes)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions(rank)
	o.Iterations, o.Seed, o.Workers = 200, 1, 1
	return Config{Network: network(t, w), Options: o, Starts: 3, Rank: rank, Owners: true}
}

func fit(t testing.TB, tab *dataset.Table, c Config) (*model.Model, *Report) {
	t.Helper()
	m, r, err := Fit(t.Context(), tab, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func network(t testing.TB, w *topology.Weights) *consensus.Network {
	t.Helper()
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func weights(t testing.TB, graph string, nodes int, rule topology.Rule) *topology.Weights {
	t.Helper()
	g, err := topology.Parse(graph, nodes, 3)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, rule)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func taskName(i int) string { return fmt.Sprint(i) }

func check(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func schemaOf(m *model.Model) *schema.Schema {
	s := m.Parameters().Schema
	return &s
}

// testModel is a model of 15 tasks on 3 nodes, with its truth and its table.
func testModel(t testing.TB) (*model.Model, *truth, *dataset.Table) {
	t.Helper()
	k := newTruth(11, 4, 0.2)
	tab := k.table(t, 15, 10, 14, 3)
	c := testConfig(t, 3, 4)
	c.TaskColumn, c.TargetColumn = "site", "score"
	m, _ := fit(t, tab, c)
	return m, k, tab
}
