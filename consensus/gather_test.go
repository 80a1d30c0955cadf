package consensus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// part returns the bytes of a node: as many as its number squared modulo 7, but many of node 2.
func part(node int) []byte {
	n := node * node % 7
	if node == 2 {
		n = collective.MaxGather / 5
	}
	return bytes.Repeat([]byte{byte(node)}, n)
}

// passes returns in how many pieces of equal length, but for the last, a part can go where l of them,
// with 4 bytes more each, are to have the length that is promised.
func passes(part []byte, l int) int {
	share := collective.MaxGather/l - 4
	return max(1, (len(part)+share-1)/share)
}

// sent returns how many bytes a part makes in so many passes: each piece with a byte more, behind its length.
func sent(part []byte, l, times int) (n int) {
	share, left := collective.MaxGather/l-4, len(part)
	for range times {
		piece := 1 + min(left, share)
		left -= piece - 1
		n += len(binary.AppendUvarint(nil, uint64(piece))) + piece
	}
	return n
}

// TestGather: all nodes have the bytes of all, also when it is repeated, wherever nodes live. Those of
// a node cross as many edges on the way up as it is hops from the root, and every edge on the way
// down.
func TestGather(t *testing.T) {
	for _, w := range graphs(t) {
		l := w.Len()
		times := 1
		if l > 2 {
			times = passes(part(2), l)
		}
		want := wire.Traffic{Messages: int64(times * 2 * (l - 1))}
		for node, up := range w.Graph().Distances(w.Graph().Center()) {
			want.Rounds = max(want.Rounds, int64(times*2*up))
			want.Bytes += int64(sent(part(node), l, times) * (up + l - 1))
		}
		want.Bytes += headerLen * want.Messages
		for _, groups := range splits(l) {
			what := fmt.Sprintf("%v, nodes %v", w.Graph(), groups)
			spent := make([]wire.Traffic, len(groups))
			_, errs, _ := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
				var own [][]byte
				for _, node := range n.Hosted() {
					own = append(own, part(node))
				}
				gather := func() error {
					all, err := n.Gather(ctx, own)
					if err != nil {
						return err
					}
					for node, got := range all {
						if !bytes.Equal(got, part(node)) {
							return fmt.Errorf("node %d has %d other bytes of node %d", n.Hosted()[0], len(got), node)
						}
					}
					return nil
				}
				if err := gather(); err != nil { // after the join
					return nil, err
				}
				n.Commit()
				before := n.Traffic()
				if err := gather(); err != nil {
					return nil, err
				}
				for k, group := range groups {
					if group[0] == n.Hosted()[0] {
						after := n.Traffic()
						spent[k] = wire.Traffic{Rounds: after.Rounds - before.Rounds, Messages: after.Messages - before.Messages, Bytes: after.Bytes - before.Bytes}
					}
				}
				n.Rewind()
				return make([][]float64, len(own)), gather()
			})
			noErrors(t, what, errs)
			got := wire.Traffic{Rounds: spent[0].Rounds}
			for _, s := range spent {
				got.Messages, got.Bytes = got.Messages+s.Messages, got.Bytes+s.Bytes
			}
			if got != want {
				t.Errorf("%s: sent %+v, want %+v", what, got, want)
			}
		}
	}
}

// TestGatherAgain: a gather of several passes that fails in any round goes on where it was, after
// Rewind and without.
func TestGatherAgain(t *testing.T) {
	g := must[*topology.Graph](t)(topology.Parse("grid:2x3", 6, 4))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	groups := splits(6)[2]
	rounds := uint64(2 * slices.Max(g.Distances(g.Center())))
	for seq := range rounds * uint64(1+passes(part(2), 6)) {
		failed := 0
		_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
			ts, err := direct(g, groups)
			ts[1] = testnet.FailOnce(ts[1], seq, seq%2 == 0)
			return ts, err
		}, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
			var own [][]byte
			for _, node := range n.Hosted() {
				own = append(own, part(node))
			}
			for {
				all, err := n.Gather(ctx, own)
				if errors.Is(err, testnet.ErrInjected) {
					failed++
					if seq%3 > 0 {
						n.Rewind()
					}
					continue
				}
				for node, got := range all {
					if err == nil && !bytes.Equal(got, part(node)) {
						err = fmt.Errorf("%d other bytes of node %d", len(got), node)
					}
				}
				return make([][]float64, len(own)), err
			}
		})
		noErrors(t, fmt.Sprintf("failure in round %d", seq), errs)
		if failed != 1 {
			t.Fatalf("round %d: %d failures", seq, failed)
		}
	}
}

// TestGatherTooMuch: who says more than all may together ends the run, by its own fault and nobody
// else's.
func TestGatherTooMuch(t *testing.T) {
	w, groups := path(t, 2)
	_, errs, _ := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
		_, err := n.Gather(ctx, [][]byte{make([]byte, []int{10, 1<<25 + 1}[n.Hosted()[0]])})
		return nil, err
	})
	var peer *wire.PeerError
	if !errors.As(errs[0], &peer) || peer.Peer != 1 || peer.Kind != wire.Protocol {
		t.Errorf("the other: %v", errs[0])
	}
	if errs[1] == nil || errors.As(errs[1], &peer) {
		t.Errorf("who says too much: %v", errs[1])
	}
}
