package consensus

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
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
			up, down := int64(8*3*29)+bytesOf(3, bits.Len(uint(g.Len()))+1), int64(8*29+1) // three words a number up, and votes
			if a.Codec != None {
				count := bits.Len(uint(g.Len())) + 1
				width := a.Codec.bits()
				carry := bits.Len(uint(g.Len() - 1))
				up = bytesOf(26, width+carry) + bytesOf(3, 24+carry) + bytesOf(2*classes, count)
				down = up
			}
			// Before the first message, and no more: how large are the differences?
			counted := int64(0)
			if a.Codec != None && g.Len() > 1 {
				counted = 1
			}
			edges := int64(g.Len() - 1)
			want := wire.Traffic{Rounds: (25 + counted) * int64(m.net.SumRounds()), Messages: (25 + counted) * 2 * edges, Bytes: 25 * edges * (up + down)}
			want.Bytes += counted * 2 * edges * bytesOf(2*groups, bits.Len(uint(g.Len()))+1)
			want.Bytes += header * want.Messages
			if got := m.net.Traffic(); got != want {
				t.Errorf("%v, %v: sent %+v, want %+v", g, a, got, want)
			}
		}
	}
}

// TestCodedTreeReserve: on the tracker's stream messages that have nothing to do with the ones
// before, and are up to 1.9 times their size, arrive up to a step of codes of 14 bits. On the
// stream of bases they are cut off.
func TestCodedTreeReserve(t *testing.T) {
	g := must[*topology.Graph](t)(topology.Parse("ring", 6, 1))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	cut := 0
	for _, stream := range []Stream{StreamTracker, StreamBasis} {
		m := newMixer(t, w, nil, Agreement{Polynomial: Tree, Codec: Int16})
		for call := range uint64(40) {
			given := streamOf(randomMessages(g.Len(), 13, 2, 0, 100+call), stream)
			size, largest := 1+0.9*float64(call%2), 0.0
			for _, z := range given {
				floats.Scale(size, z.Basis.Data())
				largest = max(largest, floats.Norm(z.Basis.Data(), math.Inf(1)))
			}
			z := copyOf(given)
			mixTimes(t, m, z, 1, 1)
			if d := farthest(matrixOf(given), z); d > 8*largest/(1<<13) {
				if cut++; stream == StreamTracker {
					t.Errorf("call %d: %v from the mean", call, d)
				}
			}
		}
	}
	if cut == 0 {
		t.Error("nothing was cut off without a reserve: the test sees nothing")
	}
}

// TestGroups: an exponent is in the group whose largest is not below it, and that of the group
// before is.
func TestGroups(t *testing.T) {
	for e := -1073; e <= 1024; e++ {
		g := groupOf(e)
		if g < 0 || g >= groups || largestOf(g) < e && e < 1024 || g > 0 && largestOf(g-1) >= e {
			t.Errorf("exponent %d is in group %d, up to %d", e, g, largestOf(g))
		}
	}
}

func bytesOf(n, width int) int64 { return int64(n*width+7) / 8 }

// TestCodedTreeAgainstDefinition follows calls with changing messages by the equations: what
// every node sends, what it thinks it has sent, and the mean of that.
func TestCodedTreeAgainstDefinition(t *testing.T) {
	for _, d := range []int{11, 3*groups + 1} { // also longer than the counts before the first message
		againstDefinition(t, d)
	}
}

func againstDefinition(t *testing.T, d int) {
	net := network(t, weightsOf(t, "er:0.3", 9))
	l := net.Len()
	m := must[*Mixer](t)(net.NewMixer(Agreement{Polynomial: Tree, Codec: Int4}, nil))
	sent := mat.NewDense(l, d, nil)
	largest := math.NaN() // that the step is for
	for call := range uint64(6) {
		z := streamOf(randomMessages(l, d, 1, 0, 5+call), StreamGradient)
		difference := mat.DenseCopyOf(matrixOf(z).Slice(0, l, 0, d))
		difference.Sub(difference, sent)
		now := mat.Norm(mat.NewVecDense(l*d, difference.RawMatrix().Data), math.Inf(1))
		if call == 0 {
			largest = now
		}
		step := math.Exp2(math.Floor(math.Log2(largest))+1) / 8
		for i := range l {
			for k := range d {
				sent.Set(i, k, sent.At(i, k)+step*min(max(math.RoundToEven(difference.At(i, k)/step), -7), 7))
			}
		}
		largest = now
		mixTimes(t, m, z, 1, 1)
		for k, v := range matrixOf(z).RawRowView(3)[:d] {
			if want := mat.Sum(sent.ColView(k)) / float64(l); math.Abs(v-want) > 1e-14 {
				t.Fatalf("call %d, entry %d: %v, want %v", call, k, v, want)
			}
		}
	}
}

// TestCodedTreeOutgrown: differences that grow by more than the counts of a message tell are
// counted anew, also if all were zero, and are sent to the last digit in the end.
func TestCodedTreeOutgrown(t *testing.T) {
	net := network(t, weightsOf(t, "path", 3))
	m := must[*Mixer](t)(net.NewMixer(Agreement{Polynomial: Tree, Codec: Int8}, nil))
	for _, size := range []float64{0, 0, 1e-3, 1e-3, 1e9, 1e9, 1e-200, 1e100} {
		given := streamOf(randomMessages(3, 7, 2, 2, 5), StreamTracker)
		for i := range given {
			for j := range 2 {
				floats.Scale(size, given[i].Basis.Col(j))
			}
			floats.Scale(size, given[i].Scalars)
		}
		var z []Message
		for range 25 {
			z = copyOf(given)
			mixTimes(t, m, z, 1, 1)
		}
		if d := farthest(matrixOf(given), z); !(d <= 1e-13*max(size, 1e9)) {
			t.Errorf("size %v: %v from the mean", size, d)
		}
	}
}

// TestRefine: from the next call on codes are those of the other codec.
func TestRefine(t *testing.T) {
	for _, p := range []Polynomial{Plain, Tree} {
		net := network(t, weightsOf(t, "path", 3))
		m := must[*Mixer](t)(net.NewMixer(Agreement{Polynomial: p, Codec: Int4}, nil))
		for k, want := range [][]int64{{3 + 4 + 50, 3 + 4 + 200}, {bytesOf(100, 4+2) + 12, bytesOf(100, 16+2) + 12}}[min(int(p), 1)] {
			if k == 0 && p == Tree { // counts over all powers of two, once
				mixTimes(t, m, streamOf(randomMessages(3, 100, 1, 0, 5), StreamBasis), 1, 1)
			}
			before := m.net.Traffic()
			mixTimes(t, m, streamOf(randomMessages(3, 100, 1, 0, 5), StreamBasis), 1, 2)
			sent := m.net.Traffic().Minus(before)
			if got := sent.Bytes/sent.Messages - header; got != want {
				t.Errorf("%v: a code of %d bytes, want %d", p, got, want)
			}
			m.Refine(Int16)
		}
	}
	m := newMixer(t, weightsOf(t, "path", 3), nil, Agreement{})
	m.Refine(Int8)
	mixTimes(t, m, streamOf(randomMessages(3, 100, 1, 0, 5), StreamBasis), 1, 1)
	if got := m.net.Traffic().Bytes; got != 4*(800+header) {
		t.Errorf("a mixer without a codec sent %d bytes", got)
	}
}
