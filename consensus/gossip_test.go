package consensus

import (
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// trees returns Tree with every codec.
func trees(t testing.TB) (all []Agreement) {
	for _, c := range codecs {
		all = append(all, Agreement{Polynomial: Tree, Codec: c})
	}
	return all
}

// agreements returns all valid combinations of the parts of gossip, the zero value first.
func agreements(t testing.TB) []Agreement {
	t.Helper()
	var all []Agreement
	for _, c := range []Codec{None, Float32, Int8, Int4} {
		for _, p := range []Polynomial{Plain, Chebyshev} {
			for _, s := range []float64{0, .4, .7} {
				a := Agreement{Polynomial: p, Codec: c, Trigger: s}
				if a.Validate() != nil {
					continue
				}
				all = append(all, a)
				if a.RoundByRound = true; c == None && s == 0 { // else nothing is applied at once
					all = append(all, a)
				}
			}
		}
	}
	return all
}

// streamOf names the stream of all messages.
func streamOf(z []Message, s Stream) []Message {
	for i := range z {
		z[i].Stream = s
	}
	return z
}

// disagreement returns the distance of the messages from their mean.
func disagreement(z []Message) float64 {
	m := matrixOf(z)
	l, n := m.Dims()
	squares := 0.0
	for j := range n {
		mean := mat.Sum(m.ColView(j)) / float64(l)
		for i := range l {
			squares += (m.At(i, j) - mean) * (m.At(i, j) - mean)
		}
	}
	return math.Sqrt(squares)
}

// farthest returns the largest distance of an entry of the messages from the mean
// that before had.
func farthest(before *mat.Dense, z []Message) float64 {
	after := matrixOf(z)
	l, n := after.Dims()
	d := 0.0
	for j := range n {
		mean := mat.Sum(before.ColView(j)) / float64(l)
		for i := range l {
			d = max(d, math.Abs(after.At(i, j)-mean))
		}
	}
	return d
}

func mixTimes(t *testing.T, m *Mixer, z []Message, calls, rounds int) {
	t.Helper()
	for range calls {
		if err := m.Mix(background, z, rounds); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConsensus: in every variant, doubly stochastic weights bring all nodes to the
// mean of what they had, to rounding: no error floor, no drift.
func TestConsensus(t *testing.T) {
	graphs := []*topology.Graph{
		must[*topology.Graph](t)(topology.ErdosRenyi(12, .4, 2)), must[*topology.Graph](t)(topology.Star(6)), must[*topology.Graph](t)(topology.Ring(7)),
		must[*topology.Graph](t)(topology.Complete(5)), must[*topology.Graph](t)(topology.Ring(1)),
	}
	for gi, g := range graphs {
		w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
		for _, a := range agreements(t) {
			if testing.Short() && gi > 0 {
				continue
			}
			m := newMixer(t, w, nil, a)
			z := streamOf(randomMessages(g.Len(), 13, 2, 3, 5), StreamBasis)
			before := matrixOf(z)
			mixTimes(t, m, z, 30, 10)
			if d := farthest(before, z); !(d < 10) {
				t.Fatalf("%v, %v: %v from the mean after 300 rounds", w, a, d)
			}
			calls := 0
			for ; calls < 400 && disagreement(z) > 1e-14*float64(g.Len()); calls++ {
				mixTimes(t, m, z, 1, 10)
			}
			if d := farthest(before, z); !(d < 2e-14*float64(g.Len())) {
				t.Errorf("%v, %v: %v from the mean after %d rounds", w, a, d, 300+10*calls)
			}
		}
	}
}

// TestKeepsMean: symmetric weights keep the mean to rounding in every round, however
// coarse the codes and whatever is lost.
func TestKeepsMean(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(15, .3, 2))
	for _, rule := range []topology.Rule{topology.Metropolis, topology.BestConstant} {
		w := must[*topology.Weights](t)(topology.NewWeights(g, rule))
		for _, a := range agreements(t) {
			m := newMixer(t, w, nil, a)
			z := streamOf(randomMessages(g.Len(), 13, 3, 2, 5), StreamTracker)
			before := matrixOf(z)
			for _, rounds := range []int{1, 2, 7} {
				mixTimes(t, m, z, 1, rounds)
				after := matrixOf(z)
				for j := range before.RawMatrix().Cols {
					if d := mat.Sum(after.ColView(j)) - mat.Sum(before.ColView(j)); math.Abs(d) > 1e-12 {
						t.Fatalf("%v, %v: the sum of entry %d changed by %v", w, a, j, d)
					}
				}
			}
		}
	}
}

// TestDifferencesAgainstDefinition follows quantised differences by matrices: every
// node holds its own copy of each neighbour, and only bytes travel.
func TestDifferencesAgainstDefinition(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(9, .5, 1))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.EqualNeighbor))
	l, d, r := g.Len(), 11, 3
	for _, c := range codecs[1:] {
		m := newMixer(t, w, nil, Agreement{Codec: c})
		z := streamOf(randomMessages(l, d, r, 0, 5), StreamGradient)
		x := make([][]float64, l)
		copies := make([][][]float64, l) // of i, as j knows it
		for i := range x {
			for j := range r {
				x[i] = append(x[i], z[i].Basis.Col(j)...)
			}
			for range l {
				copies[i] = append(copies[i], make([]float64, d*r))
			}
		}
		for round := 1; round <= 12; round++ {
			mixTimes(t, m, z, 1, 1)
			for i := range l {
				difference := make([]float64, d*r)
				for k := range difference {
					difference[k] = x[i][k] - copies[i][i][k]
				}
				packet := must[[]byte](t)(c.AppendEncode(nil, difference))
				for j := range l {
					q := make([]float64, d*r)
					if _, err := c.Decode(q, packet); err != nil {
						t.Fatal(err)
					}
					for k := range q {
						copies[i][j][k] += q[k]
					}
				}
			}
			for i := range l {
				for k := range x[i] {
					for _, j := range g.Neighbors(i) {
						x[i][k] += w.At(i, j) * (copies[j][i][k] - copies[i][i][k])
					}
				}
				for k := range x[i] {
					// The codes of both may differ once rounding differs, by a level at most.
					if got := z[i].Basis.At(k%d, k/d); math.Abs(got-x[i][k]) > 1e-12 {
						t.Fatalf("%v, round %d, node %d, entry %d: %v, want %v", c, round, i, k, got, x[i][k])
					}
				}
			}
		}
	}
}

