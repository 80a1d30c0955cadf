package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/mat"
)

const (
	runHelp = `Run the paper's algorithm, or one of the methods next to it, on a problem file:
an .npz file of NumPy with the arrays

  X      N x d, or T x n x d for tasks of n samples each
  y      N, or T x n
  task   the task of each row, N numbers from 0 to T-1 or names
  node   optional: the node of each task, T numbers or names

and optionally weights or adjacency (L x L), Ustart (d x r, the start of the
power iteration), U0 (L x d x r, the starts of the nodes) and Ustar (d x r, the
truth, for distances). All nodes run in this process; with --cluster this one is
a node of a network, and --data holds the tasks of this node only.

--out gets the arrays U (L x d x r), B (T x r: the coefficients of each task)
and node (T), with tasks in the order of their numbers, or of the first rows of
named ones, and status. The exit code is 5 if the result has not converged. Such
a result does not replace one that has, nor a diverged one any other: it goes to
a.unfinished.npz in place of a.npz.

--snapshot keeps the state of the run; --from continues from it with the same
problem and options. Methods remember nothing of earlier iterations then.`
	runExamples = `  # the problem of simulate, by the fast method; its file has Ustar
  difalt simulate --trials 1 --export problem.npz
  difalt run --data problem.npz --rank 4 --method accelerated --out result.npz

  # the paper's method with 30 rounds on a ring of 20 nodes
  difalt run --data problem.npz --rank 4 --rounds 30 --graph ring \
      --iterations 1000

  # a run that was interrupted, and its end
  difalt run --data problem.npz --rank 4 --snapshot a.state
  difalt run --data problem.npz --rank 4 --from a.state --snapshot b.state

  # one of several processes; cluster new makes cluster.json and the keys
  difalt run --data own.npz --rank 4 --method accelerated \
      --cluster cluster.json --key site-a.key --out own-result.npz`
)

// runOptions are the options of run.
type runOptions struct {
	difalt.Options
	data, out      string
	snapshot, from string // to write and to continue from
	nodes          int
	graph          string
	rule           topology.Rule
	member         memberOptions

	flags *pflag.FlagSet // that set these values
}

// newRun returns the command run.
func newRun(std *cli.Streams) *cobra.Command {
	o := newRunOptions()
	cmd := &cobra.Command{
		Use:     "run --data FILE --rank r",
		Short:   "Run a method on a problem file",
		Long:    runHelp,
		Example: runExamples,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return runRun(cmd.Context(), std, o)
		},
	}
	cmd.Flags().AddFlagSet(o.flags)
	cli.Require(cmd, "data", "rank")
	return cmd
}

// newRunOptions returns the options without flags.
func newRunOptions() *runOptions {
	o := &runOptions{
		graph:  "er:0.5",
		rule:   topology.Metropolis,
		member: newMemberOptions(),
		flags:  pflag.NewFlagSet("run", pflag.ContinueOnError),
	}
	o.Rounds, o.Iterations, o.Seed = 10, 500, 1
	flags := o.flags
	flags.SortFlags = false
	flags.StringVar(&o.data, "data", "", "problem `FILE`.npz with the arrays X, y, task and perhaps node")
	flags.Var(cli.Count(&o.Rank, 1, cli.Many), "rank", "rank `r` of the representation")
	flags.StringVar(&o.out, "out", "", "write U and the coefficients b_t to `FILE`.npz")
	flags.StringVar(&o.snapshot, "snapshot", "",
		"write the state of the run to `FILE` every 100 iterations and at the end")
	flags.StringVar(&o.from, "from", "", "continue from the snapshot in `FILE`, of the same problem and options")
	flags.Var(cli.Count(&o.nodes, 1, cli.Many), "nodes",
		"deal the tasks to `N` nodes, if the file names none (default: 10, or one per task)")
	flags.Var(experiment.Graph(&o.graph), "graph",
		"`KIND` of graph, in place of the file's if given: "+topology.Specs())
	flags.Var(cli.Parsed(&o.rule, "metropolis", topology.ParseRule, experiment.Rules...),
		"weights",
		"`KIND` of mixing weights, in place of the file's if given: metropolis, equal, lazy-metropolis")
	flags.Var(cli.Parsed(&o.Method, "dif", difalt.ParseMethod, methodNames()...), "method",
		"`NAME` of dif, altgdmin, dec, dgd, accelerated")
	flags.Var(cli.Parsed(&o.Codec, "", consensus.ParseCodec, "int8", "int16", "float64"), "codec",
		"`KIND` of messages of accelerated: int8, int16 or float64 (default: int8)")
	flags.Var(cli.Number(&o.Step, cli.Positive), "step", "step size `ETA` (default: by the initialisation)")
	flags.Var(cli.Number(&o.Ridge, cli.Range{Most: difalt.MaxRidge}), "ridge", "penalty `LAMBDA` of |b_t|^2")
	flags.Var(cli.Number(&o.Tolerance, cli.Range{Most: 1, Open: true}), "tolerance",
		"stop at this `DISTANCE` from the minimiser (default: 1e-10)")
	flags.BoolVar(&o.AnyFeatures, "any-features", false, "accept features that are not centred or differ much in size")
	experiment.AddIterationFlags(flags, experiment.Iterations{
		Rounds: &o.Rounds, StartRounds: &o.StartRounds, PowerIterations: &o.PowerIterations, Iterations: &o.Iterations,
		Seed: &o.Seed, Workers: &o.Workers,
	})
	o.member.addIdentity(flags, "run as one of the nodes in `FILE` cluster.json, with the tasks of --data")
	o.member.addTimeouts(flags)
	return o
}

