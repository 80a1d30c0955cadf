package fit

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// A tap keeps all that leaves a process.
type tap struct {
	wire.Transport
	mu     sync.Mutex
	frames [][]byte
}

func (t *tap) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	t.mu.Lock()
	for _, f := range out {
		t.frames = append(t.frames, append([]byte(nil), f...))
	}
	t.mu.Unlock()
	return t.Transport.Exchange(ctx, seq, out, in, due)
}

// tapped fits with one process a node and returns what left each of them.
func tapped(t *testing.T, w *topology.Weights, f func(net *consensus.Network) (*outcome, error)) ([]*outcome, []*tap) {
	t.Helper()
	groups := make([][]int, w.Len())
	taps := make([]*tap, w.Len())
	for g := range groups {
		groups[g] = []int{g}
	}
	var mu sync.Mutex
	out, failed := apartOver(t, w, groups, func(end wire.Transport) wire.Transport {
		mu.Lock()
		defer mu.Unlock()
		p := &tap{Transport: end}
		taps[end.Hosted()[0]] = p
		return p
	}, f)
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, taps
}

// Of all bytes that leave a node in a whole fit, tuning included, no eight are a
// number of X, y or b, in the units of the table or scaled.
func TestNothingPrivateLeavesANode(t *testing.T) {
	s := newSites(9)
	w := weights(t, "ring", 4, topology.Metropolis)
	for _, method := range difalt.Methods() {
		var mu sync.Mutex
		tables := map[int]*dataset.Table{}
		out, taps := tapped(t, w, func(net *consensus.Network) (*outcome, error) {
			tab, err := s.table(net.Hosted(), siteSchema, nil)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			tables[net.Hosted()[0]] = tab
			mu.Unlock()
			c := testConfig(t, 4, 2)
			c.Network, c.Rank, c.Folds, c.Options.Iterations, c.Options.Rounds = net, 0, 2, 4, 2
			if c.Options.Method = method; method != difalt.Accelerated {
				c.Options.Agreement = consensus.Agreement{}
			}
			if c.Train, err = split(tab); err != nil {
				return nil, err
			}
			m, r, err := Fit(t.Context(), tab, c)
			return &outcome{m, r}, err
		})
		for g, o := range out {
			look(t, taps[g], secretsOf(o.m, tables[g]))
		}
	}
}

// secretsOf returns the numbers that must not leave a node, but for 0 and 1.
func secretsOf(m *model.Model, tab *dataset.Table) map[uint64]string {
	secrets := map[uint64]string{}
	keep := func(what string, v float64) {
		if v != 0 && math.Abs(v) != 1 && !math.IsNaN(v) {
			secrets[math.Float64bits(v)] = what
			secrets[math.Float64bits(-v)] = what
		}
	}
	p := m.Parameters()
	x := make([]float64, p.Scaling.Width())
	for i := range tab.Rows() {
		for j, v := range tab.X(x[:len(m.Features())], i) {
			if j < 2 { // levels are 0 or 1
				keep("feature", v)
			}
		}
		p.Scaling.Apply(x)
		for _, v := range x[:2] {
			if v != 0 { // in place of a missing value
				keep("scaled feature", v)
			}
		}
		keep("target", tab.Y(i))
		keep("scaled target", (tab.Y(i)-p.Scaling.Target)/p.Scaling.TargetScale)
		keep("residual", (tab.Y(i)-p.Scaling.Target)/p.Scaling.TargetScale-floats.Dot(x, p.Mean))
	}
	for _, v := range p.Theta {
		keep("coefficient", v)
	}
	return secrets
}

// look searches all bytes for eight that are a secret.
func look(t *testing.T, p *tap, secrets map[uint64]string) {
	t.Helper()
	n := 0
	for _, f := range p.frames {
		n += len(f)
		for i := 0; i+8 <= len(f); i++ {
			if what, found := secrets[binary.LittleEndian.Uint64(f[i:])]; found {
				t.Fatalf("a %s has left the node: %v", what, math.Float64frombits(binary.LittleEndian.Uint64(f[i:])))
			}
		}
	}
	if n < 10_000 || len(secrets) < 100 {
		t.Fatalf("only %d bytes were searched for %d numbers", n, len(secrets))
	}
}

// Between owners the evidence is evaluated at most 20 times, whatever the tables are like: of levels, of directions, and of noise that differs.
func TestFewEvaluations(t *testing.T) {
	inFull(t)
	for seed := range uint64(3) {
		k := newTruth(seed, 6, 1)
		w, noise := newWorld(seed, 6), map[string]float64{}
		uneven, _ := w.uneven(t, "t", 30, 12, 0.8, noise)
		for name, tab := range map[string]*dataset.Table{"directions": k.table(t, 30, 8, 20, 3), "few rows": k.table(t, 39, 4, 6, 3), "uneven": assigned(t, uneven, 3)} {
			c := testConfig(t, 3, 0)
			if _, r := fit(t, tab, c); r.Disclosure().Evaluations > 20 || r.Disclosure().Evaluations < 5 {
				t.Errorf("%s, seed %d: %d evaluations", name, seed, r.Disclosure().Evaluations)
			}
		}
	}
}

