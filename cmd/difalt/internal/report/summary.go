package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// describe writes a summary of a model for readers: estimator, target, tasks, rows, curves, rank and noise.
// It returns the error of w.
func describe(w io.Writer, m *mixed.Model) error {
	p, features := m.Parameters(), m.Features()
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	target := text.Visible(p.Target.Column)
	if p.Target.Log {
		target += ", by its logarithm"
	}
	rows := 0
	for _, n := range p.Tasks.Samples {
		rows += n
	}
	line("model", "version %d, estimated by %s", mixed.Version, text.Visible(p.Estimator))
	line("target", "%s", target)
	line("tasks", "%d of column %s: %s", len(p.Tasks.Names), text.Visible(p.Tasks.Column), text.Names(p.Tasks.Names))
	line("training rows", "%d, between %d and %d per task", rows, slices.Min(p.Tasks.Samples),
		slices.Max(p.Tasks.Samples))
	if p.Design.Axes == nil {
		line("features", "%d, in %d columns with the constant, curves and periods", len(features), p.Design.Width())
	} else {
		line("features", "%d, in the span of the training rows: %d axes", len(features),
			len(p.Design.Axes)/len(features))
	}
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		line("curve", "%s, from %.4g to %.4g with %d knots, constant beyond",
			text.Visible(features[c.Feature]), c.Knots[0], c.Knots[len(c.Knots)-1], len(c.Knots))
	}
	for i := range p.Design.Periods {
		c := &p.Design.Periods[i]
		line("period", "%s, effects of %d values, of standard deviation %.3g",
			text.Visible(features[c.Feature]), len(c.Values), c.Deviation*p.Target.Scale)
	}
	line("rank", "%d", p.Prior.Rank)
	line("noise", "%.4g, standard deviation in the %s", m.Noise(), m.Unit())
	if p.Prior.Noise.TaskFreedom > 0 {
		low, high := p.Prior.Noise.Span()
		line("noise of tasks", "from %.3g to %.3g in 95 %% of the tasks", p.Target.Scale*low, p.Target.Scale*high)
	}
	if p.Tasks.Covariances == nil {
		line("intervals",
			"of known tasks are as wide as those of unseen tasks: the file does not hold their covariances")
	}
	if g := p.Goodness; g.R2Conditional > 0 {
		line("explains", "%.1f %% of the variance, %.1f %% with the mean of all tasks alone", 100*g.R2Conditional,
			100*g.R2Marginal)
	}
	return out.Flush()
}
