package consensus

import (
	"context"
	"fmt"
	"hash/crc64"
	"slices"
)

// An operation is what the hosted nodes do together with all others, round by round.
// Its own goroutine calls speak, part, hear and step in every round, in this order;
// a round that fails between speak and step is taken up again there.
type operation interface {
	// channel tells operations apart that must not be mixed up.
	channel() uint8
	// speak computes what the hosted nodes send.
	speak()
	// part returns what goes along link k, nothing for a header alone; dst is room.
	part(dst []byte, k int) []byte
	// hear returns an error if what has come along link k, in got, is not what is due.
	// It must not change what the result depends on.
	hear(k int) error
	// step does the arithmetic of the round and returns what was sent for it.
	step() Traffic
}

// A failure says which node had a number that is not finite, and when. It is part of
// every header from then on, so that all know of it after as many rounds as the graph
// has hops across, and then all fail, in the same round.
type failure struct {
	set     bool
	channel uint8
	node    int
	seq     uint64
}

// before reports whether f came before g.
func (f failure) before(g failure) bool {
	return f.set && (!g.set || f.seq < g.seq || f.seq == g.seq && f.node < g.node)
}

func (f failure) error() error {
	return fmt.Errorf("%w: node %d, %s", ErrNotFinite, f.node, channelName(f.channel))
}

// channelCollective, plus the kind of the call, is the channel of the operations that
// are not the averaging of a stream.
const channelCollective = 64

func channelName(c uint8) string {
	switch c {
	case channelCollective + uint8(callSum):
		return "a sum over the nodes"
	case channelCollective + uint8(callMax):
		return "a maximum over the nodes"
	case channelCollective + uint8(callMaxSum):
		return "maxima and sums over the nodes"
	case channelCollective + uint8(callBroadcast):
		return "a broadcast"
	case channelCollective + uint8(callMix):
		return "the mean through a server"
	}
	return "stream " + Stream(c).String()
}

// wires are the links of the hosted nodes to nodes elsewhere, and what is under way on
// them.
type wires struct {
	transport Transport
	links     []Link
	number    map[Link]int
	hops      uint64 // across the graph
	run       uint64
	epoch     uint32

	seq     uint64 // of the round under way
	spoken  bool   // out holds the frames of that round
	out, in [][]byte
	got     []frame // in, parsed
	room    []byte
	failure failure
	dead    error // what all operations return from now on
}

// An Identified transport knows which run it serves. Frames of others are refused.
type Identified interface {
	Run() (id uint64, epoch uint32)
}

func (n *Network) connect(t Transport) {
	n.number = make(map[Link]int)
	n.links = Links(n.Graph(), n.hosted)
	for k, link := range n.links {
		n.number[link] = k
	}
	if len(n.links) == 0 {
		return
	}
	n.transport = t
	n.hops = uint64(n.Graph().Diameter())
	n.run = n.print
	if id, ok := t.(Identified); ok {
		n.run, n.epoch = id.Run()
	}
	n.out, n.in = make([][]byte, len(n.links)), make([][]byte, len(n.links))
	n.got = make([]frame, len(n.links))
}

// fingerprint returns a checksum of the weights.
func (n *Network) fingerprint() uint64 {
	table, sum := crc64.MakeTable(crc64.ECMA), uint64(0)
	for i := range n.Len() {
		var row []byte
		for j := range n.Len() {
			row = appendRaw(row, []float64{n.weights.At(i, j)})
		}
		sum = crc64.Update(sum, table, row)
	}
	return sum
}

// round does the next round of op; r rides in its headers, if it is not nil. After an
// error it may be called again, and goes on where it failed.
func (n *Network) round(ctx context.Context, op operation, r *reduction) (Traffic, error) {
	if !n.spoken {
		op.speak()
		if len(n.links) == 0 && n.failure.set {
			return Traffic{}, n.verdict(false)
		}
		n.write(op, r)
		n.spoken = true
	}
	if len(n.links) > 0 {
		if err := n.transport.Exchange(ctx, n.seq, n.out, n.in); err != nil {
			return Traffic{}, err
		}
		if err := n.read(op, r); err != nil {
			return Traffic{}, err
		}
	}
	for k := range n.got {
		n.note(n.got[k].failure)
	}
	n.seq++
	n.spoken = false
	t := op.step()
	if r != nil {
		r.pass()
	}
	return t, n.verdict(false)
}

// write makes the frames of the round.
func (n *Network) write(op operation, r *reduction) {
	f := frame{header: header{channel: op.channel(), run: n.run, epoch: n.epoch, seq: n.seq, failure: n.failure}}
	for k, link := range n.links {
		f.sender = link.Node
		n.room = op.part(n.room[:0], k)
		split := len(n.room)
		if r != nil {
			n.room = r.part(n.room, k)
		}
		f.code, f.riding = n.room[:split], n.room[split:]
		n.out[k] = appendFrame(n.out[k][:0], &f)
	}
}

// read parses and checks the frames that have come.
func (n *Network) read(op operation, r *reduction) error {
	for k, link := range n.links {
		refuse := func(kind Kind, err error) error {
			return &PeerError{Peer: link.Peer, Round: n.seq, Kind: kind, Err: err}
		}
		f, err := parseFrame(n.in[k])
		if err != nil {
			return refuse(Corrupt, err)
		}
		due := header{channel: op.channel(), run: n.run, epoch: n.epoch, sender: link.Peer, seq: n.seq, failure: f.failure}
		if f.header != due {
			return refuse(Protocol, fmt.Errorf("a frame of run %x, epoch %d, node %d, round %d, %s: want run %x, epoch %d, %s",
				f.run, f.epoch, f.sender, f.seq, channelName(f.channel), due.run, due.epoch, channelName(due.channel)))
		}
		if f.failure.set && (f.failure.node >= n.Len() || f.failure.seq > n.seq) {
			return refuse(Protocol, fmt.Errorf("node %d failed in round %d", f.failure.node, f.failure.seq))
		}
		n.got[k] = f
		if err := op.hear(k); err != nil {
			return refuse(Protocol, err)
		}
		if r != nil {
			err = r.hear(k)
		} else {
			err = noneDue(f.riding)
		}
		if err != nil {
			return refuse(Protocol, err)
		}
	}
	return nil
}

// fail notes that a hosted node has a number that is not finite.
func (n *Network) fail(channel uint8, hosted int) {
	n.note(failure{set: true, channel: channel, node: n.hosted[hosted], seq: n.seq})
}

func (n *Network) note(f failure) {
	if f.before(n.failure) {
		n.failure = f
	}
}

// verdict returns the error with which all nodes end in this round, if any. settled
// says that what any of them knows of failures, all know.
func (n *Network) verdict(settled bool) error {
	if !n.failure.set {
		return nil
	}
	err := n.failure.error()
	if len(n.links) == 0 {
		n.failure = failure{} // nobody else waits: the caller may rewind
		return err
	}
	if !settled && n.seq < n.failure.seq+n.hops {
		return nil
	}
	n.dead = err
	return err
}

// neighborsElsewhere returns the nodes at the other ends of the links, ascending.
func (n *Network) neighborsElsewhere() []int {
	var nodes []int
	for _, link := range n.links {
		nodes = append(nodes, link.Peer)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
