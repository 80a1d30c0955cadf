package testnet

import (
	"io"

	"github.com/difalt/difalt/consensus/wire"
)

// A link is one stream. No node begins a round before it has all frames of the round
// before, so that neighbours are at most a round apart.
type link struct {
	peer int
	conn io.ReadWriteCloser

	outgoing chan []byte
	out      [3][]byte     // frames in turns: being written, in outgoing, being filled
	count    int           // of frames handed over
	stopped  chan struct{} // the writer has ended
	stop     chan struct{} // the writer is to end

	frames chan []byte // closed with kind and err set
	in     [4][]byte   // frames in turns: in use, two in frames, being read
	kind   wire.Kind
	err    error

	// Of the round under way:
	sent bool
	got  []byte
}

func newLink(peer int, conn io.ReadWriteCloser) *link {
	return &link{
		peer: peer, conn: conn, frames: make(chan []byte, 2),
		outgoing: make(chan []byte, 1), stopped: make(chan struct{}), stop: make(chan struct{}),
	}
}

func (l *link) failed(seq uint64, kind wire.Kind, err error) error {
	return &wire.PeerError{Peer: l.peer, Round: seq, Kind: kind, Err: err}
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
	for range l.frames { // lets the reader go on to see that
	}
}

// read reads frames until the stream ends or something that is no frame comes.
func (l *link) read() {
	defer close(l.frames)
	for k := 0; ; k++ {
		p := &l.in[k%len(l.in)]
		if *p, l.kind, l.err = readFrame(l.conn, *p); l.err != nil {
			return
		}
		l.frames <- *p
	}
}
