package wire

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/difalt/difalt/topology"
)

// An Operation is what the hosted nodes do together with all others, round by round. Its
// methods are called in every round, in the order in which they stand here.
type Operation interface {
	// Channel tells operations apart that must not be mixed up.
	Channel() Channel
	// Prepare computes what the hosted nodes send. A round that fails later is taken up
	// again after it.
	Prepare()
	// Sends reports whether a frame goes from a node to a neighbour.
	Sends(from, to int) bool
	// AppendTo appends what goes along link k, if the node there sends, to dst: nothing for a
	// header alone.
	AppendTo(dst []byte, k int) []byte
	// Check returns an error if code, which has come along link k, is not what is due. It
	// must not change what the result depends on. It is not called where the peer does not
	// send, or sends nothing since it knows of a failure.
	Check(k int, code []byte) error
	// Step does the arithmetic of the round and returns what the hosted nodes have sent, without
	// headers.
	Step() Traffic
}

// A HeaderPart is carried in the headers of the rounds of an operation, and has something to
// send only where that sends: along the same tree in the same rounds, or in rounds of gossip. Its
// methods are those of Operation, but that Step returns how many bytes the hosted nodes have
// sent; see PartBytes.
type HeaderPart interface {
	AppendTo(dst []byte, k int) []byte
	Check(k int, code []byte) error
	Step() (bytes int64)
}

// PartBytes returns by how many bytes a header part of n makes a frame longer.
func PartBytes(n int) int64 { return int64(1 + (bits.Len(uint(n))+6)/7 + n) }

// Headers returns t with the headers of its messages, also of those that are silent.
func Headers(t Traffic) Traffic {
	t.Bytes += FrameOverhead * (t.Messages + t.Silent)
	return t
}

// Rounds carries out the rounds of operations between the hosted nodes and those that
// live elsewhere, and repeats them after an error; see Journal. It serves one goroutine.
type Rounds struct {
	*Placement
	Journal
	transport Transport // nil if there are no links
	meter     Meter     // or nil
	diameter  uint64    // of the graph, or a bound on it

	origin  Origin // of all frames, but for the node
	seq     uint64 // of the round under way
	time    uint64 // see failure
	failure failure
	rumour  rumour
	frames  frames
	links   []linkState // in the order of Links
}

// frames are what Transport.Exchange is given, and room to make them.
type frames struct {
	out, in    [][]byte
	due        []bool
	code, part []byte
}

// A linkState is what is known of a link.
type linkState struct {
	sent, come uint64 // number of frames
	node, peer seed
	sends      bool   // the node sends in this round
	spare      []byte // memory of its next frame
	received   frame  // of this round
}

// NewRounds returns the rounds of the nodes of g that t hosts; without a transport these
// are all nodes. run is the identity of the run if t is not Identified. It returns an
// error if g is nil, or t hosts what it cannot.
func NewRounds(g *topology.Graph, t Transport, run uint64) (*Rounds, error) {
	if g == nil {
		return nil, errors.New("consensus: rounds need a graph")
	}
	var hosted []int
	if t != nil {
		hosted = append(hosted, t.Hosted()...)
	} else {
		for i := range g.Len() {
			hosted = append(hosted, i)
		}
	}
	p, err := newPlacement(g, hosted)
	if err != nil {
		return nil, err
	}
	r := &Rounds{Placement: p}
	r.meter, _ = t.(Meter)
	if len(p.Links) == 0 {
		return r, nil
	}
	r.transport, r.keeps = t, true
	hops, _ := g.Diameter()
	r.diameter = uint64(hops)
	r.origin.Run = run
	if id, ok := t.(Identified); ok {
		r.origin.Run, r.origin.Epoch = id.Run()
	}
	n := len(p.Links)
	r.frames.out, r.frames.in, r.frames.due = make([][]byte, n), make([][]byte, n), make([]bool, n)
	for _, link := range p.Links {
		own, their := r.origin, r.origin
		own.Node, their.Node = link.Node, link.Peer
		r.links = append(r.links, linkState{node: own.seed(), peer: their.seed()})
	}
	return r, nil
}

// Transport returns the transport, nil if nothing is carried.
func (r *Rounds) Transport() Transport { return r.transport }

// Identity returns the run and the epoch of all frames.
func (r *Rounds) Identity() (run uint64, epoch uint32) { return r.origin.Run, r.origin.Epoch }