// TestDifferencesWorkers: the same bits for any number of workers, and Exact messages
// as without a codec.
func TestDifferencesWorkers(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(11, .4, 2))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	pools := []*kernel.Pool{nil}
	for _, workers := range []int{2, 3, 16} {
		p := kernel.NewPool(workers)
		defer p.Close()
		pools = append(pools, p)
	}
	for _, a := range append(agreements(t), trees(t)...) {
		exact := mixed(t, newMixer(t, w, nil, Agreement{RoundByRound: a.RoundByRound}), [3]int{70, 2, 3}, 4)
		var want *mat.Dense
		var traffic wire.Traffic
		for _, p := range pools {
			m := newMixer(t, w, p, a)
			if got := mixed(t, m, [3]int{70, 2, 3}, 4); a.Polynomial != Tree && !mat.Equal(got, exact) {
				t.Errorf("%v: exact messages are not exact", a)
			}
			z := streamOf(randomMessages(g.Len(), 70, 2, 3, 6), StreamTracker)
			mixTimes(t, m, z, 3, 3)
			if want == nil {
				want, traffic = matrixOf(z), m.net.Traffic()
			}
			if !mat.Equal(matrixOf(z), want) || m.net.Traffic() != traffic {
				t.Errorf("%v: other bits or traffic with %d workers", a, p.Workers())
			}
		}
	}
}

// TestDifferencesAllocs: none in the steady state.
func TestDifferencesAllocs(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(11, .4, 2))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, a := range append(agreements(t), trees(t)...) {
		m := newMixer(t, w, pool, a)
		for _, s := range []Stream{StreamBasis, Exact} {
			z := streamOf(randomMessages(g.Len(), 30, 3, 5, 1), s)
			f := func() { mixTimes(t, m, z, 1, 2) }
			f()
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%v, stream %v: %v allocations", a, s, n)
			}
		}
	}
}

