package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/difalt/difalt/engine"
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

// nodeFlags are the flags of node: those of fit that concern one node, and who it is.
type nodeFlags struct {
	*options.Flags
	member memberFlags
}

func newNodeFlags(c options.Command) *nodeFlags {
	f := &nodeFlags{Flags: options.New(c)}
	f.member.Member = &f.Member
	return f
}

func newNodeCommand() *cobra.Command {
	flags := newNodeFlags(options.Node)
	cmd := &cobra.Command{
		Use: "node --cluster FILE --key FILE --data FILE", Short: "Train with the owners of other tables",
		Long: nodeHelp, Example: nodeExamples, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := flags.execute(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			var told *toldError
			if err == nil || errors.As(err, &told) {
				return err
			}
			return &toldError{flags.complain(cmd.Context(), cmd.ErrOrStderr(), err)}
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags.Set)
	return cmd
}

func (f *nodeFlags) execute(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.Resolve(); err != nil {
		return err
	}
	defer saveMemory()()
	if f.UntilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		signal.Ignore(syscall.SIGPIPE) // whoever reads the log may have been killed
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	if f.Engine == "mpi" {
		return f.runMPI(ctx, stdout, stderr)
	}
	return f.run(ctx, stdout, stderr)
}

// failureMessage is that of the last line of a log in JSON, if the node has failed.
const failureMessage = "failed"

// complain says what went wrong, in JSON if the log is, and returns the exit code for it.
func (f *nodeFlags) complain(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil || f.Log.Format != "json" {
		return complain(ctx, stderr, err)
	}
	code := exitCode(ctx, err)
	newNodeLog(stderr, f.Log.Format).Error(failureMessage, "why", sentence(err), "exit_code", code)
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

// run trains: the report goes to stdout, the log to stderr.
func (f *nodeFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	cluster, err := f.member.readCluster()
	if err != nil {
		return err
	}
	id, err := f.member.identify(cluster)
	if err != nil {
		return err
	}
	r := &nodeRun{nodeFlags: f, cluster: cluster, node: id.Node, stdout: stdout, stderr: stderr, log: newNodeLog(stderr, f.Log.Format)}
	r.start = func(o engine.Options) (*member, error) { return f.member.start(cluster, o) }
	return r.run(ctx)
}

// run trains with the nodes to which start connects.
func (r *nodeRun) run(ctx context.Context) (err error) {
	if r.out, err = openOutputs(&r.Files); err != nil {
		return r.excuse(err)
	}
	defer r.out.close()
	r.stdout = r.out.textOutput(r.stdout, r.stderr)
	r.status = &nodeStatus{log: r.log, name: r.cluster.Nodes[r.node].Name}
	if r.Log.Metrics != "" {
		stop, err := serveMetrics(r.Log.Metrics, r.status)
		if err != nil {
			return r.excuse(fmt.Errorf("--metrics: %w", err))
		}
		defer stop()
	}
	if err := r.watched(ctx); err != nil || !r.Stay {
		return err
	}
	r.log.Info("done, waits to be ended")
	<-ctx.Done()
	return nil
}

func (r *nodeRun) watched(ctx context.Context) error {
	defer r.status.watch(r.Log.Every)()
	return r.train(ctx)
}

// newNodeLog returns the log of a node.
func newNodeLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// round to a tenth, for logs.
func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
