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
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/difalt/difalt/consensus"
	"github.com/spf13/cobra"
)

func newNodeCommand() *cobra.Command {
	o := options.New(options.Node)
	return newCommand("node --cluster FILE --key FILE --data FILE",
		"Train with the owners of other tables", o.Set, func(cmd *cobra.Command, _ []string) error {
			if err := o.Resolve(); err != nil {
				return err
			}
			t := &training{Flags: o, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
			if o.Member.Engine == "mpi" {
				return t.runMPI(cmd.Context())
			}
			m, err := newMember(&o.Member)
			if err != nil {
				return err
			}
			return t.run(cmd.Context(), &federate.Node{Cluster: m.cluster, Number: m.identity.Node, Connect: m.connect})
		})
}

// A training is the part of one owner in a training with others. The report goes to stdout, the log to
// stderr.
type training struct {
	*options.Flags
	stdout, stderr io.Writer
	bar            *terminal.Progress // nil where the log shows the progress
	workers        int
	out            *outputs
	table          *dataset.Table
	train          []bool
	report         *report.Report // nil until the files are written
}

// logEvery is the time between two lines of the log about the progress.
const logEvery = 5 * time.Second

// run trains as a node that has only its identity and its way to connect.
func (t *training) run(ctx context.Context, node *federate.Node) error {
	node.Log, node.LogEvery = slog.New(slog.NewTextHandler(t.stderr, nil)), logEvery
	node.Metrics = t.Member.Metrics
	defer t.close()
	return t.federate(ctx, node)
}

// federate trains with the other nodes, and returns an error if the result has not converged.
func (t *training) federate(ctx context.Context, node *federate.Node) error {
	node.MaxNumbers = owners.LargestSum()
	node.Prepare = func() error {
		if err := t.prepare(ctx); err != nil {
			return err
		}
		node.Settings = owners.Settings(t.table, t.config(node))
		return nil
	}
	node.Job = func(ctx context.Context, net *consensus.Network) error { return t.job(ctx, node, net) }
	if err := federate.Run(ctx, node); err != nil {
		return err
	}
	return notConverged(t.report)
}

// prepare opens the outputs and reads the table, once.
func (t *training) prepare(ctx context.Context) (err error) {
	if t.table != nil {
		return nil
	}
	if t.out, err = openOutputs(&t.Files); err != nil {
		return err
	}
	t.stdout = t.out.textOutput(t.stdout, t.stderr)
	if t.table, err = readTable(ctx, io.Discard, nil, t.Files.Data, t.Table); err != nil {
		return err
	}
	if t.train, err = t.table.Split(t.Split); err != nil {
		return fmt.Errorf("%s: %w", t.Files.Data, err)
	}
	return nil
}

// close removes an output that was not completed.
func (t *training) close() {
	if t.out != nil {
		t.out.model.Close()
	}
}

// config returns the choices of the training, after prepare.
func (t *training) config(node *federate.Node) *owners.Config {
	c := &owners.Config{
		Train: [][]bool{t.train}, Rank: t.Model.Rank, Seed: t.Seed, Workers: t.workers,
		Progress: node.Progress, TaskColumn: t.Table.Task, TargetColumn: t.Table.Target,
	}
	if t.bar != nil {
		c.Progress = t.bar.Stage
	}
	if p := t.Private; p.Epsilon > 0 {
		c.Private = &owners.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Colluding: p.Colluding}
	}
	return c
}

// job trains once all nodes are connected, and writes the files and the report.
func (t *training) job(ctx context.Context, node *federate.Node, net *consensus.Network) error {
	names := node.Cluster.Nodes
	if !t.Files.JSON {
		writeHeading(t.stdout, t.Files.Data, t.table, t.train)
		fmt.Fprintf(t.stdout, "Node %q of %s.\n\n", names[node.Number].Name, text.Plural(len(names), "node"))
	}
	if len(names) == 2 {
		node.Log.Warn("there are two nodes: each learns the other's part of every sum, since it has its own")
	}
	m, trained, err := owners.Train(ctx, []*dataset.Table{t.table}, net, *t.config(node))
	if err != nil {
		return err
	}
	r := report.New(&report.Inputs{Data: t.Files.Data, Version: version(), Table: t.table, Train: t.train, Model: m,
		Result: report.OfOwners(trained)})
	if err := t.out.write(&t.Files, m, r); err != nil {
		return err
	}
	t.report = r
	if err := r.Write(t.stdout, t.Files.JSON); err != nil {
		return err
	}
	if !t.Files.JSON {
		writeFiles(t.stdout, &t.Files)
	}
	return nil
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
