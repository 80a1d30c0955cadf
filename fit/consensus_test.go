package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

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

// Sums must be those of all nodes to rounding, at every node, for weights that keep
// the mean and for those that prefer nodes of high degree.
func TestConsensusIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, w := range []*topology.Weights{
		weights(t, "ring", 12, topology.Metropolis),
		weights(t, "ring", 60, topology.Metropolis), // gamma is 0.996
		weights(t, "star", 7, topology.LazyEqualNeighbor),
		weights(t, "er:0.4", 11, topology.EqualNeighbor),
		weights(t, "path", 9, topology.BestConstant),
		weights(t, "complete", 1, topology.Metropolis),
	} {
		c, err := newConsensus(&difalt.Network{Weights: w})
		if err != nil {
			t.Fatal(err)
		}
		if least := math.Log(agreed) / math.Log(w.Gamma()); c.gamma > 0.9 && float64(c.rounds) > least/4 {
			t.Errorf("%v: %d rounds, powers of W would take %.0f", w, c.rounds, least)
		}
		const n = 50
		z := make([][]float64, w.Len())
		var want, size [n]float64
		for g := range z {
			for k := range n {
				v := r.NormFloat64() * math.Pow(10, float64(k%9-4))
				z[g] = append(z[g], v)
				want[k] += v
				size[k] += math.Abs(v)
			}
		}
		sum, err := c.sum(t.Context(), z)
		if err != nil {
			t.Fatal(err)
		}
		for g := range z {
			for k, v := range z[g] {
				if math.Abs(v-want[k]) > 1e-12*size[k] {
					t.Fatalf("%v: node %d has the sum %v, want %v", w, g, v, want[k])
				}
			}
		}
		if &sum[0] != &z[0][0] {
			t.Error("the sum is not that of the first node")
		}
	}
}

// pi' W = pi' by definition, and the weight of EqualNeighbor is the degree.
func TestStationary(t *testing.T) {
	w := weights(t, "er:0.4", 11, topology.EqualNeighbor)
	pi, err := stationary(w)
	if err != nil {
		t.Fatal(err)
	}
	for g, p := range pi {
		if want := float64(w.Graph().Degree(g)) / float64(2*w.Graph().Edges()); math.Abs(p-want) > 1e-14 {
			t.Errorf("node %d: %v, want %v", g, p, want)
		}
	}
	bad, err := topology.WeightsOf(mat.NewDense(3, 3, []float64{
		.5, .6, -.1,
		.5, .6, -.1,
		.5, .6, -.1,
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = stationary(bad)
	check(t, err, "node 2 has no part")
}

// All that Fit computes over the nodes must be what one computer with all rows
// would compute.
func TestDecentralisedEqualsPooled(t *testing.T) {
	k := newTruth(8, 6, 1)
	tab := k.table(t, 22, 5, 30, 8)
	for _, w := range []*topology.Weights{weights(t, "er:0.4", 8, topology.EqualNeighbor), weights(t, "path", 8, topology.Metropolis)} {
		c := testConfig(t, 2, 2)
		c.Network = &difalt.Network{Weights: w}
		d, err := newDesign(t.Context(), tab, &c)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(tab.Rows())
		x := make([]float64, 6)
		mean, square, target := make([]float64, 6), make([]float64, 6), 0.0
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				mean[j] += v / n
			}
			target += tab.Y(i) / n
		}
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				square[j] += (v - mean[j]) * (v - mean[j]) / n
			}
		}
		for j := range square {
			square[j] = math.Sqrt(square[j])
		}
		checkClose(t, "means", d.center, mean)
		checkClose(t, "deviations", d.scale, square)
		checkClose(t, "mean of the target", []float64{d.target}, []float64{target})
		p, err := d.fitPooled(t.Context(), []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		a, y := d.rowsWhere(func(int) bool { return true })
		checkClose(t, "shared mean", p.theta(-1, 1), denseRidge(t, a, y, 1))
		unit, err := d.unit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, "unit", []float64{unit}, []float64{1})
	}
}

