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
	"syscall"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	engine "github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/fit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const nodeHelp = `Train with the owners of other tables. This process reads its own table only, trains with
the other nodes of cluster.json, each of which runs this command, and writes its own model:
its estimate of the shared basis, the shared mean and scaling, and its own tasks. The model
has the same bits as that of "difalt fit" with all files, where nodes agree along a tree
(the default); with --agree plain, as that of one process that averages round by round.

Options that say how to train must be the same at all nodes; what differs is refused by
its name, before anything else is sent. What a node sends is the same as in "difalt fit":
its estimates, and sums over its own rows. docs/network.md says what neighbours see.

A neighbour that cannot be reached is dialled again and again, and the log says why. A
connection that breaks is made again, and nothing is lost. SIGTERM or Ctrl-C ends the
training at all nodes together, in the same iteration: all write what they have.

The exit code is 0 when all went well, 1 when this node failed, 2 for a mistake in the
command line, 3 when another node failed or refuses this one, and 130 when the training
was interrupted. A node that fails tells the others, which end with 3 and its name.`

const nodeExamples = `  difalt cluster new --nodes a=host-a:7001,b=host-b:7001,c=host-c:7001 --out keys
  difalt node --cluster keys/cluster.json --key keys/a.key --data mine.csv \
      --task clinic --target score --drop patient --model mine.npz      (on a; likewise on b and c)`

// nodeFlags are the flags of node: those of fit that concern one node, and who it is.
type nodeFlags struct {
	*fitFlags
	member   memberFlags
	log      string
	every    time.Duration
	untilEOF bool
	set      *pflag.FlagSet
}

// The network is in cluster.json; a page needs all tasks.
var notForNodes = map[string]bool{"graph": true, "weights": true, "node": true, "nodes": true, "report": true}

// sharedFlags are those that must be the same at all nodes, beyond what the tables say.
var sharedFlags = []string{
	"task", "target", "tune", "rank", "auto", "method", "agree", "compress", "starts", "rounds", "init-rounds", "power-iterations", "iterations", "tolerance",
	"step", "normalize-tasks", "ridge", "mean", "standardize", "intercept", "folds", "baselines", "seed",
}

func newNodeFlags() *nodeFlags {
	f := &nodeFlags{fitFlags: newFitFlags(), set: pflag.NewFlagSet("node", pflag.ContinueOnError)}
	f.set.SortFlags = false
	f.member.add(f.set)
	f.fitFlags.set.VisitAll(func(flag *pflag.Flag) {
		if !notForNodes[flag.Name] {
			f.set.AddFlag(flag)
		}
	})
	f.set.StringVar(&f.log, "log", "text", "how to log, to standard error: text or json")
	f.set.DurationVar(&f.every, "log-every", 5*time.Second, "how often to log how far the training is, `TIME`")
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
			if err := flags.resolve(); err != nil {
				return err
			}
			ctx := cmd.Context()
			if flags.untilEOF {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
				signal.Ignore(syscall.SIGPIPE) // whoever reads the log may have been killed
				go func() {
					_, _ = io.Copy(io.Discard, os.Stdin)
					cancel()
				}()
			}
			return flags.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags.set)
	return cmd
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
	f.options.Agreement.RoundByRound = true
	return nil
}

// run trains: the report goes to stdout, the log to stderr.
func (f *nodeFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	cluster, err := f.member.readCluster()
	if err != nil {
		return err
	}
	node, _, err := f.member.identify(cluster)
	if err != nil {
		return err
	}
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	defer out.close()
	t, err := readFiles(f.data, f.columns)
	if err != nil {
		return err
	}
	t.AssignNode(cluster.Nodes[node].Name)
	c, err := f.config(t)
	if err != nil {
		return err
	}
	reportMissing(stdout, t)
	log := newNodeLog(stderr, f.log)
	m, err := f.member.start(cluster, engine.Options{Terms: f.terms(c), Report: func(s string) { log.Info(s) }})
	if err != nil {
		return err
	}
	trace := &trace{}
	if out.trace != nil {
		c.Options.Observer = trace.observe
	}
	status := &nodeStatus{log: log, member: m}
	c.Progress = status.progress
	stop := status.watch(f.every)
	defer stop()
	err = f.train(ctx, m, t, c, out, trace, stdout)
	switch {
	case err == nil:
		err = m.transport.Close()
	case errors.Is(err, context.Canceled):
		m.transport.Leave(errors.New("interrupted"))
	default:
		m.transport.Leave(err)
	}
	return m.explain(err)
}

// train joins the others, fits, and writes the results.
func (f *nodeFlags) train(ctx context.Context, m *member, t *dataset.Table, c *fit.Config, out *outputs, trace *trace, stdout io.Writer) error {
	if err := m.transport.Join(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return &interruptedError{"interrupted while waiting for the neighbours: nothing was written"}
		}
		return err
	}
	w, err := m.cluster.Weights()
	if err != nil {
		return err
	}
	if c.Network, err = consensus.New(w, m.transport); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d tasks, %d features, %d rows\nnode %q of %d, graph %v, rank %d\n\n",
		f.data, len(t.Tasks()), len(t.Features()), t.Rows(), m.name(), w.Len(), w, c.Options.Rank)
	fitted, report, err := fit.Fit(ctx, t, *c)
	if errors.Is(err, context.Canceled) {
		return &interruptedError{"interrupted before the iterations of the model began: nothing was written"}
	}
	if err != nil {
		return err
	}
	trace.curve.Method = fitted.Parameters().Method
	if err := out.write(fitted, trace); err != nil {
		return err
	}
	printReport(stdout, report, c)
	f.printFiles(stdout)
	if report.Result.Status == difalt.Canceled {
		// The others know, and have what they need: there is nothing to tell them.
		_ = m.transport.Close()
		return &interruptedError{fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", report.Result.Iterations, f.options.Iterations)}
	}
	return nil
}

// config returns what fit.Fit wants, but for the network. Defaults must not depend on
// how many tasks this node has.
func (f *nodeFlags) config(t *dataset.Table) (*fit.Config, error) {
	o := f.options
	o.Rank = f.rank
	if !f.set.Changed("rank") {
		o.Rank = 3
		if f.tune {
			o.Rank = 5
		}
		o.Rank = min(o.Rank, len(t.Features()))
	}
	if o.Rank > len(t.Features()) {
		return nil, usagef("--rank is %d: there are %d features", o.Rank, len(t.Features()))
	}
	train, err := t.Split(f.split)
	if err != nil {
		return nil, err
	}
	return &fit.Config{
		Options: o, Train: train,
		NoMean: f.mean == "none", Standardize: f.standardize, Intercept: f.intercept,
		Auto: f.auto, Starts: f.starts, Tune: f.tune, Ridge: f.ridgeValue, TuneRidge: f.tuneRidge, Folds: f.folds, Baselines: f.baselines, Release: true,
		TaskColumn: f.columns.Task, TargetColumn: f.columns.Target,
	}, nil
}

// terms are what neighbours compare when they connect. Fit compares the columns.
func (f *nodeFlags) terms(c *fit.Config) (terms []engine.Term) {
	for _, name := range sharedFlags {
		value := f.set.Lookup(name).Value.String()
		switch name {
		case "rank":
			value = fmt.Sprint(c.Options.Rank)
		case "tolerance":
			value = fmt.Sprint(c.Options.Tolerance) // --trace has a say in it
		}
		terms = append(terms, engine.Term{What: "--" + name, Value: value})
	}
	return terms
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
