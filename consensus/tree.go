package consensus

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

// A treeMean is the mean over all nodes by a sum along the tree, to which each of them adds its
// messages with masks.
type treeMean struct {
	net *Network
	// server counts the traffic as if the mean came from a server that is none of the nodes.
	server bool
	rows   [][]float64 // the messages of the hosted nodes
}

func (n *Network) newTreeMean(server bool) *treeMean {
	return &treeMean{net: n, server: server, rows: make([][]float64, len(n.Hosted()))}
}

// mix implements protocol; the number of rounds is that of the sum.
func (f *treeMean) mix(ctx context.Context, m *Mixer, z []Message, _ int) error {
	l := layoutOf(dimensionsOf(z[0]))
	for i := range f.rows {
		f.rows[i] = slices.Grow(f.rows[i][:0], l.n)[:l.n]
		l.gather(f.rows[i], z[i])
	}
	traffic, other := &f.net.traffic, wire.Traffic{}
	if f.server {
		traffic = &other
	}
	if err := f.net.SumWith(ctx, wire.Mean, m.reduction, traffic, f.rows); err != nil {
		return err
	}
	if f.server { // each node exchanges messages with it
		messages := 2 * int64(len(f.rows))
		f.net.traffic = f.net.traffic.Plus(wire.Headers(wire.Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(l.n) * messages}))
	}
	for i, row := range f.rows {
		for k := range row {
			row[k] /= float64(f.net.Len())
		}
		l.scatter(row, z[i])
	}
	return nil
}

// A codedTree is the mean over all nodes along the tree, with a codec. Every node keeps H, the
// sum of all that it has sent, and D, the mean of all H. It sends the difference Z - H of its
// message as integers, multiples of a step that is the same for all nodes, which are added up
// with masks like any sum; to H it adds what it has sent. All add the mean of these integers to
// D, which is the new message of all nodes. As Z converges the differences shrink, and the step
// with them; what an integer leaves out is part of the next difference.
//
// The step follows the largest difference of all nodes. With every message the nodes count how
// many of them have theirs in which power of two, and the next message has the step that would
// have been right for this one: differences that have grown beyond it are cut off, and sent with
// the one after. Before the first message, and where a difference has outgrown the counts, they
// count over all groups of powers of two, in rounds of their own.
type codedTree struct {
	coder                 // a replica is H of the hosted nodes, and then D
	*collective.Operation // the sum under way
	form                  collective.Form

	// Of the Mix under way:
	sums     int  // how many it has
	counting bool // over all groups of exponents
}

func (n *Network) newCodedTree(a Agreement) *codedTree {
	return &codedTree{coder: n.newCoder(a, len(n.Hosted())+1), Operation: n.NewOperation()}
}

// bits returns in how many bits a codec sends an entry as a multiple of the common step.
func (c Codec) bits() int { return min(int(c), significandBits) }

const (
	significandBits = 24 // of float32
	unknown         = math.MinInt32
	// Classes of exponents, from that of the range of the codes less shrink to that plus growth.
	classes, shrink = 16, 11
)

// Groups of exponents: each of its own from -64 to 63, and 64 together elsewhere, where a first
// message may lose most digits; later ones follow.
const (
	together = 64
	outer    = 16 // groups on either side
	groups   = outer + 2*together + outer
)

// groupOf returns the group of an exponent of a float64, and largestOf the largest of a group.
func groupOf(exponent int) int {
	switch {
	case exponent < -together:
		return (exponent + (outer+1)*together) / together
	case exponent < together:
		return outer + exponent + together
	}
	return min(outer+2*together+(exponent-together)/together, groups-1)
}

func largestOf(group int) int {
	switch {
	case group < outer:
		return (group-outer)*together - 1
	case group < outer+2*together:
		return group - outer - together
	}
	return (group-outer-2*together+2)*together - 1
}

// part returns the bounds of a part of a vector, and how many bits a code of it has: the entries
// of the basis, and the scalars, which are few and sent with all digits that float32 has, since as
// entries of a small matrix they matter by its smallest eigenvalue, which coarse levels would
// drown.
func (m *codedTree) part(k int) (from, to, width int) {
	f := m.stream
	if basis := f.D * f.R; k == 0 {
		return 0, basis, m.codec().bits()
	}
	return f.D * f.R, f.n, significandBits
}

const parts = 2

// open starts the first sum.
func (m *codedTree) open(z []Message) {
	if m.Rounds() == 0 {
		return // a node alone
	}
	m.stream = m.of(dimensionsOf(z[0]))
	f := m.stream
	f.work.Rounds++
	for i := range z {
		f.gather(f.row(f.x, i), z[i])
	}
	m.sums, m.counting = 1, false
	for k := range parts {
		if from, to, _ := m.part(k); to > from && f.work.Exponent[k] == unknown {
			m.sums, m.counting = 2, true
		}
	}
	m.start()
}

