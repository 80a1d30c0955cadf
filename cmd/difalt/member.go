package main

import (
	"cmp"
	"errors"
	"log/slog"
	"net"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
)

// A member is this process as a node of a network, before it connects to other nodes.
type member struct {
	memberOptions
	cluster  *cluster.Cluster
	identity *cluster.Identity
	listener net.Listener // nil to listen on the address of the options
}

// newMember returns this process as the node of the cluster that has its key.
func newMember(o memberOptions) (*member, error) {
	if o.clusterFile == "" || o.keyFile == "" {
		const text = "--cluster and --key are required: the list of the nodes, cluster.json, and the key of this one"
		return nil, cli.WrongFlags(map[bool]string{true: "cluster", false: "key"}[o.clusterFile == ""], text)
	}
	c, err := readCluster(o.clusterFile)
	if err = cmp.Or(err, cli.NamesFile("key", o.keyFile)); err != nil {
		return nil, err
	}
	id, err := cluster.ReadIdentity(c, o.keyFile)
	if err != nil {
		return nil, cli.OfFlag("key", err)
	}
	return &member{memberOptions: o, cluster: c, identity: id}, nil
}

// readCluster reads the list of the nodes.
func readCluster(path string) (*cluster.Cluster, error) {
	if err := cli.NamesFile("cluster", path); err != nil {
		return nil, err
	}
	c, err := cluster.Read(path)
	return c, cli.OfFlag("cluster", err)
}

// node returns the node with its log.
func (m *member) node(log *slog.Logger) *federate.Node {
	return &federate.Node{Cluster: m.cluster, Number: m.identity.Node, Connect: m.connect, Log: log, LogEvery: logEvery}
}

// connect starts the transport of the node.
func (m *member) connect(o engine.Options) (engine.Transport, error) {
	l := m.listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", cmp.Or(m.listen, m.cluster.Nodes[m.identity.Node].Address)); err != nil {
			return nil, cli.OfFlag("listen", err)
		}
	}
	t, err := grpc.New(m.cluster, m.identity, l, m.limit(o))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return t, nil
}

// limit returns options with the times of the flags. No wait is longer than --join-timeout.
func (o *memberOptions) limit(e engine.Options) engine.Options {
	e.JoinTimeout, e.RoundTimeout = min(cmp.Or(e.JoinTimeout, o.joinTimeout), o.joinTimeout), o.roundTimeout
	if e.Linger > 0 {
		e.Linger = min(e.Linger, o.joinTimeout)
	}
	return e
}