// Of three owners of 13 tasks x 15 rows x 8 features, totals determine a third of the statistics of the others in the mean over draws, and little
// more of any. At the last one a smaller rank has not arrived when a larger one is tried.
func TestAThirdIsDetermined(t *testing.T) {
	draws := []uint64{0, 1, 2, 14}
	mean := 0.0
	for _, seed := range draws {
		_, r := fit(t, newTruth(seed, 8, 1).table(t, 39, 15, 15, 3), testConfig(t, 3, 0))
		told := r.Disclosure()
		t.Logf("%+v", told)
		part := float64(told.Determined) / (26 * 55)
		if mean += part / float64(len(draws)); told.Statistics != 26*55 || part < 0.1 || part > 0.36 {
			t.Errorf("seed %d: %d of %d are determined", seed, told.Determined, told.Statistics)
		}
	}
	if mean > 1./3 {
		t.Errorf("%.3f are determined in the mean", mean)
	}
}

// All numbers that are told count, those of a curve as well: a histogram, fine parts of eight bins, splines and moments.
func TestNumbersTold(t *testing.T) {
	tab, numbers := newTruth(2, 3, 1).table(t, 24, 12, 12, 3), [2]int{}
	for i, curves := range [][]string{{}, {tab.Features()[0]}} {
		c := testConfig(t, 3, 1)
		c.Curves = curves
		_, r := fit(t, tab, c)
		numbers[i] = r.Disclosure().Numbers
	}
	const histogram, splines = 513 + 8*64, 36
	if more := numbers[1] - numbers[0]; numbers[0] < 300 || more < histogram+splines || more > 3*histogram {
		t.Errorf("%d numbers, with a curve %d", numbers[0], numbers[1])
	}
}

// Nodes that are made up of the table of one owner have nothing to hide from one another: however many they are, the fit is that of one node.
func TestMadeUpNodesAreNotDithered(t *testing.T) {
	tab := newTruth(5, 4, 1).table(t, 24, 8, 14, 1)
	_, one := fit(t, tab, testConfig(t, 1, 0))
	for _, owners := range []bool{false, true} {
		c := testConfig(t, 3, 0)
		c.Owners = owners
		_, r := fit(t, assigned(t, tab, 3), c)
		off := math.Abs(r.Scores[0].Train.RMSE/one.Scores[0].Train.RMSE - 1)
		if (off < 1e-4) == owners || (r.Disclosure().Statistics > 0) != owners {
			t.Errorf("owners %v: RMSE differs by %v, told %+v", owners, off, r.Disclosure())
		}
	}
}

// What is told of residuals is dithered between owners, by a tenth of what tasks differ by, and by nobody else: the noise is that of
// rows which only the node has.
func TestResidualsAreDithered(t *testing.T) {
	const features, perNode = 8, 26
	tab := newTruth(3, features, 1).table(t, 3*perNode, 10, 14, 3)
	sums := func(owners bool, tab *dataset.Table) (effectSums, [][]float64) {
		c := testConfig(t, 3, 0)
		c.Owners = owners
		d, err := newDesign(t.Context(), tab, &c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.sufficientRows(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		l, all := newEffectSums(features), make([]int, features)
		for j := range all {
			all[j] = j
		}
		return l, d.effectSums(t.Context(), l, all, thetas{features + 1, make([]float64, features+1)})
	}
	l, exact := sums(false, tab)
	_, dithered := sums(true, tab)
	_, again := sums(true, tab)
	square, count := 0.0, 0.0
	for g, z := range exact {
		if !slices.Equal(dithered[g], again[g]) {
			t.Errorf("node %d: the same rows have other noise", g)
		}
		if l.tasks.First(z) != perNode || l.tasks.First(dithered[g]) != perNode {
			t.Errorf("node %d: %v tasks, dithered %v", g, l.tasks.First(z), l.tasks.First(dithered[g]))
		}
		for k, v := range l.sums.Of(z) {
			mean := v / perNode
			variance := (l.squares.Of(z)[k]-v*mean)/(perNode-1) + mean*mean/100
			off := l.sums.Of(dithered[g])[k] - v
			square, count = square+off*off/variance, count+1
			if off == 0 || l.squares.Of(dithered[g])[k] == l.squares.Of(z)[k] {
				t.Errorf("node %d: sum %d is told as it is", g, k)
			}
		}
	}
	// Three nodes share the dither.
	if got, want := square/count, 0.01/3; got < 0.7*want || got > 1.4*want {
		t.Errorf("the dither has a variance of %.4f of what tasks differ by, want %.4f", got, want)
	}
	other := changed(t, tab, func(i int, _ []float64, y float64) float64 {
		if i == 0 {
			y *= 1 + 1e-12
		}
		return y
	})
	_, near := sums(true, other)
	if off := math.Abs(near[0][0] - dithered[0][0]); !(off > 1e-6*math.Abs(exact[0][0])) {
		t.Errorf("a change of 1e-12 in a row changes a sum by %v: the noise does not follow the rows", off)
	}
}
