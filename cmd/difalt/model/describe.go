package model

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// ColumnNames returns the names of the Width columns of the design:
// LevelTerm, the features, and "feature, curve 1" for the first column of a curve.
func (m *Model) ColumnNames() []string {
	names := []string{LevelTerm}
	for _, c := range m.p.Design.Columns()[1:] {
		name := m.features[c.Feature]
		if c.Kind == Bend {
			name = fmt.Sprintf("%s, curve %d", name, c.Index+1)
		}
		names = append(names, name)
	}
	return names
}

// Describe writes a summary for readers: estimator, target, tasks, rows, curves, rank and noise.
// A table follows with one row per standardised column: the mean over tasks, the standard
// deviation over tasks, and the loadings, all in Unit. It returns the error of w.
func (m *Model) Describe(w io.Writer) error {
	p := &m.p
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
	line("model", "version %d, estimated by %s", Version, text.Visible(p.Estimator))
	line("target", "%s", target)
	line("tasks", "%d of column %s: %s", len(p.Tasks.Names), text.Visible(p.Tasks.Column), text.Names(p.Tasks.Names))
	line("training rows", "%d, between %d and %d per task", rows, slices.Min(p.Tasks.Samples), slices.Max(p.Tasks.Samples))
	line("features", "%d, in %d columns with the constant and curves", len(m.features), p.Design.Width())
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		line("curve", "%s, from %.4g to %.4g with %d knots, constant beyond",
			text.Visible(m.features[c.Feature]), c.Knots[0], c.Knots[len(c.Knots)-1], len(c.Knots))
	}
	line("rank", "%d", p.Prior.Rank)
	line("noise", "%.4g, standard deviation in the %s", m.Noise(), m.Unit())
	if p.Prior.Noise.TaskFreedom > 0 {
		line("noise of tasks", "differs, as if each were estimated with %.3g degrees of freedom", p.Prior.Noise.TaskFreedom)
	}
	if !m.KeepsIntervals() {
		line("intervals", "of known tasks are as wide as those of unseen tasks: the file does not hold their covariances")
	}
	if g := p.Goodness; g.R2Conditional > 0 {
		line("explains", "%.1f %% of the variance, %.1f %% with the mean of all tasks alone", 100*g.R2Conditional, 100*g.R2Marginal)
	}
	m.describeColumns(out)
	return out.Flush()
}

// describeColumns writes the table of the columns.
func (m *Model) describeColumns(out io.Writer) {
	w, unit := len(m.p.Mean), m.p.Target.Scale
	deviations := make([]float64, Triangle(w))
	m.p.Prior.Covariance(deviations)
	fmt.Fprintf(out, "\nEffects of one standard deviation of a column, in the %s;\n%s is the difference from %.5g.\n\ncolumn\tmean\tdeviation",
		m.Unit(), LevelTerm, m.p.Target.Center)
	for k := range m.p.Prior.Rank {
		fmt.Fprintf(out, "\tloading %d", k+1)
	}
	for j, name := range m.ColumnNames() {
		fmt.Fprintf(out, "\n%s\t%.4g\t%.4g", text.Visible(name), unit*m.p.Mean[j], unit*math.Sqrt(deviations[diagonal(w, j)]))
		for k := range m.p.Prior.Rank {
			fmt.Fprintf(out, "\t%.4g", unit*m.p.Prior.Loadings[k*w+j])
		}
	}
	fmt.Fprintln(out)
}
