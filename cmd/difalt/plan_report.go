package main

import (
	"fmt"
	"io"

	"github.com/difalt/difalt/internal/terminal"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/internal/theory"
)

// writePlan prints a plan as a table.
func writePlan(w io.Writer, p *theory.Plan, network, constants string) error {
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
	return nil
}

// samplesVerdict says whether there are enough samples.
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
