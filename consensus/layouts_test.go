package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// headerLen is by how many bytes a frame is longer than its code.
const headerLen = 6

// networks are graphs with weights: a ring, and random graphs with weights that are and
// are not symmetric.
func networks(t testing.TB) []*topology.Weights {
	ring := must[*topology.Graph](t)(topology.Ring(6))
	er := must[*topology.Graph](t)(topology.ErdosRenyi(7, .5, 8))
	list := []*topology.Weights{
		must[*topology.Weights](t)(topology.NewWeights(ring, topology.Metropolis)),
		must[*topology.Weights](t)(topology.NewWeights(er, topology.Metropolis)),
	}
	if testing.Short() {
		return list
	}
	return append(list, must[*topology.Weights](t)(topology.NewWeights(er, topology.EqualNeighbor)))
}

// codecs returns all kinds of codecs, None first.
func codecs(t testing.TB) []consensus.Codec {
	return []consensus.Codec{consensus.None, consensus.Float32, consensus.Int8, consensus.Int4}
}

// agreements returns every polynomial with every codec that goes with it, and triggers.
func agreements(t testing.TB) []consensus.Agreement {
	var all []consensus.Agreement
	for _, c := range codecs(t) {
		for _, a := range []consensus.Agreement{
			{Codec: c}, {Codec: c, Polynomial: consensus.Chebyshev}, {Codec: c, Trigger: .4}, {Codec: c, Trigger: .7}, {Codec: c, Polynomial: consensus.Tree},
		} {
			if a.Validate() == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// splits returns groups of nodes: in one process, in two and three, and one each.
func splits(l int) [][][]int {
	var all [][][]int
	for _, k := range []int{1, 2, 3, l} {
		groups := make([][]int, min(k, l))
		for at, i := range rand.New(rand.NewPCG(9, 9)).Perm(l) {
			groups[at%len(groups)] = append(groups[at%len(groups)], i)
		}
		for _, g := range groups {
			slices.Sort(g)
		}
		all = append(all, groups)
	}
	return all
}

// A program is what every process does. It returns numbers of its hosted nodes that
// should not depend on where nodes live.
type program func(ctx context.Context, n *consensus.Network) ([][]float64, error)

// transports joins groups of nodes; nil where all are in one.
type transports func(g *topology.Graph, groups [][]int) ([]wire.Transport, error)

func direct(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
	return testnet.Connect(g, groups, testnet.Options{})
}

// run runs a program in one process a group, and returns the numbers by node, the
// errors and what was sent by process.
func run(t testing.TB, w *topology.Weights, groups [][]int, by transports, p program) ([][]float64, []error, []wire.Traffic) {
	t.Helper()
	ts := make([]wire.Transport, len(groups))
	if len(groups) > 1 {
		ts = must[[]wire.Transport](t)(by(w.Graph(), groups))
	}
	results := make([][]float64, w.Len())
	errs := make([]error, len(groups))
	traffic := make([]wire.Traffic, len(groups))
	var wg sync.WaitGroup
	for k := range groups {
		wg.Go(func() {
			n, err := consensus.New(w, ts[k])
			if err != nil {
				errs[k] = err
				return
			}
			got, err := p(t.Context(), n)
			errs[k], traffic[k] = err, n.Traffic()
			if ts[k] != nil {
				ts[k].Close()
			}
			if err == nil {
				for i, node := range n.Hosted() {
					results[node] = got[i]
				}
			}
		})
	}
	wg.Wait()
	return results, errs, traffic
}

// messages returns random messages of the hosted nodes of n.
func messages(n *consensus.Network, d, r, scalars int, stream consensus.Stream, seed uint64) []consensus.Message {
	var z []consensus.Message
	for _, i := range n.Hosted() {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		m := consensus.Message{Stream: stream, Scalars: make([]float64, scalars)}
		if r > 0 {
			m.Basis = kernel.NewBasis(d, r)
			for j := range r {
				for k := range d {
					m.Basis.Col(j)[k] = rng.NormFloat64()
				}
			}
		}
		for k := range m.Scalars {
			m.Scalars[k] = rng.NormFloat64()
		}
		z = append(z, m)
	}
	return z
}

// values returns the numbers of a message.
func values(m consensus.Message) []float64 {
	var v []float64
	if m.Basis != nil {
		_, r := m.Basis.Dims()
		for j := range r {
			v = append(v, m.Basis.Col(j)...)
		}
	}
	return append(v, m.Scalars...)
}

func clone(z []consensus.Message) []consensus.Message {
	var c []consensus.Message
	for _, m := range z {
		m.Scalars = slices.Clone(m.Scalars)
		if m.Basis != nil {
			m.Basis = m.Basis.Clone()
		}
		c = append(c, m)
	}
	return c
}

// A party is a network with one mixer of each kind, and messages.
type party struct {
	n                    *consensus.Network
	gossip, server, mean *consensus.Mixer
	basis, gradient      []consensus.Message
	seen                 [][]float64 // what every operation returned, by hosted node
}

func newParty(n *consensus.Network, a consensus.Agreement, pool *kernel.Pool) (*party, error) {
	p := &party{n: n, seen: make([][]float64, len(n.Hosted()))}
	var err error
	if p.gossip, err = n.NewMixer(a, pool); err != nil {
		return nil, err
	}
	p.server, p.mean = n.NewServer(), n.NewNeighborMean(pool)
	p.basis = messages(n, 13, 2, 3, consensus.StreamBasis, 1)
	p.gradient = messages(n, 13, 2, 0, consensus.StreamGradient, 2)
	return p, nil
}

// iterate does a bit of everything, as a transaction that is repeated if a transport
// was made to fail.
func (p *party) iterate(ctx context.Context, iteration int) error {
	basis, gradient, seen := clone(p.basis), clone(p.gradient), slices.Clone(p.seen)
	for {
		err := p.try(ctx, iteration)
		if !errors.Is(err, testnet.ErrInjected) {
			p.n.Commit()
			return err
		}
		p.n.Rewind()
		p.basis, p.gradient, p.seen = clone(basis), clone(gradient), slices.Clone(seen)
	}
}

func (p *party) note(z []consensus.Message) {
	for i, m := range z {
		p.seen[i] = append(p.seen[i], values(m)...)
	}
}

func (p *party) noteRows(z [][]float64) {
	for i, row := range z {
		p.seen[i] = append(p.seen[i], row...)
	}
}

func (p *party) noteReduced(m *consensus.Mixer) {
	word, sums, ok := m.Reduced()
	for i := range p.seen {
		if ok {
			p.seen[i] = append(append(p.seen[i], float64(word)), sums...)
		} else {
			p.seen[i] = append(p.seen[i], -1)
		}
	}
}

func (p *party) try(ctx context.Context, iteration int) error {
	var words []uint8
	var rows [][]float64
	for _, i := range p.n.Hosted() {
		words = append(words, uint8((i+iteration)%5))
		rows = append(rows, []float64{float64(i) + .1*float64(iteration), 1 / float64(i+3), 1e-9})
	}
	p.gossip.Reduce(words, rows)
	p.server.Reduce(words, rows)
	for _, step := range []func() error{
		func() error { return p.gossip.Mix(ctx, p.basis, 3) },
		func() error { return p.n.Sum(ctx, rows) },
		func() error { return p.server.Mix(ctx, p.gradient, 1) },
		func() error {
			for i := range p.gradient {
				p.gradient[i].Basis.Col(0)[p.n.Hosted()[i]] += rows[i][0]
			}
			return p.gossip.Mix(ctx, p.gradient, 2)
		},
		func() error { return p.mean.Mix(ctx, p.gradient, 1) },
		func() error { return p.n.Broadcast(ctx, (2+iteration)%p.n.Len(), rows) },
	} {
		if err := step(); err != nil {
			return err
		}
		p.note(p.basis)
		p.note(p.gradient)
		p.noteRows(rows)
		p.noteReduced(p.gossip)
		p.noteReduced(p.server)
	}
	for i, node := range p.n.Hosted() {
		rows[i][0] = math.Sin(float64(node * 7))
		p.basis[i].Stream = consensus.Exact
	}
	if err := p.n.Largest(ctx, rows); err != nil {
		return err
	}
	if err := p.gossip.Mix(ctx, p.basis, 2); err != nil {
		return err
	}
	for i := range p.basis {
		p.basis[i].Stream = consensus.StreamBasis
	}
	p.noteRows(rows)
	p.note(p.basis)
	return nil
}

// everything returns a program of three iterations.
func everything(a consensus.Agreement) program { return iterations(a, false) }

// withWorkers is everything, in processes with one, two or three workers.
func withWorkers(a consensus.Agreement) program { return iterations(a, true) }

func iterations(a consensus.Agreement, workers bool) program {
	a.RoundByRound = true
	return func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
		var pool *kernel.Pool
		if workers {
			pool = kernel.NewPool(1 + n.Hosted()[0]%3)
			defer pool.Close()
		}
		p, err := newParty(n, a, pool)
		for i := 0; i < 3 && err == nil; i++ {
			err = p.iterate(ctx, i)
		}
		if err != nil {
			return nil, err
		}
		return p.seen, nil
	}
}

// sameBits fails unless two results are equal to the last bit.
func sameBits(t testing.TB, what string, got, want [][]float64) {
	t.Helper()
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s: node %d has %d numbers, want %d", what, i, len(got[i]), len(want[i]))
		}
		for k, v := range want[i] {
			if math.Float64bits(got[i][k]) != math.Float64bits(v) {
				t.Fatalf("%s: number %d of node %d is %v, want %v", what, k, i, got[i][k], v)
			}
		}
	}
}

