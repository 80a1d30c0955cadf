package consensus

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

// A Mixer averages the messages of the nodes: the agreement protocol of Alg. 1. A call of
// Mix replaces the message of every hosted node by the weighted average over its
// neighbourhood, rounds times:
//
//	Z_g <- Z_g + sum_{j in N_g} W_gj (Z_j - Z_g).
//
// With all nodes in this process that is arithmetic; otherwise every round is an
// exchange with the neighbours elsewhere. Results are the same bits wherever nodes
// live, if rounds are applied one by one (see Agreement.RoundByRound), and for any
// number of workers. With symmetric weights the mean over the nodes is kept to
// rounding. Mix does not allocate, with all nodes in this process, but for the first
// call with a stream, with messages of other dimensions or with a number of rounds.
type Mixer struct {
	net       *Network
	settings  []wire.Setting // what tells states apart that must not be exchanged
	exact     protocol       // of stream Exact
	protocol  protocol       // of other streams
	coder     *coder         // what protocol keeps; empty if it keeps nothing
	reduction *collective.HeaderReduction
	wrong     error     // of Reduce, returned by Mix
	vector    []float64 // room for a message
}

// A protocol is one way of averaging.
type protocol interface {
	// mix does what Mixer.Mix says, with messages that have been checked, and lets the mixer's
	// reduction ride along.
	mix(ctx context.Context, m *Mixer, z []Message, rounds int) error
}

// byRounds is the protocol of an operation, of which power, unless nil, applies several rounds at once.
type byRounds struct {
	operation
	power *power
}

// An operation is given the messages before its first round and returns them after its last.
type operation interface {
	wire.Operation
	// open takes over the messages, and close overwrites them by what has become of them.
	open(z []Message)
	close(z []Message)
	// length returns how many rounds there are, of those asked for. alongTree says that they go
	// up and down the spanning tree; then all nodes know of all failures after them. Otherwise it
	// is gossip.
	length(rounds int) (n int, alongTree bool)
}

// newMixer returns a mixer by protocol p, which keeps what is in c, but for messages of
// stream Exact by protocol exact. settings identify it.
func (n *Network) newMixer(settings []wire.Setting, exact, p protocol, c *coder) *Mixer {
	m := &Mixer{net: n, settings: settings, exact: exact, protocol: p, coder: c}
	m.reduction = n.NewHeaderReduction()
	n.mixers = append(n.mixers, m)
	return m
}

// Mix overwrites z[i], the message of node Hosted()[i], by the average. All messages
// must have the same dimensions and stream and must not overlap. No rounds, or messages
// without entries, are no change, and nothing is sent.
//
// After an error z is unspecified; see Network.Rewind. It returns ctx.Err() if the
// caller gives up, a *wire.PeerError if another node fails, and an error that wraps
// ErrNotFinite and names the node if a number cannot be sent, a *wire.PeerError if that of a
// node elsewhere: that error comes at all nodes in the same round, and then there is no more
// to be done. Where rounds are
// applied at once as a power of W nothing is sent, and NaN spreads like a number.
func (m *Mixer) Mix(ctx context.Context, z []Message, rounds int) error {
	p, err := m.check(ctx, z, rounds)
	if err != nil || rounds == 0 || z[0].Entries() == 0 {
		return err
	}
	if err := m.coder.check(dimensionsOf(z[0])); err != nil {
		return err
	}
	if err := m.net.Join(ctx); err != nil {
		return err
	}
	return p.mix(ctx, m, z, rounds)
}

func (p byRounds) mix(ctx context.Context, m *Mixer, z []Message, rounds int) error {
	d, r := dimensionsOf(z[0]), m.net.rounds
	call := wire.Call{Operation: "average", Mixer: m, Arguments: [5]int{rounds, int(d.Stream), d.D, d.R, d.Scalars}}
	progress, kept, err := r.Begin(call)
	if err != nil {
		return err
	}
	l := layoutOf(d)
	m.vector = slices.Grow(m.vector[:0], l.n)[:l.n]
	x := m.vector
	if progress == wire.Repeated {
		for i := range z {
			n, _ := binary.Decode(kept, binary.LittleEndian, x)
			kept = kept[n:]
			l.scatter(x, z[i])
		}
		return nil
	}
	if p.power != nil && rounds >= p.power.from {
		if err := p.power.apply(ctx, z, rounds); err != nil {
			return err
		}
		t := wire.Traffic{Rounds: int64(rounds), Messages: int64(rounds) * r.Ends}
		t.Bytes = 8 * int64(l.n) * t.Messages
		t, err = r.Metered(ctx, wire.Headers(t))
		t.Bytes += m.reduction.Skip(rounds)
		m.net.traffic = m.net.traffic.Plus(t)
	} else {
		if progress == wire.Started {
			p.open(z)
			m.reduction.Mask()
		}
		n, alongTree := p.length(rounds)
		err = r.Run(ctx, p.operation, m.reduction, n, !alongTree, &m.net.traffic)
		if err == nil && alongTree {
			err = r.Settle()
		}
		if err == nil {
			p.close(z)
		}
	}
	if err != nil {
		return err
	}
	r.End(func(p []byte) []byte {
		for i := range z {
			l.gather(x, z[i])
			p = wire.AppendFloats(p, x)
		}
		return p
	})
	return nil
}

