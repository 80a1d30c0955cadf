package consensus

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// A Message is all that nodes average: a basis-shaped matrix and a few scalars.
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
// stream other than Exact have one shape, and change slowly from one call of Mix to the
// next, so that a mixer may send coded differences: it keeps a replica of what the
// neighbours have, for every node and stream.
type Stream uint8

const (
	// Exact messages are never coded, accelerated or withheld: plain AGREE in float64.
	// The initialisation is of this kind. They may have any shape.
	Exact          Stream = iota
	StreamBasis           // the bases Z_g
	StreamGradient        // the gradients, of methods that combine before they adapt
	StreamTracker         // the gradient trackers
	streams        = iota // how many there are
)

var streamNames = []string{"exact", "basis", "gradient", "tracker"}

// String returns a short name for messages.
func (s Stream) String() string {
	if int(s) < len(streamNames) {
		return streamNames[s]
	}
	return fmt.Sprintf("Stream(%d)", uint8(s))
}

// Traffic counts communication.
type Traffic struct {
	Rounds   int64 // exchanges that had to wait for one another
	Messages int64 // directed: one node to one neighbour
	Bytes    int64 // payload of the messages
	Silent   int64 // messages not sent, since there was too little news
	Lost     int64 // of Messages, those that had to be sent again; see Meter
}

// Minus returns what t counts beyond u, an earlier count.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Rounds - u.Rounds, t.Messages - u.Messages, t.Bytes - u.Bytes, t.Silent - u.Silent, t.Lost - u.Lost}
}

// Plus returns the sum of two counts.
func (t Traffic) Plus(u Traffic) Traffic {
	return Traffic{t.Rounds + u.Rounds, t.Messages + u.Messages, t.Bytes + u.Bytes, t.Silent + u.Silent, t.Lost + u.Lost}
}

// checkMessages returns an error that names the first node whose message has another
// shape than that of the first.
func (n *Network) checkMessages(z []Message) error {
	if len(z) != len(n.hosted) {
		return fmt.Errorf("consensus: %d messages for %d hosted nodes", len(z), len(n.hosted))
	}
	if int(z[0].Stream) >= streams {
		return fmt.Errorf("consensus: %v is unknown", z[0].Stream)
	}
	for k, m := range z {
		if s, first := shapeOf(m), shapeOf(z[0]); s != first {
			return fmt.Errorf("consensus: the message of node %d is %v, that of node %d is %v", n.hosted[k], s, n.hosted[0], first)
		}
	}
	return nil
}
