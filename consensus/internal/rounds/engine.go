// Package rounds exchanges frames between the hosted nodes of a network and nodes elsewhere, in rounds. Its
// errors begin without the name of a package: package consensus adds it where they leave.
package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// An Operation is the work of the hosted nodes in consecutive rounds. The Engine calls Start, and then in
// every round Sends, Append, Receive and Step, in this order.
type Operation interface {
	// Start begins the operation. It is not called if the network or the context has ended before. So its
	// changes, such as masks that are used up, happen at all nodes or at none.
	Start()
	// Channel returns the channel of all frames of the operation.
	Channel() frame.Channel
	// Sends reports whether a frame goes from a node to a neighbour in this round.
	Sends(from, to int) bool
	// Append appends the code for link k to dst; an empty code makes a frame without content.
	Append(dst []byte, k int) []byte
	// Receive stores the code that arrived along link k for Step, or returns an error if it is not the code
	// that is due.
	Receive(k int, code []byte) error
	// Step does the arithmetic of the round, and returns the messages and bytes of the hosted nodes,
	// without headers.
	Step() transport.Traffic
}

// WithHeaders returns t with the header bytes of its messages added.
func WithHeaders(t transport.Traffic) transport.Traffic {
	t.Bytes += frame.Overhead * t.Messages
	return t
}

// An Engine carries out the rounds of operations between the hosted nodes and nodes elsewhere. It serves one
// goroutine.
//
// An error after the first frame of an operation ends the Engine: neighbours are in the middle of the
// operation, and every later call returns this error.
type Engine struct {
	*Hosting
	transport transport.Transport // nil without links
	run       uint64              // the identity of the run
	tag       uint32              // of the results so far
	seq       uint64              // of the next exchange
	links     []linkState
	out, in   [][]byte
	due       []bool
	ended     error
}

// A linkState belongs to the link with its index in Links.
type linkState struct {
	sent, received uint64 // number of frames
	node, peer     frame.Seed
	spare          []byte // memory for the next frame
}

// NewEngine returns the engine of the nodes of g that t hosts; without a transport, of all nodes. run
// identifies the run if t does not implement transport.Identified. NewEngine returns an error if t hosts a
// node that g lacks.
func NewEngine(g *topology.Graph, t transport.Transport, run uint64) (*Engine, error) {
	var hosted []int
	if t != nil {
		hosted = append(hosted, t.Hosted()...)
	} else {
		for i := range g.Len() {
			hosted = append(hosted, i)
		}
	}
	h, err := newHosting(g, hosted)
	if err != nil {
		return nil, err
	}
	e := &Engine{Hosting: h}
	if len(h.Links) == 0 {
		return e, nil
	}
	e.transport, e.run = t, run
	if identified, ok := t.(transport.Identified); ok {
		e.run = identified.Run()
	}
	n := len(h.Links)
	e.out, e.in, e.due = make([][]byte, n), make([][]byte, n), make([]bool, n)
	for _, link := range h.Links {
		node, peer := frame.NewSeed(e.run, link.Node), frame.NewSeed(e.run, link.Peer)
		e.links = append(e.links, linkState{node: node, peer: peer})
	}
	return e, nil
}

// Transport returns the transport, or nil if the process hosts all nodes.
func (e *Engine) Transport() transport.Transport { return e.transport }

// Identity returns the identity of the run.
func (e *Engine) Identity() uint64 { return e.run }

// Run carries out n rounds of op, and adds its messages and bytes, with headers, to traffic. It returns
// ctx.Err() if ctx ends, and a *transport.PeerError if another node fails. A context that has ended before
// the first round leaves the network as it was.
func (e *Engine) Run(ctx context.Context, op Operation, n int, traffic *transport.Traffic) error {
	if err := e.Ready(ctx); err != nil {
		return err
	}
	op.Start()
	for range n {
		if err := e.exchange(ctx, op); err != nil {
			e.End(ctx, err)
			return err
		}
		*traffic = traffic.Plus(WithHeaders(op.Step()))
	}
	return nil
}

var errNoContext = errors.New("need a context")

// Ready returns the error of an operation that would begin now: the network or the context has ended.
func (e *Engine) Ready(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	if e.ended != nil {
		return fmt.Errorf("the network has ended: %w", e.ended)
	}
	return ctx.Err()
}

// SetTag sets the tag of the results that this node has received. Two neighbours with different tags end with
// ErrInconsistent.
func (e *Engine) SetTag(tag uint32) { e.tag = tag }

// End makes every later call return err, an error after which the nodes are no longer in step. If err is
// ErrInconsistent it sends a farewell along all links, so that all other nodes end with ErrInconsistent, too,
// whatever operation they have reached.
func (e *Engine) End(ctx context.Context, err error) {
	if e.transport == nil || e.ended != nil {
		return
	}
	e.ended = err
	if !errors.Is(err, ErrInconsistent) {
		return
	}
	for k := range e.links {
		l := &e.links[k]
		e.out[k] = l.node.End(frame.Begin(l.spare[:0], frame.Farewell, l.sent, e.tag), l.sent)
		e.due[k] = false
	}
	_ = e.transport.Exchange(ctx, e.seq, e.out, e.in, e.due) // a neighbour that has gone needs no farewell
}

// exchange sends and receives the frames of a round.
func (e *Engine) exchange(ctx context.Context, op Operation) error {
	if e.transport == nil {
		return nil
	}
	for k, link := range e.Links {
		l := &e.links[k]
		e.out[k], e.due[k] = nil, op.Sends(link.Peer, link.Node)
		if op.Sends(link.Node, link.Peer) {
			p := op.Append(frame.Begin(l.spare[:0], op.Channel(), l.sent, e.tag), k)
			e.out[k], l.spare = l.node.End(p, l.sent), nil
			l.sent++
		}
	}
	if err := e.transport.Exchange(ctx, e.seq, e.out, e.in, e.due); err != nil {
		return err
	}
	e.seq++
	for k := range e.links {
		if p := e.out[k]; p != nil {
			e.links[k].spare = p
		}
		if err := e.receive(op, k); err != nil {
			return err
		}
	}
	return nil
}

// receive hands the code that arrived along link k to op.
func (e *Engine) receive(op Operation, k int) error {
	if !e.due[k] {
		return nil
	}
	l := &e.links[k]
	refuse := func(kind transport.Kind, err error) error {
		return &transport.PeerError{Peer: e.Links[k].Peer, Round: e.seq - 1, Kind: kind, Err: err}
	}
	f, err := l.peer.Open(e.in[k], l.received)
	if err != nil {
		return refuse(transport.Corrupt, err)
	}
	l.received++
	if f.Channel == frame.Farewell || f.Tag != e.tag {
		return ErrInconsistent
	}
	if f.Channel != op.Channel() {
		return refuse(transport.Protocol, fmt.Errorf("a frame of %v, want %v", f.Channel, op.Channel()))
	}
	if err := op.Receive(k, f.Code); err != nil {
		return refuse(transport.Protocol, err)
	}
	return nil
}
