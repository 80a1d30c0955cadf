package federate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// A line is a transport in memory that keeps what it sends.
type line struct {
	transport.Transport
	end  *end
	once sync.Once
	all  func(left transport.PeerError)
	gone chan transport.PeerError // of nodes that have left with an error

	mu    sync.Mutex
	stats engine.Stats // edges in the order of the frames
}

// connected returns the statistics of a node that has all neighbours, and has sent nothing.
func connected(g *topology.Graph, node int) (s engine.Stats) {
	for _, peer := range g.Neighbors(node) {
		s.Edges = append(s.Edges, engine.EdgeStats{Peer: peer, Connected: true})
	}
	return s
}

func (l *line) Join(ctx context.Context) error { return l.because(ctx.Err()) }

// because returns what the first node has left with, or else err.
func (l *line) because(err error) error {
	select {
	case left := <-l.gone:
		l.gone <- left
		return &left
	default:
		return err
	}
}
func (l *line) Waiting() ([]int, time.Time) { return nil, time.Time{} }
func (l *line) Beyond(int) []int            { return nil }

func (l *line) Stats() engine.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return engine.Stats{Rounds: l.stats.Rounds, Edges: slices.Clone(l.stats.Edges)}
}

func (l *line) Leave(why error) {
	l.once.Do(func() {
		if why != nil {
			text := engine.PublicText(why)
			l.end.sent.WriteString(text)
			l.all(transport.PeerError{Peer: 1, Kind: engine.PublicKind(why), Err: errors.New(text)})
		}
		l.Transport.Close()
	})
}

func (l *line) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	l.mu.Lock()
	l.stats.Rounds = seq + 1
	for k, frame := range out {
		l.end.sent.Write(frame)
		l.stats.Edges[k].Sent += int64(len(frame))
	}
	l.mu.Unlock()
	err := l.Transport.Exchange(ctx, seq, out, in, due)
	var peer *transport.PeerError
	if errors.As(err, &peer) && peer.Kind == transport.Closed {
		return l.because(err)
	}
	return err
}
