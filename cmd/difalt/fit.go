package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newFitCommand() *cobra.Command {
	f, all := &fitRun{Flags: options.New(options.Fit)}, false
	cmd := newCommand("fit --data FILE", "Train a shared model on a table or a problem file", f.Set, func(cmd *cobra.Command, _ []string) error {
		if all {
			return cmd.Help()
		}
		if err := f.Resolve(); err != nil {
			return err
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	cmd.Flags().BoolVar(&all, "help-all", false, "help with all flags, also rare ones")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { f.help(cmd.OutOrStdout(), cmd, all) })
	return cmd
}

// A fitRun is a fit with the options of the command.
type fitRun struct {
	*options.Flags
	isMadeUp bool // nodes are not those of the data
}

// help prints the help of fit: common flags, on a page, and then the others if all are
// wanted.
func (f *fitRun) help(w io.Writer, cmd *cobra.Command, all bool) {
	common, rare := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	common.SortFlags, rare.SortFlags = false, false
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if f.Common(flag.Name) || strings.HasPrefix(flag.Name, "help") {
			common.AddFlag(flag)
		} else {
			rare.AddFlag(flag)
		}
	})
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n\nFlags:\n%s", cmd.Long, cmd.UseLine(), cmd.Example, common.FlagUsagesWrapped(80))
	if all {
		fmt.Fprintf(w, "\nRarely used:\n%s", rare.FlagUsagesWrapped(80))
	}
}

// run fits: the report goes to stdout, progress to stderr.
func (f *fitRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	defer saveMemory()()
	out, err := openOutputs(&f.Files)
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
	c, err := untilCanceled(ctx, func() (*fit.Config, error) { return f.config(in, network) })
	if err != nil {
		return err
	}
	if !f.Files.JSON {
		f.describe(stdout, in.Table, c)
		report.WriteMissing(stdout, in.Table)
		fmt.Fprintln(stdout)
	}
	trace := &report.Trace{}
	m, fitted, err := f.train(ctx, in.Table, c, trace, stderr)
	if err != nil {
		return err
	}
	r := report.New(&report.Inputs{
		Data: f.Files.Data, Version: version(), Columns: &f.Table, Table: in.Table, Config: c, Model: m, Fit: fitted, Trace: trace,
	})
	if err := f.write(out, m, r, trace); err != nil {
		return err
	}
	if err := r.Write(stdout, f.Files.JSON); err != nil {
		return err
	}
	if !f.Files.JSON {
		printFiles(stdout, &f.Files)
	}
	if res := fitted.Result; res != nil && res.Status == difalt.Canceled {
		return federate.Interrupted(fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", res.Iterations, f.Config.Options.Iterations))
	}
	return nil
}

func (f *fitRun) train(ctx context.Context, t *dataset.Table, c *fit.Config, trace *report.Trace, stderr io.Writer) (*model.Model, *fit.Report, error) {
	bar, began := terminal.NewProgress(stderr), atomic.Bool{}
	defer bar.Close()
	if f.Files.Trace != "" || f.Files.Report != "" {
		c.Options.Observer = trace.Observe
	}
	c.Progress = func(stage string, done, total int) {
		unit := ""
		if stage == terminal.Iterations {
			began.Store(true)
			unit = "it"
		}
		bar.Stage(stage, unit, int64(done), int64(total))
	}
	c.Owners = !f.isMadeUp
	// Before the iterations there is nothing to wait for, and from then on a model, as far as it got.
	early, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() {
		if began.Load() {
			bar.Say("interrupted: the model is being completed as far as it got")
			return
		}
		leave()
	})()
	type training struct {
		model *model.Model
		fit   *fit.Report
	}
	trained, err := untilCanceled(early, func() (out training, err error) {
		out.model, out.fit, err = fit.Fit(ctx, t, *c)
		return out, err
	})
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, federate.Interrupted("interrupted before the iterations of the model began: nothing was written")
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	return trained.model, trained.fit, nil
}

// write writes all files, or none.
func (f *fitRun) write(out *outputs, m *model.Model, r *report.Report, trace *report.Trace) error {
	if err := out.write(trace.CSV(m.Parameters().Method), m.Write); err != nil {
		return err
	}
	if f.Files.Report != "" {
		files, err := r.Files()
		if err != nil {
			return err
		}
		if err := out.writeFolder("report", f.Files.Report, files); err != nil {
			return err
		}
	}
	return out.commit()
}

