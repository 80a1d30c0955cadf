package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/spf13/cobra"
)

func newNodeCommand() *cobra.Command {
	return newTableCommand(options.Node, "node --cluster FILE --key FILE --data FILE",
		"Train with the owners of other tables", trainAsNode)
}

// trainAsNode trains with the owners of other tables.
func trainAsNode(ctx context.Context, f *options.Flags, std streams) error {
	t := &training{Flags: f, streams: std}
	if f.Member.Engine == "mpi" {
		return t.runMPI(ctx)
	}
	m, err := newMember(&f.Member)
	if err != nil {
		return err
	}
	return t.federate(ctx, m.node(t.err))
}

// logEvery is the time between two lines of the log about the progress.
const logEvery = 5 * time.Second

// federate trains with the other nodes, and returns an error if the result has not converged.
func (t *training) federate(ctx context.Context, node *federate.Node) error {
	defer t.files.close()
	node.MaxNumbers, node.Metrics = owners.LargestSum(), t.Member.Metrics
	node.Prepare = func() error {
		if err := t.prepare(ctx, io.Discard); err != nil { // the log shows the progress
			return err
		}
		node.Settings = append(owners.Settings(t.table, t.config(node)), wire.Setting{Name: "difalt --version", Value: version()})
		return nil
	}
	node.Job = func(ctx context.Context, net *consensus.Network) error { return t.job(ctx, node, net) }
	if err := federate.Run(ctx, node); err != nil {
		return err
	}
	return notConverged(t.report.Converged)
}

// config returns the choices of the training, after prepare.
func (t *training) config(node *federate.Node) *owners.Config {
	c := &owners.Config{
		Train: [][]bool{t.train}, Rank: t.Model.Rank, Seed: t.Seed, Workers: t.Model.Workers,
		Progress: node.Progress, TaskColumn: t.Table.Task, TargetColumn: t.Table.Target,
	}
	if t.bar != nil {
		c.Progress = t.bar.Stage
	}
	if t.Private.Epsilon > 0 {
		c.Private = &t.Private
	}
	return c
}

// job trains once all nodes are connected, and writes the files and the report.
func (t *training) job(ctx context.Context, node *federate.Node, net *consensus.Network) error {
	names := node.Cluster.Nodes
	t.heading()
	if !t.Files.JSON {
		fmt.Fprintf(t.out, "Node %q of %s.\n\n", names[node.Number].Name, text.Plural(len(names), "node"))
	}
	if len(names) == 2 {
		node.Log.Warn("there are two nodes: each learns the other's part of every sum, since it has its own")
	}
	m, trained, err := owners.Train(ctx, []*dataset.Table{t.table}, net, *t.config(node))
	if err != nil {
		return err
	}
	return t.finish(ctx, m, report.OfOwners(trained))
}

// A member is this process as a node of a network, before it connects to the others.
type member struct {
	*options.Member
	cluster  *cluster.Cluster
	identity *cluster.Identity
	listener net.Listener // nil to listen on the address of the options
}

// readCluster reads the file of --cluster.
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

// newMember returns this process as the node of the cluster that has its key.
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

// node returns the node, which logs to out.
func (m *member) node(out io.Writer) *federate.Node {
	log := slog.New(slog.NewTextHandler(out, nil))
	return &federate.Node{Cluster: m.cluster, Number: m.identity.Node, Connect: m.connect, Log: log, LogEvery: logEvery}
}

func (m *member) entry() cluster.Node { return m.cluster.Nodes[m.identity.Node] }

// connect starts the transport of the node.
func (m *member) connect(o engine.Options) (engine.Transport, error) {
	l := m.listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", cmp.Or(m.Listen, m.entry().Address)); err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
	}
	o.JoinTimeout, o.RoundTimeout = cmp.Or(o.JoinTimeout, m.JoinTimeout), m.RoundTimeout
	t, err := grpc.New(m.cluster, m.identity, l, o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return t, nil
}
