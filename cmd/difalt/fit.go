package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

const fitHelp = `Learn what many small regression tasks share, from a table of their samples.

Every row is a sample of the task that the column --task names; --target is what
to predict, and all other columns are features: numbers, or levels in the columns
that --categorical names. Several files that match a pattern are one node each,
unless --node or --nodes says otherwise. The model is

  target = features' (shared mean + U b_task) + noise,

with a basis U of rank r that all tasks share and that nodes find together by
exchanging their estimates of it. Part of the rows is held out, and a
table compares the errors with those of one ridge regression for all tasks and of
one for each. The strengths of all ridges are chosen by the same cross-validation
on training rows; --tune chooses the rank and the strength of the mean as well.

U is found by the accelerated method, from the best of a few starts, until it is within
--tolerance of a minimiser; a fit that does not get there says so first. The nodes add
up their steps along a tree of the graph, which is exact; with --agree plain or chebyshev
they talk to their neighbours only, in coded differences, and send several times as much.

Scaling, shared mean and errors are sums over the nodes too: a node sends sums over
its own rows (moments, Gram matrices of its folds, squared errors), never a row. Of
few rows or tasks such sums tell more than they should; a warning names the nodes.

Missing values (empty, NA, NaN, null, None) are an error that counts them by column,
unless --missing says drop (leave their rows out) or mean: a missing feature then
becomes the mean of its column over the training rows of all nodes, which the model
remembers, and a missing level the shares of all levels. Rows without task, node or
target are left out by both.

A problem file (.npz) holds samples, and possibly network, start and truth, as
"difalt simulate --export" writes them. It runs the algorithm of the paper as it
is: no mean, no scaling, no ridge, all rows. With U0 in the file, other programs
can follow the same iterates in --trace. Weights of the file are used unless
--graph or --weights is given; --weights alone applies to the file's graph.

Ctrl-C ends the iterations and keeps the model as far as it got.`

const fitExamples = `  # patients of 40 clinics (examples/clinics.csv in the sources): compare, and keep the model
  difalt fit --data examples/clinics.csv --task clinic --target score --drop patient \
      --model clinics-model.npz

  # few samples: train on 6 rows of each clinic, test on the others
  difalt fit --data examples/clinics.csv --task clinic --target score --drop patient \
      --train-rows-per-task 6

  # choose everything by cross-validation, and make a page with figures
  difalt fit --data examples/clinics.csv --task clinic --target score --drop patient \
      --tune --report report

  # bring your own table: leave out some columns; each task lives where a column says
  difalt fit --data sales.csv --task store --target revenue --drop date,comment --node region

  # one file a site: each is a node, and no row leaves it
  difalt fit --data 'site-*.csv' --task store --target revenue --categorical region

  # all rows for training, four nodes in a ring
  difalt fit --data sales.csv --task store --target revenue --drop date,comment \
      --test-fraction 0 --nodes 4 --graph ring --model sales-model.npz

  # the paper's algorithm on a problem file, with the curve of every iteration
  difalt simulate --trials 1 --export problem.npz
  difalt fit --data problem.npz --rank 4 --iterations 500 --trace trace.csv`

func newFitCommand() *cobra.Command {
	flags := newFitFlags()
	cmd := &cobra.Command{
		Use:     "fit --data FILE",
		Short:   "Train a shared representation on a table or a problem file",
		Long:    fitHelp,
		Example: fitExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.resolve(); err != nil {
				return err
			}
			return flags.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags.set)
	return cmd
}