func noErrors(t testing.TB, what string, errs []error) {
	t.Helper()
	for k, err := range errs {
		if err != nil {
			t.Fatalf("%s: process %d: %v", what, k, err)
		}
	}
}

// inTurn returns which layouts of several processes a test takes for one of its cases: each in
// its turn, or all.
func inTurn(l, turn int) [][][]int {
	all := splits(l)[1:]
	if longtest.Enabled() {
		return all
	}
	return all[turn%len(all):][:1:1]
}

// TestSameBits: one process, two, three and one a node compute the same bits, with
// every polynomial, codec and trigger, and send the same between them.
func TestSameBits(t *testing.T) {
	t.Parallel()
	for wi, w := range networks(t) {
		for ai, a := range agreements(t) {
			want, errs, traffic := run(t, w, splits(w.Len())[0], nil, everything(a))
			noErrors(t, fmt.Sprint(a, " on ", w), errs)
			for _, groups := range inTurn(w.Len(), wi+ai) {
				what := fmt.Sprintf("%v on %v, nodes %v", a, w, groups)
				got, errs, sent := run(t, w, groups, direct, withWorkers(a))
				noErrors(t, what, errs)
				sameBits(t, what, got, want)
				var sum wire.Traffic
				for _, s := range sent {
					if s.Rounds != traffic[0].Rounds {
						t.Errorf("%s: %d rounds, want %d", what, s.Rounds, traffic[0].Rounds)
					}
					sum = sum.Plus(s)
				}
				sum.Rounds = traffic[0].Rounds
				if sum != traffic[0] {
					t.Errorf("%s: sent %+v, want %+v", what, sum, traffic[0])
				}
			}
		}
	}
}
