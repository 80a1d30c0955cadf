package consensus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// path is a path of so many nodes, one a process.
func path(t *testing.T, nodes int) (*topology.Weights, [][]int) {
	g := must[*topology.Graph](t)(topology.Path(nodes))
	var groups [][]int
	for i := range nodes {
		groups = append(groups, []int{i})
	}
	return must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis)), groups
}

// sums adds again and again.
func sums(t *testing.T) program {
	return func(_ context.Context, n *consensus.Network) ([][]float64, error) {
		for range 20 {
			if err := n.Sum(t.Context(), slices.Repeat([][]float64{{1}}, len(n.Hosted()))); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// TestForgedFailure: when a node says of another one that it had a number that is not finite,
// those that hear it say from whom; whose number it should have been knows better, and it is
// nobody's own failure.
func TestForgedFailure(t *testing.T) {
	const liar, victim = 2, 0
	w, groups := path(t, 5)
	_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		ts, err := direct(g, groups)
		for _, k := range []int{1, 3} {
			link := slices.Index(wire.Links(g, []int{k}), wire.Link{Node: k, Peer: liar})
			ts[k] = tamper(w, ts[k], 5, link, forged(victim, 3, 4))
		}
		return ts, err
	}, sums(t))
	for k, err := range errs {
		var peer *wire.PeerError
		if !errors.As(err, &peer) {
			t.Errorf("node %d: %v, which is no word of another", k, err)
			continue
		}
		from := k + 1
		if k > liar {
			from = k - 1
		}
		if k != liar && (peer.Peer != victim || peer.Kind != wire.NotFinite || !slices.Equal(peer.Via, []int{from})) {
			t.Errorf("node %d: %v, want that node %d says so of node %d", k, err, from, victim)
		}
		if knows := !errors.Is(err, consensus.ErrNotFinite); k != liar && knows != (k == victim) {
			t.Errorf("node %d: %v: it knows better: %v", k, err, knows)
		}
	}
	wantError(t, errs[victim], "node 1 says that node 0", "this node knows")
	wantError(t, errs[4], "node 3 says that node 0")
}

// TestStaleFailure: a word that all would have known long ago is a lie of who says it.
func TestStaleFailure(t *testing.T) {
	w, groups := path(t, 5)
	_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		ts, err := direct(g, groups)
		ts[3] = tamper(w, ts[3], 9, 0, forged(0, 5, 4))
		return ts, err
	}, sums(t))
	var peer *wire.PeerError
	if !errors.As(errs[3], &peer) || peer.Peer != 2 || peer.Kind != wire.Protocol || len(peer.Via) > 0 {
		t.Errorf("%v, want that node 2 lies", errs[3])
	}
}

// culprit returns whose number was not finite, by the error of a process that hosts some
// nodes: it must be its own error if it is of one of these, and another's otherwise.
func culprit(t *testing.T, what string, err error, hosted []int) (node int) {
	t.Helper()
	var peer *wire.PeerError
	if !errors.Is(err, consensus.ErrNotFinite) {
		t.Fatalf("%s: %v", what, err)
	}
	if errors.As(err, &peer) {
		node = peer.Peer
	} else if _, err := fmt.Sscanf(err.Error(), "consensus: a message is not finite: node %d,", &node); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if own := slices.Contains(hosted, node); own != (peer == nil) {
		t.Errorf("%s: nodes %d have %v", what, hosted, err)
	}
	return node
}

// TestNaNComesDown: a node to which a result comes that is no number, and which it has therefore not
// made, says who has sent it.
func TestNaNComesDown(t *testing.T) {
	w, groups := path(t, 5) // node 2 is the root
	for what, do := range map[string]func(n *consensus.Network, z [][]float64) error{
		"sum":       func(n *consensus.Network, z [][]float64) error { return n.Sum(t.Context(), z) },
		"broadcast": func(n *consensus.Network, z [][]float64) error { return n.Broadcast(t.Context(), 2, z) },
	} {
		_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
			ts, err := direct(g, groups)
			ts[3] = tamper(w, ts[3], 4, 0, resealed(func(p []byte) []byte { // the first number
				binary.LittleEndian.PutUint64(p[2:], math.Float64bits(math.NaN()))
				return p
			}))
			return ts, err
		}, func(_ context.Context, n *consensus.Network) ([][]float64, error) {
			z := slices.Repeat([][]float64{{1, 2}}, len(n.Hosted()))
			return z, do(n, z)
		})
		var peer *wire.PeerError
		if !errors.As(errs[3], &peer) || peer.Peer != 2 || peer.Kind != wire.Protocol || len(peer.Via) > 0 {
			t.Errorf("%s: %v, want that node 2 has sent it", what, errs[3])
		}
	}
}
