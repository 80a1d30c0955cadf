package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/difalt/difalt/internal/federate"
	"github.com/difalt/difalt/internal/options"
	"github.com/spf13/cobra"
)

const nodeHelp = `Train with the owners of other tables. This process reads its own table only, trains with
the other nodes of cluster.json, each of which runs this command, and writes its own model:
its estimate of the shared basis, the shared mean and scaling, and its own tasks. The model
has the same bits as that of "difalt fit" with all files and the same --graph, where nodes
agree along a tree (the default); with --agree plain, as that of one process that averages round by round.

Options that say how to train must be the same at all nodes; what differs is refused by
its name, before anything else is sent. What a node sends is the same as in "difalt fit":
its estimates, and sums over its own rows. docs/network.md says what neighbours see.

A neighbour that cannot be reached is dialled again and again, and the log says why. A
connection that breaks is made again, and nothing is lost. SIGTERM or Ctrl-C ends the
training at all nodes together, in the same iteration: all write what they have.

With --checkpoint, given to all nodes, each keeps its state every so many iterations. A
node that was killed is started again by the same command; the others wait for it, and all
go on from the last iteration that everybody has, with the same bits. SIGTERM then makes
all keep their state: the node ends, and the others wait for it.

The exit code is 0 when all went well, 1 when this node failed, 2 for a mistake in the
command line, 3 when another node failed or refuses this one, 130 when the training was
interrupted, here or at another node, and 143 when this process got SIGTERM. A node that
fails tells the others, which end with 3 and its name.`

const nodeExamples = `  difalt cluster new --nodes a=host-a:7001,b=host-b:7001,c=host-c:7001 --out keys
  difalt node --cluster keys/cluster.json --key keys/a.key --data mine.csv \
      --task clinic --target score --drop patient --model mine.npz      (on a; likewise on b and c)

  mpirun -np 4 difalt node --engine mpi --data 'site-%d.csv' --model 'm-%d.npz' \
      --task clinic --target score --drop patient      (on one site; %d is the number of the process)`

func newNodeCommand() *cobra.Command {
	o := options.New(options.Node)
	cmd := &cobra.Command{
		Use: "node --cluster FILE --key FILE --data FILE", Short: "Train with the owners of other tables",
		Long: nodeHelp, Example: nodeExamples, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := &nodeCommand{Flags: o, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
			err := n.run(cmd.Context())
			var reported *reportedError
			if err == nil || errors.As(err, &reported) {
				return err
			}
			return &reportedError{n.complain(cmd.Context(), err)}
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(o.Set)
	return cmd
}

// A nodeCommand is what node has been told. The report goes to stdout, the log to stderr.
type nodeCommand struct {
	*options.Flags
	stdout, stderr io.Writer
}

func (n *nodeCommand) run(ctx context.Context) error {
	if err := n.Resolve(); err != nil {
		return err
	}
	defer saveMemory()()
	if n.UntilEOF {
		signal.Ignore(syscall.SIGPIPE) // whoever reads the log may have been killed
		var cancel context.CancelFunc
		ctx, cancel = untilEOF(ctx)
		defer cancel()
	}
	if n.Engine == "mpi" {
		return n.runMPI(ctx)
	}
	c, err := readCluster(&n.Member)
	if err != nil {
		return err
	}
	m, err := newMember(c, &n.Member)
	if err != nil {
		return err
	}
	return n.train(ctx, &federate.Node{Cluster: c, Number: m.identity.Node, Connect: m.connect}, &nodeTraining{})
}

// untilEOF returns a context that also ends with the standard input.
func untilEOF(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// train trains as a node of which nothing is said yet but who and where it is.
func (n *nodeCommand) train(ctx context.Context, node *federate.Node, t *nodeTraining) error {
	node.Training, node.Log, node.LogEvery, node.Metrics, node.Stay = t, newNodeLog(n.stderr, n.Log.Format), n.Log.Every, n.Log.Metrics, n.Stay
	node.JoinTimeout, node.Settings = n.Member.JoinTimeout, n.Settings(options.AllNodes)
	if n.Checkpoints.Folder != "" {
		node.Checkpoints = &federate.Checkpoints{
			Folder: n.Checkpoints.Folder, Every: n.Checkpoints.Every, Data: n.Files.Data, Settings: n.Settings(options.Checkpoint),
		}
	}
	out, err := openOutputs(&n.Files)
	if err != nil {
		return node.Excuse(err)
	}
	defer out.close()
	t.Flags, t.node, t.out, t.stdout = n.Flags, node.Cluster.Nodes[node.Number].Name, out, out.textOutput(n.stdout, n.stderr)
	return node.Run(ctx)
}

// complain says what went wrong, in JSON if the log is, and returns the exit code for it.
func (n *nodeCommand) complain(ctx context.Context, err error) int {
	if err == nil || n.Log.Format != "json" {
		return complain(ctx, n.stderr, err)
	}
	code := exitCode(ctx, err)
	newNodeLog(n.stderr, n.Log.Format).Error(federate.FailureMessage, "why", sentence(err), "exit_code", code)
	return code
}

// saveMemory lets the heap grow by half, not to twice what is in use, before it is
// collected: what a node has is mostly its table, which costs the collector nothing. Who
// sets GOGC knows better.
func saveMemory() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	percent := debug.SetGCPercent(50)
	return func() { debug.SetGCPercent(percent) }
}

// newNodeLog returns the log of a node.
func newNodeLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
