package wire_test

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A cable connects two nodes, one in each process, by channels.
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
	case frame, ok := <-c.from:
		if !ok {
			return &wire.PeerError{Peer: 1 - c.node, Round: seq, Kind: wire.Closed, Err: io.EOF}
		}
		in[0] = frame
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
	g, err := topology.Path(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	// At most two frames are under way.
	there, back := make(chan []byte, 2), make(chan []byte, 2)
	ends := []*cable{{node: 0, to: there, from: back}, {node: 1, to: back, from: there}}
	var processes sync.WaitGroup
	sums := make([]string, 2)
	for i, end := range ends {
		processes.Go(func() {
			defer end.Close()
			n, err := consensus.New(w, end)
			if err != nil {
				fmt.Println(err)
				return
			}
			z := [][]float64{{float64(10 + i)}}
			if err := n.Sum(context.Background(), z); err != nil {
				fmt.Println(err)
				return
			}
			sums[i] = fmt.Sprint(z)
		})
	}
	processes.Wait()
	fmt.Println(sums)
	// Output:
	// [[[21]] [[21]]]
}