// spy passes messages on and remembers every number in them.
type spy struct {
	topology.Mixer
	seen map[float64]bool
}

func (s *spy) Mix(ctx context.Context, z []topology.Message, rounds int) error {
	s.note(z)
	err := s.Mixer.Mix(ctx, z, rounds)
	s.note(z)
	return err
}

func (s *spy) note(z []topology.Message) {
	for _, m := range z {
		if m.Basis != nil {
			for _, v := range m.Basis.Data() {
				s.seen[v] = true
			}
		}
		for _, v := range m.Scalars {
			s.seen[v] = true
		}
	}
}

// TestNothingPrivateLeavesANode listens to all that crosses the network in a whole
// fit, tuning included, and looks for the numbers of X, y and b, in the units of the
// table and scaled, plain and weighted by a node's share.
func TestNothingPrivateLeavesANode(t *testing.T) {
	t.Run("complete", func(t *testing.T) { listen(t, newTruth(4, 5, 1).table(t, 16, 12, 16, 4)) })
	t.Run("missing values", func(t *testing.T) { listen(t, newHoled(4, "", 16, 20).table(t, 4, nil)) })
}

// listen fits a table that is on four nodes.
func listen(t *testing.T, tab *dataset.Table) {
	c := testConfig(t, 4, 2)
	train := make([]bool, tab.Rows())
	for i := range train {
		train[i] = i%4 != 1
	}
	c.Train, c.Tune, c.Options.Iterations = train, true, 20
	listener := &spy{topology.NewLocal(c.Network.Weights, nil), map[float64]bool{}}
	c.Network = &difalt.Network{Weights: c.Network.Weights, Mixer: listener}
	m, r := fit(t, tab, c)
	if len(listener.seen) < 10000 {
		t.Fatalf("the listener saw %d numbers only", len(listener.seen))
	}
	if r.Exposed != nil {
		t.Fatalf("exposed nodes: %v", r.Exposed)
	}
	share, err := newConsensus(c.Network)
	if err != nil {
		t.Fatal(err)
	}
	look := func(what string, v float64) {
		for _, s := range append([]float64{1}, share.share...) {
			if v != 0 && math.Abs(v) != 1 && listener.seen[v*s] {
				t.Fatalf("%s %v crossed the network", what, v)
			}
		}
	}
	x := make([]float64, m.width())
	for i := range tab.Rows() {
		for _, v := range tab.X(x[:m.width()-1], i) {
			look("feature", v)
		}
		m.apply(x)
		for _, v := range x {
			look("scaled feature", v)
		}
		look("target", tab.Y(i))
		look("scaled target", tab.Y(i)-m.target)
		look("residual", tab.Y(i)-m.target-dot(x, m.mean))
	}
	for _, v := range m.b {
		look("coefficient", v)
	}
	if r.Traffic != listener.Traffic() {
		t.Errorf("the report counts %+v, the mixer %+v", r.Traffic, listener.Traffic())
	}
}

// A node whose sums are over one row gives it away, and Fit must say so.
func TestExposed(t *testing.T) {
	k := newTruth(4, 3, 1)
	tab := emptyTable(t, 3)
	k.add(t, tab, "a", 20)
	k.add(t, tab, "b", 7)
	k.add(t, tab, "c", 10)
	if err := tab.AssignBlocks(3); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 3, 1)
	_, r := fit(t, tab, c)
	if len(r.Exposed) != 1 || r.Exposed[0] != `"1"` {
		t.Errorf("exposed are %v, want the node of task b, whose 7 rows are in 5 folds", r.Exposed)
	}
	c.Mean, c.TuneRidge, c.Baselines = MeanNone, false, false
	if _, r = fit(t, tab, c); r.Exposed != nil {
		t.Errorf("exposed are %v without folds", r.Exposed)
	}
}
