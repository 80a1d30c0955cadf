package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/mixed"
)

// trainAsNode trains with the owners of other tables.
func trainAsNode(ctx context.Context, f *flagtable.Flags, std cli.Streams) error {
	t := &training{Flags: f, Streams: std, command: "node"}
	if f.Member.Engine == "mpi" {
		return t.runMPI(ctx)
	}
	m, err := newMember(&f.Member)
	if err != nil {
		return err
	}
	return t.federate(ctx, m.node(t.Log()))
}

// logEvery is the time between two lines of the log about the progress.
const logEvery = 5 * time.Second

// federate trains with the other nodes, and returns an error if the result has not converged.
func (t *training) federate(ctx context.Context, node *federate.Node) error {
	defer t.files.close()
	node.MaxNumbers, node.Metrics = mixed.LargestSum, t.Member.Metrics
	node.Prepare = func() error {
		// The log shows the progress.
		if err := t.prepare(ctx, io.Discard, [][]string{t.Files.Data}); err != nil {
			return err
		}
		node.Settings = t.settings(&t.sources[0])
		return nil
	}
	node.Job = func(ctx context.Context, net *consensus.Network) error {
		t.heading()
		if net.Len() == 2 {
			node.Log.Warn("there are two nodes: each learns the other's part of every sum, since it has its own")
		}
		m, trained, err := t.together(ctx, net, node.Progress)
		if err != nil {
			return err
		}
		err = t.finish(ctx, m, report.Of(trained))
		if trained.Private != nil {
			err = trained.Private.Ended(err)
		}
		return err
	}
	if err := federate.Run(ctx, node); err != nil {
		return err
	}
	return t.unconverged
}

// A member is this process as a node of a network, before it connects to the others.
type member struct {
	*flagtable.Member
	cluster  *cluster.Cluster
	identity *cluster.Identity
	listener net.Listener // nil to listen on the address of the options
}

// newMember returns this process as the node of the cluster that has its key.
func newMember(o *flagtable.Member) (*member, error) {
	if o.Cluster == "" || o.Key == "" {
		return nil, cli.Usagef("--cluster and --key are required: the list of the nodes, cluster.json, and the key of this one")
	}
	c, err := cluster.Read(o.Cluster)
	if err != nil {
		return nil, cli.OfFlag("cluster", err)
	}
	id, err := cluster.ReadIdentity(c, o.Key)
	if err != nil {
		return nil, cli.OfFlag("key", err)
	}
	return &member{Member: o, cluster: c, identity: id}, nil
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
		if l, err = net.Listen("tcp", cmp.Or(m.Listen, m.cluster.Nodes[m.identity.Node].Address)); err != nil {
			return nil, cli.OfFlag("listen", err)
		}
	}
	o.JoinTimeout, o.RoundTimeout = cmp.Or(o.JoinTimeout, m.JoinTimeout), m.RoundTimeout
	t, err := grpc.New(m.cluster, m.identity, l, o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return t, nil
}
