package consensus

import (
	"fmt"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
)

// A Message holds the numbers that the nodes average: a matrix of the size of a basis, and scalars. Totals
// are summed instead; only an exact Exchange carries them.
type Message struct {
	Basis   *kernel.Basis // may be nil
	Scalars []float64     // may be empty
	Totals  []float64     // may be empty
}

// Entries returns the number of float64 that are averaged: d*r of the basis, without padding, and the
// scalars.
func (m Message) Entries() int { return dimensionsOf(m).averaged() }

// dimensions are the size of a message.
type dimensions struct{ D, R, Scalars, Totals int }

func dimensionsOf(z Message) dimensions {
	s := dimensions{Scalars: len(z.Scalars), Totals: len(z.Totals)}
	if z.Basis != nil {
		s.D, s.R = z.Basis.Dims()
	}
	return s
}

func (s dimensions) averaged() int { return s.D*s.R + s.Scalars }

func (s dimensions) String() string {
	return fmt.Sprintf("%d x %d, %d scalars and %d totals", s.D, s.R, s.Scalars, s.Totals)
}

// checkMessages returns an error that names the first node whose message has other dimensions than the
// first message.
func (n *Network) checkMessages(z []Message) error {
	hosted := n.Hosted()
	if len(z) != len(hosted) {
		return fmt.Errorf("%d messages for %d hosted nodes", len(z), len(hosted))
	}
	for k, m := range z {
		if s, first := dimensionsOf(m), dimensionsOf(z[0]); s != first {
			const differ = "the message of node %d is %v, the message of node %d is %v"
			return fmt.Errorf(differ, hosted[k], s, hosted[0], first)
		}
	}
	return nil
}

// A layout places messages in the rows of a matrix: the d*r entries of a basis without padding, the
// scalars, the totals.
type layout struct {
	dimensions
	n, stride int
}

func layoutOf(s dimensions) layout {
	n := s.averaged() + s.Totals
	return layout{s, n, tile.Stride(n)}
}

// row returns row i of a matrix.
func (f layout) row(of []float64, i int) []float64 { return of[i*f.stride:][:f.n] }

// gather writes message z to vector x.
func (f layout) gather(x []float64, z Message) {
	for j := range f.R {
		copy(x[j*f.D:], z.Basis.Col(j))
	}
	copy(x[f.D*f.R:], z.Scalars)
	copy(x[f.averaged():], z.Totals)
}

// scatter writes vector x to message z.
func (f layout) scatter(x []float64, z Message) {
	for j := range f.R {
		copy(z.Basis.Col(j), x[j*f.D:])
	}
	copy(z.Scalars, x[f.D*f.R:])
	copy(z.Totals, x[f.averaged():])
}
