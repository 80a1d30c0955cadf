package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// TestSameBits: results have the same bits, and all nodes together the same traffic, wherever nodes live and
// whatever the workers.
func TestSameBits(t *testing.T) {
	for _, w := range someWeights(t) {
		for name := range exchanges(t, nil) {
			var want *table
			for s, groups := range splits(w.Len()) {
				got, what := &table{}, fmt.Sprintf("%v, %s, nodes %v", w.Graph(), name, groups)
				noErrors(t, what, run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
					pool := kernel.NewPool(1 + s)
					defer pool.Close()
					x := exchanges(t, pool)[name](n)
					totals := 0
					if x.Exact() {
						totals = 2
					}
					var rows [][]float64
					for call := range uint64(4) {
						z := messages(n, 23, 2, 3, totals, 5+call/2)
						if err := x.average(ctx, z); err != nil {
							return err
						}
						rows = make([][]float64, len(z))
						for i := range z {
							rows[i] = values(z[i])
						}
					}
					if err := n.Sum(ctx, rows); err != nil {
						return err
					}
					got.add(n, rows)
					return nil
				}))
				if want == nil {
					want = got
				}
				if !maps.Equal(got.rows, want.rows) {
					t.Errorf("%s: other bits than in one process", what)
				}
				if got.sent != want.sent {
					t.Errorf("%s: sent %+v, want %+v", what, got.sent, want.sent)
				}
			}
		}
	}
}

// matrixOf returns the numbers of messages, one row a node.
func matrixOf(z []consensus.Message) *mat.Dense {
	m := mat.NewDense(len(z), len(values(z[0])), nil)
	for i := range z {
		m.SetRow(i, values(z[i]))
	}
	return m
}

// TestGossip compares AGREE with the power of W, and counts its traffic by its definition. NeighbourMean is a
// round of it with the matrix of the means over neighbours.
func TestGossip(t *testing.T) {
	for _, w := range someWeights(t) {
		for _, rounds := range []int{1, 2, 17} {
			n := must[*consensus.Network](t)(consensus.New(w, nil))
			x := coded{must[consensus.Exchange](t)(n.Agree(rounds, nil)), consensus.Float64}
			z := messages(n, 600, 1, 4, 0, 5)
			var power, want mat.Dense
			power.Pow(w.Dense(), rounds)
			want.Mul(&power, matrixOf(z))
			if err := x.average(t.Context(), z); err != nil {
				t.Fatal(err)
			}
			if got := matrixOf(z); !mat.EqualApprox(got, &want, 1e-13) {
				t.Errorf("%v, %d rounds: not W^k Z", w, rounds)
			}
			ends := int64(2 * w.Graph().Edges() * rounds)
			if got, want := n.Traffic(),
				(transport.Traffic{Rounds: int64(rounds), Messages: ends,
					Bytes: ends * (8*604 + transport.FrameOverhead)}); got != want {
				t.Errorf("%v: sent %+v, want %+v", w, got, want)
			}
		}
		if w.Len() == 1 {
			continue // no neighbours
		}
		n, neighbours := must[*consensus.Network](t)(consensus.New(w, nil)), mat.NewDense(w.Len(), w.Len(), nil)
		for i := range w.Len() {
			for _, j := range w.Graph().Neighbors(i) {
				neighbours.Set(i, j, 1/float64(w.Graph().Degree(i)))
			}
		}
		z := messages(n, 9, 2, 1, 0, 5)
		var want mat.Dense
		want.Mul(neighbours, matrixOf(z))
		if err := n.NeighbourMean(nil).Average(t.Context(), z, consensus.Float64); err != nil ||
			!mat.EqualApprox(matrixOf(z), &want, 1e-14) {
			t.Errorf("%v, mean of neighbours: error %v, or another mean", w, err)
		}
	}
}

