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
	begun    uint64 // exchanges
	to, from chan []byte
	arrived  []byte // in the exchange under way
}

func (c *cable) Hosted() []int { return []int{c.node} }

func (c *cable) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	failed := func(kind wire.Kind, err error) error {
		return &wire.PeerError{Peer: 1 - c.node, Round: seq, Kind: kind, Err: err}
	}
	if seq == c.begun { // otherwise the exchange is taken up again
		if len(out[0]) > 0 {
			c.to <- append([]byte(nil), out[0]...)
		}
		c.begun, c.arrived = seq+1, nil
	}
	if c.arrived == nil && (due == nil || due[0]) {
		select {
		case frame, ok := <-c.from:
			if !ok {
				return failed(wire.Closed, io.EOF)
			}
			c.arrived = frame
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	in[0] = c.arrived
	return nil
}

func (c *cable) Close() error {
	close(c.to)
	return nil
}

// Two processes sum what they have over a transport of their own.
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
	// Two frames at most are under way.
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
