package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// must returns a function that fails the test on an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range append(parts, "consensus: ") {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %v lacks %q", err, p)
		}
	}
}

// blames reports whether err is a PeerError of a kind about a node.
func blames(err error, node int, kind transport.Kind) bool {
	var peer *transport.PeerError
	return errors.As(err, &peer) && peer.Peer == node && peer.Kind == kind
}

// sumOfOnes is the sum of one number of a process that has one node.
func sumOfOnes(ctx context.Context, n *consensus.Network) error { return n.Sum(ctx, [][]float64{{1}}) }

// weightsOf returns Metropolis weights on the graph that spec describes.
func weightsOf(t testing.TB, spec string, nodes int) *topology.Weights {
	t.Helper()
	g := must[*topology.Graph](t)(topology.Parse(spec, nodes, 2))
	return must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
}

// someWeights returns weights on graphs of several kinds and sizes.
func someWeights(t testing.TB) (all []*topology.Weights) {
	for _, x := range []struct {
		spec  string
		nodes int
	}{{"path", 1}, {"path", 2}, {"path", 6}, {"ring", 7}, {"star", 6}, {"complete", 5}, {"exponential", 9},
		{"er:0.4", 12}} {
		all = append(all, weightsOf(t, x.spec, x.nodes))
	}
	return all
}

// splits returns ways to distribute nodes over processes: one each, all in one, and mixed.
func splits(nodes int) [][][]int {
	all, single, mixed := make([][]int, 1), make([][]int, nodes), make([][]int, 2)
	for i := range nodes {
		all[0], single[i], mixed[i%2] = append(all[0], i), []int{i}, append(mixed[i%2], i)
	}
	if nodes == 1 {
		return [][][]int{all}
	}
	return [][][]int{all, single, mixed}
}

// run calls f in one goroutine for every group of nodes, connected by transports that wrap may replace, and
// returns the errors of the groups. Without masks, nodes make them from keys.
func run(t testing.TB, w *topology.Weights, groups [][]int, masks testnet.Masks,
	wrap func(k int, t transport.Transport) transport.Transport,
	f func(ctx context.Context, n *consensus.Network) error) []error {
	t.Helper()
	return testnet.Run(w.Graph(), groups, func(k int, tr transport.Transport) error {
		if wrap != nil {
			tr = wrap(k, tr)
		}
		n, err := testnet.NewNetwork(w, tr, masks)
		if err == nil {
			err = f(t.Context(), n)
		}
		return err
	})
}

// noErrors fails if one of errs is not nil.
func noErrors(t testing.TB, what string, errs []error) {
	t.Helper()
	for k, err := range errs {
		if err != nil {
			t.Fatalf("%s, process %d: %v", what, k, err)
		}
	}
}

// numbers returns n numbers of a node, the same wherever it lives.
func numbers(node, n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, uint64(node)))
	v := make([]float64, n)
	for k := range v {
		v[k] = rng.NormFloat64()
	}
	return v
}

// messages returns random messages of the hosted nodes of n, the same wherever they live.
func messages(n *consensus.Network, d, r, scalars, totals int, seed uint64) (z []consensus.Message) {
	for _, node := range n.Hosted() {
		v := numbers(node, d*r+scalars+totals, seed)
		m := consensus.Message{Basis: kernel.NewBasis(d, r), Scalars: v[d*r:][:scalars:scalars],
			Totals: v[d*r+scalars:]}
		for j := range r {
			copy(m.Basis.Col(j), v[j*d:][:d])
		}
		z = append(z, m)
	}
	return z
}

// values returns the numbers of a message.
func values(z consensus.Message) (v []float64) {
	_, r := z.Basis.Dims()
	for j := range r {
		v = append(v, z.Basis.Col(j)...)
	}
	return slices.Concat(v, z.Scalars, z.Totals)
}

// table collects results of nodes from several goroutines.
type table struct {
	mu   sync.Mutex
	rows map[int]string
	sent transport.Traffic // of all nodes; rounds of one process
}

// add stores the bits of the results of the hosted nodes of n, and its traffic.
func (x *table) add(n *consensus.Network, rows [][]float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rows == nil {
		x.rows = make(map[int]string)
	}
	for i, node := range n.Hosted() {
		x.rows[node] = fmt.Sprintf("%x", rows[i])
	}
	sent := n.Traffic()
	x.sent.Messages, x.sent.Bytes, x.sent.Rounds = x.sent.Messages+sent.Messages, x.sent.Bytes+sent.Bytes, sent.Rounds
}

// A coded exchange is an exchange with the codec of its messages.
type coded struct {
	consensus.Exchange
	codec consensus.Codec
}

// average averages messages in the codec.
func (x coded) average(ctx context.Context, z []consensus.Message) error {
	return x.Average(ctx, z, x.codec)
}

// exchanges lists the exchanges of a network by name.
func exchanges(t testing.TB, pool *kernel.Pool) map[string]func(n *consensus.Network) coded {
	exchange := must[consensus.Exchange](t)
	return map[string]func(n *consensus.Network) coded{
		"agree":   func(n *consensus.Network) coded { return coded{exchange(n.Agree(3, pool)), consensus.Float64} },
		"mean":    func(n *consensus.Network) coded { return coded{n.TreeMean(), consensus.Float64} },
		"int16":   func(n *consensus.Network) coded { return coded{n.TreeMean(), consensus.Int16} },
		"int8":    func(n *consensus.Network) coded { return coded{n.TreeMean(), consensus.Int8} },
		"server":  func(n *consensus.Network) coded { return coded{n.ServerMean(), consensus.Float64} },
		"nearest": func(n *consensus.Network) coded { return coded{n.NeighbourMean(pool), consensus.Float64} },
	}
}
