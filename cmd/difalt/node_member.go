package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/internal/federate"
	"github.com/difalt/difalt/internal/options"
)

// A member is this process as a node of a network, before it connects to the others.
type member struct {
	*options.Member
	cluster   *cluster.Cluster
	identity  *cluster.Identity
	inherited *os.File // ListenFD, once it has been used
}

// readCluster reads the list of nodes that --cluster names.
func readCluster(o *options.Member) (*cluster.Cluster, error) {
	if o.Cluster == "" {
		return nil, options.Usagef("--cluster is missing: need the file cluster.json")
	}
	c, err := cluster.Read(o.Cluster)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}

// newMember returns who this process is in the cluster, by the key that it has.
func newMember(o *options.Member) (*member, error) {
	c, err := readCluster(o)
	if err != nil {
		return nil, err
	}
	if o.Key == "" {
		return nil, options.Usagef("--key is missing: need the key of a node")
	}
	id, err := cluster.ReadIdentity(c, o.Key, o.Cert)
	switch {
	case err != nil && o.Cert != "":
		return nil, fmt.Errorf("--cert and --key: %w", err)
	case err != nil:
		return nil, fmt.Errorf("--key: %w", err)
	}
	return &member{Member: o, cluster: c, identity: id}, nil
}

func (m *member) entry() cluster.Node { return m.cluster.Nodes[m.identity.Node] }

// listen listens where the node should.
func (m *member) listen() (net.Listener, error) {
	if m.ListenFD > 0 {
		if m.inherited == nil {
			m.inherited = os.NewFile(uintptr(m.ListenFD), "listener")
		}
		return net.FileListener(m.inherited)
	}
	l, err := net.Listen("tcp", cmp.Or(m.Listen, m.entry().Address))
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// connect begins to connect to the neighbours.
func (m *member) connect(o engine.Options) (engine.Transport, error) {
	l, err := m.listen()
	if err != nil && o.Failed != nil { // who says that it cannot take part may call from anywhere
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	o.JoinTimeout, o.RoundTimeout, o.RejoinTimeout = m.JoinTimeout, m.RoundTimeout, m.RejoinTimeout
	t, err := grpc.New(m.cluster, m.identity, l, o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return t, nil
}

// join connects to the neighbours, and returns when all are there. After an error that
// somebody else may be the reason of, the transport is not nil, and knows who is not there.
func (m *member) join(ctx context.Context, o engine.Options) (engine.Transport, error) {
	t, err := m.connect(o)
	if err != nil {
		return nil, err
	}
	switch err := t.Join(ctx); {
	case err == nil:
		return t, nil
	case errors.Is(err, context.Canceled):
		t.Leave(errors.New("interrupted before the start"))
		return t, federate.Interrupted("interrupted while waiting for the neighbours: nothing was written")
	default:
		t.Leave(err)
		return t, federate.Explain(m.cluster, err)
	}
}
