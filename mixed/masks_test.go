package mixed

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
)

// All nodes but two cannot tell which of the two has which table.
func TestSwap(t *testing.T) {
	list, rank := cut(mixture(t, 7, 12), 3), 1
	err := testnet.Swap(weightsOf("path", 3), 1, 2, func(node int, net *consensus.Network, swapped bool) error {
		own := node
		if swapped && node > 0 {
			own = 3 - node
		}
		_, _, err := Together(t.Context(), list[own:own+1], net, Options{Rank: &rank, Workers: 1})
		return err
	})
	check.FailIf(t, err != nil, "%v", err)
}

// Every start has new masks: a node that trains twice with the same rows sends other words in every sum, and
// has the same model.
func TestNewMasks(t *testing.T) {
	list, w, rank := cut(mixture(t, 7, 12), 3), weightsOf("path", 3), 1
	var sent [2]map[string]bool
	var means [2][]float64
	for start := range sent {
		sent[start] = map[string]bool{}
		models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Rank: &rank, Workers: 1},
			func(node int, tr transport.Transport) (transport.Transport, context.Context) {
				if node == 0 { // a leaf, which receives no masked words
					tr = testnet.Tap{Sent: func(_ transport.Link, f testnet.Frame) {
						if f.Channel() == testnet.Sum {
							sent[start][string(f.Code())] = true
						}
					}}.Open(tr, w.Graph(), w.Fingerprint())
				}
				return tr, t.Context()
			})
		check.Done(errors.Join(errs...))
		means[start] = models[0].Parameters().Mean
	}
	again := 0
	for code := range sent[0] {
		if len(code) > statusBytes && sent[1][code] {
			again++
		}
	}
	check.FailIf(t, len(sent[0]) < 20 || again > 0, "%d of %d messages were sent again", again, len(sent[0]))
	check.FailIf(t, !slices.Equal(means[0], means[1]), "the models differ")
}

// statusBytes is the length of the statuses of a sum, which have no mask.
const statusBytes = 9

// A liar is the transport of the root of a tree that alters frames on their way down, from some exchange on.
type liar struct {
	transport.Transport
	run  uint64
	node int
	rng  *rand.Rand
	from uint64
	sent []uint64 // frames along every link
}

func (l *liar) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	for k, p := range out {
		if len(p) == 0 {
			continue
		}
		if seq >= l.from && k == 0 && len(p) > 30 && l.rng.IntN(3) == 0 {
			for range 1 + l.rng.IntN(4) {
				p[2+l.rng.IntN(len(p)-6)] ^= byte(1 + l.rng.IntN(255))
			}
			out[k] = testnet.Seal(p, l.run, l.node, l.sent[k])
		}
		l.sent[k]++
	}
	return l.Transport.Exchange(ctx, seq, out, in, due)
}

// Whatever the root alters, honest nodes blame the network: none takes its own table for the cause.
func TestLiar(t *testing.T) {
	list, w := cut(mixture(t, 3, 9), 3), weightsOf("path", 3)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Workers: 1},
			func(node int, tr transport.Transport) (transport.Transport, context.Context) {
				if node == 1 {
					tr = &liar{tr, w.Fingerprint(), 1, rng, 4 + rng.Uint64N(300), make([]uint64, 2)}
				}
				return tr, t.Context()
			})
		for i, err := range errs {
			var peer *transport.PeerError
			if i != 1 && !errors.Is(err, consensus.ErrContradiction) && !errors.Is(err, consensus.ErrInconsistent) &&
				!errors.As(err, &peer) || i != 1 && models[i] != nil {
				t.Errorf("seed %d, node %d: %v", seed, i, err)
			}
		}
	}
}
