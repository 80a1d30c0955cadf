package consensus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/testnet"
)

// TestWrongStatus: wrong counts, checks, outcomes and numbers from a neighbour are errors. Node 1 is the
// root.
func TestWrongStatus(t *testing.T) {
	w := weightsOf(t, "path", 4)
	nan := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	for name, c := range map[string]struct {
		victim, at int
		bytes      []byte
		want       error // nil: a PeerError about node 1
	}{
		"more nodes than there are": {1, 24, []byte{5}, consensus.ErrInconsistent},
		"fewer nodes than none":     {1, 24, []byte{0xf}, consensus.ErrInconsistent},
		"masks that do not cancel":  {1, 25, []byte{1}, consensus.ErrInconsistent},
		"another node's number":     {1, 24, []byte{1}, consensus.ErrContradiction},
		"a false outcome":           {0, 8, []byte{1}, consensus.ErrContradiction},
		"an unknown outcome":        {0, 8, []byte{3}, nil},
		"NaN":                       {0, 0, nan, nil},
	} {
		errs := run(t, w, splits(4)[1], testnet.Unmasked, func(k int, tr transport.Transport) transport.Transport {
			return testnet.Tap{Received: func(l transport.Link, f testnet.Frame) {
				if l == (transport.Link{Node: c.victim, Peer: 1 - c.victim}) {
					copy(f.Code()[c.at:], c.bytes)
				}
			}}.Open(tr, w.Graph(), w.Fingerprint())
		}, sumOfOnes)
		if err := errs[c.victim]; c.want != nil && !errors.Is(err, c.want) || c.want == nil &&
			!blames(err, 1, transport.Protocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOtherState: nodes that continue from other states than one of them find it in the next sum, and so do
// nodes whose root alters the gathered bytes of one of them for all: it binds its own.
func TestOtherState(t *testing.T) {
	w := weightsOf(t, "path", 3)
	for what, inconsistent := range map[string]bool{"same": false, "another state": true, "altered bytes": true} {
		errs := run(t, w, splits(3)[1], nil, func(k int, tr transport.Transport) transport.Transport {
			return testnet.Tap{Received: func(l transport.Link, f testnet.Frame) {
				if what == "altered bytes" && l == (transport.Link{Node: 1, Peer: 0}) && f.Channel() == testnet.Gather {
					alterBit(f)
				}
			}}.Open(tr, w.Graph(), w.Fingerprint())
		}, func(ctx context.Context, n *consensus.Network) error {
			state := []byte("a state")
			if what == "another state" {
				state[n.Hosted()[0]]++
			}
			_, err := n.Gather(ctx, [][]byte{[]byte("bytes")})
			return errors.Join(err, n.Bind(ctx, state), n.Sum(ctx, [][]float64{{1}}))
		})
		for node, err := range errs {
			if inconsistent != errors.Is(err, consensus.ErrInconsistent) || !inconsistent && err != nil {
				t.Errorf("%s, node %d: %v", what, node, err)
			}
		}
	}
}

// TestWrongWords: whatever words of the right length a member sends, up or down, in any operation, the
// others return a result or an error, and none panics.
func TestWrongWords(t *testing.T) {
	trials := 10_000
	if testing.Short() {
		trials = 300
	}
	rng := mathrand.New(mathrand.NewPCG(1, 2))
	for range trials {
		data := make([]byte, 40)
		for k := range data {
			data[k] = byte(rng.Uint32())
		}
		wrongWords(t, data)
	}
}

func FuzzWrongWords(f *testing.F) {
	f.Add([]byte("some bytes"))
	f.Fuzz(wrongWords)
}

// wrongWords runs an operation on the path 0-1-2, whose nodes receive words that data alters: its first
// byte chooses the operation, the second the node that receives them and the frame, and the others are
// added to the code.
func wrongWords(t *testing.T, data []byte) {
	if len(data) < 3 {
		return
	}
	all := operations(t)
	all["agree"] = func(ctx context.Context, n *consensus.Network) func() error {
		x := exchanges(t, nil)["agree"](n)
		return func() error { return x.average(ctx, messages(n, 3, 2, 1, 0, 5)) }
	}
	all["confirm"] = func(ctx context.Context, n *consensus.Network) func() error {
		return func() error { return n.Confirm(ctx) }
	}
	names := slices.Sorted(maps.Keys(all))
	w := weightsOf(t, "path", 3)
	name, victim, skip := names[int(data[0])%len(names)], int(data[1])%3, int(data[1])/3%8
	more := int(data[1])/24%2 == 0 // every later frame, too
	data = data[2:]
	run(t, w, splits(3)[1], testnet.Unmasked, func(k int, tr transport.Transport) transport.Transport {
		if k != victim {
			return tr
		}
		return testnet.Tap{Received: func(_ transport.Link, f testnet.Frame) {
			if skip--; skip >= 0 || !more && skip < -1 {
				return
			}
			for k, code := 0, f.Code(); k < len(code); k++ {
				code[k] += data[k%len(data)]
			}
		}}.Open(tr, w.Graph(), w.Fingerprint())
	}, func(ctx context.Context, n *consensus.Network) error {
		operation := all[name](ctx, n)
		for range 4 {
			if err := operation(); err != nil {
				return err
			}
		}
		return nil
	})
}
