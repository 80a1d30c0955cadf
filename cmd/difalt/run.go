package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
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

// runFlags are the flags of run.
type runFlags struct {
	Set *pflag.FlagSet
	difalt.Options
	member *flagtable.Member

	data, graph, output string
	rule                topology.Rule
	nodes               int
	snapshot, from      string // to write and to continue from
}

// methodNames returns the names of all methods.
func methodNames() (names []string) {
	for _, m := range difalt.Methods() {
		names = append(names, m.String())
	}
	return names
}

func newRunFlags() *runFlags {
	member := flagtable.New(flagtable.Run)
	f := &runFlags{graph: "er:0.5", member: &member.Member}
	f.Rounds, f.Iterations = 10, 500
	f.Set = options.FlagSet(append([]options.Option{
		{Name: "data", Value: options.Text(&f.data), Required: true, Usage: "problem `FILE`.npz with the arrays X, y, task and perhaps node"},
		{Name: "rank", Value: options.Count(&f.Rank, 1, options.Many), Required: true, Usage: "rank `r` of the representation"},
		options.Row("out", options.Text(&f.output), "write U and the coefficients b_t to `FILE`.npz"),
		options.Row("snapshot", options.Text(&f.snapshot),
			"write the state of the run to `FILE` every 100 iterations and at the end"),
		options.Row("from", options.Text(&f.from),
			"continue from the snapshot in `FILE`, of the same problem and options"),
		options.Row("nodes", options.Count(&f.nodes, 1, options.Many),
			"deal the tasks to `N` nodes, if the file names none (default: 10, or one per task)"),
		options.Row("graph", options.Text(&f.graph), "`KIND` of graph, if the file has none: "+topology.Specs()),
		options.Row("weights", options.Word(&f.rule, "metropolis", topology.ParseRule).Among("metropolis", "equal", "lazy-metropolis"),
			"`KIND` of mixing weights, if the file has none: metropolis, equal, lazy-metropolis"),
		options.Row("method", options.Word(&f.Method, "dif", difalt.ParseMethod).Among(methodNames()...),
			"`NAME` of dif, altgdmin, dec, dgd, accelerated"),
		options.Row("codec", options.Word(&f.Codec, "", consensus.ParseCodec).Among("int8", "int16", "float64"),
			"`KIND` of messages of accelerated: int8, int16 or float64 (default: int8)"),
		options.Row("step", options.Number(&f.Step, options.Positive), "step size `ETA` (default: by the initialisation)"),
		options.Row("ridge", options.Number(&f.Ridge, options.Range{Most: difalt.MaxRidge}),
			"penalty `LAMBDA` of |b_t|^2"),
		options.Row("tolerance", options.Number(&f.Tolerance, options.Range{Most: 1, Open: true}),
			"stop at this `DISTANCE` from the minimiser (default: 1e-10)"),
		options.Row("any-features", options.Yes(&f.AnyFeatures),
			"accept features that are not centred or differ much in size"),
	}, experiment.IterationRows(&f.Rounds, &f.StartRounds, &f.PowerIterations, &f.Iterations, &f.Seed, &f.Workers)...))
	f.Set.AddFlagSet(member.Set)
	return f
}

// resolve checks the flags as far as that is possible without the data. An error is a *cli.Error.
func (f *runFlags) resolve() error {
	if !options.IsProblem(f.data) {
		return cli.WrongValue("data", f.data, "run reads problem files (.npz): \"difalt fit --data %s\" reads tables", f.data)
	}
	alone := f.member.Cluster == ""
	wrong, kind := []string{"key", "listen", "join-timeout", "round-timeout"}, "with"
	if !alone {
		wrong, kind = []string{"nodes", "graph", "weights"}, "without"
	}
	for _, name := range wrong {
		if f.Set.Changed(name) {
			return cli.WrongFlag(name, "it is for a run %s --cluster", kind)
		}
	}
	return cli.OfParameter(f.Set, f.Validate(0, 0))
}

// open claims the files of the run. It starts the output, if there is one.
func (f *runFlags) open(used *files) error {
	for _, in := range []struct{ flag, path string }{
		{"data", f.data}, {"from", f.from}, {"cluster", f.member.Cluster}, {"key", f.member.Key},
	} {
		if err := used.reads(in.flag, in.path); err != nil {
			return err
		}
	}
	if f.snapshot != "" {
		if err := used.claimLater("snapshot", f.snapshot); err != nil {
			return err
		}
	}
	if f.output == "" {
		return nil
	}
	return used.createResult("out", f.output, ".npz")
}

func newRunCommand() *cobra.Command {
	f := newRunFlags()
	return cli.Command("run --data FILE --rank r", "Run a method on a problem file", f.Set, func(ctx context.Context, std cli.Streams) error {
		if err := f.resolve(); err != nil {
			return err
		}
		r := &algorithmRun{runFlags: f, Streams: std}
		defer r.files.close()
		if err := f.open(&r.files); err != nil {
			return err
		}
		r.Streams = r.files.streams(std)
		if f.member.Cluster == "" {
			bar := terminal.NewProgress(std.Progress())
			defer bar.Close()
			return r.alone(ctx, bar.Stage)
		}
		m, err := newMember(f.member)
		if err != nil {
			return err
		}
		return r.withOthers(ctx, m)
	})
}

