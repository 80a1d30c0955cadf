package owners

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"gonum.org/v1/gonum/floats"
)

// An Error has a text for the owner of the node, and one for all other nodes.
type Error struct {
	Local  error
	Public string // empty: that the node has failed
}

// Error returns the local text.
func (e *Error) Error() string { return e.Local.Error() }

// Unwrap returns the local error.
func (e *Error) Unwrap() error { return e.Local }

// PublicText returns what other nodes may receive.
func (e *Error) PublicText() string {
	if e.Public == "" {
		return "it has failed"
	}
	return e.Public
}

// A Stop ends the training at all nodes after the same sum. Cause is the error of this process; it is nil
// where another node has stopped.
type Stop struct{ Cause error }

func (e *Stop) Error() string {
	if e.Cause == nil {
		return "another node has stopped the training"
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Stop) Unwrap() error { return e.Cause }

// A group adds up numbers over all nodes. Every sum carries one number more: how many nodes stop. So a node
// that fails, or whose context ends, stops all nodes after the same sum, and nobody waits for it.
type group struct {
	net   *consensus.Network
	fail  error // of this process; it stops the next sum
	alone bool  // sums are over the hosted nodes, and nothing is sent
}

// most is how many numbers a sum has at a time; more go in several.
const most = 1 << 16

// LargestSum returns the largest number of values that Train adds up in one message.
func LargestSum() int { return most + 1 }

// hosted returns the number of nodes of this process.
func (g *group) hosted() int { return len(g.net.Hosted()) }

// zeros returns n zeros for every hosted node.
func (g *group) zeros(n int) [][]float64 {
	z := make([][]float64, g.hosted())
	for i := range z {
		z[i] = make([]float64, n)
	}
	return z
}

// sum returns the sum over all nodes of z[i] of hosted node i, the same bits at all nodes. It overwrites z.
// The error is a *Stop if any node stops.
func (g *group) sum(ctx context.Context, z [][]float64) ([]float64, error) {
	if g.alone {
		for _, v := range z[1:] {
			floats.Add(z[0], v)
		}
		return z[0], errors.Join(g.fail, ctx.Err())
	}
	total := make([]float64, 0, len(z[0]))
	part := g.zeros(most + 1)
	for from := 0; from == 0 || from < len(z[0]); from += most {
		n := min(most, len(z[0])-from)
		stops := 0.0
		g.stop(ctx.Err())
		if g.fail != nil {
			stops = 1
		}
		for i := range z {
			part[i] = append(append(part[i][:0], z[i][from:from+n]...), stops)
		}
		if err := g.net.Sum(context.WithoutCancel(ctx), part); err != nil {
			return nil, err
		}
		switch votes := part[0][n]; {
		case votes != math.Trunc(votes) || votes < stops || votes > float64(g.net.Len()):
			return nil, fmt.Errorf("%v of %d nodes stop: %w", votes, g.net.Len(), wire.ErrContradiction)
		case votes > 0:
			return nil, &Stop{g.fail}
		}
		total = append(total, part[0][:n]...)
	}
	return total, nil
}

// stop makes the next sum stop all nodes if err is not nil.
func (g *group) stop(err error) {
	if g.fail == nil {
		g.fail = err
	}
}

// check stops all nodes if this process or any other has an error.
func (g *group) check(ctx context.Context, err error) error {
	g.stop(err)
	_, err = g.sum(ctx, g.zeros(0))
	return err
}

// errUneven is what a total that cannot be reports.
func errUneven(what string) error { return fmt.Errorf("%s: %w", what, wire.ErrContradiction) }

// parts is in how many parts work is divided, whatever the number of workers, so that sums have one order.
const parts = 16

// divide calls f for every part [from, to) of n items, on that number of goroutines, and joins the errors.
func divide(workers, n int, f func(from, to int) error) error {
	_, err := total(workers, n, 0, func(_ []float64, from, to int) error { return f(from, to) })
	return err
}

// total is divide where f adds numbers to out, whose sum over all parts total returns. The order of the
// additions does not depend on the number of goroutines.
func total(workers, n, length int, f func(out []float64, from, to int) error) ([]float64, error) {
	var wait sync.WaitGroup
	sums, errs, next := make([][]float64, parts), make([]error, parts), make(chan int, parts)
	for p := range parts {
		next <- p
	}
	close(next)
	for range min(workers, parts) {
		wait.Go(func() {
			for p := range next {
				if from, to := p*n/parts, (p+1)*n/parts; from < to {
					sums[p] = make([]float64, length)
					errs[p] = f(sums[p], from, to)
				}
			}
		})
	}
	wait.Wait()
	sum := make([]float64, length)
	for _, v := range sums {
		if v != nil {
			floats.Add(sum, v)
		}
	}
	return sum, errors.Join(errs...)
}
