package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/internal/options"
)

// memberFlags say which node of which network this process is.
type memberFlags struct {
	*options.Member
	inherited *os.File // ListenFD, once it has been used
}

func (f *memberFlags) readCluster() (*cluster.Cluster, error) {
	if f.Cluster == "" {
		return nil, options.Usagef("--cluster is missing: need the file cluster.json")
	}
	c, err := cluster.Read(f.Cluster)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}

// A member is this process as a node of a network.
type member struct {
	cluster   *cluster.Cluster
	node      int
	transport engine.Transport
	trained   bool // all that the others need has been sent
}

func (m *member) name() string { return m.cluster.Nodes[m.node].Name }

// identify returns who this process is.
func (f *memberFlags) identify(c *cluster.Cluster) (*cluster.Identity, error) {
	if f.Key == "" {
		return nil, options.Usagef("--key is missing: need the key of a node")
	}
	id, err := cluster.ReadIdentity(c, f.Key, f.Cert)
	switch {
	case err != nil && f.Cert != "":
		return nil, fmt.Errorf("--cert and --key: %w", err)
	case err != nil:
		return nil, fmt.Errorf("--key: %w", err)
	}
	return id, nil
}

// open listens where the node should.
func (f *memberFlags) open(address string) (net.Listener, error) {
	if f.ListenFD > 0 {
		if f.inherited == nil {
			f.inherited = os.NewFile(uintptr(f.ListenFD), "listener")
		}
		return net.FileListener(f.inherited)
	}
	if f.Listen != "" {
		address = f.Listen
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// join connects to the neighbours, and returns when all are there. After an error that
// somebody else may be the reason of, the member is not nil, and knows who is not there.
func (f *memberFlags) join(ctx context.Context, c *cluster.Cluster, o engine.Options) (*member, error) {
	m, err := f.start(c, o)
	if err != nil {
		return nil, err
	}
	if err := m.transport.Join(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			m.transport.Leave(errors.New("interrupted before the start"))
			return m, &interruptedError{"interrupted while waiting for the neighbours: nothing was written"}
		}
		m.transport.Leave(err)
		return m, m.explain(err)
	}
	return m, nil
}

// start begins to connect to the neighbours.
func (f *memberFlags) start(c *cluster.Cluster, o engine.Options) (*member, error) {
	id, err := f.identify(c)
	if err != nil {
		return nil, err
	}
	l, err := f.open(c.Nodes[id.Node].Address)
	if err != nil {
		return nil, err
	}
	o.JoinTimeout, o.RoundTimeout, o.RejoinTimeout = f.JoinTimeout, f.RoundTimeout, f.RejoinTimeout
	t, err := grpc.New(c, id, l, o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &member{cluster: c, node: id.Node, transport: t}, nil
}

// explain puts the failure of another node into words.
func (m *member) explain(err error) error {
	var peer *wire.PeerError
	if !errors.As(err, &peer) || peer.Peer < 0 || peer.Peer >= len(m.cluster.Nodes) {
		return err
	}
	return &peerFailure{m.cluster.Nodes[peer.Peer].Name, peer}
}

// A peerFailure says which node has failed, by its name.
type peerFailure struct {
	name string
	*wire.PeerError
}

func (e *peerFailure) Unwrap() error { return e.PeerError }

func (e *peerFailure) Error() string {
	s := fmt.Sprintf("node %q has failed (%v, round %d)", e.name, e.Kind, e.Round)
	if e.Kind == wire.Refused {
		s = fmt.Sprintf("node %q and this one refuse each other", e.name)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// names returns the names of some nodes.
func (m *member) names(nodes []int) (list []string) {
	for _, i := range nodes {
		list = append(list, m.cluster.Nodes[i].Name)
	}
	slices.Sort(list)
	return list
}
