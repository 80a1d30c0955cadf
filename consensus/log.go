package consensus

import (
	"errors"
	"fmt"
)

// A call says which operation was called, as far as all nodes must agree on it.
type call struct {
	mixer  *Mixer // nil: of the network
	kind   callKind
	root   int // of a broadcast; of callMaxSum, how many are maxima
	rounds int
	shape  shape // or as many scalars as a row of a collective operation has numbers
}

type callKind uint8

const (
	callSum callKind = iota
	callMax
	callBroadcast
	callMix
	callTell
	callTold
	callMaxSum
)

// A record is what a call returned.
type record struct {
	call
	word   uint8
	ok     bool
	values []float64 // of the hosted nodes, one after the other
}

// A journal keeps what was returned since the last Commit, so that a caller who
// repeats its calls gets the same again: the other processes do not repeat theirs. It
// is empty where nobody lives elsewhere.
type journal struct {
	kept   []record // reused: beyond next is what was kept before
	filled int      // how many of them count
	next   int      // the record of the next call
	begun  bool     // the call after the last record has begun and not ended
	under  call     // that one
	done   int      // its rounds
}

var errOther = errors.New("consensus: after Rewind the same calls must be made again")

// replay returns the record of a call that is repeated, or nil.
func (n *Network) replay(c call) (*record, error) {
	j := &n.journal
	if n.transport == nil || j.next == j.filled {
		return nil, n.dead
	}
	r := &j.kept[j.next]
	if r.call != c {
		return nil, fmt.Errorf("%w: %+v in place of %+v", errOther, c.shape, r.shape)
	}
	j.next++
	return r, nil
}

// begin starts a call, and reports whether it had begun before and failed on the way.
func (n *Network) begin(c call) (again bool, err error) {
	j := &n.journal
	if j.begun && n.transport != nil {
		if j.under != c {
			return false, fmt.Errorf("%w: %+v in place of %+v", errOther, c.shape, j.under.shape)
		}
		return true, nil
	}
	n.spoken = false
	j.begun, j.under, j.done = true, c, 0
	return false, nil
}

// keep returns the record of a call that has succeeded, without values, to be filled.
func (n *Network) keep(c call) *record {
	j := &n.journal
	j.begun = false
	if n.transport == nil {
		return nil
	}
	if j.filled == len(j.kept) {
		j.kept = append(j.kept, record{})
	}
	r := &j.kept[j.filled]
	j.filled++
	j.next = j.filled
	*r = record{call: c, values: r.values[:0]}
	return r
}

// Rewind prepares for repeating the calls since the last Commit after an error. Those
// that succeeded return what they returned; the one that failed goes on with the round
// that failed. With all nodes in this process nothing has happened elsewhere, and all
// is computed again. Either way results have the bits that they have without an error.
func (n *Network) Rewind() {
	if n.transport != nil {
		n.journal.next = 0
		return
	}
	n.journal.begun = false
	n.failure = failure{}
	n.traffic.now = n.traffic.committed
	for _, m := range n.mixers {
		m.rewind()
	}
}

// Commit makes what was done so far final: Rewind will not go back behind it, what was
// kept for it is dropped, and it is what MarshalBinary of a mixer returns. It must not
// be called between an error and the repetition of what failed.
func (n *Network) Commit() {
	n.journal.filled, n.journal.next = 0, 0
	n.traffic.committed = n.traffic.now
	for _, m := range n.mixers {
		m.commit()
	}
}
