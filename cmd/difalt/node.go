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

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/fit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	*fitFlags
	member     memberFlags
	checkpoint checkpointFlags
	metrics    string
	engine     string
	log        string
	every      time.Duration
	stay       bool
	untilEOF   bool
	set        *pflag.FlagSet
}

// A page needs all tasks.
var notForNodes = map[string]bool{"node": true, "nodes": true, "report": true}

// sharedFlags are those that must be the same at all nodes, beyond what the tables say.
var sharedFlags = []string{
	"task", "target", "rank", "auto", "method", "agree", "compress", "starts", "rounds", "init-rounds", "power-iterations", "iterations", "tolerance",
	"step", "normalize-tasks", "intercept", "ridge", "mean-ridge", "folds", "folds-by", "test-last", "seed",
}

func newNodeFlags() *nodeFlags {
	f := &nodeFlags{fitFlags: newFitFlags(), set: pflag.NewFlagSet("node", pflag.ContinueOnError)}
	f.set.SortFlags = false
	f.member.add(f.set)
	f.checkpoint.add(f.set)
	f.set.StringVar(&f.metrics, "metrics", "", "serve figures for Prometheus on `ADDRESS`, at /metrics, and /healthz and /readyz")
	f.fitFlags.set.VisitAll(func(flag *pflag.Flag) {
		if !notForNodes[flag.Name] {
			f.set.AddFlag(flag)
		}
	})
	f.set.StringVar(&f.engine, "engine", "grpc", "what carries messages: grpc; or mpi, between processes that mpirun or srun starts (in builds with -tags mpi)")
	f.set.StringVar(&f.log, "log", "text", "how to log, to standard error: text or json")
	f.set.DurationVar(&f.every, "log-every", 5*time.Second, "how often to log how far the training is, `TIME`")
	f.set.BoolVar(&f.stay, "stay", false, "when all is done, wait for SIGTERM: where a process that ends is started again")
	f.set.BoolVar(&f.untilEOF, "until-eof", false, "leave when standard input ends")
	_ = f.set.MarkHidden("until-eof")
	return f
}

func newNodeCommand() *cobra.Command {
	flags := newNodeFlags()
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
	cmd.Flags().AddFlagSet(flags.set)
	return cmd
}

func (f *nodeFlags) execute(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.resolve(); err != nil {
		return err
	}
	if err := f.checkEngine(); err != nil {
		return err
	}
	defer saveMemory()()
	if f.untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		signal.Ignore(syscall.SIGPIPE) // whoever reads the log may have been killed
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	if f.engine == "mpi" {
		return f.runMPI(ctx, stdout, stderr)
	}
	return f.run(ctx, stdout, stderr)
}

// failureMessage is that of the last line of a log in JSON, if the node has failed.
const failureMessage = "failed"

// complain says what went wrong, in JSON if the log is, and returns the exit code for it.
func (f *nodeFlags) complain(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil || f.log != "json" {
		return complain(ctx, stderr, err)
	}
	code := exitCode(ctx, err)
	newNodeLog(stderr, f.log).Error(failureMessage, "why", sentence(err), "exit_code", code)
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

func (f *nodeFlags) resolve() error {
	if isProblem(f.data) {
		return usagef("--data: a node reads a table, but %s is a problem file", f.data)
	}
	if err := f.fitFlags.resolve(); err != nil {
		return err
	}
	if f.log != "text" && f.log != "json" {
		return usagef("--log is %q: want text or json", f.log)
	}
	if f.every <= 0 {
		return usagef("--log-every is %v: must be positive", f.every)
	}
	if f.data == stdio && f.checkpoint.dir != "" {
		return usagef("--data is the standard input, which cannot be read again: --checkpoint needs a file")
	}
	f.options.Agreement.RoundByRound = true
	return f.checkpoint.check(f.set.Changed)
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
	r := &nodeRun{nodeFlags: f, cluster: cluster, node: id.Node, stdout: stdout, stderr: stderr, log: newNodeLog(stderr, f.log)}
	r.start = func(o engine.Options) (*member, error) { return f.member.start(cluster, o) }
	return r.run(ctx)
}

// run trains with the nodes to which start connects.
func (r *nodeRun) run(ctx context.Context) (err error) {
	if r.out, err = r.openOutputs(); err != nil {
		return r.excuse(err)
	}
	defer r.out.close()
	r.stdout = r.out.textOutput(r.stdout, r.stderr)
	r.status = &nodeStatus{log: r.log, name: r.cluster.Nodes[r.node].Name}
	if r.metrics != "" {
		stop, err := serveMetrics(r.metrics, r.status)
		if err != nil {
			return r.excuse(fmt.Errorf("--metrics: %w", err))
		}
		defer stop()
	}
	if err := r.watched(ctx); err != nil || !r.stay {
		return err
	}
	r.log.Info("done, waits to be ended")
	<-ctx.Done()
	return nil
}

func (r *nodeRun) watched(ctx context.Context) error {
	defer r.status.watch(r.every)()
	return r.train(ctx)
}

// terms are what neighbours compare when they connect. Fit compares the columns.
func (f *nodeFlags) terms(c *fit.Config) (terms []consensus.Term) {
	for _, name := range sharedFlags {
		value := f.set.Lookup(name).Value.String()
		if name == "tolerance" {
			if value = fmt.Sprint(c.Options.Tolerance); c.Options.EveryIteration { // --trace has a say in it
				value = "-1"
			}
		}
		terms = append(terms, consensus.Term{What: "--" + name, Value: value})
	}
	return append(terms, f.checkpoint.term())
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
