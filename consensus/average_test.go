package consensus

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

var background = context.Background()

// randomMessages returns l messages of d x r bases (none if d is 0) and s scalars.
func randomMessages(l, d, r, s int, seed uint64) []Message {
	rng := rand.New(rand.NewPCG(seed, 1))
	z := make([]Message, l)
	for i := range z {
		if d > 0 {
			z[i].Basis = kernel.NewBasis(d, r)
			for j := range r {
				for k := range d {
					z[i].Basis.Col(j)[k] = rng.NormFloat64()
				}
			}
		}
		for range s {
			z[i].Scalars = append(z[i].Scalars, rng.NormFloat64())
		}
	}
	return z
}

// values returns all entries of a message, the padding of the basis included.
func values(m Message) []float64 {
	var v []float64
	if m.Basis != nil {
		v = append(v, m.Basis.Data()...)
	}
	return append(v, m.Scalars...)
}

// matrixOf returns the messages as the rows of a matrix.
func matrixOf(z []Message) *mat.Dense {
	m := mat.NewDense(len(z), len(values(z[0])), nil)
	for i := range z {
		m.SetRow(i, values(z[i]))
	}
	return m
}

// dense returns W by its definition.
func dense(w *topology.Weights) *mat.Dense {
	m := mat.NewDense(w.Len(), w.Len(), nil)
	for i := range w.Len() {
		for j := range w.Len() {
			m.Set(i, j, w.At(i, j))
		}
	}
	return m
}

// mixed returns what m makes of random messages of a shape.
func mixed(t *testing.T, m *Mixer, shape [3]int, rounds int) *mat.Dense {
	t.Helper()
	z := randomMessages(len(m.net.Hosted()), shape[0], shape[1], shape[2], 5)
	if err := m.Mix(background, z, rounds); err != nil {
		t.Fatal(err)
	}
	return matrixOf(z)
}

// shapes of messages: d, r and the number of scalars; one block and several, with and
// without tails.
var shapes = [][3]int{
	{13, 3, 2}, {panelLen, 2, 0}, {blockLen, 2, 0}, {5, 1, 2*panelLen + 1}, {0, 0, 1}, {0, 0, 40},
	{2*panelLen + 5, 2, 0}, {0, 0, 3*panelLen + 7},
}

// TestAverageAgainstPowers holds Mix to W^rounds Z, computed by gonum, and to the
// same bits for any number of workers, of which every case takes another one.
func TestAverageAgainstPowers(t *testing.T) {
	t.Parallel()
	cases, pools := 0, []*kernel.Pool(nil)
	for _, workers := range []int{1, 5, 2, 3, 7} {
		p := kernel.NewPool(workers)
		defer p.Close()
		pools = append(pools, p)
	}
	for gi, g := range testGraphs(t) {
		rule := []topology.Rule{topology.Metropolis, topology.LazyEqualNeighbor, topology.BestConstant}[gi%3]
		w := must[*topology.Weights](t)(topology.NewWeights(g, rule))
		for _, rounds := range []int{0, 1, 2, 7, 60} {
			var power, want mat.Dense
			power.Pow(dense(w), rounds)
			for _, shape := range shapes {
				want.Reset()
				want.Mul(&power, matrixOf(randomMessages(g.Len(), shape[0], shape[1], shape[2], 5)))
				for _, a := range []Agreement{{}, {RoundByRound: true}} {
					var serial *mat.Dense
					some := []*kernel.Pool{nil, pools[cases%len(pools)]}
					if cases++; longtest.Enabled() {
						some = append(some, pools...)
					}
					for _, pool := range some {
						got := mixed(t, newMixer(t, w, pool, a), shape, rounds)
						if serial == nil {
							serial = got
						}
						if !mat.Equal(got, serial) {
							t.Errorf("%v, %+v, %d rounds, shape %v, %d workers: not the bits of one worker", w, a, rounds, shape, pool.Workers())
						}
					}
					// Sums of at most L terms, below 10 in total, in every round.
					tol := float64(g.Len()*(rounds+1)) * 10 * 0x1p-53
					if !mat.EqualApprox(serial, &want, tol) {
						t.Errorf("%v, %+v, %d rounds, shape %v: differs from W^rounds Z", w, a, rounds, shape)
					}
				}
			}
		}
	}
}