// start starts a sum, of counts or of codes.
func (m *codedTree) start() {
	nodes := uint(m.net.Graph.Len())
	count := bits.Len(nodes) + 1
	if m.form = m.form[:0]; m.counting {
		m.form = append(m.form, collective.Segment{N: parts * groups, Bits: count})
	} else {
		for k := range parts {
			from, to, width := m.part(k)
			m.form = append(m.form, collective.Segment{N: to - from, Bits: width + bits.Len(nodes-1)})
		}
		m.form = append(m.form, collective.Segment{N: parts * classes, Bits: count})
	}
	m.Start(m.Channel(), m)
}

// length returns the rounds of all sums.
func (m *codedTree) length(int) (rounds int, alongTree bool) { return m.sums * m.Rounds(), true }

// Up implements collective.Content.
func (m *codedTree) Up() collective.Form { return m.form }

// Down implements collective.Content: the total goes down as it is.
func (m *codedTree) Down() collective.Form { return m.form }

// Finish implements collective.Content.
func (m *codedTree) Finish(down, total []uint64) { copy(down, total) }

// Fill implements collective.Content.
func (m *codedTree) Fill(words []uint64, i int) bool {
	f := m.stream
	x, h := f.row(f.x, i), f.row(f.work.Replica, i)
	var exponent [parts]int // |x - h| < 2^exponent
	for k := range parts {
		from, to, _ := m.part(k)
		largest := 0.0
		for j := from; j < to; j++ {
			largest = max(largest, math.Abs(x[j]-h[j]))
		}
		if largest-largest != 0 {
			return false
		}
		_, exponent[k] = math.Frexp(largest)
		switch {
		case largest == 0:
		case m.counting:
			words[k*groups+groupOf(exponent[k])]++
		default:
			class := exponent[k] - f.work.rangeOf(k) + shrink
			words[f.n+k*classes+min(max(class, 0), classes-1)]++
		}
	}
	if !m.counting {
		for k := range parts {
			m.encode(words, x, h, k)
		}
	}
	return true
}

// encode codes a part of x - h, and adds what its codes stand for to h.
func (m *codedTree) encode(words []uint64, x, h []float64, k int) {
	from, to, width := m.part(k)
	step := m.step(k)
	inverse, most := 1/step, float64(int(1)<<(width-1)-1)
	for j := from; j < to; j++ {
		code := min(max(math.RoundToEven((x[j]-h[j])*inverse), -most), most)
		words[j] += uint64(int64(code))
		h[j] += code * step
	}
}

// step returns the power of two of which the codes of a part are multiples.
func (m *codedTree) step(k int) float64 {
	_, _, width := m.part(k)
	return math.Ldexp(1, m.stream.work.rangeOf(k)-(width-1))
}

// headroom is how many powers of two the range of codes has in reserve: the messages of the
// tracker's stream do not converge along a tree, where they are products with directions that
// change (difalt.Newton), and what is cut off of one is no part of the next.
func (m *codedTree) headroom() int {
	if m.stream.Stream == StreamTracker {
		return 2
	}
	return 0
}

// rangeOf returns the exponent of the power of two that codes go up to.
func (s *streamState) rangeOf(k int) int {
	if s.Exponent[k] == unknown { // all differences are zero
		return 0
	}
	return max(s.Exponent[k], -900) // so that 1 / step is finite
}

// Channel implements wire.Operation.
func (m *codedTree) Channel() wire.Channel { return m.coder.Channel() }

// Prepare implements wire.Operation: after the counts it starts the sum of the codes.
func (m *codedTree) Prepare() {
	if !m.counting || !m.Complete() {
		return
	}
	for k := range parts {
		if e := collective.Last(m.Operation.Down[k*groups:][:groups]); e >= 0 {
			m.stream.work.Exponent[k] = min(largestOf(e), 1023) // so that the step is finite
		}
	}
	m.counting = false
	m.start()
}

// close overwrites z by D.
func (m *codedTree) close(z []Message) {
	if m.Rounds() == 0 {
		return
	}
	f := m.stream
	common, total := f.row(f.work.Replica, m.hosted), m.Operation.Down
	for k := range parts {
		from, to, _ := m.part(k)
		step := m.step(k)
		for j := from; j < to; j++ {
			common[j] += float64(int64(total[j])) * step / float64(m.net.Graph.Len())
		}
		switch class := collective.Last(total[f.n+k*classes:][:classes]); class {
		case -1: // all differences are zero
		case classes - 1:
			f.work.Exponent[k] = unknown
		default:
			f.work.Exponent[k] = min(f.work.rangeOf(k)+class-shrink+m.headroom(), 1023)
		}
	}
	for i := range z {
		f.scatter(common, z[i])
	}
}
