package grpc

import (
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestMain lets more tests run at once than there are processors: they wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}

// A party is a cluster on loopback with its keys and listeners.
type party struct {
	c         *cluster.Cluster
	keys      []ed25519.PrivateKey
	listeners []net.Listener
}

func newParty(t testing.TB, graph string, nodes int) *party {
	check.Limit(t)
	p := &party{}
	var names, addresses []string
	var pins []cluster.Pin
	for i := range nodes {
		key, pin := newKey()
		l := check.Listen(t)
		p.keys, p.listeners, pins = append(p.keys, key), append(p.listeners, l), append(pins, pin)
		names, addresses = append(names, string(rune('a'+i))), append(addresses, l.Addr().String())
	}
	var err error
	if p.c, _, err = cluster.New(names, addresses, pins, check.OK(topology.Parse(graph, nodes, 1))); err != nil {
		t.Fatal(err)
	}
	return p
}

// listenAgain listens again at the address of a node, also if somebody else uses its port for a while.
func (p *party) listenAgain(i int) {
	l, err := net.Listen("tcp", p.c.Nodes[i].Address)
	end := time.Now().Add(patienceOfTests)
	for err != nil && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
		l, err = net.Listen("tcp", p.c.Nodes[i].Address)
	}
	p.listeners[i] = check.OK(l, err)
}

func newKey() (ed25519.PrivateKey, cluster.Pin) {
	key, _ := cluster.NewKey()
	return key, cluster.PinOf(key.Public().(ed25519.PublicKey))
}

// id returns the identity of a node.
func (p *party) id(i int) *cluster.Identity { return check.OK(cluster.NewIdentity(p.c, p.keys[i])) }

// changed returns a copy of the cluster of p with a change.
func (p *party) changed(change func(c *cluster.Cluster)) *cluster.Cluster {
	c := *p.c
	c.Nodes, c.Edges = slices.Clone(c.Nodes), slices.Clone(c.Edges)
	change(&c)
	return &c
}

// A record collects the reports of a transport.
type record struct{ testnet.Buffer }

func (r *record) report(s string) { io.WriteString(&r.Buffer, s+"\n") }

// has waits until a report has the text: it comes a moment after the other end has its answer.
func (r *record) has(text string) bool {
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(r.String(), text) {
			return true
		}
	}
	return false
}

// patienceOfTests is longer than a healthy process waits for a processor of a busy machine.
const patienceOfTests = 2 * time.Minute

// quick returns options whose timeouts a healthy transport never reaches, with an end that waits for nobody.
func quick() engine.Options {
	return engine.Options{JoinTimeout: patienceOfTests, RoundTimeout: patienceOfTests, RejoinTimeout: patienceOfTests,
		Linger: patienceOfTests}
}

func brief() engine.Options {
	o := quick()
	o.Linger = 50 * time.Millisecond
	return o
}

func (p *party) transport(t testing.TB, i int, o engine.Options) *Transport {
	return transportOf(t, p.c, p.id(i), p.listeners[i], o)
}

func transportOf(t testing.TB, c *cluster.Cluster, id *cluster.Identity, l net.Listener, o engine.Options) *Transport {
	tr := check.OK(New(c, id, l, o))
	t.Cleanup(func() { tr.Leave(errors.New("test is over")) })
	return tr
}

// all returns the transports of all nodes.
func (p *party) all(t testing.TB, o engine.Options) (list []*Transport) {
	for i := range p.c.Nodes {
		list = append(list, p.transport(t, i, o))
	}
	return list
}

// joined returns the transports of all nodes after Join.
func (p *party) joined(t testing.TB, o engine.Options) []*Transport {
	list := p.all(t, o)
	noErrors(t, each(list, func(tr *Transport) error { return tr.Join(t.Context()) }))
	return list
}

// each calls f for every transport at once, and returns the results.
func each(list []*Transport, f func(tr *Transport) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, tr := range list {
		wg.Go(func() { errs[i] = f(tr) })
	}
	wg.Wait()
	return errs
}

func noErrors(t testing.TB, errs []error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// frame returns a frame with a number and that many bytes of code.
func frame(n uint64, code int) []byte {
	p := make([]byte, transport.FrameOverhead+code)
	p[1] = byte(n)
	return testnet.Seal(p, 0, 0, n)
}

// exchange carries out round seq with short frames on all edges.
func exchange(t testing.TB, tr *Transport, seq uint64) error {
	out := make([][]byte, len(tr.edges))
	for k := range out {
		out[k] = frame(seq, 8)
	}
	return tr.Exchange(t.Context(), seq, out, make([][]byte, len(out)), nil)
}

// exchanges carries out rounds until an error, leaves with it and returns it.
func exchanges(t testing.TB, tr *Transport, seq uint64) error {
	for ; ; seq++ {
		if err := exchange(t, tr, seq); err != nil {
			tr.Leave(err)
			return err
		}
	}
}

// begin carries out the first round.
func begin(t testing.TB, list []*Transport) {
	t.Helper()
	noErrors(t, each(list, func(tr *Transport) error { return exchange(t, tr, 0) }))
}

// kill ends a transport as the end of its process would: without a Bye.
func (t *Transport) kill() {
	t.once.Do(func() { t.cancel(); t.server.Stop() })
	t.wg.Wait()
}

// reported checks that err is a PeerError about a node, of a kind, with a text, reported by other nodes.
func reported(t *testing.T, what string, err error, node int, kind transport.Kind, text string, via ...int) {
	t.Helper()
	var e *transport.PeerError
	if !errors.As(err, &e) || e.Peer != node || e.Kind != kind || !slices.Equal(e.Via, via) ||
		!strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want one about node %d, %v, via %d, with %q", what, err, node, kind, via, text)
	}
}

// weights returns Metropolis weights on the edges of a cluster.
func weights(c *cluster.Cluster) *topology.Weights {
	return check.OK(topology.NewWeights(check.OK(c.Graph()), topology.Metropolis))
}

// sameBits compares testnet.Work over all transports with one process.
func sameBits(t *testing.T, c *cluster.Cluster, list []*Transport, scalars int) {
	t.Helper()
	want := check.OK(testnet.Work(t.Context(), weights(c), nil, scalars))
	noErrors(t, each(list, func(tr *Transport) error {
		err := tr.Join(t.Context())
		if err == nil {
			var got map[int]string
			got, err = testnet.Work(t.Context(), weights(c), tr, scalars)
			if err == nil && got[tr.node] != want[tr.node] {
				err = fmt.Errorf("node %d has other bits than in one process", tr.node)
			}
		}
		tr.Leave(err)
		return err
	}))
}
