package consensus

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
)

// A Message is all that nodes average: a matrix of the size of a basis and a few scalars.
type Message struct {
	Basis   *kernel.Basis // may be nil
	Scalars []float64     // may be empty
	Stream  Stream        // the sequence of messages that this one continues
}

// Entries returns the number of float64 that the message carries over a link:
// d*r of the basis, without padding, and the scalars.
func (m Message) Entries() int { return dimensionsOf(m).entries() }

// A Stream says which sequence of messages a message continues. The messages of a
// stream other than Exact have the same dimensions, and change slowly from one call of Mix
// to the next, so that a mixer may send coded differences: it keeps a replica of what the
// neighbours have, for every node and stream.
type Stream = wire.Channel

const (
	// Exact messages are never coded, accelerated or withheld: plain AGREE in float64.
	// The initialisation is of this kind. They may have any dimensions.
	Exact          = wire.StreamExact
	StreamBasis    = wire.StreamBasis    // the bases Z_g
	StreamGradient = wire.StreamGradient // the gradients, of methods that combine before they adapt
	StreamTracker  = wire.StreamTracker  // the gradient trackers
	streams        = 4                   // how many there are
)

// dimensions are the stream and the size of a message.
type dimensions struct {
	Stream        Stream
	D, R, Scalars int
}

func dimensionsOf(z Message) dimensions {
	s := dimensions{Stream: z.Stream, Scalars: len(z.Scalars)}
	if z.Basis != nil {
		s.D, s.R = z.Basis.Dims()
	}
	return s
}

func (s dimensions) entries() int { return s.D*s.R + s.Scalars }

func (s dimensions) String() string {
	return fmt.Sprintf("%d x %d and %d scalars on %v", s.D, s.R, s.Scalars, s.Stream)
}

// checkMessages returns an error that names the first node whose message has other
// dimensions than that of the first.
func (n *Network) checkMessages(z []Message) error {
	hosted := n.Hosted()
	if len(z) != len(hosted) {
		return fmt.Errorf("consensus: %d messages for %d hosted nodes", len(z), len(hosted))
	}
	if z[0].Stream >= streams {
		return fmt.Errorf("consensus: %v is unknown", z[0].Stream)
	}
	for k, m := range z {
		if s, first := dimensionsOf(m), dimensionsOf(z[0]); s != first {
			return fmt.Errorf("consensus: the message of node %d is %v, that of node %d is %v", hosted[k], s, hosted[0], first)
		}
	}
	return nil
}

// A layout is how messages are kept as vectors, the rows of a matrix: the d*r entries of a
// basis without padding, and then the scalars.
type layout struct {
	dimensions
	n, stride int
}

func layoutOf(s dimensions) layout { return layout{s, s.entries(), blas.Stride(s.entries())} }

// row returns row i of a matrix.
func (f layout) row(of []float64, i int) []float64 { return of[i*f.stride:][:f.n] }

// gather writes message z to vector x.
func (f layout) gather(x []float64, z Message) {
	for j := range f.R {
		copy(x[j*f.D:], z.Basis.Col(j))
	}
	copy(x[f.D*f.R:], z.Scalars)
}

// scatter writes vector x to message z.
func (f layout) scatter(x []float64, z Message) {
	for j := range f.R {
		copy(z.Basis.Col(j), x[j*f.D:])
	}
	copy(z.Scalars, x[f.D*f.R:])
}
