package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
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

// TestCollective: sums, maxima and broadcasts are what they should be, the same bits at
// every node in every layout, for as many rounds and messages as promised.
func TestCollective(t *testing.T) {
	for _, w := range graphs(t) {
		l, g := w.Len(), w.Graph()
		radius := l
		var sum, largest, size [3]float64
		for i := range l {
			radius = min(radius, eccentricity(g, i))
			for k, v := range given(i) {
				sum[k] += v
				size[k] += math.Abs(v)
				if i == 0 {
					largest[k] = v
				}
				largest[k] = max(largest[k], v)
			}
		}
		edges := int64(l - 1)
		for op, do := range map[string]struct {
			run  func(ctx context.Context, n *consensus.Network, z [][]float64) error
			want func(k int) (v, tol float64)
			cost wire.Traffic
		}{
			"sum": {
				func(ctx context.Context, n *consensus.Network, z [][]float64) error { return n.Sum(ctx, z) },
				func(k int) (float64, float64) { return sum[k], size[k] * float64(l) * 0x1p-52 },
				wire.Traffic{Rounds: 2 * int64(radius), Messages: 2 * edges, Bytes: 2 * edges * 24},
			},
			"max": {
				func(ctx context.Context, n *consensus.Network, z [][]float64) error { return n.Max(ctx, z) },
				func(k int) (float64, float64) { return largest[k], 0 },
				wire.Traffic{Rounds: 2 * int64(radius), Messages: 2 * edges, Bytes: 2 * edges * 24},
			},
			"maxsum": {
				func(ctx context.Context, n *consensus.Network, z [][]float64) error { return n.MaxSum(ctx, 1, z) },
				func(k int) (float64, float64) {
					if k == 0 {
						return largest[k], 0
					}
					return sum[k], size[k] * float64(l) * 0x1p-52
				},
				wire.Traffic{Rounds: 2 * int64(radius), Messages: 2 * edges, Bytes: 2 * edges * 24},
			},
			"broadcast": {
				func(ctx context.Context, n *consensus.Network, z [][]float64) error {
					return n.Broadcast(ctx, l-1, z)
				},
				func(k int) (float64, float64) { return given(l - 1)[k], 0 },
				wire.Traffic{Rounds: int64(eccentricity(g, l-1)), Messages: edges, Bytes: edges * 24},
			},
		} {
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
		"4 maxima":      n.MaxSum(t.Context(), 4, [][]float64{{}, {}, {}, {}, {}, {}, {}, {}, {}}),
		"node 3 has 1 ": n.Max(t.Context(), [][]float64{{}, {}, {}, {1}, {}, {}, {}, {}, {}}),
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
				if !errors.Is(err, consensus.ErrNotFinite) || err.Error() != errs[0].Error() {
					t.Errorf("%v at node %d, nodes %v: process %d has %v, process 0 %v", v, bad, groups, k, err, errs[0])
				}
			}
		}
	}
}

// TestReduce: what goes along in the headers is the maximum of the words and the sum of the
// numbers, with the bits of Sum, at the same call at all nodes: after 2 x height rounds.
func TestReduce(t *testing.T) {
	for _, w := range graphs(t) {
		height := w.Len()
		for i := range w.Len() {
			height = min(height, eccentricity(w.Graph(), i))
		}
		for _, a := range append(someAgreements(t)[:4], consensus.Agreement{RoundByRound: true}) { // a Mix along the tree takes more rounds
			for _, groups := range splits(w.Len()) {
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
						words[i] = uint8(node * 7 % 50)
					}
					largest := uint8(0)
					for node := range n.Len() {
						largest = max(largest, uint8(node*7%50))
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
