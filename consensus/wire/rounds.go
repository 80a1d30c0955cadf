package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/topology"
)

// An Operation is the work of the hosted nodes in consecutive rounds. In every round Rounds calls Sends,
// AppendTo, Check and Step, in this order.
type Operation interface {
	// Channel returns the channel of all frames of the operation.
	Channel() Channel
	// Sends reports whether a frame goes from a node to a neighbour in this round.
	Sends(from, to int) bool
	// AppendTo appends the code for link k to dst; an empty code makes a frame without content.
	AppendTo(dst []byte, k int) []byte
	// Check stores the code that arrived along link k for Step, or returns an error if it is not the one
	// that is due.
	Check(k int, code []byte) error
	// Step does the arithmetic of the round, and returns the messages and bytes of the hosted nodes,
	// without headers.
	Step() Traffic
}

// Headers returns t with the header bytes of its messages added.
func Headers(t Traffic) Traffic {
	t.Bytes += FrameOverhead * t.Messages
	return t
}

// Rounds carries out the rounds of operations between the hosted nodes and nodes elsewhere. It serves one
// goroutine.
//
// An error after the first frame of an operation ends the Rounds: neighbours are in the middle of the
// operation, and every later call returns the same error.
type Rounds struct {
	*Placement
	transport Transport // nil without links
	origin    Origin    // of all frames; Node is unused
	tag       uint32    // of the results so far
	seq       uint64    // of the next exchange
	links     []linkState
	out, in   [][]byte
	due       []bool
	ended     error
}

// A linkState belongs to the link with the same index in Links.
type linkState struct {
	sent, received uint64 // number of frames
	node, peer     seed
	spare          []byte // memory for the next frame
}

// NewRounds returns the rounds of the nodes of g that t hosts; without a transport, of all nodes. run
// identifies the run if t does not implement Identified. It returns an error if t hosts a node that g
// lacks.
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
	if len(p.Links) == 0 {
		return r, nil
	}
	r.transport, r.origin.Run = t, run
	if id, ok := t.(Identified); ok {
		r.origin.Run = id.Run()
	}
	n := len(p.Links)
	r.out, r.in, r.due = make([][]byte, n), make([][]byte, n), make([]bool, n)
	for _, link := range p.Links {
		own, their := r.origin, r.origin
		own.Node, their.Node = link.Node, link.Peer
		r.links = append(r.links, linkState{node: own.seed(), peer: their.seed()})
	}
	return r, nil
}

// Transport returns the transport, or nil if the process hosts all nodes.
func (r *Rounds) Transport() Transport { return r.transport }

// Identity returns the identity of the run.
func (r *Rounds) Identity() uint64 { return r.origin.Run }

// Run carries out n rounds of op, and adds its messages and bytes, with headers, to traffic. It returns
// ctx.Err() if ctx ends, and a *PeerError if another node fails. A context that has ended before the first
// round leaves the network as it was.
func (r *Rounds) Run(ctx context.Context, op Operation, n int, traffic *Traffic) error {
	if r.ended != nil {
		return fmt.Errorf("consensus: the network has ended: %w", r.ended)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for range n {
		if err := r.exchange(ctx, op); err != nil {
			r.End(ctx, err)
			return err
		}
		*traffic = traffic.Plus(Headers(op.Step()))
	}
	return nil
}

// SetTag sets the tag of the results that this node has received. Two neighbours with different tags end with
// ErrInconsistent.
func (r *Rounds) SetTag(tag uint32) { r.tag = tag }

// End makes every later call return err, an error after which the nodes are no longer in step. If err is
// ErrInconsistent it sends a farewell along all links, so that all other nodes end with ErrInconsistent, too,
// whatever operation they have reached.
func (r *Rounds) End(ctx context.Context, err error) {
	if r.transport == nil || r.ended != nil {
		return
	}
	r.ended = err
	if !errors.Is(err, ErrInconsistent) {
		return
	}
	for k := range r.links {
		l := &r.links[k]
		r.out[k], r.due[k] = l.node.endFrame(beginFrame(l.spare[:0], Farewell, l.sent, r.tag), l.sent), false
	}
	_ = r.transport.Exchange(ctx, r.seq, r.out, r.in, r.due) // a neighbour that has gone needs no farewell
}

// exchange sends and receives the frames of a round.
func (r *Rounds) exchange(ctx context.Context, op Operation) error {
	if r.transport == nil {
		return nil
	}
	for k, link := range r.Links {
		l := &r.links[k]
		r.out[k], r.due[k] = nil, op.Sends(link.Peer, link.Node)
		if op.Sends(link.Node, link.Peer) {
			p := op.AppendTo(beginFrame(l.spare[:0], op.Channel(), l.sent, r.tag), k)
			r.out[k], l.spare = l.node.endFrame(p, l.sent), nil
			l.sent++
		}
	}
	if err := r.transport.Exchange(ctx, r.seq, r.out, r.in, r.due); err != nil {
		return err
	}
	r.seq++
	for k := range r.links {
		if p := r.out[k]; p != nil {
			r.links[k].spare = p
		}
		if err := r.check(op, k); err != nil {
			return err
		}
	}
	return nil
}

// check hands the code that arrived along link k to op.
func (r *Rounds) check(op Operation, k int) error {
	if !r.due[k] {
		return nil
	}
	l := &r.links[k]
	refuse := func(kind Kind, err error) error {
		return &PeerError{Peer: r.Links[k].Peer, Round: r.seq - 1, Kind: kind, Err: err}
	}
	f, err := l.peer.open(r.in[k], l.received)
	if err != nil {
		return refuse(Corrupt, err)
	}
	l.received++
	if f.channel == Farewell || f.tag != r.tag {
		return ErrInconsistent
	}
	if f.channel != op.Channel() {
		return refuse(Protocol, fmt.Errorf("consensus: a frame of %v, want %v", f.channel, op.Channel()))
	}
	if err := op.Check(k, f.code); err != nil {
		return refuse(Protocol, err)
	}
	return nil
}