// TestAverageChoice: W^rounds is used exactly when L*L <= 8*rounds*(2E+L).
func TestAverageChoice(t *testing.T) {
	for _, g := range testGraphs(t) {
		w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
		for rounds := 1; rounds <= 40; rounds++ {
			m := newMixer(t, w, nil, Agreement{})
			mixed(t, m, shapes[3], rounds)
			want := g.Len()*g.Len() <= 8*rounds*(2*g.Edges()+g.Len())
			if got := m.exact.(byRounds).power.applied != nil; got != want {
				t.Errorf("%v, %d rounds: W^rounds used: %v, want %v", g, rounds, got, want)
			}
		}
	}
}

// TestNoDenseOfMany: a matrix of L x L numbers is made for few nodes only, and none where rounds are asked for one by one.
func TestNoDenseOfMany(t *testing.T) {
	for nodes, want := range map[int]bool{50: true, mostDense: true, mostDense + 1: false} {
		n := network(t, weightsOf(t, "ring", nodes))
		if got := n.newPower(Agreement{}, 0, orSerial(nil)) != nil; got != want {
			t.Errorf("%d nodes: dense %v, want %v", nodes, got, want)
		}
		if n.newPower(Agreement{RoundByRound: true}, 0, orSerial(nil)) != nil {
			t.Errorf("%d nodes: dense, though round by round", nodes)
		}
	}
}

// TestAveragePadding: the zeros behind the columns of a basis stay zeros.
func TestAveragePadding(t *testing.T) {
	w := must[*topology.Weights](t)(topology.NewWeights(must[*topology.Graph](t)(topology.Star(5)), topology.BestConstant))
	for _, rounds := range []int{1, 50} {
		z := randomMessages(5, 13, 2, 0, 1)
		if err := newMixer(t, w, nil, Agreement{}).Mix(background, z, rounds); err != nil {
			t.Fatal(err)
		}
		for i, m := range z {
			for k, v := range m.Basis.Data() {
				if k%m.Basis.Stride() >= 13 && v != 0 {
					t.Errorf("%d rounds, node %d: padding %d is %v", rounds, i, k, v)
				}
			}
		}
	}
}

// TestAverageLimit: many rounds bring all nodes to the mean, weighted by the degrees
// for EqualNeighbor.
func TestAverageLimit(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(20, .3, 4))
	for _, rule := range topology.Rules() {
		w := must[*topology.Weights](t)(topology.NewWeights(g, rule))
		weight := func(i int) float64 {
			if rule != topology.EqualNeighbor && rule != topology.LazyEqualNeighbor { // doubly stochastic
				return 1 / float64(g.Len())
			}
			return float64(g.Degree(i)) / float64(2*g.Edges())
		}
		before := matrixOf(randomMessages(g.Len(), 13, 3, 2, 5))
		after := mixed(t, newMixer(t, w, nil, Agreement{}), shapes[0], 1000)
		for j := range before.RawMatrix().Cols {
			want := 0.0
			for i := range g.Len() {
				want += weight(i) * before.At(i, j)
			}
			for i := range g.Len() {
				if math.Abs(after.At(i, j)-want) > 1e-12 {
					t.Fatalf("%v: node %d, entry %d is %v, want %v", w, i, j, after.At(i, j), want)
				}
			}
		}
	}
}

// header is by how many bytes a frame is longer than its code.
const header = 6

func TestAverageTraffic(t *testing.T) {
	g := must[*topology.Graph](t)(topology.Ring(6))
	m := newMixer(t, must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis)), nil, Agreement{})
	mixed(t, m, [3]int{13, 3, 2}, 4)
	mixed(t, m, [3]int{0, 0, 1}, 10)
	mixed(t, m, [3]int{13, 3, 2}, 0)
	// 12 directed links; 13*3+2 numbers without padding, then 1.
	want := wire.Traffic{Rounds: 14, Messages: 14 * 12, Bytes: 12 * (8*(4*41+10*1) + 14*header)}
	if got := m.net.Traffic(); got != want {
		t.Errorf("traffic %+v, want %+v", got, want)
	}
}

