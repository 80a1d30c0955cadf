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

// A summary writes the lines of a model for readers.
type summary struct {
	*mixed.Model
	out *tabwriter.Writer
}

// line writes a line with a name, or several.
func (s *summary) line(name, format string, args ...any) {
	for part := range strings.SplitSeq(text.Wrap(fmt.Sprintf(format, args...), summaryWidth), "\n") {
		fmt.Fprintf(s.out, "%s\t%s\n", name, part)
		name = ""
	}
}

// describe writes a summary of a model for readers: estimator, target, tasks, rows, curves, rank and noise.
func describe(w io.Writer, m *mixed.Model) {
	s := &summary{m, tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	s.data()
	s.design()
	s.prior()
	_ = s.out.Flush() // the writer of a report keeps its error
}

// data describes the target, the tasks and the training rows.
func (s *summary) data() {
	p := s.Parameters()
	target := text.Visible(p.Target.Column)
	if p.Target.Log {
		target += ", by its logarithm"
	}
	rows := 0
	for _, n := range p.Tasks.Samples {
		rows += n
	}
	s.line("model", "version %d, estimated by %s", mixed.Version, text.Visible(p.Estimator))
	s.line("target", "%s", target)
	s.line("tasks", "%d of column %s: %s", len(p.Tasks.Names), text.Visible(p.Tasks.Column), text.Names(p.Tasks.Names))
	perTask := fmt.Sprintf("%d per task", slices.Min(p.Tasks.Samples))
	if most := slices.Max(p.Tasks.Samples); most > slices.Min(p.Tasks.Samples) {
		perTask = fmt.Sprintf("between %d and %d per task", slices.Min(p.Tasks.Samples), most)
	}
	s.line("training rows", "%d, %s", rows, perTask)
}

// design describes the features, the curves and the periods.
func (s *summary) design() {
	p, features := s.Parameters(), s.Features()
	if p.Design.Axes == nil {
		s.line("features", "%d, in %d columns with the constant, curves and periods", len(features), p.Design.Width())
	} else {
		s.line("features", "%d, in the span of the training rows: %d axes", len(features),
			len(p.Design.Axes)/len(features))
	}
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		low, high := ends(c.Knots[0], c.Knots[len(c.Knots)-1])
		if slices.Contains(p.Schema.Dates, features[c.Feature]) {
			low, high = text.Date(c.Knots[0]), text.Date(c.Knots[len(c.Knots)-1])
		}
		s.line("curve", "%s, from %s to %s with %d knots, constant beyond",
			text.Visible(features[c.Feature]), low, high, len(c.Knots))
	}
	for i := range p.Design.Periods {
		c := &p.Design.Periods[i]
		s.line("period", "%s, effects of %d values, of standard deviation %.3g",
			text.Visible(features[c.Feature]), len(c.Values), c.Deviation*p.Target.Scale)
	}
}

// prior describes the rank, the noise and the intervals.
func (s *summary) prior() {
	p := s.Parameters()
	s.line("rank", "%d", p.Prior.Rank)
	s.line("noise", "%.4g, standard deviation in the %s", s.Noise(), s.Unit())
	if p.Prior.Noise.TaskFreedom > 0 {
		low, high := p.Prior.Noise.Span()
		s.line("noise of tasks", "from %.3g to %.3g in 95 %% of the tasks", p.Target.Scale*low, p.Target.Scale*high)
	}
	if p.Tasks.Covariances == nil {
		s.line("intervals",
			"of known tasks are as wide as those of unseen tasks: the file does not hold their covariances")
	}
	if g := p.Goodness; g.R2Conditional > 0 {
		s.line("explains", "%.1f %% of the variance, %.1f %% with the mean of all tasks alone", 100*g.R2Conditional,
			100*g.R2Marginal)
	}
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
