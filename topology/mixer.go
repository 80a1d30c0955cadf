package topology

import (
	"context"

	"github.com/difalt/difalt/kernel"
)

// A Message is all that a node may tell its neighbours: a basis-shaped matrix and
// a few scalars. It has no room for samples, responses or coefficients.
type Message struct {
	Basis   *kernel.Basis // may be nil
	Scalars []float64     // may be empty
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

// A Mixer is the one place where nodes meet: the agreement protocol of Alg. 1. It
// replaces the message of every node that lives in this process by the weighted
// average over the node's neighbourhood, rounds times:
//
//	Z_g <- Z_g + sum_{j in N_g} W_gj (Z_j - Z_g).
//
// In one process all nodes are hosted and Mix is arithmetic; over a network a
// process hosts one node and Mix talks to its neighbours. All nodes must call Mix
// with messages of the same shape and the same number of rounds, in the same
// order.
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
}
