package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/memory"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const fitHelp = `Learn what many small regression tasks share, from a table: a row is a sample
of the task in --task, --target is to be predicted, all else are features.

  target = features' (shared mean + task's deviation) + task's intercept + noise

Deviations are of low rank, full rank, both or none, as makes the training rows
most likely. Held-out rows compare it with simpler models. Several files are
a node each; nodes send sums over their rows, never a row. A problem file (.npz)
runs the algorithm of the paper as it is. Ctrl-C keeps the model as it is then.`

const fitExamples = `  difalt fit --data examples/clinics.csv --task clinic --target score \
      --drop patient --model clinics-model.npz --report report
  difalt fit --data 'site-*.csv' --task store --target revenue --missing mean`

func newFitCommand() *cobra.Command {
	flags, all := newFitFlags(), false
	cmd := &cobra.Command{
		Use:     "fit --data FILE",
		Short:   "Train a shared representation on a table or a problem file",
		Long:    fitHelp,
		Example: fitExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return cmd.Help()
			}
			if err := flags.resolve(); err != nil {
				return err
			}
			return flags.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags.set)
	cmd.Flags().BoolVar(&all, "help-all", false, "help with all flags, also those that are rarely used")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { helpInSections(cmd.OutOrStdout(), cmd, all) })
	return cmd
}

// commonFlags of fit come first in its help, with what they mean.
var commonFlags = []string{
	"data", "task", "target", "drop", "categorical", "missing", "model", "report", "json", "test-fraction", "train-rows-per-task", "holdout", "test-last", "folds-by",
	"sample-weights", "rank", "ridge", "intercept", "continue", "node", "nodes", "seed", "help", "help-all",
}

// helpInSections prints the help of fit: common flags, on a page, and then the others if all are
// wanted.
func helpInSections(w io.Writer, cmd *cobra.Command, all bool) {
	common, rare := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	common.SortFlags, rare.SortFlags = false, false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(commonFlags, f.Name) {
			common.AddFlag(f)
		} else {
			rare.AddFlag(f)
		}
	})
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n\nFlags:\n%s", cmd.Long, cmd.UseLine(), cmd.Example, common.FlagUsagesWrapped(80))
	if all {
		fmt.Fprintf(w, "\nRarely used:\n%s", rare.FlagUsagesWrapped(80))
	}
}

// run fits: the report goes to stdout, progress to stderr.
func (f *fitFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	defer out.close()
	stdout = out.textOutput(stdout, stderr)
	in, err := f.read(ctx, stderr)
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
	if !f.json {
		f.describe(stdout, in.Table, c)
		reportMissing(stdout, in.Table)
		fmt.Fprintln(stdout)
	}
	trace, bar := &trace{}, &stages{out: stderr}
	switch traced := out.trace != nil || f.report != ""; {
	case traced && c.Options.MixedPrecision:
		c.Options.Observer = func(r *difalt.Record) error { return errors.Join(bar.observe(r), trace.observe(r)) }
	case traced:
		c.Options.Observer = trace.observe
	case c.Options.MixedPrecision:
		c.Options.Observer = bar.observe
	}
	c.Progress = bar.show
	m, report, err := fit.Fit(ctx, in.Table, *c)
	bar.close()
	if errors.Is(err, context.Canceled) {
		return &interruptedError{"interrupted before the iterations of the model began: nothing was written"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	if f.isMadeUp {
		report.Exposed = fit.Exposed{} // there is nobody
	}
	if err := f.write(out, in.Table, c, m, report, trace); err != nil {
		return err
	}
	if f.json {
		if err := f.printResult(stdout, in.Table, c, m, report); err != nil {
			return err
		}
	} else {
		printReport(stdout, report, c)
		f.printFiles(stdout)
	}
	if report.Result != nil && report.Result.Status == difalt.Canceled {
		return &interruptedError{fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", report.Result.Iterations, f.options.Iterations)}
	}
	return nil
}

// write writes all files, or none.
func (f *fitFlags) write(out *outputs, t *dataset.Table, c *fit.Config, m *model.Model, report *fit.Report, trace *trace) error {
	trace.curve.Method = m.Parameters().Method
	if err := out.write(m, trace); err != nil {
		return err
	}
	if f.report != "" {
		files, err := f.reportFiles(t, c, m, report, trace)
		if err != nil {
			return err
		}
		if err := out.writeFolder("report", f.report, files); err != nil {
			return err
		}
	}
	return out.commit()
}

// outputs are the files that fit writes; nil where none is asked for.
type outputs struct {
	files
	trace, model *atomicfile.File
}

// openOutputs opens the files before the work begins.
func (f *fitFlags) openOutputs() (out *outputs, err error) {
	out = &outputs{}
	if err = out.reads("data", f.data); err == nil && f.trace != "" {
		out.trace, err = out.create("trace", f.trace)
	}
	if err == nil && f.model != "" {
		out.model, err = out.create("model", f.model)
	}
	if err == nil && f.report != "" {
		err = out.checkFolder("report", f.report)
	}
	if err != nil {
		out.close()
		return nil, err
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

// write writes the files; they take their names with commit, when all that may fail is
// done.
func (o *outputs) write(m *model.Model, t *trace) error {
	if o.trace != nil {
		if _, err := o.trace.Write(t.csv()); err != nil {
			return err
		}
		if err := o.trace.Finish(); err != nil {
			return err
		}
	}
	if o.model == nil {
		return nil
	}
	if err := m.Write(o.model); err != nil {
		return err
	}
	return o.model.Finish()
}

func (o *outputs) commit() error {
	for _, f := range []*atomicfile.File{o.trace, o.model} {
		if f != nil {
			if err := f.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the data and puts the tasks on nodes.
func (f *fitFlags) read(ctx context.Context, stderr io.Writer) (*problemfile.File, error) {
	in, err := readData(ctx, stderr, f.data, f.columns)
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
	f.isMadeUp = true
	return in, nil
}

// network returns the network of the flags or of the file.
func (f *fitFlags) network(in *problemfile.File) (*consensus.Network, error) {
	given := f.set.Changed
	if err := memory.CheckWeights(len(in.Table.Nodes())); err != nil {
		return nil, err
	}
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
func (f *fitFlags) config(in *problemfile.File, network *consensus.Network) (*fit.Config, error) {
	c, err := f.tableConfig(in.Table)
	if err != nil {
		return nil, err
	}
	if f.split.TestFraction > 0 && f.columns.Group != "" && !slices.Contains(c.Train, false) {
		return nil, usagef("--folds-by: no group of rows by column %q was drawn to be held out: use a larger --test-fraction, another --seed, or --holdout", f.columns.Group)
	}
	c.Network, c.U0, c.Start, c.Truth = network, in.U0, in.Start, in.Truth
	if f.isProblemFormat {
		c.Plain = true
		if c.Rank, err = f.rankFor(in); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// tableConfig returns what fit.Fit wants of a table.
func (f *fitFlags) tableConfig(t *dataset.Table) (*fit.Config, error) {
	c := &fit.Config{
		Options: f.options, Auto: f.auto, Starts: f.starts, Folds: f.folds,
		Rank: f.rankValue, Intercept: f.ridgeValues[0], Ridge: f.ridgeValues[1], MeanRidge: f.ridgeValues[2],
		TaskColumn: f.columns.Task, TargetColumn: f.columns.Target, Weights: t.Weights(),
	}
	var err error
	if f.continued != "" {
		if c.Continue, err = model.Load(f.continued); err != nil {
			return nil, fmt.Errorf("--continue: %w", err)
		}
	}
	if err := checkSizes(f.folds, f.starts, f.options.Workers, t.Rows()); err != nil {
		return nil, err
	}
	if n := len(t.Features()); c.Rank > n {
		return nil, usagef("--rank is %d: there are %d features", c.Rank, n)
	}
	if c.Train, err = t.Split(f.split); err != nil {
		return nil, fmt.Errorf("%s: %w", f.data, err)
	}
	return c, nil
}

// rankFor returns the rank of the algorithm for a problem file: that of the flag, or of what the
// file holds, or 3.
func (f *fitFlags) rankFor(in *problemfile.File) (int, error) {
	most := min(len(in.Table.Features()), len(in.Table.Tasks()))
	rank := f.rankValue
	if rank == 0 {
		rank = min(3, most)
		for _, u := range append([]*kernel.Basis{in.Truth, in.Start}, in.U0...) {
			if u != nil {
				_, rank = u.Dims()
			}
		}
	}
	if rank > most {
		return 0, usagef("--rank is %d: want at most min(features, tasks) = min(%d, %d)", rank, len(in.Table.Features()), len(in.Table.Tasks()))
	}
	return rank, nil
}
