package grpc

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestMain lets more tests run beside each other than there are processors: they wait more than
// they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A party is a cluster on loopback with its keys and listeners.
type party struct {
	c         *cluster.Cluster
	keys      []ed25519.PrivateKey
	listeners []net.Listener
}

func newParty(t testing.TB, graph string, nodes int) *party {
	g := must[*topology.Graph](t)(topology.Parse(graph, nodes, 1))
	p := &party{c: &cluster.Cluster{Version: 1, Run: "00000000000000a7"}}
	for i := range nodes {
		for _, j := range g.Neighbors(i) {
			if j > i {
				p.c.Edges = append(p.c.Edges, [2]int{i, j})
			}
		}
		key, _ := cluster.NewKey()
		l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		t.Cleanup(func() { l.Close() })
		p.keys, p.listeners = append(p.keys, key), append(p.listeners, l)
		p.c.Nodes = append(p.c.Nodes, cluster.Node{Name: string(rune('a' + i)), Address: l.Addr().String(), Pin: cluster.PinOf(key.Public().(ed25519.PublicKey))})
	}
	return p
}

// id is the identity of a node.
func (p *party) id(i int) *cluster.Identity { return must2(cluster.NewIdentity(p.c, p.keys[i])) }

// changed returns a copy of the cluster of p with a change.
func (p *party) changed(change func(c *cluster.Cluster)) *cluster.Cluster {
	c := *p.c
	c.Nodes = append([]cluster.Node(nil), c.Nodes...)
	c.Edges = append([][2]int(nil), c.Edges...)
	change(&c)
	return &c
}

// A gossip collects what a transport reports.
type gossip struct {
	mu   sync.Mutex
	text []string
}

func (g *gossip) report(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text = append(g.text, s)
}

func (g *gossip) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.text, "\n")
}

// hears waits until a report has the text, which comes a moment after the reported has its own
// answer.
func (g *gossip) hears(text string) bool {
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(g.String(), text) {
			return true
		}
	}
	return false
}

// patienceOfTests is longer than a healthy process waits for a processor of a busy machine. Only hanging
// takes longer.
const patienceOfTests = 2 * time.Minute

// quick returns options whose timeouts a healthy transport never reaches.
func quick() engine.Options {
	return engine.Options{JoinTimeout: patienceOfTests, RoundTimeout: patienceOfTests, RejoinTimeout: patienceOfTests, Linger: 5 * time.Second}
}

func (p *party) transport(t testing.TB, i int, o engine.Options) *Transport {
	tr := must[*Transport](t)(New(p.c, p.id(i), p.listeners[i], o))
	t.Cleanup(func() { tr.Leave(errors.New("test is over")) })
	return tr
}

// all returns the transports of all nodes.
func (p *party) all(t testing.TB, o engine.Options) []*Transport {
	var list []*Transport
	for i := range p.c.Nodes {
		list = append(list, p.transport(t, i, o))
	}
	return list
}

// each calls f for every transport, at once, and returns what comes of it.
func each(list []*Transport, f func(tr *Transport) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, tr := range list {
		wg.Go(func() { errs[i] = f(tr) })
	}
	wg.Wait()
	return errs
}

// peerError checks that err is a PeerError about a node, of a kind, with a text.
func peerError(t *testing.T, what string, err error, node int, kind wire.Kind, text string) {
	t.Helper()
	var e *wire.PeerError
	if !errors.As(err, &e) || e.Peer != node || e.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want one about node %d, %v, with %q", what, err, node, kind, text)
	}
}

// weights returns Metropolis weights on the edges of a cluster.
func weights(c *cluster.Cluster) (*topology.Weights, error) {
	g, err := c.Graph()
	if err != nil {
		return nil, err
	}
	return topology.NewWeights(g, topology.Metropolis)
}

// work averages and adds over a transport, nil for all nodes in one process, with a basis of the given number
// of rows. It returns the bits of the results by node.
func work(ctx context.Context, c *cluster.Cluster, tr wire.Transport, rows int) (map[int]string, error) {
	w, err := weights(c)
	if err != nil {
		return nil, err
	}
	n, err := consensus.New(w, tr)
	if err != nil {
		return nil, err
	}
	bits := make(map[int]string)
	for _, open := range []func() (consensus.Exchange, error){
		func() (consensus.Exchange, error) { return n.Agree(5, nil) },
		func() (consensus.Exchange, error) { return n.TreeMean(consensus.Int8) },
	} {
		e, err := open()
		if err != nil {
			return nil, err
		}
		z, sums := make([]consensus.Message, len(n.Hosted())), make([][]float64, len(n.Hosted()))
		for i, node := range n.Hosted() {
			z[i] = consensus.Message{Basis: kernel.NewBasis(rows, 2)}
			rng := rand.New(rand.NewPCG(uint64(node), 5))
			for k := range rows {
				z[i].Basis.Col(0)[k] = rng.NormFloat64()
			}
		}
		for range 6 {
			if err := e.Average(ctx, z); err != nil {
				return nil, err
			}
			for i := range z {
				sums[i] = append([]float64(nil), z[i].Basis.Col(0)[:2]...)
			}
			if err := n.Sum(ctx, sums); err != nil {
				return nil, err
			}
		}
		for i, node := range n.Hosted() {
			bits[node] += fmt.Sprintf("%x %x", z[i].Basis.Data(), sums[i])
		}
	}
	return bits, nil
}

// sameBits runs work over all transports, and compares with one process.
func sameBits(t *testing.T, c *cluster.Cluster, list []*Transport, rows int) {
	t.Helper()
	want := must[map[int]string](t)(work(t.Context(), c, nil, rows))
	errs := each(list, func(tr *Transport) error {
		if err := tr.Join(t.Context()); err != nil {
			return err
		}
		got, err := work(t.Context(), c, tr, rows)
		if err == nil && got[tr.node] != want[tr.node] {
			err = errors.New("other bits than in one process")
		}
		tr.Leave(err)
		return err
	})
	for i, err := range errs {
		if err != nil {
			t.Errorf("node %d: %v", i, err)
		}
	}
}