// TestSteadyMovement: vectors that keep moving are followed.
func TestSteadyMovement(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(10, .5, 2))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	c := Int4
	for _, s := range []float64{0, .4, .7} {
		m := newMixer(t, w, nil, Agreement{Codec: c, Trigger: s})
		z := streamOf(randomMessages(g.Len(), 40, 2, 0, 5), StreamBasis)
		speed := randomMessages(g.Len(), 40, 2, 0, 6)
		shrink := 1.0
		for range 600 {
			shrink *= .95
			for i := range z {
				for k, v := range speed[i].Basis.Data() {
					z[i].Basis.Data()[k] += shrink * v
				}
			}
			mixTimes(t, m, z, 1, 1)
		}
		// The movement has decayed to 4e-14, from which the disagreement lags behind.
		if d := disagreement(z); d > 1e-10 {
			t.Errorf("%v: disagreement %v", s, d)
		}
		traffic := m.net.Traffic()
		if sum := traffic.Messages + traffic.Silent; sum != 600*2*int64(g.Edges()) {
			t.Errorf("%v: %+v: spoken and silent are not all", s, traffic)
		}
		if share := float64(traffic.Silent) / (600 * 2 * float64(g.Edges())); share < s-.4 {
			t.Errorf("%v: only %.2f silent", s, share)
		}
		if bytes := traffic.Messages*(2+1+4+40) + header*(traffic.Messages+traffic.Silent); traffic.Bytes != bytes {
			t.Errorf("%v: %d bytes, want %d", s, traffic.Bytes, bytes)
		}
	}
}

func TestDifferencesErrors(t *testing.T) {
	w := must[*topology.Weights](t)(topology.NewWeights(must[*topology.Graph](t)(topology.Ring(4)), topology.Metropolis))
	c := Int4
	m := newMixer(t, w, nil, Agreement{Codec: c})
	wantError(t, m.Mix(background, streamOf(randomMessages(4, 6, 2, 1, 1), StreamBasis), -1), "-1 rounds")
	wantError(t, m.Mix(background, streamOf(randomMessages(3, 6, 2, 1, 1), StreamBasis), 1), "3 messages for 4 hosted nodes")
	wantError(t, m.Mix(background, streamOf(randomMessages(4, 6, 2, 1, 1), 77), 1), "channel 77")
	mixTimes(t, m, streamOf(randomMessages(4, 6, 2, 1, 1), StreamBasis), 1, 1)
	wantError(t, m.Mix(background, streamOf(randomMessages(4, 6, 3, 1, 1), StreamBasis), 1), "6 x 3 and 1 scalars on stream basis", "6 x 2 and 1")
	z := streamOf(randomMessages(4, 6, 2, 1, 1), StreamBasis)
	for _, bad := range []float64{math.NaN(), math.Inf(-1), 1e39} {
		z[2].Basis.Col(1)[3] = bad
		err := m.Mix(background, z, 1)
		if !errors.Is(err, ErrNotFinite) {
			t.Errorf("%v: got %v", bad, err)
		}
		wantError(t, err, "node 2", "stream basis")
	}
	for _, a := range append(agreements(t), trees(t)...) {
		m := newMixer(t, w, nil, a)
		if err := m.Mix(background, streamOf(make([]Message, 4), StreamBasis), 1); err != nil {
			t.Errorf("%v: empty messages: %v", a, err)
		}
	}
}

// TestThreshold: the threshold is the share of the last news, and decays in silence.
func TestThreshold(t *testing.T) {
	f := codedStream{work: streamState{Threshold: []float64{0}}}
	for i, x := range []struct {
		news   float64
		speaks bool
	}{
		{0, false}, {10, true}, // .5 * 10 = 5
		{5.1, true},    // .5 * 5.1 = 2.55
		{2.54, false},  // .9 * 2.55 = 2.295
		{2.29, false},  // .9 * 2.295 = 2.0655
		{2.07, true},   // .5 * 2.07 = 1.035
		{1.034, false}, // .9 * 1.035 = .9315
		{1, true},
	} {
		if got := f.hasNews(0, x.news, .5); got != x.speaks {
			t.Errorf("news %d of %v: speaks %v, want %v", i, x.news, got, x.speaks)
		}
	}
}
