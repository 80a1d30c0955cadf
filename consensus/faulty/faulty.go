package faulty

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// Options of Connect.
type Options struct {
	Links
	Seed uint64
	// Resend is how long a node waits for an acknowledgement before it sends again; 0 is
	// a millisecond. Messages take a tenth of it, and up to three times as long if they
	// are late.
	Resend time.Duration
	// RoundTimeout is how long Exchange waits for a frame before the peer has failed; 0
	// waits for ever, or until the caller's context ends.
	RoundTimeout time.Duration
	// Linger is how long Close waits until what was sent last is acknowledged; 0 is 200
	// times Resend.
	Linger time.Duration
}

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("faulty: the transport is closed")

// A Transport carries frames over links that fail. It keeps the last two frames of
// every link and sends them again until they are acknowledged. Exchange serves one
// goroutine at a time. It has no goroutines but while messages are under way.
type Transport struct {
	o      Options
	hosted []int
	links  []*link
	notify chan struct{} // something has arrived, or a peer has closed

	mu     sync.Mutex
	seq    uint64 // of the last round that has begun
	begun  bool   // one has
	closed bool
	resend *time.Timer
}

// A link is one end of an edge. The lock of its transport guards it.
type link struct {
	owner    *Transport
	reverse  *link
	peer     int
	fates    *rand.Rand
	out      [2]message // with even and odd sequence numbers, not yet acknowledged
	in       [2]message // as they came
	peerGone bool
}

type message struct {
	seq   uint64
	frame []byte
	set   bool
}

// Connect returns one transport for each group of nodes of g, joined by links that
// fail. Every node must be in one group.
func Connect(g *topology.Graph, groups [][]int, o Options) ([]*Transport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Resend == 0 {
		o.Resend = time.Millisecond
	}
	if o.Linger == 0 {
		o.Linger = 200 * o.Resend
	}
	ends := make(map[consensus.Link]*link)
	var all []*Transport
	for _, hosted := range groups {
		t := &Transport{o: o, hosted: slices.Clone(hosted), notify: make(chan struct{}, 1)}
		for _, l := range consensus.Links(g, hosted) {
			e := &link{owner: t, peer: l.Peer, fates: rand.New(rand.NewPCG(o.Seed^linkStream, uint64(l.Node*g.Len()+l.Peer)))}
			t.links, ends[l] = append(t.links, e), e
		}
		t.resend = time.AfterFunc(time.Hour, t.again)
		t.resend.Stop()
		all = append(all, t)
	}
	for l, e := range ends {
		if e.reverse = ends[consensus.Link{Node: l.Peer, Peer: l.Node}]; e.reverse == nil {
			return nil, fmt.Errorf("faulty: node %d is in no group, or in two", l.Peer)
		}
	}
	return all, nil
}

// Hosted returns the nodes that live in this process.
func (t *Transport) Hosted() []int { return t.hosted }

// Exchange implements consensus.Transport, with the errors of package pipe.
func (t *Transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.begin(seq, out)
	var late <-chan time.Time
	if t.o.RoundTimeout > 0 {
		timer := time.NewTimer(t.o.RoundTimeout)
		defer timer.Stop()
		late = timer.C
	}
	for {
		waiting, err := t.collect(seq, in)
		if waiting < 0 || err != nil {
			return err
		}
		select {
		case <-t.notify:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return &consensus.PeerError{Peer: waiting, Round: seq, Kind: consensus.Timeout}
		}
	}
}

// begin sends the frames of a round, unless it has.
func (t *Transport) begin(seq uint64, out [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun && t.seq == seq {
		return
	}
	t.begun, t.seq = true, seq
	for k, l := range t.links {
		m := &l.out[seq%2]
		*m = message{seq: seq, frame: slices.Clone(out[k]), set: true}
		l.transmit(m.frame)
	}
	t.resend.Reset(t.o.Resend)
}

// collect sets in to the frames of a round, or returns a peer whose frame has not come;
// -1 if all have.
func (t *Transport) collect(seq uint64, in [][]byte) (waiting int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return -1, ErrClosed
	}
	for _, l := range t.links {
		if m := &l.in[seq%2]; !m.set || m.seq != seq {
			if l.peerGone {
				return l.peer, &consensus.PeerError{Peer: l.peer, Round: seq, Kind: consensus.Closed}
			}
			return l.peer, nil
		}
	}
	for k, l := range t.links {
		in[k] = l.in[seq%2].frame
	}
	return -1, nil
}

// again sends again what is not acknowledged.
func (t *Transport) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending() {
		for _, l := range t.links {
			for _, m := range l.out {
				if m.set && !l.peerGone {
					l.transmit(m.frame)
				}
			}
		}
		t.resend.Reset(t.o.Resend)
	}
}

// pending reports whether something is not acknowledged.
func (t *Transport) pending() bool {
	return slices.ContainsFunc(t.links, func(l *link) bool { return !l.peerGone && (l.out[0].set || l.out[1].set) })
}

// Close waits until what was sent last is acknowledged, or for Linger, and tells the
// peers. It may be called more than once.
func (t *Transport) Close() error {
	deadline := time.Now().Add(t.o.Linger)
	for t.lingers() && time.Now().Before(deadline) {
		time.Sleep(t.o.Resend)
	}
	t.mu.Lock()
	done := t.closed
	t.closed = true
	t.resend.Stop()
	t.mu.Unlock()
	t.wake()
	if !done {
		for _, l := range t.links {
			l.reverse.gone()
		}
	}
	return nil
}

func (t *Transport) lingers() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed && t.pending()
}

func (t *Transport) wake() {
	select {
	case t.notify <- struct{}{}:
	default:
	}
}

// gone notes that the other end has closed.
func (l *link) gone() {
	l.owner.mu.Lock()
	l.peerGone = true
	l.owner.mu.Unlock()
	l.owner.wake()
}

// transmit sends a copy of p over the link, which may fail.
func (l *link) transmit(p []byte) {
	o := l.owner.o
	copies := 1
	if l.fates.Float64() < o.Duplicate {
		copies = 2
	}
	for range copies {
		fate, delay := l.fates.Float64(), o.Resend/10
		q := slices.Clone(p)
		switch {
		case fate < o.Loss:
			continue
		case fate < o.Loss+o.Delay:
			delay = o.Resend + time.Duration(l.fates.Int64N(int64(2*o.Resend)))
		case fate < o.Loss+o.Delay+o.Corrupt:
			bit := l.fates.IntN(8 * len(q))
			q[bit/8] ^= 1 << (bit % 8)
		}
		time.AfterFunc(delay, func() { l.reverse.arrive(q) })
	}
}

// An acknowledgement is a sequence number and its CRC-32: shorter than any frame.
const ackLen = 12

func ack(seq uint64) []byte {
	p := binary.LittleEndian.AppendUint64(nil, seq)
	return binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
}

// arrive takes what has come; what is damaged counts as lost.
func (l *link) arrive(p []byte) {
	t := l.owner
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if len(p) == ackLen {
		seq := binary.LittleEndian.Uint64(p)
		if m := &l.out[seq%2]; string(p) == string(ack(seq)) && m.set && m.seq == seq {
			m.set = false
		}
		return
	}
	if consensus.CheckFrame(p) != nil {
		return
	}
	seq := consensus.FrameSeq(p)
	if seq > t.seq+1 {
		return // no peer can be so far
	}
	l.transmit(ack(seq))
	if m := &l.in[seq%2]; seq >= t.seq && !(m.set && m.seq == seq) {
		*m = message{seq: seq, frame: p, set: true}
		t.wake()
	}
}
