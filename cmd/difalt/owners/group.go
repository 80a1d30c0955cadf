package owners

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/difalt/difalt/consensus/wire"
	"gonum.org/v1/gonum/floats"
)

// An Error has a text for the owner of the node, and one for all other nodes.
type Error struct {
	Local  error
	Public string
}

// Error returns the local text.
func (e *Error) Error() string { return e.Local.Error() }

// Unwrap returns the local error.
func (e *Error) Unwrap() error { return e.Local }

// PublicText returns what other nodes may receive.
func (e *Error) PublicText() string { return e.Public }

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

// most is how many numbers a sum has at a time; more go in several.
const most = 1 << 16

// LargestSum returns the largest number of values that Train adds up in one message.
func LargestSum() int { return most + 1 }

// sum returns the sum over all nodes of the n numbers that add adds to out, which begins at 0, for hosted
// node i; nil adds nothing. The sum has the same bits at all nodes. It carries one number more: how many
// nodes stop. So a node that fails, or whose context ends, stops all nodes after the same sum, and nobody
// waits for it. The training ends with a *Stop then.
func (s *frame) sum(n int, add func(i int, out []float64)) []float64 {
	z, part, total := make([][]float64, len(s.nodes)), make([][]float64, len(s.nodes)), make([]float64, 0, n)
	for i := range z {
		if z[i] = make([]float64, n); add != nil {
			add(i, z[i])
		}
	}
	s.done += .02 * (1 - s.done)
	s.progress()
	if s.alone {
		for _, v := range z[1:] {
			floats.Add(z[0], v)
		}
		must(errors.Join(s.fail, s.ctx.Err()))
		return z[0]
	}
	for from := 0; from == 0 || from < n; from += most {
		width, stops := min(most, n-from), 0.0
		if s.stop(s.ctx.Err()); s.fail != nil {
			stops = 1
		}
		for i := range z {
			part[i] = append(append(make([]float64, 0, width+1), z[i][from:from+width]...), stops)
		}
		must(s.net.Sum(context.WithoutCancel(s.ctx), part))
		switch votes := part[0][width]; {
		case votes != math.Trunc(votes) || votes < stops || votes > float64(s.net.Len()):
			panic(uneven(fmt.Sprintf("%v of %d nodes stop", votes, s.net.Len())))
		case votes > 0:
			must(&Stop{s.fail})
		}
		total = append(total, part[0][:width]...)
	}
	return total
}

// stop makes the next sum stop all nodes if err is not nil.
func (s *frame) stop(err error) {
	if s.fail == nil {
		s.fail = err
	}
}

// check stops all nodes if this process or any other has an error.
func (s *frame) check(err error) {
	s.stop(err)
	s.sum(0, nil)
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
func uneven(what string) ended { return ended{fmt.Errorf("%s: %w", what, wire.ErrContradiction)} }

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

// parts is in how many parts work is divided, whatever the number of workers, so that sums have one order.
const parts = 16

// parallel calls f for every part [from, to) of n items, on several goroutines. It returns the sum over the
// parts of the numbers that f adds to out, in an order that does not depend on the number of goroutines, and
// all errors.
func (s *frame) parallel(n, length int, f func(out []float64, from, to int) error) ([]float64, error) {
	workers := s.c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wait sync.WaitGroup
	errs, sum, sums, running := make([]error, parts), make([]float64, length), make([][]float64, parts), make(chan bool, workers)
	for p := range parts {
		running <- true
		wait.Go(func() {
			sums[p] = make([]float64, length)
			if from, to := p*n/parts, (p+1)*n/parts; from < to {
				errs[p] = f(sums[p], from, to)
			}
			<-running
		})
	}
	wait.Wait()
	for _, v := range sums {
		floats.Add(sum, v)
	}
	return sum, errors.Join(errs...)
}

// overTasks is parallel with a call of f for every task of a node. An error stops all nodes at the next sum.
func (s *frame) overTasks(g *node, length int, f func(out []float64, k int) error) []float64 {
	sum, err := s.parallel(len(g.tasks), length, func(out []float64, from, to int) (err error) {
		for k := from; k < to && err == nil; k++ {
			err = f(out, k)
		}
		return err
	})
	s.stop(err)
	return sum
}
