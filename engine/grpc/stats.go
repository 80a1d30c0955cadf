package grpc

import (
	"strings"
	"time"

	"github.com/difalt/difalt/engine"
)

// Stats may be called at any time.
func (t *Transport) Stats() engine.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s engine.Stats
	if t.round.started {
		s.Rounds = t.round.seq + 1
	}
	for _, e := range t.edges {
		own := e.stats
		own.Peer, own.Connected = e.peer, e.session != nil
		s.Edges = append(s.Edges, own)
	}
	return s
}

// Waiting returns the neighbours for which Join or Exchange has been waiting, and since
// when; none if it does not wait. It may be called at any time.
func (t *Transport) Waiting() (peers []int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.awaited(), t.round.waiting
}

func (t *Transport) awaited() (peers []int) {
	for _, e := range t.edges {
		if !t.round.waiting.IsZero() && (!t.round.started && !t.isThere(e) || e.in.lacks()) {
			peers = append(peers, e.peer)
		}
	}
	return peers
}

// chain is how many nodes wait one for the other from a neighbour on, as they say; 0 if it
// does not say that it waits.
func (e *edge) chain() int {
	if e.waits.on == nil {
		return 0
	}
	return e.waits.behind + 1
}

// behind is how long the chain is behind this node. t.mu is held.
func (t *Transport) behind() (n int) {
	for _, e := range t.edges {
		if e.in.lacks() {
			n = max(n, e.chain())
		}
	}
	return n
}

// excuse is why a neighbour waits, as it says.
func (t *Transport) excuse(e *edge) string {
	if e.waits.on == nil {
		return "and it does not say why"
	}
	var names []string
	for _, i := range e.waits.on {
		names = append(names, t.cluster.Label(i))
	}
	return "though it says that it waits for " + strings.Join(names, ", ")
}

// Beyond returns for whom a neighbour that is waited for says that it waits itself;
// nothing if it has not said so in this round.
func (t *Transport) Beyond(peer int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.edges {
		if e.peer == peer {
			return e.waits.on
		}
	}
	return nil
}
