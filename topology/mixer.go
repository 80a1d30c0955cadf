package topology

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// A Message is all that a node may tell its neighbours: a basis-shaped matrix and
// a few scalars. It has no room for samples, responses or coefficients.
type Message struct {
	Basis   *kernel.Basis // may be nil
	Scalars []float64     // may be empty
	Stream  Stream        // the sequence of messages that this one continues
}

// Entries returns the number of float64 that the message carries over a link:
// d*r of the basis, without padding, and the scalars.
func (m Message) Entries() int {
	n := len(m.Scalars)
	if m.Basis != nil {
		d, r := m.Basis.Dims()
		n += d * r
	}
	return n
}

// A Stream says which sequence of messages a message continues. The messages of a
// stream other than Exact have one shape, and change slowly from one call of Mix to
// the next, so that a mixer that compresses may send differences: it keeps what
// the neighbours know, one copy for every node and stream.
type Stream uint8

const (
	// Exact messages are never compressed, accelerated, withheld or lost: plain AGREE
	// in float64. The initialisation and all control messages, such as flags, are of
	// this kind. They may have any shape.
	Exact          Stream = iota
	StreamBasis           // the bases Z_g
	StreamGradient        // the gradients, of methods that combine before they adapt
	StreamScale           // the matrices that scale a step
	StreamTracker         // the gradient trackers
	streams        = iota // how many there are
)

var streamNames = []string{"exact", "basis", "gradient", "scale", "tracker"}

// String returns a short name for messages.
func (s Stream) String() string {
	if int(s) < len(streamNames) {
		return streamNames[s]
	}
	return fmt.Sprintf("Stream(%d)", uint8(s))
}

// A Mixer is the one place where nodes meet: the agreement protocol of Alg. 1. It
// replaces the message of every node that lives in this process by the weighted
// average over the node's neighbourhood, rounds times:
//
//	Z_g <- Z_g + sum_{j in N_g} W_gj (Z_j - Z_g).
//
// In one process all nodes are hosted and Mix is arithmetic; over a network a
// process hosts one node and Mix talks to its neighbours. All nodes must call Mix
// with messages of the same shape and stream and the same number of rounds, in the
// same order.
type Mixer interface {
	// Hosted returns the nodes that live in this process, in ascending order.
	Hosted() []int
	// Mix overwrites z[i], the message of node Hosted()[i], by the average. On an
	// error, ctx.Err() included, the contents of z are unspecified.
	Mix(ctx context.Context, z []Message, rounds int) error
	// Traffic returns what has crossed the network so far, summed over the nodes
	// that live in this process as senders.
	Traffic() Traffic
}

// Traffic counts communication.
type Traffic struct {
	Rounds   int64 // exchanges that had to wait for one another
	Messages int64 // directed: one node to one neighbour
	Bytes    int64 // payload of the messages
	Silent   int64 // messages not sent, since the neighbour knows enough
	Lost     int64 // of Messages, those that did not arrive in their round
}

// Minus returns what t counts beyond u, an earlier count.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Rounds - u.Rounds, t.Messages - u.Messages, t.Bytes - u.Bytes, t.Silent - u.Silent, t.Lost - u.Lost}
}

// Plus returns the sum of two counts.
func (t Traffic) Plus(u Traffic) Traffic {
	return Traffic{t.Rounds + u.Rounds, t.Messages + u.Messages, t.Bytes + u.Bytes, t.Silent + u.Silent, t.Lost + u.Lost}
}
