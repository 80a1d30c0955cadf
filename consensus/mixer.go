package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A Mixer is where nodes meet: the agreement protocol of Alg. 1. A call of Mix
// replaces the message of every hosted node by the weighted average over its
// neighbourhood, rounds times:
//
//	Z_g <- Z_g + sum_{j in N_g} W_gj (Z_j - Z_g).
//
// With all nodes in this process that is arithmetic; otherwise every round is an
// exchange with the neighbours elsewhere. Results are the same bits wherever nodes
// live, if rounds are applied one by one (see Agreement.RoundByRound), and for any
// number of workers. With symmetric weights the mean over the nodes is kept to
// rounding. Mix does not allocate, with all nodes in this process, but for the first
// call with a stream, a shape or a number of rounds.
type Mixer struct {
	net     *Network
	name    string       // what tells states apart that must not be exchanged
	exact   *average     // of stream Exact, or of all
	fast    *average     // of other streams, if diff is nil
	diff    *differences // of other streams, or nil
	fusion  *fusion      // of all streams, in place of these, or nil
	branch  *branches    // with fusion, of streams other than Exact, or nil
	kept    *store       // of diff or branch
	told    reduction
	wrong   error // of Tell, returned by Mix
	traffic counter
}

// NewMixer returns the mixer of nodes that agree in the given way. pool may be nil,
// which is serial; it remains the caller's, to share and to close. It returns an error
// if a is not valid, or if Chebyshev is asked for with weights whose eigenvalues are not
// all real.
func (n *Network) NewMixer(a Agreement, pool *kernel.Pool) (*Mixer, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	step, bound := a.limits()
	switch {
	case a.Polynomial == Tree:
		m := n.newMixer(a.String())
		m.fusion = &fusion{counted: true}
		if a.Codec != nil {
			m.branch = n.newBranches(a, pool)
			m.kept = &m.branch.store
		}
		return m, nil
	case a.Polynomial != Chebyshev:
		bound = 0
	case !n.weights.RealEigenvalues():
		return nil, fmt.Errorf("consensus: chebyshev needs real eigenvalues, and those of %v are not", n.weights)
	default:
		bound = min(bound, n.weights.Gamma())
	}
	m := n.newMixer(a.String())
	rows, neighbors := n.sparseRows()
	m.exact = n.newAverage(rows, 0, n.newPower(a, 0, pool), pool)
	if m.fast = m.exact; bound > 0 {
		m.fast = n.newAverage(rows, bound, n.newPower(a, bound, pool), pool)
	}
	if a.Codec != nil || step != 1 || a.Trigger != 0 {
		m.diff = n.newDifferences(neighbors, pool, a, step, bound)
		m.kept = &m.diff.store
		if p := m.exact.power; p != nil && p.from <= 1 {
			m.diff.dense = mat.DenseCopyOf(p.w)
			for i := range n.Len() {
				m.diff.dense.Set(i, i, p.w.At(i, i)-1)
			}
		}
	}
	return m, nil
}

// sparseRows returns the nonzero entries of the rows of W of the hosted nodes, and the
// same without the diagonal.
func (n *Network) sparseRows() (rows, neighbors [][]weight) {
	for _, i := range n.hosted {
		var row, others []weight
		for j := range n.Len() {
			if v := n.weights.At(i, j); v != 0 {
				row = append(row, weight{n.row[j], v})
				if j != i {
					others = append(others, weight{n.row[j], v})
				}
			}
		}
		rows, neighbors = append(rows, row), append(neighbors, others)
	}
	return rows, neighbors
}

// NewServer returns the mixer of a federation with a fusion centre, which AltGDmin
// needs: Mix, of one round, overwrites every message by the mean over all nodes. The
// mean is added up the tree of the network's collective operations; it is counted as
// through a server that is none of the nodes: two rounds, of a message a node each.
func (n *Network) NewServer() *Mixer {
	m := n.newMixer("server")
	m.fusion = new(fusion)
	return m
}