// run fits: the report goes to stdout, progress to stderr.
func (f *fitFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	defer out.close()
	in, err := f.read()
	if err != nil {
		return err
	}
	network, err := f.network(in)
	if err != nil {
		return err
	}
	c, err := f.config(in, network)
	if err != nil {
		return err
	}
	describeFit(stdout, f.data, in.Table, c)
	reportMissing(stdout, in.Table)
	trace := &trace{}
	if out.trace != nil || f.report != "" {
		c.Options.Observer = trace.observe
	}
	bar := &stages{out: stderr}
	c.Progress = bar.show
	m, report, err := fit.Fit(ctx, in.Table, *c)
	bar.close()
	if errors.Is(err, context.Canceled) {
		return &interruptedError{"interrupted before the iterations of the model began: nothing was written"}
	}
	if err != nil {
		return err
	}
	trace.curve.Method = m.Parameters().Method
	if err := out.write(m, trace); err != nil {
		return err
	}
	if f.report != "" {
		files, err := f.reportFiles(in.Table, m, report, c, trace)
		if err != nil {
			return err
		}
		if err := writeFolder(f.report, files); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	printReport(stdout, report, c)
	f.printFiles(stdout)
	if report.Result.Status == difalt.Canceled {
		return &interruptedError{fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", report.Result.Iterations, f.options.Iterations)}
	}
	return nil
}

// outputs are the files that fit writes; nil where none is asked for.
type outputs struct{ trace, model *atomicfile.File }

// openOutputs opens the files before the work begins.
func (f *fitFlags) openOutputs() (out *outputs, err error) {
	out = &outputs{}
	if f.trace != "" {
		if out.trace, err = atomicfile.Create(f.trace); err != nil {
			return nil, fmt.Errorf("--trace: %w", err)
		}
	}
	if f.model != "" {
		if out.model, err = atomicfile.Create(f.model); err != nil {
			out.close()
			return nil, fmt.Errorf("--model: %w", err)
		}
	}
	if f.report != "" {
		if err := os.MkdirAll(f.report, 0o777); err != nil {
			out.close()
			return nil, fmt.Errorf("--report: %w", err)
		}
	}
	return out, nil
}

func (o *outputs) close() {
	for _, f := range []*atomicfile.File{o.trace, o.model} {
		if f != nil {
			f.Close()
		}
	}
}

func (o *outputs) write(m *model.Model, t *trace) error {
	if o.trace != nil {
		if _, err := o.trace.Write(t.csv()); err != nil {
			return err
		}
		if err := o.trace.Commit(); err != nil {
			return err
		}
	}
	if o.model == nil {
		return nil
	}
	if err := m.Write(o.model); err != nil {
		return err
	}
	return o.model.Commit()
}

// read reads the data and puts the tasks on nodes.
func (f *fitFlags) read() (*dataset.ProblemFile, error) {
	in, err := readData(f.data, f.columns)
	if err != nil {
		return nil, err
	}
	if in.HasNodes && f.set.Changed("nodes") {
		return nil, usagef("%s says where tasks live: leave out --nodes", f.data)
	}
	filesAreNodes := len(in.Table.Nodes()) > 0 && !f.set.Changed("nodes")
	if in.HasNodes || f.columns.Node != "" || filesAreNodes {
		return in, nil
	}
	nodes := f.nodes
	switch {
	case nodes > 0:
	case len(in.U0) > 0:
		nodes = len(in.U0)
	case in.Weights != nil:
		nodes = in.Weights.RawMatrix().Rows
	case in.Adjacency != nil:
		nodes = in.Adjacency.RawMatrix().Rows
	default:
		nodes = min(10, len(in.Table.Tasks()))
	}
	if err := in.Table.AssignBlocks(nodes); err != nil {
		return nil, fmt.Errorf("%s: %w", f.data, err)
	}
	return in, nil
}

// network returns the network of the flags or of the file.
func (f *fitFlags) network(in *dataset.ProblemFile) (*consensus.Network, error) {
	given := f.set.Changed
	var graph *topology.Graph
	var err error
	switch {
	case given("graph") || in.Weights == nil && in.Adjacency == nil:
		graph, err = topology.Parse(f.graph, len(in.Table.Nodes()), f.options.Seed)
		if err != nil {
			return nil, usagef("--graph: %w", err)
		}
	case in.Adjacency != nil:
		if graph, err = topology.FromAdjacency(in.Adjacency); err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", f.data, "adjacency", err)
		}
	default:
		w, err := topology.WeightsOf(in.Weights)
		if err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", f.data, "weights", err)
		}
		if !given("weights") {
			return consensus.New(w, nil)
		}
		graph = w.Graph()
	}
	w, err := topology.NewWeights(graph, f.rule)
	if err != nil {
		return nil, usagef("--graph and --weights: %w", err)
	}
	return consensus.New(w, nil)
}

// config returns what fit.Fit wants.
func (f *fitFlags) config(in *dataset.ProblemFile, network *consensus.Network) (*fit.Config, error) {
	t := in.Table
	o := f.options
	var err error
	if f.tune && (len(in.U0) > 0 || in.Start != nil) {
		return nil, usagef("--tune chooses the rank, but %s holds a start (U0 or Ustart), which has one: leave out --tune or the start", f.data)
	}
	if o.Rank, err = f.rankFor(in); err != nil {
		return nil, err
	}
	train, err := t.Split(f.split)
	if err != nil {
		return nil, err
	}
	return &fit.Config{
		Network: network, Options: o, Train: train, Spectrum: f.report != "",
		NoMean: f.mean == "none", Standardize: f.standardize, Intercept: f.intercept,
		Auto: f.auto, Starts: f.starts, Tune: f.tune, Ridge: f.ridgeValue, TuneRidge: f.tuneRidge, Folds: f.folds, Baselines: f.baselines, Release: true,
		U0: in.U0, Start: in.Start, Truth: in.Truth,
		TaskColumn: f.columns.Task, TargetColumn: f.columns.Target,
	}, nil
}

// rankFor returns the rank that the flag or the file says.
func (f *fitFlags) rankFor(in *dataset.ProblemFile) (int, error) {
	features, tasks := len(in.Table.Features()), len(in.Table.Tasks())
	rank := f.rank
	if !f.set.Changed("rank") {
		rank = min(3, features, tasks)
		if f.tune {
			rank = min(5, features, tasks)
		}
		for _, u := range append([]*kernel.Basis{in.Truth, in.Start}, in.U0...) {
			if u != nil {
				_, rank = u.Dims()
			}
		}
	}
	if rank > min(features, tasks) {
		return 0, usagef("--rank is %d: want at most min(features, tasks) = min(%d, %d)", rank, features, tasks)
	}
	return rank, nil
}