func (f *fitRun) describe(w io.Writer, t *dataset.Table, c *fit.Config) {
	train := 0
	for _, on := range c.Train {
		if on {
			train++
		}
	}
	terminal.Sayf(w, "%s: %s, %s, %s for training, %d held out", nameOf(f.Files.Data, "input"),
		text.Plural(len(t.Tasks()), "task"), text.Plural(len(t.Features()), "feature"), text.Plural(train, "row"), t.Rows()-train)
	rank := "rank by evidence"
	switch {
	case c.Rank < 0:
		rank = "no representation"
	case c.Rank > 0:
		rank = fmt.Sprintf("rank %d", c.Rank)
	}
	graph := fmt.Sprintf(" on %s of %s", graphWords(f.Graph), text.Plural(c.Network.Weights().Graph().Edges(), "edge"))
	switch {
	case c.Plain: // which may have weights of its own
		graph = fmt.Sprintf(" with %v", c.Network.Weights())
	case len(t.Nodes()) == 1:
		graph = ""
	}
	for _, words := range report.HeldOut(&f.Table, t, c.Train) {
		terminal.Sayf(w, "%s", words)
	}
	fmt.Fprintf(w, "%s%s\n%s; %s\n", text.Plural(len(t.Nodes()), "node"), graph, rank, how(c))
}

// how says by which method the nodes agree, and how.
func how(c *fit.Config) string {
	if c.Auto {
		return "method left to the program"
	}
	return cmp.Or(report.Private(c.Privacy), report.How(&c.Options))
}

// read reads the data and puts the tasks on nodes.
func (f *fitRun) read(ctx context.Context, stderr io.Writer) (*problemfile.File, error) {
	in, err := readData(ctx, stderr, f.Files.Data, f.Table)
	if err != nil {
		return nil, err
	}
	if in.HasNodes && f.Changed("nodes") {
		return nil, options.Usagef("%s says where tasks live: leave out --nodes", f.Files.Data)
	}
	filesAreNodes := len(in.Table.Nodes()) > 0 && !f.Changed("nodes")
	if in.HasNodes || f.Table.Node != "" || filesAreNodes {
		return in, nil
	}
	nodes := f.Nodes
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
		return nil, fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	f.isMadeUp = true
	return in, nil
}

// network returns the network of the flags or of the file.
func (f *fitRun) network(in *problemfile.File) (*consensus.Network, error) {
	given := f.Changed
	nodes := len(in.Table.Nodes())
	if err := memory.CheckGraph(nodes, topology.Degree(f.Graph, nodes)); err != nil {
		return nil, err
	}
	var graph *topology.Graph
	var err error
	switch {
	case given("graph") || in.Weights == nil && in.Adjacency == nil:
		graph, err = topology.Parse(f.Graph, nodes, f.Config.Options.Seed)
		if err != nil {
			return nil, options.Usagef("--graph: %w", err)
		}
	case in.Adjacency != nil:
		if graph, err = topology.FromAdjacency(in.Adjacency); err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", f.Files.Data, "adjacency", err)
		}
	default:
		w, err := topology.WeightsOf(in.Weights)
		if err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", f.Files.Data, "weights", err)
		}
		if !given("weights") {
			return consensus.New(w, nil)
		}
		graph = w.Graph()
	}
	w, err := topology.NewWeights(graph, f.Rule)
	if err != nil {
		return nil, options.Usagef("--graph and --weights: %w", err)
	}
	return consensus.New(w, nil)
}

func (f *fitRun) config(in *problemfile.File, network *consensus.Network) (*fit.Config, error) {
	c, err := f.ConfigOf(in.Table)
	if err != nil {
		return nil, err
	}
	if f.Split.TestFraction > 0 && f.Table.Group != "" && !slices.Contains(c.Train, false) {
		return nil, options.Usagef("--folds-by: no group of rows by column %q was drawn to be held out: use a larger --test-fraction, another --seed, or --holdout", f.Table.Group)
	}
	c.Network, c.U0, c.Start, c.Truth = network, in.U0, in.Start, in.Truth
	if f.Config.Plain {
		if c.Rank, err = f.rankFor(in); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// rankFor returns the rank of the algorithm for a problem file: that of the flag, or of what the
// file holds, or 3.
func (f *fitRun) rankFor(in *problemfile.File) (int, error) {
	most := min(len(in.Table.Features()), len(in.Table.Tasks()))
	rank := f.Config.Rank
	if rank == 0 {
		rank = min(3, most)
		for _, u := range append([]*kernel.Basis{in.Truth, in.Start}, in.U0...) {
			if u != nil {
				_, rank = u.Dims()
			}
		}
	}
	if rank > most {
		return 0, options.Usagef("--rank is %d: want at most min(features, tasks) = min(%d, %d)", rank, len(in.Table.Features()), len(in.Table.Tasks()))
	}
	return rank, nil
}
