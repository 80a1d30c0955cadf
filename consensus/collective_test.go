package consensus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
)

// TestSum: sums of integers are exact, other sums are those of arithmetic without rounding to a unit of the
// window.
func TestSum(t *testing.T) {
	for _, w := range someWeights(t) {
		for _, groups := range splits(w.Len()) {
			noErrors(t, w.String(), run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
				const count = 30
				sizes := []float64{0x1p63, 1e9, 1, 1e-9, 0x1p-90}
				z, want := make([][]float64, len(n.Hosted())), make([]*big.Float, count+2)
				for node := range n.Len() {
					row := numbers(node, count, 3)
					for k := range row {
						row[k] = math.Remainder(row[k], 1) * sizes[k%len(sizes)]
					}
					row = append(row, (1<<53-1)-float64(node), -float64(node)) // integers
					for k, v := range row {
						if want[k] == nil {
							want[k] = new(big.Float).SetPrec(2000)
						}
						want[k].Add(want[k], big.NewFloat(v))
					}
					if i := slices.Index(n.Hosted(), node); i >= 0 {
						z[i] = row
					}
				}
				if err := n.Sum(ctx, z); err != nil {
					return err
				}
				for i := range z {
					for k, v := range z[i] {
						exact, _ := want[k].Float64()
						if most := math.Abs(exact)*0x1p-52 + float64(n.Len())*0x1p-123; math.Abs(v-exact) > most ||
							k >= count && v != exact {
							return fmt.Errorf("number %d is %v, want %v", k, v, exact)
						}
					}
				}
				return nil
			}))
		}
	}
}

// TestBroadcast: from every root, the rounds are the hops to the farthest node, and every message is
// answered.
func TestBroadcast(t *testing.T) {
	for _, w := range someWeights(t) {
		for root := range w.Len() {
			edges := int64(w.Len() - 1)
			want := transport.Traffic{Rounds: int64(slices.Max(w.Graph().Distances(root))), Messages: 2 * edges,
				Bytes: edges * (8*4 + 1 + 2*transport.FrameOverhead)}
			for _, groups := range splits(w.Len()) {
				sent := &table{}
				noErrors(t, w.String(),
					run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
						var z [][]float64
						for _, node := range n.Hosted() {
							z = append(z, numbers(node, 4, 7))
						}
						if err := n.Broadcast(ctx, root, z); err != nil {
							return err
						}
						for i := range z {
							if !slices.Equal(z[i], numbers(root, 4, 7)) {
								return fmt.Errorf("node %d has %v", n.Hosted()[i], z[i])
							}
						}
						sent.add(n, z)
						return nil
					}))
				if sent.sent != want {
					t.Errorf("%v, from %d, nodes %v: sent %+v, want %+v", w, root, groups, sent.sent, want)
				}
			}
		}
	}
	errs := run(t, weightsOf(t, "path", 3), splits(3)[1], nil, nil,
		func(ctx context.Context, n *consensus.Network) error {
			if err := n.Broadcast(ctx, 3, [][]float64{{1}}); !strings.Contains(fmt.Sprint(err),
				"from node 3: the network has 3") {
				t.Error(err)
			}
			x := float64(n.Hosted()[0])
			return n.Broadcast(ctx, 2, [][]float64{{1 / (2 - x) * (2 - x)}}) // NaN at node 2
		})
	for k, err := range errs {
		if !errors.Is(err, consensus.ErrNotFinite) || errors.Is(err, consensus.ErrContradiction) != (k < 2) {
			t.Errorf("node %d: %v", k, err)
		}
	}
}

// TestSumThen: all nodes take the numbers that the node in the center decides from the totals, in the rounds
// and messages of a sum; a number that is not finite is an error of all.
func TestSumThen(t *testing.T) {
	const count, decided = 5, 3
	for _, w := range someWeights(t) {
		center := w.Graph().Center()
		for _, groups := range splits(w.Len()) {
			sent, plain := &table{}, &table{}
			noErrors(t, w.String(), run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
				var z, without [][]float64
				for _, node := range n.Hosted() {
					row := numbers(node, count, 7)
					z, without = append(z, append(slices.Clone(row), 9, 9, 9)), append(without, row)
				}
				if err := n.Sum(ctx, without); err != nil {
					return err
				}
				plain.add(n, without)
				before, calls := n.Traffic(), 0
				decide := func(row []float64) {
					calls++
					copy(row[count:], []float64{row[0] / 3, row[count-1], float64(len(row))})
				}
				if !slices.Contains(n.Hosted(), center) {
					decide = nil
				}
				if err := n.SumThen(ctx, z, decided, decide); err != nil {
					return err
				}
				if calls > 1 || calls == 0 && decide != nil {
					return fmt.Errorf("nodes %v have decided %d times", n.Hosted(), calls)
				}
				for i := range z {
					want := append(slices.Clone(without[i]), without[i][0]/3, without[i][count-1], count+decided)
					if !slices.Equal(z[i], want) {
						return fmt.Errorf("node %d has %v, want %v", n.Hosted()[i], z[i], want)
					}
				}
				more := n.Traffic().Minus(before)
				if more.Rounds != before.Rounds || more.Messages != before.Messages {
					return fmt.Errorf("%+v for a sum, %+v with a decision", before, more)
				}
				sent.add(n, z)
				return nil
			}))
			if edges := int64(w.Len() - 1); sent.sent.Bytes != 2*plain.sent.Bytes+8*decided*edges {
				t.Errorf("%v, nodes %v: %d bytes in two sums, %d in the first", w, groups, sent.sent.Bytes,
					plain.sent.Bytes)
			}
		}
	}
}