// TestTreeMean: exact exchanges converge to the mean, with equal bits at all nodes, and totals are the sums
// from the first message on. The traffic is that of the documented forms.
func TestTreeMean(t *testing.T) {
	const d, scalars, totals = 26, 3, 2
	for _, w := range someWeights(t) {
		l := w.Len()
		for name, bitsOf := range map[string]int{"mean": 0, "server": 0, "int16": 16, "int8": 8} {
			n := must[*consensus.Network](t)(consensus.New(w, nil))
			x := exchanges(t, nil)[name](n)
			given := matrixOf(messages(n, d/2, 2, scalars, totals, 5))
			var z []consensus.Message
			for range 25 {
				z = messages(n, d/2, 2, scalars, totals, 5)
				if err := x.average(t.Context(), z); err != nil {
					t.Fatal(err)
				}
				for k := range totals {
					if want := mat.Sum(given.ColView(d + scalars + k)); math.Abs(z[0].Totals[k]-want) > 1e-14*float64(
						l) {
						t.Fatalf("%v, %s: total %v, want %v", w.Graph(), name, z[0].Totals[k], want)
					}
				}
			}
			for k, v := range values(z[0])[:d+scalars] {
				if want := mat.Sum(given.ColView(k)) / float64(l); math.Abs(v-want) > 1e-14*float64(l) {
					t.Errorf("%v, %s: entry %d is %v, want %v", w.Graph(), name, k, v, want)
				}
			}
			for i := range z {
				if !slices.Equal(values(z[i]), values(z[0])) {
					t.Errorf("%v, %s: node %d has other bits than node 0", w.Graph(), name, i)
				}
			}
			edges, height := int64(l-1), int64(slices.Max(w.Graph().Distances(w.Graph().Center())))
			count, carry := bits.Len(uint(l))+1, bits.Len(uint(l-1))
			status := bytesOf(1, count) + 8
			want := transport.Traffic{Rounds: 25 * 2 * height, Messages: 25 * 2 * edges,
				Bytes: 25 * edges * ((24+8)*(d+scalars+totals) + status + 1)}
			switch {
			case name == "server":
				want = transport.Traffic{Rounds: 50, Messages: 50 * int64(l),
					Bytes: 50 * int64(l) * 8 * (d + scalars + totals)}
			case bitsOf > 0 && l > 1: // and a count before the first message
				codes := bytesOf(d, bitsOf+carry) + bytesOf(scalars, 24+carry) + bytesOf(2*16, count)
				want.Rounds, want.Messages = 26*2*height, 26*2*edges
				want.Bytes = 25*edges*(2*codes+(24+8)*totals+status+1) + edges*(2*bytesOf(2*160, count)+status+1)
			case bitsOf > 0:
				want = transport.Traffic{}
			}
			want.Bytes += transport.FrameOverhead * want.Messages
			if got := n.Traffic(); got != want {
				t.Errorf("%v, %s: sent %+v, want %+v", w.Graph(), name, got, want)
			}
		}
	}
}

func bytesOf(n, width int) int64 { return int64(n*width+7) / 8 }

// TestNotFinite: in an exact exchange all nodes return an error about a number that cannot be sent, its own
// node with the number; the nodes that are not to blame also get consensus.ErrContradiction.
func TestNotFinite(t *testing.T) {
	w := weightsOf(t, "path", 5)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0x1p64, -math.MaxFloat64} {
		for _, name := range []string{"mean", "int8", "totals", "sum"} {
			if !math.IsNaN(bad) && !math.IsInf(bad, 0) && name == "int8" {
				continue // has no limit
			}
			for _, groups := range splits(5) {
				errs := run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
					x := exchanges(t, nil)[map[bool]string{true: "mean", false: "int8"}[name == "mean"]](n)
					z, rows := messages(n, 4, 2, 1, 2, 5), make([][]float64, len(n.Hosted()))
					for i, node := range n.Hosted() {
						rows[i] = []float64{1, 2}
						switch {
						case node != 4:
						case name == "totals":
							z[i].Totals[1] = bad
						case name == "sum":
							rows[i][1] = bad
						default:
							z[i].Basis.Col(1)[0] = bad
						}
					}
					if name == "sum" {
						return n.Sum(ctx, rows)
					}
					err := x.average(ctx, z)
					if again := x.average(ctx, z); !n.AllHosted() && !errors.Is(again, err) {
						t.Errorf("after an error: %v", again)
					}
					return err
				})
				for k, err := range errs {
					if own := slices.Contains(groups[k], 4); !errors.Is(err, consensus.ErrNotFinite) ||
						errors.Is(err, consensus.ErrContradiction) == own {
						t.Errorf("%v in %s, nodes %v of %v: %v", bad, name, groups[k], groups, err)
					} else if own {
						wantError(t, err, "node 4")
					}
				}
			}
		}
	}
}

// TestGossipNotFinite: a node does not send such a message by gossip; its own error names it, and its
// neighbours find it closed.
func TestGossipNotFinite(t *testing.T) {
	errs := run(t, weightsOf(t, "path", 2), [][]int{{0}, {1}},
		nil, nil, func(ctx context.Context, n *consensus.Network) error {
			z := messages(n, 4, 2, 1, 0, 5)
			if n.Hosted()[0] == 1 {
				z[0].Scalars[0] = math.NaN()
			}
			err := exchanges(t, nil)["agree"](n).average(ctx, z)
			if again := n.Sum(ctx, [][]float64{{1}}); n.Hosted()[0] == 1 && !errors.Is(again, err) {
				t.Errorf("after an error: %v", again)
			}
			return err
		})
	if !blames(errs[0], 1, transport.Closed) || !errors.Is(errs[1], consensus.ErrNotFinite) {
		t.Errorf("%v", errs)
	}
	wantError(t, errs[1], "number 8 of node 1 is NaN")
}

// TestGossipTooLarge: a number so large that a difference overflows is an error of its own node, wherever
// nodes live, and no neighbour is blamed for it. Numbers below that arrive.
func TestGossipTooLarge(t *testing.T) {
	w := weightsOf(t, "complete", 3)
	for _, groups := range splits(3) {
		for _, size := range []float64{1e308, math.MaxFloat64, 0x1p1019} {
			errs := run(t, w, groups, nil, nil, func(ctx context.Context, n *consensus.Network) error {
				var z []consensus.Message
				for _, node := range n.Hosted() {
					z = append(z, consensus.Message{Scalars: []float64{size * float64(1-node)}})
				}
				return exchanges(t, nil)["agree"](n).average(ctx, z)
			})
			for k, err := range errs {
				own := slices.Contains(groups[k], 0) || slices.Contains(groups[k], 2)
				switch {
				case size < 1e308 && err != nil:
					t.Errorf("%v, nodes %v: %v", size, groups[k], err)
				case size >= 1e308 && own && !errors.Is(err, consensus.ErrNotFinite):
					t.Errorf("%v, nodes %v: %v", size, groups[k], err)
				}
			}
		}
	}
}

