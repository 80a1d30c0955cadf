package pipe

import (
	"io"

	"github.com/difalt/difalt/consensus"
)

// ahead is how many frames can be waiting in a direction: no node begins a round before
// it has all frames of the round before, so that neighbours are at most a round apart.
const ahead = 2

// A link is one stream. Frames are copied into buffers that go round in a circle.
type link struct {
	peer int
	conn io.ReadWriteCloser

	outgoing chan []byte
	spare    chan []byte   // buffers for outgoing
	sent     bool          // the frame of the round under way
	stopped  chan struct{} // the writer has ended
	stop     chan struct{} // the writer is to end

	frames chan []byte // closed with kind and err set
	free   chan []byte
	got    []byte // the frame of the round under way
	kind   consensus.Kind
	err    error
}

func newLink(peer int, conn io.ReadWriteCloser) *link {
	l := &link{
		peer: peer, conn: conn,
		outgoing: make(chan []byte, ahead), spare: make(chan []byte, ahead), stopped: make(chan struct{}), stop: make(chan struct{}),
		frames: make(chan []byte, ahead), free: make(chan []byte, ahead+2),
	}
	for range cap(l.free) {
		l.free <- nil
	}
	for range cap(l.spare) {
		l.spare <- nil
	}
	return l
}

// recycle begins a round.
func (l *link) recycle() {
	if l.got != nil {
		l.free <- l.got
	}
	l.got, l.sent = nil, false
}

func (l *link) failed(seq uint64, kind consensus.Kind, err error) error {
	return &consensus.PeerError{Peer: l.peer, Round: seq, Kind: kind, Err: err}
}

// write writes what is handed over, until finish. When it fails, the reader says why.
func (l *link) write() {
	defer close(l.stopped)
	for {
		select {
		case p := <-l.outgoing:
			if _, err := l.conn.Write(p); err != nil {
				return
			}
			l.spare <- p
		case <-l.stop:
			for len(l.outgoing) > 0 {
				if _, err := l.conn.Write(<-l.outgoing); err != nil {
					return
				}
			}
			return
		}
	}
}

// finish closes the connection when the writer is done, or at the deadline.
func (l *link) finish(deadline <-chan struct{}) {
	close(l.stop)
	select {
	case <-l.stopped:
	case <-deadline:
	}
	l.conn.Close()
	// Lets the reader go on to see that.
	for range l.frames {
		l.free <- nil
	}
}

// read reads frames until the stream ends or something that is no frame comes.
func (l *link) read(longest int) {
	defer close(l.frames)
	for p := range l.free {
		var err error
		if p, l.kind, err = readFrame(l.conn, p, longest); err != nil {
			l.err = err
			return
		}
		l.frames <- p
	}
}
