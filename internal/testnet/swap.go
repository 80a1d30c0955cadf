package testnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/topology"
)

// Swap checks that nodes learn totals only. It runs a network twice with one process a node; run exchanges
// the data of nodes i and j if swapped is set, so that both runs have equal totals. All nodes but i and j
// must send and receive equal bytes in both runs.
//
// Masks make this possible: for every message of masked words of i or j in the first run there are masks
// with which the second run sends these bytes again. They are as likely as any masks. Swap chooses them. It
// returns an error that names the first difference between the transcripts of all nodes but i and j. It also
// returns one if these masks do not cancel: then totals differ.
func Swap(w *topology.Weights, i, j int, run func(node int, n *consensus.Network, swapped bool) error) error {
	disguised := map[int]*disguise{
		i: {stream: rand.NewPCG(1, 2), mask: mask.AddTo}, j: {stream: rand.NewPCG(1, 2), mask: mask.SubFrom},
	}
	before, err := transcripts(w, disguised, func(node int, n *consensus.Network) error { return run(node, n, false) })
	if err != nil {
		return err
	}
	for _, d := range disguised {
		d.again = true
	}
	after, err := transcripts(w, disguised, func(node int, n *consensus.Network) error { return run(node, n, true) })
	for node := range before {
		if differ := before[node].differs(after[node]); disguised[node] == nil && differ != "" {
			return fmt.Errorf("testnet: node %d sees a difference: %s", node, differ)
		}
	}
	if err != nil {
		return err
	}
	return cancel(disguised[i], disguised[j])
}

// A disguise masks one of two nodes: in the first run with random words that both share. In the second run
// the words turn its numbers into the message of the first run.
type disguise struct {
	noMask
	stream rand.Source
	mask   func(words, next []uint64, limbs int) // of the first run
	again  bool
	sent   [][]uint64 // in the first run
	masks  [][]uint64 // in the second, of integers of as many words as limbs has
	limbs  []int
}

// Add implements mask.Source.
func (d *disguise) Add(words []uint64, limbs int) {
	next := make([]uint64, len(words))
	if !d.again {
		for k := range next {
			next[k] = d.stream.Uint64()
		}
		d.mask(words, next, limbs)
		d.sent = append(d.sent, slices.Clone(words))
		return
	}
	if n := len(d.masks); n < len(d.sent) && len(d.sent[n]) == len(words) { // the transcripts show others
		copy(next, d.sent[n])
		mask.SubFrom(next, words, limbs)
		copy(words, d.sent[n])
	}
	d.masks, d.limbs = append(d.masks, next), append(d.limbs, limbs)
}

// cancel returns an error unless the masks of both nodes in the second run cancel.
func cancel(a, b *disguise) error {
	if n := len(a.sent); n == 0 || len(a.masks) != n || len(b.sent) != n || len(b.masks) != n {
		const counts = "testnet: the nodes mask %d and %d times, and then %d and %d"
		return fmt.Errorf(counts, n, len(b.sent), len(a.masks), len(b.masks))
	}
	for n, next := range a.masks {
		mask.AddTo(next, b.masks[n], a.limbs[n])
		if slices.ContainsFunc(next, func(w uint64) bool { return w != 0 }) {
			return fmt.Errorf("testnet: the total of sum %d depends on the node that has the data", n)
		}
	}
	return nil
}

// A record keeps the frames that cross the links of its node, both ways.
type record struct {
	transport.Transport
	frames []string
}

func (r *record) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	err := r.Transport.Exchange(ctx, seq, out, in, due)
	if err == nil {
		for _, p := range slices.Concat(out, in) {
			r.frames = append(r.frames, string(p))
		}
	}
	return err
}

// differs describes the first difference between two records; empty if they are equal.
func (r *record) differs(other *record) string {
	for k := range min(len(r.frames), len(other.frames)) {
		if p, q := r.frames[k], other.frames[k]; p != q {
			return fmt.Sprintf("frame %d has %d bytes, and %d others in the second run", k, len(p), len(q))
		}
	}
	if len(r.frames) != len(other.frames) {
		return fmt.Sprintf("%d frames, and then %d", len(r.frames), len(other.frames))
	}
	return ""
}

// transcripts runs a network with one process a node, and returns the records of all nodes. Nodes without a
// disguise have no masks.
func transcripts(
	w *topology.Weights, disguised map[int]*disguise, run func(node int, n *consensus.Network) error,
) ([]*record, error) {
	records := make([]*record, w.Len())
	errs := Run(w.Graph(), nil, func(node int, t transport.Transport) error {
		records[node] = &record{Transport: t}
		n, err := NewNetwork(w, records[node], func(node int) mask.Source {
			if d := disguised[node]; d != nil {
				return d
			}
			return noMask{}
		})
		if err != nil {
			return err
		}
		return run(node, n)
	})
	return records, errors.Join(errs...)
}
