package wire

import (
	"context"
	"fmt"

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
	// AppendTo appends what goes along link k to dst: nothing for a header alone.
	AppendTo(dst []byte, k int) []byte
	// Check returns an error if code, which has come along link k, is not what is due. It
	// must not change what the result depends on. It is not called where nothing has come
	// from a peer that knows of a failure.
	Check(k int, code []byte) error
	// Step does the arithmetic of the round and returns what the hosted nodes have sent.
	Step() Traffic
}

// A HeaderPart is carried in the headers of the rounds of an operation. Its methods are
// those of Operation.
type HeaderPart interface {
	AppendTo(dst []byte, k int) []byte
	Check(k int, code []byte) error
	Step()
}

// Rounds carries out the rounds of operations between the hosted nodes and those that
// live elsewhere, and repeats them after an error; see Journal. It serves one goroutine.
type Rounds struct {
	*Placement
	Journal
	transport Transport // nil if there are no links
	meter     Meter     // or nil
	diameter  uint64    // of the graph, or a bound on it

	header   header // of the round under way
	rumour   rumour
	out, in  [][]byte
	received []frame // in, parsed
	room     []byte
}

// NewRounds returns the rounds of the nodes of g that t hosts; without a transport these
// are all nodes. run is the identity of the run if t is not Identified. It returns an
// error if t hosts what it cannot.
func NewRounds(g *topology.Graph, t Transport, run uint64) (*Rounds, error) {
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
	r.header.run = run
	if id, ok := t.(Identified); ok {
		r.header.run, r.header.epoch = id.Run()
	}
	r.out, r.in = make([][]byte, len(p.Links)), make([][]byte, len(p.Links))
	r.received = make([]frame, len(p.Links))
	return r, nil
}

// Transport returns the transport, nil if nothing is carried.
func (r *Rounds) Transport() Transport { return r.transport }

// Identity returns the run and the epoch that are in all frames.
func (r *Rounds) Identity() (run uint64, epoch uint32) { return r.header.run, r.header.epoch }

// Run carries out the remaining rounds, of n in all, of the call that Journal.Begin has
// begun, and adds what is sent to traffic; p may be nil. spreads says that after n rounds
// all nodes know of all failures; otherwise they spread in later rounds.
//
// After an error the call may be begun again, and goes on with the round that failed. It
// returns ctx.Err() if the caller gives up, a *PeerError if another node fails, and an
// error that wraps ErrNotFinite if any node has a number that cannot be sent: at all nodes
// in the same round, and then there is no more to be done.
func (r *Rounds) Run(ctx context.Context, op Operation, p HeaderPart, n int, spreads bool, traffic *Traffic) error {
	for ; r.done < n; r.done++ {
		t, err := r.round(ctx, op, p)
		t, lost := r.Metered(ctx, t)
		*traffic = traffic.Plus(t)
		if err == nil {
			err = lost
		}
		if err != nil {
			return err
		}
	}
	return r.outcome(spreads)
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
func (r *Rounds) round(ctx context.Context, op Operation, p HeaderPart) (Traffic, error) {
	if r.transport == nil {
		if err := ctx.Err(); err != nil {
			return Traffic{}, err
		}
	}
	if !r.prepared {
		op.Prepare()
		if r.transport == nil && r.header.failure.set {
			return Traffic{}, r.outcome(false)
		}
		r.write(op, p)
		r.prepared = true
	}
	if r.transport != nil {
		if err := r.transport.Exchange(ctx, r.header.seq, r.out, r.in); err != nil {
			return Traffic{}, err
		}
		if err := r.read(op, p); err != nil {
			return Traffic{}, err
		}
	}
	for k := range r.received {
		r.hear(r.Links[k].Peer, r.received[k].failure)
	}
	r.header.seq++
	r.prepared = false
	t := op.Step()
	if p != nil {
		p.Step()
	}
	return t, r.outcome(false)
}

// write makes the frames of the round.
func (r *Rounds) write(op Operation, p HeaderPart) {
	if f := r.header.failure; f.set && r.Index[f.node] >= 0 {
		r.rumour.told = f
	}
	f := frame{header: r.header}
	f.channel = op.Channel()
	for k, link := range r.Links {
		f.sender = link.Node
		r.room = op.AppendTo(r.room[:0], k)
		split := len(r.room)
		if p != nil {
			r.room = p.AppendTo(r.room, k)
		}
		f.code, f.headerPart = r.room[:split], r.room[split:]
		r.out[k] = appendFrame(r.out[k][:0], &f)
	}
}

// read parses and checks the frames that have come.
func (r *Rounds) read(op Operation, p HeaderPart) error {
	for k, link := range r.Links {
		refuse := func(kind Kind, err error) error {
			return &PeerError{Peer: link.Peer, Round: r.header.seq, Kind: kind, Err: err}
		}
		f, err := parseFrame(r.in[k])
		if err != nil {
			return refuse(Corrupt, err)
		}
		due := header{channel: op.Channel(), run: r.header.run, epoch: r.header.epoch, sender: link.Peer, seq: r.header.seq, failure: f.failure}
		if f.header != due {
			return refuse(Protocol, fmt.Errorf("a frame of run %x, epoch %d, node %d, round %d, %v: want run %x, epoch %d, %v",
				f.run, f.epoch, f.sender, f.seq, f.channel, due.run, due.epoch, due.channel))
		}
		if err := r.doubt(link.Peer, f.failure); err != nil {
			return err
		}
		r.received[k] = f
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
func (r *Rounds) Code(k int) []byte { return r.received[k].code }

// HeaderCode returns what has come of the header part along link k in this round.
func (r *Rounds) HeaderCode(k int) []byte { return r.received[k].headerPart }
