package owners

import (
	"errors"
	"fmt"

	"github.com/difalt/difalt/cmd/difalt/internal/reduce"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"gonum.org/v1/gonum/floats"
)

// An Error has a text for the owner of the node, which is that of the embedded error, and a public one.
type Error struct {
	error
	public string
}

// Unwrap returns the error for the owner.
func (e *Error) Unwrap() error { return e.error }

// PublicText returns the text that other nodes may receive.
func (e *Error) PublicText() string { return e.public }

// LargestSum is the largest number of values that Train adds up in one message; more go in several.
const LargestSum = 1 << 16

// sum returns the sum over all nodes of the n numbers that add adds to out, which begins at 0, for hosted
// node i. The sum has the same bits at all nodes.
func (s *frame) sum(n int, add func(i int, out []float64)) []float64 {
	z, part := make([][]float64, len(s.nodes)), make([][]float64, len(s.nodes))
	for i := range z {
		z[i] = make([]float64, n)
		add(i, z[i])
	}
	if s.done += .02 * (1 - s.done); s.c.Progress != nil {
		s.c.Progress(s.stage, s.done)
	}
	must(s.ctx.Err())
	if s.alone {
		for _, v := range z[1:] {
			floats.Add(z[0], v)
		}
		return z[0]
	}
	for from := 0; from < n; from += LargestSum {
		for i := range z {
			part[i] = z[i][from:min(from+LargestSum, n)]
		}
		must(s.net.Sum(s.ctx, part))
	}
	return z[0]
}

// overTasks returns the sum of the numbers that f adds to out, which begins at 0, for every task of a node. f
// runs on several goroutines.
func (s *frame) overTasks(g *node, size int, f func(out []float64, k int) error) []float64 {
	sum, err := reduce.Sum(s.c.Workers, len(g.tasks), size, func(out []float64, from, to int) (err error) {
		for k := from; k < to && err == nil; k++ {
			err = f(out, k)
		}
		return err
	})
	must(err)
	return sum
}

// An ended is the panic with an error that ends the training: totals decide about all that follows, so no
// caller in between can go on.
type ended struct{ err error }

func must(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// uneven reports a total that cannot be.
func uneven(what string) ended { return ended{fmt.Errorf("%s: %w", what, consensus.ErrContradiction)} }

// attempt calls f, and returns the error that ends it.
func attempt(f func()) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			end, ok := fault.(ended)
			if err = end.err; !ok {
				panic(fault)
			}
		}
	}()
	f()
	return nil
}

// judge returns what an error means. One that is neither of this node nor of the network follows from totals,
// so that all nodes have it, unless they have received different ones, which the next sum finds out. Where
// other processes contribute to totals these are wrong.
func (s *frame) judge(err error) error {
	var own *Error
	var peer *transport.PeerError
	known := errors.Is(err, consensus.ErrContradiction) || errors.Is(err, consensus.ErrInconsistent) || s.ctx.Err() != nil
	if known || errors.As(err, &own) || errors.As(err, &peer) || s.net.AllHosted() {
		return err
	}
	if end := attempt(func() { s.sum(1, func(int, []float64) {}) }); errors.Is(end, consensus.ErrInconsistent) {
		return end
	}
	return fmt.Errorf("%w: %w", err, consensus.ErrContradiction)
}
