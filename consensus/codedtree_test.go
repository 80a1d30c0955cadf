package consensus

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// TestCodedTreeSettle: messages that do not change reach their mean, to rounding and with
// the same bits at all nodes, by 2(L-1) codes a call.
func TestCodedTreeSettle(t *testing.T) {
	for _, g := range testGraphs(t) {
		w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
		for _, a := range trees(t) {
			m := newMixer(t, w, nil, a)
			given := streamOf(randomMessages(g.Len(), 13, 2, 3, 5), StreamBasis)
			var z []Message
			for range 25 {
				z = copyOf(given)
				mixTimes(t, m, z, 1, 7)
			}
			if d := farthest(matrixOf(given), z); !(d < 1e-14*float64(g.Len())) {
				t.Errorf("%v, %v: %v from the mean", g, a, d)
			}
			after := matrixOf(z)
			for i := range g.Len() {
				if !slices.Equal(after.RawRowView(i), after.RawRowView(0)) {
					t.Errorf("%v, %v: node %d has other bits than node 0", g, a, i)
				}
			}
			code, messages := maxCode(a.Codec, dimensionsOf(z[0])), int64(25*2*(g.Len()-1))
			if a.Codec != nil { // lengths of two vectors with short lengths themselves
				code = len(must[[]byte](t)(a.Codec.AppendEncode(nil, make([]float64, 26)))) + 3 + 4*3
			}
			want := wire.Traffic{Rounds: int64(25 * m.net.SumRounds()), Messages: messages, Bytes: messages * int64(code)}
			if got := m.net.Traffic(); got != want {
				t.Errorf("%v, %v: sent %+v, want %+v", g, a, got, want)
			}
		}
	}
}

// TestCodedTreeAgainstDefinition follows two calls with changing messages by the equations.
func TestCodedTreeAgainstDefinition(t *testing.T) {
	net := network(t, weightsOf(t, "er:0.3", 9))
	l, d := net.Len(), 11
	m := must[*Mixer](t)(net.NewMixer(Agreement{Polynomial: Tree, Codec: Int4}, nil))
	replica, common := mat.NewDense(l, d, nil), make([]float64, d)
	coded := func(v, from []float64) {
		q := slices.Clone(v)
		for k := range q {
			q[k] -= from[k]
		}
		code := must[[]byte](t)(Int4.AppendEncode(nil, q))
		must[[]byte](t)(Int4.Decode(q, code))
		for k := range q {
			from[k] += q[k]
		}
	}
	for call := range uint64(4) {
		z := streamOf(randomMessages(l, d, 1, 0, 5+call), StreamGradient)
		sums := matrixOf(z)
		for depth := net.tree.Height; depth >= 0; depth-- {
			for _, i := range net.tree.Levels[depth] {
				for child, parent := range net.tree.Parent {
					for k := range d {
						if parent == i {
							sums.Set(i, k, sums.At(i, k)+replica.At(child, k))
						}
					}
				}
				if depth > 0 {
					coded(sums.RawRowView(i)[:d], replica.RawRowView(i))
				}
			}
		}
		mean := slices.Clone(sums.RawRowView(net.tree.Root)[:d])
		for k := range mean {
			mean[k] /= float64(l)
		}
		coded(mean, common)
		mixTimes(t, m, z, 1, 1)
		for k, v := range matrixOf(z).RawRowView(3)[:d] {
			if math.Abs(v-common[k]) > 1e-14 {
				t.Fatalf("call %d, entry %d: %v, want %v", call, k, v, common[k])
			}
		}
	}
}

// TestRefine: from the next call on codes are those of the other codec.
func TestRefine(t *testing.T) {
	for _, p := range []Polynomial{Plain, Tree} {
		net := network(t, weightsOf(t, "path", 3))
		m := must[*Mixer](t)(net.NewMixer(Agreement{Polynomial: p, Codec: Int4}, nil))
		for _, want := range []int64{3 + 4 + 50, 3 + 4 + 200} {
			before := m.net.Traffic()
			mixTimes(t, m, streamOf(randomMessages(3, 100, 1, 0, 5), StreamBasis), 1, 2)
			sent := m.net.Traffic().Minus(before)
			if got := sent.Bytes / sent.Messages; got != want {
				t.Errorf("%v: a code of %d bytes, want %d", p, got, want)
			}
			m.Refine(Int16)
		}
	}
	m := newMixer(t, weightsOf(t, "path", 3), nil, Agreement{})
	m.Refine(Int8)
	mixTimes(t, m, streamOf(randomMessages(3, 100, 1, 0, 5), StreamBasis), 1, 1)
	if got := m.net.Traffic().Bytes; got != 4*800 {
		t.Errorf("a mixer without a codec sent %d bytes", got)
	}
}
