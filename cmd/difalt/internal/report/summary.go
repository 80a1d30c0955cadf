package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// summaryWidth is the number of columns behind the names of a summary.
const summaryWidth = 70

// describe writes a summary of a model for readers: estimator, target, tasks, rows, curves, rank and noise.
func describe(w io.Writer, m *mixed.Model) {
	p, features := m.Parameters(), m.Features()
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		for part := range strings.SplitSeq(text.Wrap(fmt.Sprintf(format, args...), summaryWidth), "\n") {
			fmt.Fprintf(out, "%s\t%s\n", name, part)
			name = ""
		}
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
	perTask := fmt.Sprintf("%d per task", slices.Min(p.Tasks.Samples))
	if most := slices.Max(p.Tasks.Samples); most > slices.Min(p.Tasks.Samples) {
		perTask = fmt.Sprintf("between %d and %d per task", slices.Min(p.Tasks.Samples), most)
	}
	line("training rows", "%d, %s", rows, perTask)
	if p.Design.Axes == nil {
		line("features", "%d, in %d columns with the constant, curves and periods", len(features), p.Design.Width())
	} else {
		line("features", "%d, in the span of the training rows: %d axes", len(features),
			len(p.Design.Axes)/len(features))
	}
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		low, high := ends(c.Knots[0], c.Knots[len(c.Knots)-1])
		if slices.Contains(p.Schema.Dates, features[c.Feature]) {
			low, high = text.Date(c.Knots[0]), text.Date(c.Knots[len(c.Knots)-1])
		}
		line("curve", "%s, from %s to %s with %d knots, constant beyond", text.Visible(features[c.Feature]), low, high,
			len(c.Knots))
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
	_ = out.Flush() // the writer of a report keeps its error
}

// ends prints the ends of a range with the digits that its length leaves.
func ends(low, high float64) (from, to string) {
	decimals := max(0, 2-int(math.Floor(math.Log10(high-low))))
	if decimals > 9 {
		return text.Number(low), text.Number(high)
	}
	unit := math.Pow10(decimals)
	return text.Plain(math.Round(low*unit) / unit), text.Plain(math.Round(high*unit) / unit)
}
