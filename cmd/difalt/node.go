package main

import (
	"context"
	"io"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	nodeHelp = `Train with the owners of other tables. Each of them runs this command for a node
of cluster.json. This process reads only its own table, trains with the other
nodes, and writes its own model: the parameters that all share, and its own
tasks.

Options that change the result must be the same at all nodes, also --task and
--target. The author of cluster.json gives them once, to "difalt cluster new",
and no owner repeats them. A difference is refused by name before anything else
is sent. Nodes send sums over their rows, masked so that others learn only
totals over all nodes; with two nodes each learns the other's part.
docs/privacy.md lists every total. With --epsilon, noise makes the totals
differentially private; a second run spends the budget again.

Two trainings on different rows disclose the difference, also a single row. A
node warns before it connects if --model names the file of a training with
other owners whose rows here, or rules, were others. Change many rows, or none.

A neighbour that cannot be reached is dialled again until --join-timeout, and
the log reports why. A broken connection is re-established, and no message is
lost. A node that fails, or is interrupted, ends the training at all nodes.

The exit code is 1 if this node failed, and 3 if another one did; "difalt help"
lists all codes.`
	nodeExamples = `  # on a; likewise on b and c
  difalt node --cluster net/cluster.json --key a.key --model mine.npz mine.csv

  # on one site, with the number of the process as Open MPI gives it
  mpirun -np 4 sh -c 'r=$OMPI_COMM_WORLD_RANK
      difalt node --engine mpi --model m-$r.npz \
      --task clinic --target score --drop patient site-$r.csv'`
)

// nodeOptions are the options of node.
type nodeOptions struct {
	jointOptions
	member  memberOptions
	engine  string // engineGRPC or engineMPI
	metrics string // address
}

// The kinds of transport.
const (
	engineGRPC = "grpc"
	engineMPI  = "mpi"
)

// newNode returns the command node.
func newNode(std *cli.Streams) *cobra.Command {
	o := newNodeOptions()
	cmd := &cobra.Command{
		Use:     "node --cluster FILE --key FILE FILE...",
		Short:   "Train with the owners of other tables",
		Long:    nodeHelp,
		Example: nodeExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(cmd.Flags(), files); err != nil {
				return err
			}
			return runNode(cmd.Context(), std, *o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// newNodeOptions returns the options without flags.
func newNodeOptions() *nodeOptions {
	return &nodeOptions{
		jointOptions: jointOptions{trainingOptions: newTrainingOptions()},
		member:       newMemberOptions(),
		engine:       engineGRPC,
	}
}

// addFlags adds the flags of node.
func (o *nodeOptions) addFlags(flags *pflag.FlagSet) {
	o.member.addIdentity(flags, "list of the nodes, `FILE` cluster.json (required unless --engine is mpi)")
	flags.Var(cli.OneOf(&o.engine, engineGRPC, engineMPI), "engine",
		"send messages by `KIND`: grpc, or mpi between the processes of mpirun or srun (in builds with -tags mpi)")
	o.member.addTimeouts(flags)
	flags.Var(cli.Address(&o.metrics), "metrics", "serve /metrics for Prometheus, and /healthz, on `ADDRESS`")
	o.addData(flags, dataUsage)
	o.addTrainingFlags(flags)
}

// take takes the arguments, and the options that cluster.json has for all owners, and checks the options.
func (o *nodeOptions) take(flags *pflag.FlagSet, files []string) error {
	if path := o.member.clusterFile; path != "" && o.engine == engineGRPC {
		c, err := readCluster(path)
		if err != nil {
			return err
		}
		if err := takeShared(flags, path, c.Training); err != nil {
			return err
		}
	}
	if err := requireShared(flags); err != nil {
		return err
	}
	if err := o.jointOptions.take(flags, files); err != nil {
		return err
	}
	for _, name := range []string{"cluster", "key", "listen"} {
		if o.engine == engineMPI && flags.Changed(name) {
			return cli.WrongFlag(name, "it is for --engine grpc")
		}
	}
	return nil
}

// runNode trains with the owners of other tables.
func runNode(ctx context.Context, std *cli.Streams, o nodeOptions) error {
	if o.engine == engineMPI {
		return runMPI(ctx, std, o)
	}
	m, err := newMember(o.member)
	if err != nil {
		return err
	}
	node := m.node(std.Log())
	node.Metrics = o.metrics
	return newNodeTraining(std, o).federate(ctx, node)
}

// newNodeTraining returns the training of a node.
func newNodeTraining(std *cli.Streams, o nodeOptions) *training {
	return &training{trainingOptions: o.trainingOptions, privacy: o.privacy, Streams: std, command: "node"}
}

// logEvery is the time between two lines of the log about the progress.
const logEvery = 5 * time.Second

// federate trains with the other nodes, and returns an error if the result has not converged.
func (t *training) federate(ctx context.Context, node *federate.Node) error {
	defer t.used.close()
	node.MaxNumbers = mixed.LargestSum
	if err := t.open(); err != nil {
		return err
	}
	node.Prepare = func() error {
		// The log shows the progress.
		if err := t.read(ctx, io.Discard, [][]string{t.files}); err != nil {
			return err
		}
		list, o := t.inputs()
		if err := mixed.Check(list, o, t.budget(), len(node.Cluster.Nodes)); err != nil {
			return t.explain(err)
		}
		node.Settings = t.settings(&t.sources[0])
		if note := t.otherRows(); note != "" {
			t.notes = append(t.notes, note)
			node.Log.Warn(note)
		}
		return nil
	}
	node.Job = func(ctx context.Context, net *consensus.Network) error {
		t.heading()
		if net.Len() == 2 {
			node.Log.Warn("there are two nodes: each learns the other's part of every sum, since it has its own")
		}
		m, trained, err := t.together(ctx, net, func(p mixed.Progress) { node.Progress(federate.Progress(p)) })
		if err != nil {
			return err
		}
		t.trained = true
		node.Progress(federate.Progress{Stage: mixed.OwnFits, Sums: trained.Sums()})
		result, err := report.Of(ctx, trained)
		if err == nil {
			err = t.finish(ctx, m, result)
		}
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