// TestAfterError: with all nodes in one process an exchange works again after an error, as if it were new.
func TestAfterError(t *testing.T) {
	for name, open := range exchanges(t, nil) {
		n := must[*consensus.Network](t)(consensus.New(weightsOf(t, "ring", 5), nil))
		x := open(n)
		average := func(x coded, bad float64) ([]consensus.Message, error) {
			z := messages(n, 4, 2, 1, 0, 5)
			z[3].Scalars[0] += bad
			return z, x.average(t.Context(), z)
		}
		for _, bad := range []float64{0, 0, math.NaN()} {
			if _, err := average(x, bad); math.IsNaN(bad) != errors.Is(err, consensus.ErrNotFinite) {
				t.Errorf("%s: %v", name, err)
			}
		}
		got, err := average(x, 0)
		want, errNew := average(open(n), 0)
		if err != nil || errNew != nil || !mat.Equal(matrixOf(got), matrixOf(want)) {
			t.Errorf("%s after an error: %v, %v", name, err, errNew)
		}
	}
}

// TestAllocs: an iteration with an average and a sum does not allocate once it has run, with all nodes in
// one process; a masked sum makes its ciphers.
func TestAllocs(t *testing.T) {
	w := weightsOf(t, "ring", 6)
	for name, open := range exchanges(t, nil) {
		n := must[*consensus.Network](t)(consensus.New(w, nil))
		x, z, rows := open(n), messages(n, 40, 3, 2, 0, 1), make([][]float64, 6)
		for i := range rows {
			rows[i] = make([]float64, 5)
		}
		iterate := func() {
			if err := errors.Join(x.average(t.Context(), z), n.Sum(t.Context(), rows)); err != nil {
				t.Error(err)
			}
		}
		iterate()
		if got := check.Allocations(5, iterate); got > 0 {
			t.Errorf("%s: %d allocations in five iterations", name, got)
		}
	}
}

// TestArguments: invalid arguments are errors that leave the network as it was.
func TestArguments(t *testing.T) {
	ctx := t.Context()
	w := weightsOf(t, "path", 3)
	n := must[*consensus.Network](t)(consensus.New(w, nil))
	for _, none := range []*topology.Weights{nil, {}} {
		_, err := consensus.New(none, nil)
		wantError(t, err, "needs weights")
	}
	for _, rounds := range []int{0, -1, consensus.MaxRounds + 1} {
		_, err := n.Agree(rounds, nil)
		wantError(t, err, fmt.Sprint(rounds, " rounds"))
	}
	for _, c := range []consensus.Codec{consensus.Int8, consensus.Int16, consensus.Float64} {
		if got, err := consensus.ParseCodec(c.String()); got != c || err != nil {
			t.Errorf("%v is parsed as %v, %v", c, got, err)
		}
	}
	_, err := consensus.ParseCodec("int4")
	wantError(t, err, `"int4"`, "int8, int16, float64")
	for name, open := range exchanges(t, nil) {
		x := open(n)
		wantError(t, x.average(ctx, messages(n, 3, 2, 0, 0, 1)[:2]), "2 messages for 3 hosted nodes")
		z := messages(n, 3, 2, 0, 0, 1)
		z[1].Scalars = []float64{1}
		wantError(t, x.average(ctx, z), "node 1 is 3 x 2, 1 scalars", "node 0 is 3 x 2, 0 scalars")
		wantError(t, x.Average(ctx, messages(n, 3, 2, 0, 0, 1), 0), "codec int0")
		if name != "mean" && name != "int8" && name != "int16" {
			wantError(t, x.Average(ctx, messages(n, 3, 2, 0, 0, 1), consensus.Int8),
				"codec int8: this exchange sends float64")
		}
		if !x.Exact() {
			wantError(t, x.average(ctx, messages(n, 3, 2, 0, 1, 1)), "does not carry totals")
		}
		for _, d := range []int{3, 5} {
			got, want := messages(n, d, 2, 1, 0, 1), messages(n, d, 2, 1, 0, 1)
			if err := errors.Join(x.average(ctx, got), open(n).average(ctx, want)); err != nil ||
				!mat.Equal(matrixOf(got), matrixOf(want)) {
				t.Errorf("%s afterwards, %d rows: %v, or other bits than of a new exchange", name, d, err)
			}
		}
	}
	if got := (consensus.Message{Basis: kernel.NewBasis(13, 2), Scalars: make([]float64, 3),
		Totals: make([]float64, 1)}).Entries(); got != 29 {
		t.Errorf("%d entries, want 29", got)
	}
}