// methodNames returns the names of all methods.
func methodNames() (names []string) {
	for _, m := range difalt.Methods() {
		names = append(names, m.String())
	}
	return names
}

// check checks the options as far as that is possible without the data. An error is a *cli.Error.
func (o *runOptions) check() error {
	if !problemfile.IsName(o.data) {
		return cli.WrongValue("data", o.data, "run reads problem files (.npz): \"difalt fit --data %s\" reads tables",
			o.data)
	}
	wrong, kind := []string{"key", "listen", "join-timeout", "round-timeout"}, "with"
	if o.member.clusterFile != "" {
		wrong, kind = []string{"nodes", "graph", "weights"}, "without"
	}
	for _, name := range wrong {
		if o.flags.Changed(name) {
			return cli.WrongFlag(name, "it is for a run %s --cluster", kind)
		}
	}
	return cli.OfParameter(o.flags, o.Validate(0, 0))
}

// open claims the files of the run. It starts the output, if there is one.
func (o *runOptions) open(used *files) error {
	for _, in := range []struct{ flag, path string }{
		{"data", o.data}, {"from", o.from}, {"cluster", o.member.clusterFile}, {"key", o.member.keyFile},
	} {
		if err := cmp.Or(cli.NamesFile(in.flag, in.path), used.reads(in.flag, in.path)); err != nil {
			return err
		}
	}
	if o.snapshot != "" {
		if err := used.claimLater("snapshot", o.snapshot); err != nil {
			return err
		}
	}
	if o.out != "" {
		if err := used.createResult("out", o.out, ".npz"); err != nil {
			return err
		}
	}
	return used.exist()
}

// runRun runs a method, with all nodes in this process or as one of them.
func runRun(ctx context.Context, std *cli.Streams, o *runOptions) error {
	r := &algorithmRun{runOptions: o}
	defer r.files.close()
	if err := o.open(&r.files); err != nil {
		return err
	}
	r.Streams = r.files.streams(std)
	if o.member.clusterFile == "" {
		bar := terminal.NewProgress(std.Progress())
		defer bar.Close()
		return r.alone(ctx, func(done int) { bar.Stage("iterations", float64(done)/float64(o.Iterations)) })
	}
	m, err := newMember(o.member)
	if err != nil {
		return err
	}
	return r.withOthers(ctx, m)
}

// An algorithmRun is a run on a problem file, with all nodes in this process or with one of them. The result
// goes to the standard output.
type algorithmRun struct {
	*runOptions
	*cli.Streams
	files files
	file  *problemfile.File
	state *difalt.Snapshot // of --from; nil without it
}

// read reads the problem file and the snapshot.
func (r *algorithmRun) read(ctx context.Context) error {
	return cli.UntilCanceled(ctx, func() (err error) {
		if r.file, err = problemfile.Read(r.data); err != nil {
			return err
		}
		if err := r.checkStarts(); err != nil {
			return err
		}
		return r.ofState(r.readState())
	})
}

// alone runs all nodes in this process, with the tasks dealt to them unless the file does that.
func (r *algorithmRun) alone(ctx context.Context, progress func(iterations int)) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	size := func(m *mat.Dense) int {
		if m == nil {
			return 0
		}
		return m.RawMatrix().Rows
	}
	nodes := r.nodes
	if r.file.Nodes == 0 {
		nodes = cmp.Or(nodes, size(r.file.Weights), size(r.file.Adjacency), min(10, r.file.Tasks))
	}
	problem, err := r.file.Problem(nodes)
	if err != nil {
		return cli.OfParameter(r.flags, place.Named(r.data, err))
	}
	weights, err := r.weights(len(problem.Nodes))
	if err != nil {
		return err
	}
	if weights.Len() != len(problem.Nodes) {
		return place.Named(r.data, fmt.Errorf("its network has %d nodes, but its tasks are on %d", weights.Len(),
			len(problem.Nodes)))
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return place.Named(r.data, err)
	}
	unconverged, err := r.run(ctx, problem, net, progress)
	if err != nil {
		return err
	}
	return unconverged
}