// TestSumThenErrors: a decision on more numbers than there are, a root that does not decide, and a decision
// that is not finite.
func TestSumThenErrors(t *testing.T) {
	errs := run(t, weightsOf(t, "path", 3), splits(3)[1], nil, nil,
		func(ctx context.Context, n *consensus.Network) error {
			if err := n.SumThen(ctx, [][]float64{{1}}, 2, func([]float64) {}); err == nil ||
				errors.Is(err, consensus.ErrNotFinite) {
				t.Errorf("2 of 1 numbers are decided on: %v", err)
			}
			if err := n.SumThen(ctx, [][]float64{{1}}, 1, nil); n.Hosted()[0] == 1 && err == nil {
				t.Error("nobody decides")
			} else if n.Hosted()[0] != 1 {
				return err
			}
			return n.SumThen(ctx, [][]float64{{1}}, 1, func(row []float64) { row[0] = math.Inf(1) })
		})
	for k, err := range errs {
		if !errors.Is(err, consensus.ErrNotFinite) {
			t.Errorf("node %d: %v", k, err)
		}
	}
}

// part returns the bytes of a node for Gather: node 2 has all that are allowed.
func part(node, nodes int) []byte {
	n := node * node % 7
	if node == 2 {
		n = max(1<<22/nodes, 20*nodes)
	}
	return bytes.Repeat([]byte{byte(node)}, n)
}

// TestGather: all nodes get the bytes of all. A node's bytes cross the edges to the root once, and every
// edge on the way down; no message is longer than promised.
func TestGather(t *testing.T) {
	for _, w := range someWeights(t) {
		l := w.Len()
		want := transport.Traffic{Messages: int64(2 * (l - 1))}
		want.Bytes = transport.FrameOverhead * want.Messages
		for node, hops := range w.Graph().Distances(w.Graph().Center()) {
			want.Rounds = max(want.Rounds, int64(2*hops))
			n := len(part(node, l))
			want.Bytes += int64((len(binary.AppendUvarint(nil, uint64(n))) + n) * (hops + l - 1))
		}
		for _, groups := range splits(l) {
			sent := &table{}
			noErrors(t, w.String(), run(t, w, groups, nil, func(k int, tr transport.Transport) transport.Transport {
				return &bounded{tr, consensus.LongestMessage(1, l) + transport.FrameOverhead, nil}
			}, func(ctx context.Context, n *consensus.Network) error {
				var own [][]byte
				for _, node := range n.Hosted() {
					own = append(own, part(node, l))
				}
				all, err := n.Gather(ctx, own)
				for node, got := range all {
					if !bytes.Equal(got, part(node, l)) {
						return fmt.Errorf("%d other bytes of node %d", len(got), node)
					}
				}
				sent.add(n, make([][]float64, len(own)))
				return err
			}))
			if sent.sent != want {
				t.Errorf("%v, nodes %v: sent %+v, want %+v", w, groups, sent.sent, want)
			}
		}
	}
	n := must[*consensus.Network](t)(consensus.New(weightsOf(t, "path", 2), nil))
	_, err := n.Gather(t.Context(), [][]byte{nil, make([]byte, 1<<21+1)})
	wantError(t, err, "node 1 gathers 2097153 bytes: at most 2097152")
}

// bounded fails if a frame is longer than most, and counts exchanges.
type bounded struct {
	transport.Transport
	most     int
	attempts *int
}

func (b *bounded) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if b.attempts != nil {
		*b.attempts++
	}
	for _, p := range out {
		if len(p) > b.most {
			return fmt.Errorf("a frame of %d bytes, want at most %d", len(p), b.most)
		}
	}
	return b.Transport.Exchange(ctx, seq, out, in, due)
}

// TestLongestMessage: with many nodes and few numbers the longest message is that of Gather.
func TestLongestMessage(t *testing.T) {
	for _, x := range []struct{ numbers, nodes, want int }{
		{1, 2, 1<<22 + 522}, {1_000_000, 2, 24_000_000 + 1 + 8}, {1, 1000, 20_261_000},
		{-1, 2, 1<<22 + 522}, {1, 0, 1<<22 + 261}, {0, -3, 1<<22 + 261},
	} {
		if got := consensus.LongestMessage(x.numbers, x.nodes); got != x.want {
			t.Errorf("%d numbers of %d nodes: %d bytes, want %d", x.numbers, x.nodes, got, x.want)
		}
	}
}