// An algorithmRun is a run on a problem file, with all nodes in this process or with one of them. The result
// goes to the standard output.
type algorithmRun struct {
	*runFlags
	cli.Streams
	files files
	file  *problemfile.File
}

// read reads the problem file.
func (r *algorithmRun) read(ctx context.Context) error {
	return cli.UntilCanceled(ctx, func() (err error) {
		r.file, err = problemfile.Read(r.data)
		return err
	})
}

// alone runs all nodes in this process, with the tasks dealt to them unless the file does that.
func (r *algorithmRun) alone(ctx context.Context, progress func(string, float64)) error {
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
		return fmt.Errorf("%s: %w", r.data, err)
	}
	weights, err := r.weights(len(problem.Nodes))
	if err != nil {
		return err
	}
	if weights.Len() != len(problem.Nodes) {
		return fmt.Errorf("%s: its network has %d nodes, but its tasks are on %d", r.data, weights.Len(), len(problem.Nodes))
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return err
	}
	unconverged, err := r.run(ctx, problem, net, progress)
	if err != nil {
		return err
	}
	return unconverged
}

// weights returns the mixing weights of the file, or those of the flags.
func (r *algorithmRun) weights(nodes int) (*topology.Weights, error) {
	var graph *topology.Graph
	var err error
	switch in := r.file; {
	case r.Set.Changed("graph") || in.Weights == nil && in.Adjacency == nil:
		if graph, err = topology.Parse(r.graph, nodes, r.Seed); err != nil {
			return nil, cli.WrongFlag("graph", "%w", err)
		}
	case in.Adjacency != nil:
		if graph, err = topology.FromAdjacency(in.Adjacency); err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", r.data, "adjacency", err)
		}
	default:
		w, err := topology.WeightsOf(in.Weights)
		if err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", r.data, "weights", err)
		}
		if !r.Set.Changed("weights") {
			return w, nil
		}
		graph = w.Graph()
	}
	w, err := topology.NewWeights(graph, r.rule)
	if err != nil {
		return nil, cli.Usagef("--graph and --weights: %w", err)
	}
	return w, nil
}

// withOthers runs one node of a network of several processes, on the tasks of the file.
func (r *algorithmRun) withOthers(ctx context.Context, m *member) error {
	var unconverged error // the others need not know it
	node := m.node(r.Log())
	node.Settings = r.Settings()
	node.Prepare = func() error { return r.read(ctx) }
	node.Job = func(ctx context.Context, net *consensus.Network) error {
		problem, err := r.file.Problem(0)
		if err == nil && len(problem.Nodes) > 1 {
			err = fmt.Errorf("its tasks are on %d nodes: with --cluster it holds the tasks of this one", len(problem.Nodes))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.data, err)
		}
		unconverged, err = r.run(ctx, problem, net, node.Progress)
		return err
	}
	if err := federate.Run(ctx, node); err != nil {
		return err
	}
	return unconverged
}

// run runs the algorithm and writes its files and its report. The error unconverged says that the result was
// written and is no minimum: no failure that other nodes need to know.
func (r *algorithmRun) run(ctx context.Context, p *difalt.Problem, net *consensus.Network,
	progress func(string, float64)) (unconverged, err error) {
	o := r.Options
	o.Logger = slog.New(slog.NewTextHandler(r.Err, &slog.HandlerOptions{Level: max(r.Level, slog.LevelWarn)}))
	var solver *difalt.Solver
	o.Observer = func(rec *difalt.Record) error {
		progress("iterations", float64(rec.Iteration)/float64(r.Iterations))
		if rec.Iteration > 0 && rec.Iteration%saveEvery == 0 {
			return r.save(solver)
		}
		return nil
	}
	solver, err = difalt.NewSolver(p, net, o)
	if err != nil {
		return nil, cli.OfParameter(r.Set, err)
	}
	defer solver.Close()
	if err := r.restore(solver); err != nil {
		return nil, err
	}
	res, err := solver.Run(ctx)
	switch {
	case errors.Is(err, features.ErrNotStandard):
		return nil, cli.OfFile(r.data, errors.New("the means or sizes of its features would mislead the methods: standardise them "+
			"first, or give --any-features"))
	case res == nil && ctx.Err() != nil:
		return nil, cli.Interrupted("interrupted before the first iteration: nothing was written")
	case res == nil: // a run that has diverged, or was interrupted, has a result
		return nil, err
	}
	if err := r.write(solver, res, net); err != nil {
		return nil, err
	}
	end, elsewhere := text.Plural(res.Iterations, "iteration"), ""
	if path := r.files.redirected; path != "" {
		elsewhere = fmt.Sprintf("; it is in %s, since %s has a better one", path, r.output)
	}
	if res.Status == difalt.Canceled {
		return nil, cli.Interrupted("interrupted: the result is that of %s%s", end, elsewhere)
	}
	if res.Status != difalt.Converged {
		return cli.Unconverged("not converged: %v after %s%s", res.Status, end, elsewhere), nil
	}
	return nil, nil
}