// check returns by which protocol messages are averaged.
func (m *Mixer) check(ctx context.Context, z []Message, rounds int) (protocol, error) {
	mean, ok := m.protocol.(*treeMean)
	server := ok && mean.server
	switch err := m.net.checkMessages(z); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case rounds < 0:
		return nil, fmt.Errorf("consensus: %d rounds: must not be negative", rounds)
	case server && rounds != 1:
		return nil, fmt.Errorf("consensus: %d rounds through a server: must be 1", rounds)
	case m.wrong != nil:
		return nil, m.wrong
	case err != nil:
		return nil, err
	case z[0].Stream == Exact:
		return m.exact, nil
	}
	return m.protocol, nil
}

// Reduce starts a header reduction: it goes along with the rounds of Mix and costs no
// round of its own. Every node contributes a word, at most collective.MaxWord, of which all
// get the largest, and some numbers, which are summed as by Network.Sum: words[i] and sums[i],
// which are copied, are those of node Hosted()[i], as many numbers at all nodes; sums may be
// nil. Nodes see how many of them have which word, and the sums; numbers beyond 2^100 count as
// 2^100.
// All nodes must call it at the same time, between the same calls of Mix. It returns
// false, and does nothing, while a reduction is under way. A wrong number of words or
// sums makes the next Mix fail, and so does a number that is not finite.
func (m *Mixer) Reduce(words []uint8, sums [][]float64) bool {
	call := wire.Call{Operation: "start of a reduction", Mixer: m}
	started, err := m.net.rounds.Once(call, func() []float64 {
		if m.wrong = m.checkReduce(words, sums); m.wrong != nil || !m.reduction.Start(words, sums) {
			return nil
		}
		return yes
	})
	return err == nil && len(started) > 0
}

var yes = []float64{1}

func (m *Mixer) checkReduce(words []uint8, sums [][]float64) error {
	if hosted := len(m.net.Hosted()); len(words) != hosted {
		return fmt.Errorf("consensus: Reduce has %d words for %d hosted nodes", len(words), hosted)
	}
	if word := slices.Max(words); word > collective.MaxWord {
		return fmt.Errorf("consensus: Reduce has word %d, the largest is %d", word, collective.MaxWord)
	}
	if err := m.net.rounds.CheckRows(sums); sums != nil && err != nil {
		return fmt.Errorf("consensus: Reduce: %w", err)
	}
	return nil
}

// Reduced returns the results of a reduction, once, when it is complete: after 2 x
// height rounds of Mix since Reduce, for the tree of Network.Sum; for a server, after one
// Mix. They are the same at all nodes, at the same call. sums is valid until the next call.
func (m *Mixer) Reduced() (word uint8, sums []float64, ok bool) {
	v, err := m.net.rounds.Once(wire.Call{Operation: "result of a reduction", Mixer: m}, m.reduction.Take)
	if err != nil || len(v) == 0 {
		return 0, nil, false
	}
	return uint8(v[0]), v[1:], true
}

// Refine codes differences by c, which must not be None, from the next Mix on, until the
// mixer takes over a state. All nodes must call it between the same calls of Mix. Mixers
// without a Codec ignore it.
func (m *Mixer) Refine(c Codec) {
	if m.coder.agreed.Codec != None {
		m.coder.refined = c
	}
}

// Close takes the mixer out of its network, which otherwise keeps it: Commit and Rewind
// no longer concern it, and what was sent until now stays counted. It must not be used
// any more. It may be called more than once.
func (m *Mixer) Close() {
	m.net.committed = m.net.traffic
	m.net.mixers = slices.DeleteFunc(m.net.mixers, func(other *Mixer) bool { return other == m })
}

func (m *Mixer) commit() {
	m.reduction.Commit()
	m.coder.commit()
}

func (m *Mixer) rewind() {
	m.reduction.Rewind()
	m.coder.rewind()
}
