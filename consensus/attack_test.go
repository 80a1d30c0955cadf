package consensus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

const secrets = 12 // numbers of 50 bits of every node, so that their sum is exact

// secret returns the numbers of a node that the attack is to read.
func secret(node int) []float64 {
	rng := mathrand.New(mathrand.NewPCG(9, uint64(node)))
	v := make([]float64, secrets)
	for k := range v {
		v[k] = float64(1<<49 + rng.Int64N(1<<49))
	}
	return v
}

// operations are the operations whose result a liar alters, by name. Each makes a function that is called
// twice.
func operations(t *testing.T) map[string]func(ctx context.Context, n *consensus.Network) func() error {
	all := map[string]func(ctx context.Context, n *consensus.Network) func() error{
		"sum": func(ctx context.Context, n *consensus.Network) func() error {
			return func() error { return n.Sum(ctx, [][]float64{{1, 2, 3}}) }
		},
		"sum with a decision": func(ctx context.Context, n *consensus.Network) func() error {
			return func() error {
				return n.SumThen(ctx, [][]float64{{1, 2, 3, 4}}, 1, func(row []float64) { row[3] = row[0] })
			}
		},
		"broadcast": func(ctx context.Context, n *consensus.Network) func() error {
			return func() error { return n.Broadcast(ctx, 2, [][]float64{{1, 2, 3}}) }
		},
		"gather": func(ctx context.Context, n *consensus.Network) func() error {
			return func() error {
				_, err := n.Gather(ctx, [][]byte{[]byte("bytes of a node")})
				return err
			}
		},
	}
	for _, name := range []string{"mean", "server", "int8", "int16"} {
		all[name] = func(ctx context.Context, n *consensus.Network) func() error {
			x := exchanges(t, nil)[name](n)
			return func() error { return x.average(ctx, messages(n, 3, 2, 1, 2, 5)) }
		}
	}
	return all
}

// alterBit alters one bit of a result, where it leaves the message valid: of the first number, or of the
// last node's bytes.
func alterBit(f testnet.Frame) {
	if code := f.Code(); f.Channel() == testnet.Gather {
		code[len(code)-1] ^= 1
	} else {
		code[0] ^= 1
	}
}

// readTotal returns the numbers whose words are the sum of rows of words, for 5 nodes.
func readTotal(rows [][]uint64) []float64 {
	sum := make([]uint64, 3*secrets)
	for _, row := range rows {
		mask.AddTo(sum, row[:3*secrets], 3)
	}
	total := make([]float64, secrets)
	for k := range total {
		low, high := new(big.Int).SetUint64(sum[3*k]), new(big.Int).SetUint64(sum[3*k+1])
		top := new(big.Int).SetInt64(int64(sum[3*k+2]))
		x := low.Add(low, high.Lsh(high, 64)).Add(low, top.Lsh(top, 128))
		total[k], _ = new(big.Float).SetMantExp(new(big.Float).SetInt(x), 64+1+3-192).Float64()
	}
	return total
}

func wordsOf(code []byte) (words []uint64) {
	for ; len(code) >= 8; code = code[8:] {
		words = append(words, binary.LittleEndian.Uint64(code))
	}
	return words
}

// An attack runs an operation twice and then a sum of secrets on the path 0-1-2-3-4 with the root 2. The
// second time the lie changes the result that goes down one link.
type attack struct {
	open  func(ctx context.Context, n *consensus.Network) func() error
	lie   transport.Link
	bound bool
	tags  []uint32 // that the liar received from the victim in an honest run; nil: this is the honest run
}

// play returns the errors of all nodes, what the root receives in the last sum with its own masked words,
// and the tags.
func (a attack) play(t *testing.T, w *topology.Weights) (errs []error, rows [][]uint64, tags []uint32) {
	all := testnet.Spies(t, 5, a.bound)
	armed, lied, reading, raw := false, false, false, uint32(0)
	errs = run(t, w, splits(5)[1], func(i int) mask.Source { return all[i] },
		func(k int, tr transport.Transport) transport.Transport {
			return testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
				if k != a.lie.Node || l != a.lie || a.tags == nil || f.Channel() == testnet.Farewell {
					return
				}
				if armed {
					alterBit(f)
					armed, lied = false, true
				} else if lied {
					f.SetTag(raw) // that of the victim
				}
			}, Received: func(l transport.Link, f testnet.Frame) {
				if l == a.lie {
					raw = f.Tag()
					if len(tags) < len(a.tags) {
						f.SetTag(a.tags[len(tags)])
					}
					tags = append(tags, raw)
				}
				if k == 2 && reading {
					rows = append(rows, wordsOf(f.Code()))
				}
			}}.Open(tr, w.Graph(), w.Fingerprint())
		}, func(ctx context.Context, n *consensus.Network) error {
			operation, node := a.open(ctx, n), n.Hosted()[0]
			if err := operation(); err != nil {
				return err
			}
			if node == a.lie.Node {
				armed = true
			}
			if err := operation(); err != nil {
				return err
			}
			if node == 2 {
				reading = true
			}
			err := n.Sum(ctx, [][]float64{secret(node)})
			if node == 2 {
				rows = append(rows, all[2].Words)
			}
			return err
		})
	return errs, rows, tags
}