// TestEnded: a context that has ended before a call leaves the network as it was. Otherwise an error ends
// it: later calls return that error. With all nodes in one process nothing is left behind.
func TestEnded(t *testing.T) {
	w := weightsOf(t, "path", 2)
	errs := run(t, w, splits(2)[1], nil, nil, func(ctx context.Context, n *consensus.Network) error {
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		z := [][]float64{{1}}
		for range 3 {
			if err := n.Sum(canceled, z); !errors.Is(err, context.Canceled) {
				t.Errorf("a call with a canceled context: %v", err)
			}
			if err := n.Sum(ctx, z); err != nil {
				return err
			}
		}
		if z[0][0] != 8 {
			t.Errorf("after three sums: %v, want 8", z)
		}
		if n.Hosted()[0] == 1 {
			return nil // and closes
		}
		err := n.Sum(ctx, z)
		for _, again := range []error{n.Sum(ctx, z), n.Broadcast(ctx, 0, z), n.Bind(ctx, nil), n.Confirm(ctx)} {
			var peer *transport.PeerError
			if again != nil && (!errors.As(again, &peer) || !strings.Contains(again.Error(), "the network has ended")) {
				t.Errorf("after an error: %v", again)
			}
		}
		return err
	})
	if !blames(errs[0], 1, transport.Closed) || errs[1] != nil {
		t.Errorf("a peer that leaves: %v", errs)
	}
	n := must[*consensus.Network](t)(consensus.New(w, nil))
	if err := n.Sum(t.Context(), [][]float64{{1}, {math.NaN()}}); !errors.Is(err, consensus.ErrNotFinite) {
		t.Error(err)
	}
	if z := [][]float64{{1}, {2}}; n.Sum(t.Context(), z) != nil || z[1][0] != 3 {
		t.Errorf("afterwards: %v", z)
	}
	wantError(t, n.Sum(t.Context(), [][]float64{{1}}), "1 rows for 2 hosted nodes")
	wantError(t, n.Sum(t.Context(), [][]float64{{1}, {1, 2}}), "node 1 has 2 numbers, node 0 has 1")
}

// endsSoon is a context that ends when its error is requested for the given time.
type endsSoon struct {
	context.Context
	left *int
}

func (e endsSoon) Err() error {
	if *e.left--; *e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsBetween: a context that ends between two parts of a call ends the network; before the first part
// it does not.
func TestEndsBetween(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, n *consensus.Network) error{
		"coded": func(ctx context.Context, n *consensus.Network) error {
			return exchanges(t, nil)["int8"](n).average(ctx, messages(n, 3, 2, 0, 0, 1))
		},
		"gather": func(ctx context.Context, n *consensus.Network) error {
			_, err := n.Gather(ctx, [][]byte{[]byte("bytes")})
			return err
		},
		"confirm": func(ctx context.Context, n *consensus.Network) error { return n.Confirm(ctx) },
	} {
		for checks := range 9 {
			attempts := 0
			run(t, weightsOf(t, "path", 2), splits(2)[1], nil, func(k int, tr transport.Transport) transport.Transport {
				if k == 0 {
					return &bounded{tr, math.MaxInt, &attempts}
				}
				return tr
			}, func(ctx context.Context, n *consensus.Network) error {
				if err := n.Sum(ctx, [][]float64{{1}}); err != nil || n.Hosted()[0] == 1 {
					return errors.Join(err, call(ctx, n))
				}
				attempts = 0
				err := call(endsSoon{ctx, &checks}, n)
				begun := attempts > 0
				again := n.Broadcast(ctx, 0, [][]float64{{1}})
				if ended := strings.Contains(fmt.Sprint(again), "the network has ended"); err != nil && begun != ended {
					t.Errorf("%s, exchanges before the end: %v, and then: %v", name, begun, again)
				}
				return err
			})
		}
	}
}

// TestTotalsOnly: whatever all nodes but two see is the same after these two have exchanged their data, so
// that it does not depend on who has which.
func TestTotalsOnly(t *testing.T) {
	check.Limit(t)
	w := weightsOf(t, "path", 5)
	for _, name := range []string{"mean", "int8"} {
		if err := testnet.Swap(w, 1, 4, func(node int, n *consensus.Network, swapped bool) error {
			if of := map[int]int{1: 4, 4: 1}; swapped && of[node] != 0 {
				node = of[node]
			}
			ctx := t.Context()
			x := exchanges(t, nil)[name](n)
			z := []consensus.Message{{Scalars: numbers(node, 5, 1), Totals: numbers(node, 2, 2)}}
			return errors.Join(x.average(ctx, z), x.average(ctx, z), n.Sum(ctx, [][]float64{numbers(node, 3, 4)}))
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
