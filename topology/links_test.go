package topology

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEdges: a link and its reverse lead from one neighbour to the other.
func TestEdges(t *testing.T) {
	for _, g := range testGraphs(t) {
		e := newEdges(g)
		from, to := make([]int, 2*g.Edges()), make([]int, 2*g.Edges())
		for i := range g.Len() {
			for k, j := range g.Neighbors(i) {
				from[e.first[i]+k], to[e.first[i]+k] = i, j
			}
		}
		for k, r := range e.reverse {
			if from[k] != to[r] || to[k] != from[r] || e.reverse[r] != k {
				t.Errorf("%v: link %d from %d to %d has reverse %d from %d to %d", g, k, from[k], to[k], r, from[r], to[r])
			}
		}
	}
}

// TestTransmit follows one link message by message: what has arrived, and when, and
// which bytes had to be sent.
func TestTransmit(t *testing.T) {
	const copyBytes = 25 // so that more than two missing messages of 10 are a copy
	links := Links{Loss: .3, Delay: .2, Duplicate: .3}
	w := wires{Arrived: make([]publication, 1), Late: make([][maxDelay + 1]publication, 1)}
	flips := rand.New(rand.NewPCG(4, 4))
	type flying struct {
		round  uint64
		number int64
	}
	var late []flying
	arrived := int64(0)
	var all publication
	var want Traffic
	arrivedLate := 0
	for round := uint64(1); round <= 5000; round++ {
		rng := rand.New(rand.NewPCG(round, 9))
		same := rand.New(rand.NewPCG(round, 9))
		if flips.Float64() < .6 {
			all.Number++
			all.Bytes += 10
		}
		got := w.transmit(links, rng, [2]int{0, 1}, round, all, copyBytes)
		kept := late[:0]
		for _, f := range late {
			if f.round != round {
				kept = append(kept, f)
			} else if f.number > arrived {
				arrived = f.number
				arrivedLate++
			}
		}
		late = kept
		want = Traffic{}
		if arrived == all.Number {
			want.Silent = 1
		} else {
			want.Messages, want.Bytes = 1, min(10*(all.Number-arrived), copyBytes)
			fate, twice, delay := same.Float64(), same.Float64(), 1+same.Uint64N(3)
			if fate < .5 {
				want.Lost = 1
			} else {
				arrived = all.Number
			}
			if fate >= .3 && (fate < .5 || twice < .3) {
				late = append(late, flying{round + delay, all.Number})
			}
		}
		if got != want || w.Arrived[0].Number != arrived || w.Arrived[0].Bytes != 10*arrived {
			t.Fatalf("round %d: %+v and %+v arrived, want %+v and %d", round, got, w.Arrived[0], want, arrived)
		}
	}
	if arrivedLate < 50 {
		t.Errorf("only %d messages came late with news", arrivedLate)
	}
}

// TestLinksShare: as many messages are lost as should be, also of Exact ones, which
// are sent again and change nothing.
func TestLinksShare(t *testing.T) {
	g := must[*Graph](t)(ErdosRenyi(20, .3, 2))
	w := must[*Weights](t)(NewWeights(g, Metropolis))
	a := Agreement{Links: Links{Loss: .15, Delay: .05}}
	share := func(m Mixer, s Stream) {
		t.Helper()
		mixTimes(t, m, streamOf(randomMessages(20, 0, 0, 3, 1), s), 20, 10)
		traffic := m.Traffic()
		n := float64(traffic.Messages)
		if d := float64(traffic.Lost) - .2*n; math.Abs(d) > 5*math.Sqrt(.2*.8*n) {
			t.Errorf("stream %v: %+v: not a fifth is lost", s, traffic)
		}
		if s == Exact && traffic.Messages-traffic.Lost != 200*2*int64(g.Edges()) {
			t.Errorf("stream %v: %+v: not all arrive", s, traffic)
		}
		if traffic.Bytes != traffic.Messages*24 { // the latest message in float64 is all that is needed
			t.Errorf("stream %v: %+v: not 24 bytes a message", s, traffic)
		}
	}
	share(must[Mixer](t)(NewMixer(w, nil, a)), StreamBasis)
	share(must[Mixer](t)(NewMixer(w, nil, a)), Exact)
}

// TestDuplicates change nothing.
func TestDuplicates(t *testing.T) {
	g := must[*Graph](t)(Ring(6))
	w := must[*Weights](t)(NewWeights(g, Metropolis))
	int4 := must[Compressor](t)(Quantizer(4, false))
	run := func(l Links) ([]float64, Traffic) {
		m := must[Mixer](t)(NewMixer(w, nil, Agreement{Compressor: int4, Links: l}))
		z := streamOf(randomMessages(6, 13, 2, 0, 1), StreamBasis)
		mixTimes(t, m, z, 3, 5)
		return values(z[2]), m.Traffic()
	}
	want, traffic := run(Links{Duplicate: 1e-300})
	got, again := run(Links{Duplicate: .9})
	for k := range want {
		if got[k] != want[k] {
			t.Fatalf("entry %d is %v, want %v", k, got[k], want[k])
		}
	}
	if traffic != again {
		t.Errorf("%+v, want %+v", again, traffic)
	}
}

// TestLossyConsensus: the mean is found however many messages are lost.
func TestLossyConsensus(t *testing.T) {
	g := must[*Graph](t)(ErdosRenyi(12, .4, 2))
	w := must[*Weights](t)(NewWeights(g, Metropolis))
	for _, loss := range []float64{.1, .3, .5} {
		for _, c := range compressors(t) {
			for _, p := range []Polynomial{Plain, Chebyshev} {
				a := Agreement{Polynomial: p, Compressor: c, Links: Links{Loss: loss, Delay: loss / 4}, Seed: 9}
				if a.Validate() != nil || p == Chebyshev && loss > .3 {
					continue
				}
				m := must[Mixer](t)(NewMixer(w, nil, a))
				z := streamOf(randomMessages(12, 10, 2, 0, 5), StreamBasis)
				before := matrixOf(z)
				calls := 0
				for ; calls < 600 && disagreement(z) > 1e-13; calls++ {
					mixTimes(t, m, z, 1, 10)
				}
				if d := farthest(before, z); d > 1e-12 {
					t.Errorf("%v: %v from the mean after %d rounds", a, d, 10*calls)
				}
			}
		}
	}
}