// TestInconsistentResults plays the attack of Pasquini, Francati and Ateniese (2022): the root alters a
// result on its way to node 1, or the inner node 1 on its way to node 0, and the liar also replaces the
// tags that would show it. Some nodes then start from another result, and the next total shows what the
// others add. With keys bound to the results the root reads noise, and all nodes end with ErrInconsistent.
// With keys that are not, it reads every number, and all nodes end without an error.
func TestInconsistentResults(t *testing.T) {
	w := weightsOf(t, "path", 5)
	want := make([]float64, secrets)
	for node := range 5 {
		floats.Add(want, secret(node))
	}
	for name, open := range operations(t) {
		for _, lie := range []transport.Link{{Node: 2, Peer: 1}, {Node: 1, Peer: 0}} {
			for _, bound := range []bool{true, false} {
				what := fmt.Sprintf("%s, lie %v, bound %v", name, lie, bound)
				errs, _, tags := attack{open, lie, bound, nil}.play(t, w)
				noErrors(t, what+", honest", errs)
				errs, rows, _ := attack{open, lie, bound, tags}.play(t, w)
				equal := 0
				for k, x := range readTotal(rows) {
					if x == want[k] {
						equal++
					}
				}
				if len(rows) != 3 || bound && equal > 0 || !bound && equal != secrets {
					t.Errorf("%s: the root reads %d of %d numbers", what, equal, secrets)
				}
				for node, err := range errs {
					if bound != errors.Is(err, consensus.ErrInconsistent) {
						t.Errorf("%s, node %d: %v", what, node, err)
					}
				}
			}
		}
	}
}

// forge overwrites the words that a child sends to the root, for the sum with the masked words own to be 0:
// with success.
func forge(code []byte, own []uint64) {
	numbers := own[:len(own)-2]
	zero := make([]uint64, len(numbers))
	mask.SubFrom(zero, numbers, 3)
	for _, w := range zero {
		code = code[copy(code, binary.LittleEndian.AppendUint64(nil, w)):]
	}
	code[0] = byte(-own[len(own)-2])
	binary.LittleEndian.PutUint64(code[1:], -own[len(own)-1])
}

// TestForgedTotals: a root that lies once and then replaces every total, so that no noise shows, still
// cannot make the nodes accept their results: Confirm fails at all of them.
func TestForgedTotals(t *testing.T) {
	w := weightsOf(t, "path", 5)
	for _, lies := range []bool{false, true} {
		all := testnet.Spies(t, 5, true)
		armed, forging := false, false
		errs := run(t, w, splits(5)[1], func(i int) mask.Source { return all[i] },
			func(k int, tr transport.Transport) transport.Transport {
				if k != 2 || !lies {
					return tr
				}
				var raw, own uint32 // tags of node 1, and of the root
				return testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					if l.Peer != 1 || f.Channel() == testnet.Farewell {
						return
					}
					if f.SetTag(raw); armed {
						alterBit(f)
						armed, forging = false, true
					}
				}, Received: func(l transport.Link, f testnet.Frame) {
					if l.Peer == 3 {
						own = f.Tag()
					} else {
						raw = f.Tag()
						f.SetTag(own)
					}
					if forging && f.Channel() == testnet.Sum {
						clear(f.Code())
						if l.Peer == 1 {
							forge(f.Code(), all[2].Words)
						}
					}
				}}.Open(tr, w.Graph(), w.Fingerprint())
			}, func(ctx context.Context, n *consensus.Network) error {
				if n.Hosted()[0] == 2 {
					armed = true
				}
				for range 4 {
					if err := n.Sum(ctx, [][]float64{{1}}); err != nil {
						return fmt.Errorf("a total is refused: %v", err)
					}
				}
				return n.Confirm(ctx)
			})
		for node, err := range errs {
			if lies && !errors.Is(err, consensus.ErrInconsistent) || !lies && err != nil {
				t.Errorf("lies %v, node %d: %v", lies, node, err)
			}
		}
	}
}
