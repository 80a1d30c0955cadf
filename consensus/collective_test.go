package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// eccentricity returns the number of hops from a node to the farthest other, by
// relaxing distances until they settle.
func eccentricity(g *topology.Graph, from int) int {
	dist := slices.Repeat([]int{g.Len()}, g.Len())
	dist[from] = 0
	for range g.Len() {
		for i := range dist {
			for _, j := range g.Neighbors(i) {
				dist[i] = min(dist[i], dist[j]+1)
			}
		}
	}
	return slices.Max(dist)
}

func graphs(t testing.TB) []*topology.Weights {
	var all []*topology.Weights
	for _, x := range []struct {
		spec  string
		nodes int
	}{{"path", 1}, {"path", 2}, {"path", 9}, {"star", 6}, {"ring", 7}, {"grid:3x4", 12}, {"er:0.2", 20}} {
		g := must[*topology.Graph](t)(topology.Parse(x.spec, x.nodes, 4))
		all = append(all, must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis)))
	}
	return all
}

// given returns three numbers of a node.
func given(node int) []float64 {
	rng := rand.New(rand.NewPCG(3, uint64(node)))
	return []float64{rng.NormFloat64(), -1 - rng.Float64(), math.Ldexp(rng.NormFloat64(), 40)}
}

func rowsOf(n *consensus.Network) [][]float64 {
	var z [][]float64
	for _, i := range n.Hosted() {
		z = append(z, given(i))
	}
	return z
}

// countBytes is the size of n counts of up to so many nodes, with a sign.
func countBytes(n, nodes int) int64 { return int64(n*(bits.Len(uint(nodes))+1)+7) / 8 }

// TestCollective: sums, largest magnitudes and broadcasts are what they should be, the same bits at
// every node in every layout, for as many rounds and messages as promised.
func TestCollective(t *testing.T) {
	for _, w := range graphs(t) {
		l, g := w.Len(), w.Graph()
		radius := l
		var sum, size [3]float64
		largest := make([]float64, 3)
		for i := range l {
			radius = min(radius, eccentricity(g, i))
			for k, v := range given(i) {
				sum[k] += v
				size[k] += math.Abs(v)
				largest[k] = max(largest[k], math.Abs(v))
			}
		}
		edges := int64(l - 1)
		for op, do := range map[string]struct {
			run  func(ctx context.Context, n *consensus.Network, z [][]float64) error
			want func(k int) (v, tol float64)
			cost wire.Traffic
		}{
			"sum": { // 3 words of 8 bytes a number go up, one comes down, and votes
				func(ctx context.Context, n *consensus.Network, z [][]float64) error { return n.Sum(ctx, z) },
				func(k int) (float64, float64) { return sum[k], size[k] * float64(l) * 0x1p-52 },
				wire.Traffic{Rounds: 2 * int64(radius), Messages: 2 * edges, Bytes: edges * (3*24 + countBytes(3, l) + 24 + 1)},
			},
			"largest": { // of every number a count in 33 ranges, and then of 64 powers
				func(ctx context.Context, n *consensus.Network, z [][]float64) error { return n.Largest(ctx, z) },
				func(k int) (float64, float64) { return math.Ldexp(1, math.Ilogb(largest[k])), 0 },
				wire.Traffic{Rounds: 4 * int64(radius), Messages: 4 * edges, Bytes: 2 * edges * (countBytes(3*33, l) + countBytes(3*64, l))},
			},
			"broadcast": { // every message is answered by a header
				func(ctx context.Context, n *consensus.Network, z [][]float64) error {
					return n.Broadcast(ctx, l-1, z)
				},
				func(k int) (float64, float64) { return given(l - 1)[k], 0 },
				wire.Traffic{Rounds: int64(eccentricity(g, l-1)), Messages: 2 * edges, Bytes: edges * 24},
			},
		} {
			do.cost.Bytes += headerLen * do.cost.Messages
			var first [][]float64
			for _, groups := range splits(l) {
				what := fmt.Sprintf("%s on %v, nodes %v", op, g, groups)
				got, errs, traffic := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
					z := rowsOf(n)
					return z, do.run(ctx, n, z)
				})
				noErrors(t, what, errs)
				for i, row := range got {
					for k, v := range row {
						if want, tol := do.want(k); math.Abs(v-want) > tol {
							t.Errorf("%s: node %d has %v, want %v", what, i, v, want)
						}
						if v != got[0][k] {
							t.Errorf("%s: node %d has other bits", what, i)
						}
					}
				}
				if first == nil {
					first = got
				}
				sameBits(t, what, got, first)
				var sent wire.Traffic
				for _, s := range traffic {
					sent = sent.Plus(s)
					sent.Rounds = s.Rounds
				}
				if sent != do.cost {
					t.Errorf("%s: sent %+v, want %+v", what, sent, do.cost)
				}
			}
		}
	}
}

