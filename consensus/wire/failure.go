package wire

import "fmt"

// A failure says which node had a number that is not finite, and when. It is part of
// every header from then on, so that all know of it after as many rounds as the graph
// has hops across, and then all fail, in the same round.
type failure struct {
	set     bool
	channel Channel
	node    int
	seq     uint64
}

// before reports whether f came before g.
func (f failure) before(g failure) bool {
	return f.set && (!g.set || f.seq < g.seq || f.seq == g.seq && f.node < g.node)
}

// Fail notes that a hosted node, by its index, has a number that is not finite.
func (r *Rounds) Fail(c Channel, index int) {
	r.merge(failure{set: true, channel: c, node: r.Hosted[index], seq: r.header.seq})
}

// merge keeps the earlier of f and the failure that is known.
func (r *Rounds) merge(f failure) {
	if f.before(r.header.failure) {
		r.header.failure = f
	}
}

// outcome returns the error with which all nodes end in this round, if any. spread says
// that what any of them knows of failures, all know.
func (r *Rounds) outcome(spread bool) error {
	f := r.header.failure
	if !f.set {
		return nil
	}
	err := fmt.Errorf("%w: node %d, %v", ErrNotFinite, f.node, f.channel)
	if r.transport == nil {
		r.header.failure = failure{} // nobody else waits: the caller may rewind
		return err
	}
	if !spread && r.header.seq < f.seq+r.diameter {
		return nil
	}
	r.ended = err
	return err
}