// NewNeighborMean returns the mixer of the DGD variant: a round replaces the message
// of node g by (1/deg_g) sum_{j in N_g} Z_j, without its own. Unlike EqualNeighbor
// weights it exists on any graph, bipartite ones included, since the method takes one
// round an iteration and does not need its powers to converge. A node without
// neighbours keeps its message.
func (n *Network) NewNeighborMean(pool *kernel.Pool) *Mixer {
	rows := make([][]weight, len(n.hosted))
	for k, i := range n.hosted {
		neighbors := n.Graph().Neighbors(i)
		for _, j := range neighbors {
			rows[k] = append(rows[k], weight{n.row[j], 1 / float64(len(neighbors))})
		}
		if len(neighbors) == 0 {
			rows[k] = []weight{{k, 1}}
		}
	}
	m := n.newMixer("neighbour mean")
	m.exact = n.newAverage(rows, 0, nil, pool)
	m.fast = m.exact
	return m
}

func (n *Network) newMixer(name string) *Mixer {
	m := &Mixer{net: n, name: name, told: newReduction(n)}
	n.mixers = append(n.mixers, m)
	return m
}

// Traffic returns what the hosted nodes have sent through this mixer so far.
func (m *Mixer) Traffic() Traffic { return m.traffic.now }

// Mix overwrites z[i], the message of node Hosted()[i], by the average. All messages
// must have the same shape and stream and must not overlap. No rounds, or messages
// without entries, are no change, and nothing is sent.
//
// After an error z is unspecified; see Network.Rewind. It returns ctx.Err() if the
// caller gives up, a *PeerError if another node fails, and an error that wraps
// ErrNotFinite and names the node if a number cannot be sent: that error comes at all
// nodes in the same round, and then there is no more to be done. Where rounds are
// applied at once as a power of W nothing is sent, and NaN spreads like a number.
func (m *Mixer) Mix(ctx context.Context, z []Message, rounds int) error {
	if err := m.check(ctx, z, rounds); err != nil || rounds == 0 || z[0].Entries() == 0 {
		return err
	}
	c := call{mixer: m, kind: callMix, rounds: rounds, shape: shapeOf(z[0])}
	if r, err := m.net.replay(c); r != nil || err != nil {
		return r.messagesTo(z, err)
	}
	again, err := m.net.begin(c)
	if err != nil {
		return err
	}
	if p := m.atOnce(z[0].Stream); p != nil && rounds >= p.from {
		m.mixAtOnce(p, z, rounds)
	} else if err := m.mixByRounds(ctx, z, rounds, again); err != nil {
		return err
	}
	if r := m.net.keep(c); r != nil {
		r.messagesFrom(z)
	}
	return nil
}

func (m *Mixer) check(ctx context.Context, z []Message, rounds int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rounds < 0 {
		return fmt.Errorf("consensus: %d rounds: must not be negative", rounds)
	}
	if m.fusion != nil && !m.fusion.counted && rounds != 1 {
		return fmt.Errorf("consensus: %d rounds through a server: must be 1", rounds)
	}
	if m.wrong != nil {
		return m.wrong
	}
	return m.net.checkMessages(z)
}

// average returns how messages of a stream are averaged in float64.
func (m *Mixer) average(s Stream) *average {
	if s == Exact {
		return m.exact
	}
	return m.fast
}

// atOnce returns what applies several rounds to messages of a stream at once, or nil.
func (m *Mixer) atOnce(s Stream) *power {
	if m.fusion != nil || m.diff != nil && s != Exact {
		return nil
	}
	return m.average(s).power
}

// mixAtOnce averages messages of nodes that all live in this process by a power of W.
func (m *Mixer) mixAtOnce(p *power, z []Message, rounds int) {
	p.apply(z, rounds)
	t := Traffic{Rounds: int64(rounds), Messages: int64(rounds) * m.net.ends}
	t.Bytes = 8 * int64(z[0].Entries()) * t.Messages
	m.traffic.now = m.traffic.now.Plus(m.net.metered(t))
	for range rounds {
		m.told.pass()
	}
}

// mixByRounds averages messages round by round; again says that this goes on with what
// failed.
func (m *Mixer) mixByRounds(ctx context.Context, z []Message, rounds int, again bool) error {
	var op interface {
		operation
		open(n *Network, z []Message) error
		close(z []Message)
	}
	switch {
	case m.branch != nil && z[0].Stream != Exact:
		op, rounds = m.branch, 2*m.net.tree.height
	case m.fusion != nil:
		op, rounds = m.fusion, 2*m.net.tree.height
	case m.diff != nil && z[0].Stream != Exact:
		op = m.diff
	default:
		op = m.average(z[0].Stream)
	}
	if !again {
		if err := op.open(m.net, z); err != nil {
			m.net.journal.begun = false
			return err
		}
	}
	for j := &m.net.journal; j.done < rounds; j.done++ {
		t, err := m.net.round(ctx, op, &m.told)
		m.traffic.now = m.traffic.now.Plus(m.net.metered(t))
		if err != nil {
			return err
		}
	}
	if err := m.net.verdict(m.fusion != nil); err != nil {
		return err
	}
	op.close(z)
	return nil
}

