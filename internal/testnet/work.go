package testnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// Run calls f for every process k of a network on g, in a separate goroutine with the transport of the
// process, and then closes the transport. Process k hosts the nodes of groups[k]. Without groups every
// process hosts one node. It returns the errors.
func Run(g *topology.Graph, groups [][]int, f func(k int, t transport.Transport) error) []error {
	if groups == nil {
		for node := range g.Len() {
			groups = append(groups, []int{node})
		}
	}
	errs := make([]error, len(groups))
	transports, err := Connect(g, groups)
	if err != nil {
		errs[0] = err
	}
	var wg sync.WaitGroup
	for k, t := range transports {
		wg.Go(func() {
			defer t.Close()
			errs[k] = f(k, t)
		})
	}
	wg.Wait()
	return errs
}

// Work averages scalars by gossip and along the tree, in numbers and in codes, and sums some of them. It does
// so over a transport, or for all nodes in this process if it is nil. It returns the bits of the results by
// node, which do not depend on the transport.
func Work(ctx context.Context, w *topology.Weights, tr transport.Transport, scalars int) (map[int]string, error) {
	n, err := consensus.New(w, tr)
	if err != nil {
		return nil, err
	}
	agree, err := n.Agree(5, nil)
	if err != nil {
		return nil, err
	}
	bits := make(map[int]string)
	for _, e := range []struct {
		consensus.Exchange
		codec consensus.Codec
	}{{agree, consensus.Float64}, {n.TreeMean(), consensus.Float64}, {n.TreeMean(), consensus.Int8}} {
		z, sums := make([]consensus.Message, len(n.Hosted())), make([][]float64, len(n.Hosted()))
		for i, node := range n.Hosted() {
			rng := rand.New(rand.NewPCG(uint64(node), 5))
			for range scalars {
				z[i].Scalars = append(z[i].Scalars, rng.NormFloat64())
			}
		}
		for round := range 6 {
			for i := range z {
				sums[i] = slices.Clone(z[i].Scalars[:1+round%2*scalars/8])
			}
			if err := errors.Join(e.Average(ctx, z, e.codec), n.Sum(ctx, sums)); err != nil {
				return nil, err
			}
		}
		for i, node := range n.Hosted() {
			bits[node] += fmt.Sprintf("%x %x", z[i].Scalars, sums[i])
		}
	}
	return bits, nil
}