// Run carries out the remaining rounds, of n in all, of the call that Journal.Begin has
// begun, and adds what is sent to traffic, with headers; p may be nil. gossip says that in every
// round all nodes send along all links. What goes along a tree only, and not just down, ends with
// Settle.
//
// After an error the call may be begun again, and goes on with the round that failed. It
// returns ctx.Err() if the caller gives up, a *PeerError if another node fails, and an
// error that wraps ErrNotFinite if any node has a number that cannot be sent: at all nodes
// in the same round, and then there is no more to be done.
func (r *Rounds) Run(ctx context.Context, op Operation, p HeaderPart, n int, gossip bool, traffic *Traffic) error {
	for ; r.done < n; r.done++ {
		t, err := r.round(ctx, op, p, gossip)
		t, lost := r.Metered(ctx, t)
		*traffic = traffic.Plus(t)
		if err == nil {
			err = lost
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Metered returns t, of t.Rounds equal rounds, with what faults add to it.
func (r *Rounds) Metered(ctx context.Context, t Traffic) (Traffic, error) {
	if r.meter == nil {
		return t, nil
	}
	all := t
	for range t.Rounds {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		all = all.Plus(r.meter.Round(t.Messages/t.Rounds, t.Bytes/t.Rounds))
	}
	return all, nil
}

// round does the next round of op. After an error it may be called again, and goes on
// where it failed.
func (r *Rounds) round(ctx context.Context, op Operation, p HeaderPart, gossip bool) (Traffic, error) {
	if r.transport == nil {
		if err := ctx.Err(); err != nil {
			return Traffic{}, err
		}
	}
	if !r.prepared {
		op.Prepare()
		if r.transport == nil && r.failure.set {
			return Traffic{}, r.outcome()
		}
		r.write(op, p)
		r.prepared = true
	}
	if r.transport != nil {
		if err := r.transport.Exchange(ctx, r.seq, r.frames.out, r.frames.in, r.frames.due); err != nil {
			return Traffic{}, err
		}
		if err := r.read(op, p); err != nil {
			return Traffic{}, err
		}
	}
	for k := range r.links {
		l := &r.links[k]
		if l.sends {
			l.sent, l.spare = l.sent+1, nil
		}
		if p := r.frames.out[k]; p != nil {
			l.spare = p
		}
		if r.frames.due[k] {
			l.come++
			r.hear(r.Links[k].Peer, l.received.failure)
		}
	}
	r.seq++
	if gossip {
		r.time++
	}
	r.prepared = false
	t := Headers(op.Step())
	if p != nil {
		t.Bytes += p.Step()
	}
	return t, r.outcome()
}

// write makes the frames of the round.
func (r *Rounds) write(op Operation, p HeaderPart) {
	if f := r.failure; f.set && r.Index[f.node] >= 0 {
		r.rumour.told = f
	}
	f := frame{channel: op.Channel(), failure: r.failure}
	w := &r.frames
	for k, link := range r.Links {
		l := &r.links[k]
		w.out[k], w.due[k] = nil, op.Sends(link.Peer, link.Node)
		if l.sends = op.Sends(link.Node, link.Peer); !l.sends {
			continue
		}
		w.code, w.part = op.AppendTo(w.code[:0], k), w.part[:0]
		if p != nil {
			w.part = p.AppendTo(w.part, k)
		}
		f.code, f.headerPart = w.code, w.part
		w.out[k] = f.append(l.spare[:0], l.node, l.sent)
	}
}

// read parses and checks the frames that have come.
func (r *Rounds) read(op Operation, p HeaderPart) error {
	for k, link := range r.Links {
		l := &r.links[k]
		f := &l.received
		if *f = (frame{}); !r.frames.due[k] {
			continue
		}
		refuse := func(kind Kind, err error) error {
			return &PeerError{Peer: link.Peer, Round: r.seq, Kind: kind, Err: err}
		}
		err := f.parse(r.frames.in[k], l.peer, l.come)
		if err != nil {
			return refuse(Corrupt, err)
		}
		if f.channel != op.Channel() {
			return refuse(Protocol, fmt.Errorf("a frame of %v, want %v", f.channel, op.Channel()))
		}
		if err := r.doubt(link.Peer, f.failure); err != nil {
			return err
		}
		if len(f.code) > 0 || !f.failure.set {
			err = op.Check(k, f.code)
		}
		if err == nil && p == nil {
			err = NothingDue(f.headerPart)
		} else if err == nil && (len(f.headerPart) > 0 || !f.failure.set) {
			err = p.Check(k, f.headerPart)
		}
		if err != nil {
			return refuse(Protocol, err)
		}
	}
	return nil
}

// NothingDue returns an error if something has come of a reduction where nothing is due.
func NothingDue(p []byte) error {
	if len(p) > 0 {
		return fmt.Errorf("%d bytes of a reduction where none is due", len(p))
	}
	return nil
}

// Code returns what has come of the operation along link k in this round.
func (r *Rounds) Code(k int) []byte { return r.links[k].received.code }

// HeaderCode returns what has come of the header part along link k in this round.
func (r *Rounds) HeaderCode(k int) []byte { return r.links[k].received.headerPart }
