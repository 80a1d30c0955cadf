package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/internal/theory"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

type planFlags struct {
	*options.Group
	input          theory.Input
	graph, weights string
	seed           uint64
	constants      string
	time           *timeFlags
	json           bool
}

func newPlanCommand() *cobra.Command {
	flags := newPlanFlags()
	cmd := newCommand("plan", "Compute iterations, rounds, samples and time by the theory", flags.Set, func(cmd *cobra.Command, _ []string) error {
		var network string
		plan, err := untilCanceled(cmd.Context(), func() (plan *theory.Plan, err error) {
			plan, network, err = flags.plan()
			return plan, err
		})
		if err != nil {
			return err
		}
		if flags.json {
			return report.WriteJSON(cmd.OutOrStdout(), plan)
		}
		writePlan(cmd.OutOrStdout(), plan, network, flags.constants)
		return nil
	})
	return cmd
}

func newPlanFlags() *planFlags {
	f := &planFlags{time: &timeFlags{}}
	in, small := &f.input, &smallSetting
	f.Group = options.NewGroup(slices.Concat([]options.Option{
		{Name: "nodes", Value: options.Count(&in.Nodes, small.Nodes, 1, many), Usage: "number of nodes L"},
		{Name: "features", Value: options.Count(&in.Features, small.Features, 1, many), Usage: "number of features d"},
		{Name: "tasks", Value: options.Count(&in.Tasks, small.Tasks, 1, many), Usage: "number of tasks T"},
		{Name: "samples", Value: options.Count(&in.Samples, small.Samples, 1, many), Usage: "samples n of each task"},
		{Name: "rank", Value: options.Count(&in.Rank, small.Rank, 1, many), Usage: "rank r of the representation"},
		{Name: "kappa", Value: options.Number(&in.Kappa, 1.5, 1, difalt.MaxKappa, "must be at least 1"), Usage: "condition number of the true coefficients, at least 1"},
		{Name: "mu", Value: options.Number(&in.Mu, 1, 1, difalt.MaxKappa, "must be at least 1"), Usage: "incoherence of the true coefficients, at least 1"},
		{Name: "epsilon", Value: options.Number(&in.Epsilon, 1e-10, math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "must be between 0 and 1"), Usage: "subspace distance to reach"},
		{Name: "graph", Value: options.Text(&f.graph, small.Graph), Usage: "`KIND`: " + topology.Specs() + "; P is the probability of an edge"},
		{Name: "weights", Value: options.Text(&f.weights, small.Weights), Usage: "mixing weights `KIND`: metropolis, equal (the paper's formula), lazy-metropolis, lazy-equal, best-constant"},
		{Name: "gamma", Value: options.Number(&in.Gamma, 0, 0, math.Nextafter(1, 0), "must be at least 0 and less than 1"), Usage: "gamma of the mixing weights, in place of --graph and --weights"},
		{Name: "degree", Value: options.Count(&in.MaxDegree, 0, 0, many), Usage: "neighbours of every node, with --gamma (default not known: no messages and bytes)"},
		{Name: "rounds", Value: options.Count(&in.Rounds, 0, 1, difalt.MaxRounds), Usage: "rounds that the network affords an iteration, for the gamma that it then needs (default what the plan says)"},
		{Name: "constants", Value: options.Text(&f.constants, "measured"), Usage: "constants C, `NAME`: measured (near the paper's settings), unit (all 1)"},
	}, f.time.options(), []options.Option{
		{Name: "speed", Value: options.Number(&in.Speed, theory.DefaultSpeed, math.SmallestNonzeroFloat64, huge, "must be positive"), Usage: "multiply-adds of a node in a second; an iteration needs n d r for a task"},
		{Name: "seed", Value: options.Seed(&f.seed, small.Seed), Usage: "seed of a random graph"},
		{Name: "json", Value: options.Yes(&f.json), Usage: "print JSON"},
	}))
	return f
}

// plan checks the flags and returns the plan that they ask for, and the network in
// words.
func (f *planFlags) plan() (*theory.Plan, string, error) {
	in := &f.input
	if err := f.CheckRanges(); err != nil {
		return nil, "", err
	}
	switch f.constants {
	case "measured":
		in.Constants = theory.MeasuredConstants
	case "unit":
		in.Constants = theory.UnitConstants
	default:
		return nil, "", options.Usagef("--constants is %q: want measured or unit", f.constants)
	}
	var err error
	if in.Time, err = f.time.model(f.Group); err != nil {
		return nil, "", err
	}
	network, err := f.network()
	if err != nil {
		return nil, "", err
	}
	plan, err := theory.New(*in)
	if err != nil {
		return nil, "", flagError(f.Set, err)
	}
	return plan, network, nil
}