func TestMixErrors(t *testing.T) {
	g := must[*topology.Graph](t)(topology.Ring(4))
	local := newMixer(t, must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis)), nil, Agreement{})
	canceled, cancel := context.WithCancel(background)
	cancel()
	for _, m := range []*Mixer{local, local.net.NewServer(), local.net.NewNeighborMean(nil)} {
		good := func() []Message { return randomMessages(4, 6, 2, 1, 1) }
		if err := m.Mix(canceled, good(), 1); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled context: got %v", err)
		}
		wantError(t, m.Mix(background, good(), -1), "-1 rounds")
		wantError(t, m.Mix(background, good()[:3], 1), "3 messages for 4 hosted nodes")
		wantError(t, m.Mix(background, nil, 1), "0 messages for 4 hosted nodes")
		z := good()
		z[2].Basis = kernel.NewBasis(6, 3)
		wantError(t, m.Mix(background, z, 1), "node 2 is 6 x 3", "node 0 is 6 x 2")
		z = good()
		z[3].Basis = nil
		wantError(t, m.Mix(background, z, 1), "node 3 is 0 x 0")
		z = good()
		z[1].Scalars = nil
		wantError(t, m.Mix(background, z, 1), "node 1 is 6 x 2 and 0 scalars", "node 0 is 6 x 2 and 1")
		z = good()
		z[2].Stream = StreamTracker
		wantError(t, m.Mix(background, z, 1), "stream tracker, that of node 0", "stream exact")
		if got := m.net.Traffic(); got != (wire.Traffic{}) {
			t.Errorf("traffic of refused calls: %+v", got)
		}
		if err := m.Mix(background, make([]Message, 4), 1); err != nil {
			t.Errorf("empty messages: %v", err)
		}
	}
}

func mixersOf(t testing.TB, w *topology.Weights, p *kernel.Pool) []*Mixer {
	n := network(t, w)
	return []*Mixer{newMixer(t, w, p, Agreement{}), newMixer(t, w, p, Agreement{RoundByRound: true}), n.NewServer(), n.NewNeighborMean(p)}
}

// TestMixAllocs: none in the steady state, for the dense and the sparse way.
func TestMixAllocs(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	w := weightsOf(t, "ring", 12)
	z := randomMessages(12, 30, 3, 5, 1)
	for _, p := range []*kernel.Pool{nil, pool} {
		for _, m := range mixersOf(t, w, p) {
			for _, rounds := range []int{1, 20} {
				if mean, ok := m.exact.(*treeMean); ok && mean.server && rounds > 1 {
					continue
				}
				f := func() {
					if err := m.Mix(background, z, rounds); err != nil {
						t.Fatal(err)
					}
				}
				f()
				if n := testing.AllocsPerRun(20, f); n != 0 {
					t.Errorf("%s, %d rounds, pool %v: %v allocations", m.settings, rounds, p != nil, n)
				}
			}
		}
	}
}

func TestNeighborMean(t *testing.T) {
	// Bipartite: the leaves take the hub's message, the hub the mean of the leaves.
	m := network(t, weightsOf(t, "star", 5)).NewNeighborMean(nil)
	before := matrixOf(randomMessages(5, 13, 3, 2, 5))
	after := mixed(t, m, shapes[0], 1)
	for j := range before.RawMatrix().Cols {
		leaves := (mat.Sum(before.ColView(j)) - before.At(0, j)) / 4
		if math.Abs(after.At(0, j)-leaves) > 1e-15 {
			t.Errorf("entry %d of the hub is %v, want %v", j, after.At(0, j), leaves)
		}
		for i := 1; i < 5; i++ {
			if math.Abs(after.At(i, j)-before.At(0, j)) > 1e-15 {
				t.Errorf("entry %d of leaf %d is %v, want %v", j, i, after.At(i, j), before.At(0, j))
			}
		}
	}
	if want := (wire.Traffic{Rounds: 1, Messages: 8, Bytes: 8 * (8*41 + header)}); m.net.Traffic() != want {
		t.Errorf("traffic %+v, want %+v", m.net.Traffic(), want)
	}
	alone := mixed(t, network(t, weightsOf(t, "ring", 1)).NewNeighborMean(nil), shapes[0], 1)
	if !mat.Equal(alone, matrixOf(randomMessages(1, 13, 3, 2, 5))) {
		t.Error("a single node does not keep its message")
	}
}