// TestCollectiveErrors: bad calls are refused, and numbers that are not finite are the
// same error at all nodes, wherever the trouble arises.
func TestCollectiveErrors(t *testing.T) {
	w := graphs(t)[2] // a path of 9
	n := must[*consensus.Network](t)(consensus.New(w, nil))
	for want, err := range map[string]error{
		"2 rows for 9":  n.Sum(t.Context(), make([][]float64, 2)),
		"node 3 has 1 ": n.Largest(t.Context(), [][]float64{{}, {}, {}, {1}, {}, {}, {}, {}, {}}),
		"from node 9":   n.Broadcast(t.Context(), 9, make([][]float64, 9)),
	} {
		wantError(t, err, want)
	}
	for bad, v := range map[int]float64{0: math.NaN(), 4: math.Inf(1), 8: math.Inf(-1), 3: math.MaxFloat64, 6: math.MaxFloat64} {
		for _, groups := range splits(9) {
			_, errs, _ := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
				z := rowsOf(n)
				for i, node := range n.Hosted() {
					if node == bad || v == math.MaxFloat64 && (node == bad-1 || node == bad+1) {
						z[i][1] = v // finite, but not their sum
					}
				}
				return z, n.Sum(ctx, z)
			})
			for k, err := range errs {
				what := fmt.Sprintf("%v at node %d, nodes %v, process %d", v, bad, groups, k)
				if v == math.MaxFloat64 { // nobody's fault
					if !errors.Is(err, consensus.ErrNotFinite) || err.Error() != errs[0].Error() {
						t.Errorf("%s: %v", what, err)
					}
					continue
				}
				if culprit(t, what, err, groups[k]) != culprit(t, what, errs[0], groups[0]) {
					t.Errorf("%s: %v, process 0 has %v", what, err, errs[0])
				}
			}
		}
	}
}

// TestReduce: what goes along in the headers is the largest word and the sum of the
// numbers, with the bits of Sum, at the same call at all nodes: after 2 x height rounds.
func TestReduce(t *testing.T) {
	for wi, w := range graphs(t) {
		height := w.Len()
		for i := range w.Len() {
			height = min(height, eccentricity(w.Graph(), i))
		}
		for ai, a := range append(someAgreements(t)[:4], consensus.Agreement{RoundByRound: true}) { // a Mix along the tree takes more rounds
			for _, groups := range append(inTurn(w.Len(), wi+ai), splits(w.Len())[0]) {
				what := fmt.Sprintf("%v on %v, nodes %v", a, w.Graph(), groups)
				_, errs, _ := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
					want := rowsOf(n)
					if err := n.Sum(ctx, want); err != nil {
						return nil, err
					}
					m, err := n.NewMixer(a, nil)
					if err != nil {
						return nil, err
					}
					words := make([]uint8, len(n.Hosted()))
					for i, node := range n.Hosted() {
						words[i] = uint8(node * 7 % 8)
					}
					largest := uint8(0)
					for node := range n.Len() {
						largest = max(largest, uint8(node*7%8))
					}
					m.Reduce(words, rowsOf(n))
					z := messages(n, 5, 2, 0, consensus.StreamBasis, 1)
					for done := 0; ; done += 2 {
						word, sums, ok := m.Reduced()
						if due := done >= 2*height; ok != due {
							t.Errorf("%s: told after %d rounds: %v, want %v", what, done, ok, due)
						}
						if ok {
							if word != largest || !slices.Equal(sums, want[0]) {
								t.Errorf("%s: told %d, %v, want %d, %v", what, word, sums, largest, want[0])
							}
							if _, _, again := m.Reduced(); again {
								t.Errorf("%s: told twice", what)
							}
							break
						}
						if m.Reduce(words, nil) {
							t.Errorf("%s: a second reduction under way", what)
						}
						if err := m.Mix(ctx, z, 2); err != nil {
							return nil, err
						}
					}
					before := n.Traffic()
					m.Close()
					m.Close()
					if after := n.Traffic(); after != before {
						t.Errorf("%s: traffic %+v, after Close %+v", what, before, after)
					}
					s := n.NewServer()
					s.Reduce(words, nil)
					if err := s.Mix(ctx, z, 1); err != nil {
						return nil, err
					}
					if word, sums, ok := s.Reduced(); !ok || word != largest || len(sums) != 0 {
						t.Errorf("%s: the server returns %d, %v, %v", what, word, sums, ok)
					}
					s.Reduce(words, [][]float64{})
					wantError(t, s.Mix(ctx, z, 1), "Reduce", "0 rows")
					return want, nil
				})
				noErrors(t, what, errs)
			}
		}
	}
}

