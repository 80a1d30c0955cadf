package topology

import (
	"math/rand/v2"
)

// Links says how links fail. The zero value is links that do not.
//
// A message may be lost, or come one to three rounds too late, or come twice. In a
// round, two neighbours exchange something only if each knows the other's latest
// vector; otherwise both leave the other out, so that with symmetric weights the
// mean is kept. Both are taken to know how the exchange went, as from
// acknowledgements. A node sends to a neighbour what that one has missed before
// together with what is new, or, if that is shorter, its vector as the neighbours
// should know it in float64. What comes twice is recognised by its number.
//
// Messages of stream Exact are sent again at once until they arrive, which is
// counted. The coin flips depend on the seed, the stream and the number of the round
// only.
type Links struct {
	Loss      float64 // probability that a message does not arrive
	Delay     float64 // probability that it arrives 1, 2 or 3 rounds late
	Duplicate float64 // probability that it arrives once more, as late
}

// linksStream keeps the random numbers of links apart from other uses of a seed.
const linksStream = 0x6c696e6b73 // "links"

// maxDelay is the longest delay in rounds.
const maxDelay = 3

// A publication counts what a node has published up to some time. Of two the one
// with the larger number contains the other.
type publication struct {
	Number int64 // of messages
	Bytes  int64 // in them
}

func (p *publication) advance(q publication) {
	if q.Number > p.Number {
		*p = q
	}
}

// wires is the state of all links for a stream. A directed link e leads from the
// node of which it is an out-link to that neighbour; see edges.
type wires struct {
	Arrived []publication               // Arrived[e] is what the end of e knows
	Late    [][maxDelay + 1]publication // Late[e][t mod 4] arrives in round t
}

// edges numbers the directed links of a graph: those of node i, in the order of its
// neighbours, are first[i], ..., first[i+1]-1.
type edges struct {
	first   []int
	reverse []int // of e, the link in the other direction
}

func newEdges(g *Graph) edges {
	e := edges{first: make([]int, g.Len()+1), reverse: make([]int, 2*g.Edges())}
	for i := range g.Len() {
		e.first[i+1] = e.first[i] + g.Degree(i)
	}
	seen := make([]int, g.Len()) // by i ascending, the links to j come in the order of N_j
	for i := range g.Len() {
		for k, j := range g.Neighbors(i) {
			e.reverse[e.first[i]+k] = e.first[j] + seen[j]
			seen[j]++
		}
	}
	return e
}

// transmit sends what node i has published, in total all, over its links in the
// given round, and returns what that costs. copyBytes is the size of a whole vector.
func (x *wires) transmit(l Links, rng *rand.Rand, links [2]int, round uint64, all publication, copyBytes int64) Traffic {
	var t Traffic
	now := round % (maxDelay + 1)
	for e := links[0]; e < links[1]; e++ {
		x.Arrived[e].advance(x.Late[e][now])
		x.Late[e][now] = publication{}
		missing := all.Bytes - x.Arrived[e].Bytes
		if x.Arrived[e].Number == all.Number {
			t.Silent++
			continue
		}
		t.Messages++
		t.Bytes += min(missing, copyBytes)
		fate, twice, late := rng.Float64(), rng.Float64(), 1+rng.Uint64N(maxDelay)
		switch {
		case fate < l.Loss:
			t.Lost++
			continue
		case fate < l.Loss+l.Delay:
			t.Lost++
			x.Late[e][(round+late)%(maxDelay+1)].advance(all)
		default:
			x.Arrived[e].advance(all)
		}
		if twice < l.Duplicate {
			x.Late[e][(round+late)%(maxDelay+1)].advance(all)
		}
	}
	return t
}

// resent returns what it costs to send again, until they arrive, messages of which
// the given number is sent.
func (l Links) resent(rng *rand.Rand, messages, bytes int64) Traffic {
	var t Traffic
	for range messages {
		for rng.Float64() < l.Loss+l.Delay {
			t = t.Plus(Traffic{Messages: 1, Bytes: bytes, Lost: 1})
		}
	}
	return t
}