// network sets the network of the input and returns it in words.
func (f *planFlags) network() (string, error) {
	in := &f.input
	if f.Changed("gamma") {
		for _, name := range []string{"graph", "weights", "seed"} {
			if f.Changed(name) {
				return "", options.Usagef("only one of --gamma and --%s may be given", name)
			}
		}
		in.Links = in.Nodes * in.MaxDegree
		words := fmt.Sprintf("%s on a network with gamma %.3g", text.Plural(in.Nodes, "node"), in.Gamma)
		if in.MaxDegree > 0 {
			words += ", " + text.Plural(in.MaxDegree, "neighbour") + " each"
		}
		return words, nil
	}
	if f.Changed("degree") {
		return "", options.Usagef("--degree needs --gamma: a graph has its own degrees")
	}
	if in.Nodes < 1 {
		return "", options.Usagef("--nodes is %d: need at least 1", in.Nodes)
	}
	if err := memory.CheckGraph(in.Nodes, topology.Degree(f.graph, in.Nodes)); err != nil {
		return "", fmt.Errorf("%w; --gamma takes the place of a graph", err)
	}
	setting := simulation.Setting{Nodes: in.Nodes, Graph: f.graph, Weights: f.weights, Seed: f.seed}
	weights, err := setting.Mixing(1) // that of the first trial of simulate
	if err != nil {
		return "", flagError(f.Set, err)
	}
	words := fmt.Sprintf("%s on %s of %s, %s weights, gamma %.3g",
		text.Plural(in.Nodes, "node"), graphWords(f.graph), text.Plural(weights.Graph().Edges(), "edge"), f.weights, weights.Gamma())
	return words, in.SetNetwork(weights)
}

func writePlan(w io.Writer, p *theory.Plan, network, constants string) {
	in, c := &p.Input, &p.Input.Constants
	fmt.Fprintf(w, "%s\n", network)
	terminal.Sayf(w, "%s of %s with %d features, rank %d, kappa %g, mu %g, to a subspace distance of %g",
		text.Plural(in.Tasks, "task"), text.Plural(in.Samples, "sample"), in.Features, in.Rank, in.Kappa, in.Mu, in.Epsilon)
	fmt.Fprintln(w)

	t := text.Table{{"", "Dif-AltGDmin", "Dec-AltGDmin"}}
	row := func(name string, value func(*theory.MethodPlan) string) {
		t = append(t, []string{name, value(&p.Dif), value(&p.Dec)})
	}
	row("power iterations, T_pm", func(m *theory.MethodPlan) string { return whole(m.PowerIterations) })
	row("rounds in each, T_con,init", func(m *theory.MethodPlan) string { return whole(m.InitRounds) })
	row("iterations, T_GD", func(m *theory.MethodPlan) string { return whole(m.Iterations) })
	row("rounds in each, T_con,GD", func(m *theory.MethodPlan) string { return whole(m.Rounds) })
	row(fmt.Sprintf("largest gamma for %s rounds", whole(p.Rounds)),
		func(m *theory.MethodPlan) string { return fmt.Sprintf("%.3g", m.LargestGamma) })
	row("rounds in all", func(m *theory.MethodPlan) string { return whole(m.Total.Rounds) })
	if in.Links > 0 {
		row("messages", func(m *theory.MethodPlan) string { return whole(m.Total.Messages) })
		row("MB sent", func(m *theory.MethodPlan) string { return fmt.Sprintf("%.1f", m.Total.Bytes/1e6) })
	}
	row("seconds of network, modelled", func(m *theory.MethodPlan) string { return fmt.Sprintf("%.1f", m.Total.Communication) })
	row("seconds of computing, modelled", func(m *theory.MethodPlan) string { return fmt.Sprintf("%.3g", m.Total.Computation) })
	row("operations of eq. (4)", func(m *theory.MethodPlan) string { return fmt.Sprintf("%.2g", m.Operations) })
	t.Write(w)

	fmt.Fprintln(w)
	terminal.Sayf(w, "samples of a task: %s", samplesVerdict(p))
	fmt.Fprintln(w)
	terminal.Sayf(w, `Theorem 1 with constants %s: C = %g of T_pm, %g of T_con,init, %g of T_GD, %g of T_con,GD, %g of T_con of Dec-AltGDmin, %g of n T.
Network: %v; computing: that of the node with the most tasks. Nothing was measured. Eq. (4) counts the arithmetic of all nodes once a round.`, constants, c.Power, c.InitRounds, c.Iterations, c.Rounds, c.DecRounds, c.Samples, in.Time)
}

func samplesVerdict(p *theory.Plan) string {
	n := float64(p.Input.Samples)
	switch {
	case n < p.Unknowns:
		return fmt.Sprintf("%d are too few for any method, since a task has %.1f unknowns. Theorem 1 asks for %s.",
			p.Input.Samples, p.Unknowns, whole(p.SamplesPerTask))
	case !p.Enough:
		return fmt.Sprintf("Theorem 1 asks for %s, and %d are fewer. Simulations needed about twice the unknowns of a task, which has %.1f here.",
			whole(p.SamplesPerTask), p.Input.Samples, p.Unknowns)
	}
	return fmt.Sprintf("Theorem 1 asks for %s, and %d are enough.", whole(p.SamplesPerTask), p.Input.Samples)
}

// whole prints a count.
func whole(x float64) string {
	if x < 1e7 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2e", x)
}