func (r *record) messagesFrom(z []Message) {
	l := layoutOf(r.shape)
	for _, m := range z {
		start := len(r.values)
		for range l.n {
			r.values = append(r.values, 0)
		}
		l.gather(r.values[start:], m)
	}
}

func (r *record) messagesTo(z []Message, err error) error {
	if err == nil {
		l := layoutOf(r.shape)
		for i, m := range z {
			l.scatter(r.values[i*l.n:][:l.n], m)
		}
	}
	return err
}

// Tell starts a reduction that rides in the headers of the rounds of Mix and costs no
// round of its own. Every node contributes a word, which is combined by maximum, and
// some numbers, which are summed as by Network.Sum: word[i] and sums[i], which are
// copied, are those of node Hosted()[i], as many numbers at all nodes; sums may be nil.
// All nodes must call it at the same time, between the same calls of Mix. It returns
// false, and does nothing, while a reduction is under way. A wrong number of words or
// sums makes the next Mix fail, and so does a number that is not finite.
func (m *Mixer) Tell(word []uint8, sums [][]float64) bool {
	c := call{mixer: m, kind: callTell}
	if r, err := m.net.replay(c); r != nil || err != nil {
		return err == nil && r.ok
	}
	ok := false
	if m.wrong = m.checkTell(word, sums); m.wrong == nil {
		ok = m.told.tell(word, sums)
	}
	if r := m.net.keep(c); r != nil {
		r.ok = ok
	}
	return ok
}

func (m *Mixer) checkTell(word []uint8, sums [][]float64) error {
	if len(word) != len(m.net.hosted) {
		return fmt.Errorf("consensus: Tell has %d words for %d hosted nodes", len(word), len(m.net.hosted))
	}
	if sums == nil {
		return nil
	}
	if err := m.net.checkRows(sums); err != nil {
		return errors.Join(errors.New("consensus: Tell"), err)
	}
	return nil
}

// Told returns what a reduction has come to, once, when it is complete: after 2 x
// height rounds of Mix since Tell, for the tree of Network.Sum; for a server, after one
// Mix. It is the same at all nodes, at the same call. sums is valid until the next call.
func (m *Mixer) Told() (word uint8, sums []float64, ok bool) {
	c := call{mixer: m, kind: callTold}
	if r, err := m.net.replay(c); r != nil || err != nil {
		if err != nil {
			return 0, nil, false
		}
		return r.word, r.values, r.ok
	}
	word, sums, ok = m.told.take()
	if r := m.net.keep(c); r != nil {
		r.word, r.ok = word, ok
		r.values = append(r.values, sums...)
	}
	return word, sums, ok
}

// Refine codes differences by c, which must not be nil, from the next Mix on, until the
// mixer takes over a state. All nodes must call it between the same calls of Mix. Mixers
// without a Codec ignore it.
func (m *Mixer) Refine(c Codec) {
	if m.kept != nil && m.kept.a.Codec != nil {
		m.kept.finer = c
	}
}

// Close takes the mixer out of its network, which otherwise keeps it: Commit and Rewind
// no longer concern it, and what it has sent stays part of Network.Traffic. It must not
// be used any more. It may be called more than once.
func (m *Mixer) Close() {
	n := m.net
	i := slices.Index(n.mixers, m)
	if i < 0 {
		return
	}
	n.mixers = slices.Delete(n.mixers, i, i+1)
	n.traffic.now = n.traffic.now.Plus(m.traffic.now)
	n.traffic.committed = n.traffic.committed.Plus(m.traffic.now)
}

func (m *Mixer) commit() {
	m.traffic.committed = m.traffic.now
	m.told.commit()
	if m.kept != nil {
		m.kept.commit()
	}
}

func (m *Mixer) rewind() {
	m.traffic.now = m.traffic.committed
	m.told.rewind()
	if m.kept != nil {
		m.kept.rewind()
	}
}