// TestSumOfAnySize: numbers of any size are added up to the last bits of the largest, with the
// same bits in every layout, also where an exchange fails and is tried again.
func TestSumOfAnySize(t *testing.T) {
	w := graphs(t)[5] // a grid
	for _, size := range []float64{5e-324, 1e-310, 1e-200, 1e-30, 1e-19, 1e15, 1e20, 1e200, 1e306} {
		row := func(node int) []float64 {
			return []float64{size * math.Sin(float64(1+node)), 0, -size / float64(1+node)}
		}
		want := make([]float64, 3)
		for node := range w.Len() {
			floats.Add(want, row(node))
		}
		var first [][]float64
		for k, groups := range splits(w.Len()) {
			what := fmt.Sprintf("size %v, nodes %v", size, groups)
			fails := uint64(7 * k)
			failing := func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
				ts, err := direct(g, groups)
				for k := range ts {
					ts[k] = testnet.FailOnce(ts[k], fails, k%2 == 0)
				}
				return ts, err
			}
			got, errs, _ := run(t, w, groups, failing, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
				for {
					var z [][]float64
					for _, node := range n.Hosted() {
						z = append(z, row(node))
					}
					if err := n.Sum(ctx, z); !errors.Is(err, testnet.ErrInjected) {
						return z, err
					}
					n.Rewind()
				}
			})
			noErrors(t, what, errs)
			if first == nil {
				first = got
			}
			sameBits(t, what, got, first)
		}
		for k, v := range first[0] {
			if !(math.Abs(v-want[k]) <= 20*max(size*0x1p-52, 5e-324)) {
				t.Errorf("size %v: number %d is %v, want %v", size, k, v, want[k])
			}
		}
	}
}

// Whole numbers that do not fit are an error at all nodes, and nothing more is told of any: no counts of their sizes follow.
func TestSumIntegers(t *testing.T) {
	w := must[*topology.Weights](t)(topology.NewWeights(must[*topology.Graph](t)(topology.Parse("path", 4, 1)), topology.Metropolis))
	n := must[*consensus.Network](t)(consensus.New(w, nil))
	z := [][]float64{{1, -3}, {1 << 53, 0}, {0, 0}, {5, 1}}
	if err := n.SumIntegers(t.Context(), z); err != nil || z[0][0] != 6+1<<53 || z[3][1] != -2 {
		t.Errorf("%v: %v", z, err)
	}
	one := n.Traffic()
	err := n.SumIntegers(t.Context(), [][]float64{{1, 2}, {1, 2}, {1, math.Ldexp(1, 57)}, {1, 2}})
	if err == nil || !strings.Contains(err.Error(), "below 2^53") {
		t.Errorf("2^57: %v", err)
	}
	if after := n.Traffic(); after.Messages != 2*one.Messages || after.Bytes != 2*one.Bytes {
		t.Errorf("a sum that does not fit sends %d messages, and one that does %d", after.Messages-one.Messages, one.Messages)
	}
}
