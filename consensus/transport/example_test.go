package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// A cable connects two nodes, one in each process, by channels for the two frames that may be under way.
type cable struct {
	node     int
	to, from chan []byte
}

func (c *cable) Hosted() []int { return []int{c.node} }

func (c *cable) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if len(out[0]) > 0 {
		c.to <- append([]byte(nil), out[0]...)
	}
	if in[0] = nil; due != nil && !due[0] {
		return nil
	}
	select {
	case frame, open := <-c.from:
		if in[0] = frame; !open {
			return &transport.PeerError{Peer: 1 - c.node, Round: seq, Kind: transport.Closed, Err: io.EOF}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cable) Close() error {
	close(c.to)
	return nil
}

// Two processes sum their numbers over a transport of their own.
func ExampleTransport() {
	g, err1 := topology.Path(2)
	w, err2 := topology.NewWeights(g, topology.Metropolis)
	there, back := make(chan []byte, 2), make(chan []byte, 2)
	var processes sync.WaitGroup
	sums, errs := make([]string, 2), []error{err1, err2}
	for i, end := range []*cable{{0, there, back}, {1, back, there}} {
		processes.Go(func() {
			defer end.Close()
			n, err := consensus.New(w, end)
			if err == nil {
				z := [][]float64{{float64(10 + i)}}
				err = n.Sum(context.Background(), z)
				sums[i] = fmt.Sprint(z)
			}
			errs[i] = errors.Join(errs[i], err)
		})
	}
	processes.Wait()
	fmt.Println(sums, errors.Join(errs...))
	// Output:
	// [[[21]] [[21]]] <nil>
}
