package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/topology"
)

// Swap checks that nodes learn totals only. It runs a network twice with one process a node; run exchanges
// the data of nodes i and j if swapped is set, so that both runs have equal totals. All nodes but i and j
// must send and receive equal bytes in both runs.
//
// Masks make this possible: for every message of masked words of i or j in the first run there are pads, as
// likely as all others, with which the second run sends the same bytes. Swap chooses these pads. It returns
// an error that names the first difference between the transcripts of the other nodes, or that these pads
// do not cancel, which means that totals differ.
func Swap(g *topology.Graph, i, j int, run func(node int, t wire.Transport, swapped bool) error) error {
	pair := map[int]*disguise{i: {shared: newShared(false)}, j: {shared: newShared(true)}}
	before, err := transcripts(g, pair, func(node int, t wire.Transport) error { return run(node, t, false) })
	if err != nil {
		return err
	}
	for _, d := range pair {
		d.again = true
	}
	after, err := transcripts(g, pair, func(node int, t wire.Transport) error { return run(node, t, true) })
	if differ := compare(before, after); differ != nil {
		return differ
	}
	if err != nil {
		return err
	}
	return cancel(pair[i], pair[j])
}

type shared struct {
	NoPads
	stream    rand.Source
	takesAway bool
}

func newShared(takesAway bool) *shared {
	return &shared{stream: rand.NewPCG(1, 2), takesAway: takesAway}
}

// Add implements pads.Source.
func (s *shared) Add(words []uint64, limbs int) {
	pad := make([]uint64, len(words))
	for k := range pad {
		pad[k] = s.stream.Uint64()
	}
	if s.takesAway {
		pads.SubFrom(words, pad, limbs)
	} else {
		pads.AddTo(words, pad, limbs)
	}
}

// A disguise is the pads of one of two nodes: shared pads in the first run, and in the second run those that
// turn its words into the words of the first.
type disguise struct {
	*shared
	again bool
	sent  [][]uint64 // in the first run
	pads  []pad      // in the second
}

type pad struct {
	words []uint64
	limbs int
}

// Add implements pads.Source.
func (d *disguise) Add(words []uint64, limbs int) {
	if !d.again {
		d.shared.Add(words, limbs)
		d.sent = append(d.sent, slices.Clone(words))
		return
	}
	p := pad{slices.Clone(words), limbs}
	if number := len(d.pads); number < len(d.sent) && len(d.sent[number]) == len(words) { // the transcripts show others
		copy(p.words, d.sent[number])
		pads.SubFrom(p.words, words, limbs)
		copy(words, d.sent[number])
	}
	d.pads = append(d.pads, p)
}

// cancel returns an error unless the pads of the two in the second run cancel.
func cancel(a, b *disguise) error {
	if len(a.sent) == 0 {
		return errors.New("testnet: nothing has been masked")
	}
	if len(a.pads) != len(a.sent) || len(b.pads) != len(b.sent) || len(a.sent) != len(b.sent) {
		return fmt.Errorf("testnet: the nodes mask %d and %d times, after they have exchanged their data %d and %d", len(a.sent), len(b.sent), len(a.pads), len(b.pads))
	}
	for number, p := range a.pads {
		pads.AddTo(p.words, b.pads[number].words, p.limbs)
		for k, w := range p.words {
			if w != 0 {
				return fmt.Errorf("testnet: what two nodes add to word %d of %d of sum %d together depends on which of them has which data", k, len(p.words), number)
			}
		}
	}
	return nil
}

// A record keeps what crosses the links of its node, both ways.
type record struct {
	wire.Transport
	node   int
	rounds [][][]byte // frames sent, then frames received
}

func (r *record) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := r.Transport.Exchange(ctx, seq, out, in, due); err != nil {
		return err
	}
	frames := slices.Concat(out, in)
	for k, p := range frames {
		frames[k] = slices.Clone(p)
	}
	r.rounds = append(r.rounds, frames)
	return nil
}

// transcripts runs a network with one process a node, and returns the records of the nodes that
// are not of the pair. The pair has its disguises, the others have no pads.
func transcripts(g *topology.Graph, pair map[int]*disguise, run func(node int, t wire.Transport) error) (records []*record, err error) {
	var groups [][]int
	for node := range g.Len() {
		groups = append(groups, []int{node})
	}
	of := func(node int) pads.Source {
		if d := pair[node]; d != nil {
			return d
		}
		return NoPads{}
	}
	transports, err := Connect(g, groups, Options{RoundTimeout: 20 * time.Second, Pads: of})
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(groups))
	var wg sync.WaitGroup
	for node, t := range transports {
		r := &record{Transport: t, node: node}
		if pair[node] == nil {
			records = append(records, r)
		}
		wg.Go(func() {
			defer t.Close()
			errs[node] = run(node, struct {
				wire.Transport
				pads.Provider
			}{r, t.(pads.Provider)})
		})
	}
	wg.Wait()
	return records, errors.Join(errs...)
}

// compare returns an error that names the first difference between records.
func compare(before, after []*record) error {
	return differing(before, after, func(node, round, link int, p, q []byte) error {
		return fmt.Errorf("testnet: node %d sees a difference: in round %d frames of %d and %d bytes cross link %d, from byte %d on others", node, round, len(p), len(q), link, common(p, q))
	})
}

// common returns how many bytes two frames begin with alike.
func common(p, q []byte) (n int) {
	for n < min(len(p), len(q)) && p[n] == q[n] {
		n++
	}
	return n
}

// differing calls f for the frames that differ between records, until it returns an error, and
// returns that; or one if there are more rounds in one of them.
func differing(before, after []*record, f func(node, round, link int, p, q []byte) error) error {
	for n, a := range before {
		b := after[n]
		for k := range min(len(a.rounds), len(b.rounds)) {
			for link, p := range a.rounds[k] {
				if q := b.rounds[k][link]; !bytes.Equal(p, q) {
					if err := f(a.node, k, link, p, q); err != nil {
						return err
					}
				}
			}
		}
		if len(a.rounds) != len(b.rounds) {
			return fmt.Errorf("testnet: node %d sees a difference: %d rounds, and then %d", a.node, len(a.rounds), len(b.rounds))
		}
	}
	return nil
}