// weights returns the mixing weights that the file or the flags give.
func (r *algorithmRun) weights(nodes int) (*topology.Weights, error) {
	var graph *topology.Graph
	var err error
	switch in := r.file; {
	case r.flags.Changed("graph") || in.Weights == nil && in.Adjacency == nil:
		if graph, err = topology.Parse(r.graph, nodes, r.Seed); err != nil {
			return nil, cli.WrongFlag("graph", "%w", err)
		}
	case in.Adjacency != nil:
		if graph, err = topology.FromAdjacency(in.Adjacency); err != nil {
			return nil, place.Named(r.data, fmt.Errorf("array %q: %w", "adjacency", err))
		}
	default:
		w, err := topology.WeightsOf(in.Weights)
		if err != nil {
			return nil, place.Named(r.data, fmt.Errorf("array %q: %w", "weights", err))
		}
		if !r.flags.Changed("weights") {
			return w, nil
		}
		graph = w.Graph()
	}
	w, err := topology.NewWeights(graph, r.rule)
	switch {
	case err != nil && !graph.Connected() && !r.flags.Changed("graph"):
		return nil, place.Named(r.data, fmt.Errorf("array %q: %w", "adjacency", err)) // other graphs are connected
	case err != nil:
		return nil, cli.WrongFlags("weights", "--graph and --weights: %w", err)
	}
	return w, nil
}

// ownProblem reads and checks the tasks of a node.
func (r *algorithmRun) ownProblem(ctx context.Context, node int) (*difalt.Problem, error) {
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	problem, err := r.file.Problem(0)
	if err == nil && len(problem.Nodes) > 1 {
		err = fmt.Errorf("its tasks are on %d nodes: with --cluster it holds the tasks of this one", len(problem.Nodes))
	}
	if err != nil {
		return nil, place.Named(r.data, err)
	}
	return problem, r.explain(problem.Validate([]int{node}, r.Rank))
}

// withOthers runs one node of a network of several processes, on the tasks of the file.
func (r *algorithmRun) withOthers(ctx context.Context, m *member) error {
	var unconverged error // other nodes need not know it
	var problem *difalt.Problem
	node := m.node(r.Log())
	node.Settings = r.Settings()
	node.Prepare = func() (err error) {
		problem, err = r.ownProblem(ctx, m.identity.Node)
		return err
	}
	node.Job = func(ctx context.Context, net *consensus.Network) (err error) {
		unconverged, err = r.run(ctx, problem, net, func(done int) {
			node.Progress(federate.Progress{Stage: "iterations", Done: done, Most: r.Iterations})
		})
		return err
	}
	if err := federate.Run(ctx, node); err != nil {
		return err
	}
	return unconverged
}

// run runs the algorithm and writes its files and its report. The error unconverged stands for a result that
// was written without being a minimum. Other nodes need not know it.
func (r *algorithmRun) run(ctx context.Context, p *difalt.Problem, net *consensus.Network,
	progress func(iterations int)) (unconverged, err error) {
	o := r.Options
	o.Logger = slog.New(slog.NewTextHandler(r.Err, &slog.HandlerOptions{Level: max(r.Level, slog.LevelWarn)}))
	var solver *difalt.Solver
	var unsaved error // of a snapshot during the run
	o.Observer = func(rec *difalt.Record) error {
		progress(rec.Iteration)
		if rec.Iteration > 0 && rec.Iteration%saveEvery == 0 {
			unsaved = r.save(solver)
		}
		if unsaved != nil {
			return difalt.ErrStop
		}
		return nil
	}
	solver, err = difalt.NewSolver(p, net, o)
	if err != nil {
		return nil, r.explain(err)
	}
	defer solver.Close()
	if err := r.restore(solver); err != nil {
		return nil, err
	}
	res, err := solver.Run(ctx)
	switch {
	case unsaved != nil:
		return nil, unsaved
	case errors.Is(err, features.ErrNotStandard):
		return nil, place.Named(r.data,
			errors.New("the means or sizes of its features would mislead the methods: standardise them "+
				"first, or give --any-features"))
	case res == nil && ctx.Err() != nil:
		return nil, cli.Interrupted("interrupted before the first iteration: nothing was written")
	case res == nil: // a run that has diverged, or was interrupted, has a result
		return nil, r.explain(err)
	}
	if err := r.write(solver, res, net); err != nil {
		return nil, err
	}
	end, elsewhere := text.Plural(res.Iterations, "iteration"), ""
	if path := r.files.redirected; path != "" {
		elsewhere = fmt.Sprintf("; it is in %s, since %s has a better one", path, r.out)
	}
	if res.Status == difalt.Canceled {
		return nil, cli.Interrupted("interrupted: the result is that of %s%s", end, elsewhere)
	}
	if res.Status != difalt.Converged {
		return cli.Unconverged("not converged: %v after %s%s", res.Status, end, elsewhere), nil
	}
	return nil, nil
}
