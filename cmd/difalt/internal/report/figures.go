package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// The numbers of tasks and rows that figures show at most, evenly chosen in their order.
const (
	shownLines = 40
	shownRows  = 1500
	shownTasks = 1500
)

// spread returns at most the given number of n indices, evenly.
func spread(n, most int) (list []int) {
	for i := range min(n, most) {
		list = append(list, i*n/min(n, most))
	}
	return list
}

// A figure is drawn on the page, and to a file of its name, with a sentence. The text of the image describes
// the data to readers who do not see them.
type figure struct {
	file, words string
	image       *chart.Figure // nil leaves the figure out
}

// longestLabel is the number of characters of a label.
const longestLabel = 40

// newFigure returns a figure of one panel. It is narrow: on a phone of 320 pixels it is drawn at 9/10 of its
// size, and its letters have 9.5 pixels or more.
func newFigure(file, title, words, alt, y string, p chart.Panel) figure {
	image := &chart.Figure{Title: title, Text: alt, Width: 3.25, Height: 2.35, Y: y, Panels: []chart.Panel{p}}
	return figure{file, words, image}
}

// tasksFigure shows the error of the model on every task against the error of another method: the one that
// the verdict names, or the first simpler one.
func (r *Report) tasksFigure() figure {
	set, errors := "held-out rows", func(t *mixed.TaskScore) []mixed.Errors { return t.Test }
	if !r.hasTest() {
		set, errors = "training rows", func(t *mixed.TaskScore) []mixed.Errors { return t.Train }
	}
	other := max(1, slices.IndexFunc(r.Scores, func(s mixed.Score) bool { return s.Method == r.Verdict.Other }))
	if other >= len(r.Scores) {
		return figure{}
	}
	s, most, better := chart.Series{Name: "a task", Style: chart.Style{Color: chart.Blue, Dot: 2.2}}, 0.0, 0
	for t := range r.tasks {
		e := errors(&t)
		x, y := e[other].RMSE, e[0].RMSE
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		s.X, s.Y, most = append(s.X, x), append(s.Y, y), max(most, x, y)
		if y < x {
			better++
		}
	}
	if most == 0 {
		return figure{}
	}
	axis, name := chart.Axis{Max: 1.05 * most}, r.Scores[other].Method
	ends := []float64{0, axis.Max}
	same := chart.Series{Name: "equal errors", X: ends, Y: ends, Style: chart.Line(chart.Gray, 1, 4, 3)}
	p := chart.Panel{X: axis, Y: axis, Series: []chart.Series{same, s}}
	p.X.Label = "RMSE of " + name
	words := fmt.Sprintf("Root mean square error on the %s of each task. Below the line the model has the smaller "+
		"error: %d of %d tasks.", set, better, len(s.X))
	alt := fmt.Sprintf("%s Model: %s. %s: %s.", words, quartiles(s.Y), name, quartiles(s.X))
	if all := len(s.X); all > shownTasks {
		words += fmt.Sprintf(" %d of them are drawn.", shownTasks)
		var x, y []float64
		for _, i := range spread(all, shownTasks) {
			x, y = append(x, s.X[i]), append(y, s.Y[i])
		}
		p.Series[1].X, p.Series[1].Y = x, y
	}
	return newFigure("tasks", "Error per task", words, alt, "RMSE of the model", p)
}

// quartiles describes a sample in words.
func quartiles(list []float64) string {
	sorted := slices.Sorted(slices.Values(list))
	q := func(p float64) string { return text.Short(stat.Quantile(p, stat.Empirical, sorted, nil)) }
	return fmt.Sprintf("least %s, quartiles %s, %s and %s, largest %s", q(0), q(.25), q(.5), q(.75), q(1))
}

// residualsFigure shows the residuals of rows of this process against their predictions.
func (r *Report) residualsFigure() figure {
	t, train := r.sources[0].Table, r.sources[0].Train
	x := make([]float64, len(t.Features()))
	list := [2]chart.Series{{Name: "training rows", Style: chart.Style{Color: chart.Blue, Dot: 1.5}},
		{Name: "held-out rows", Style: chart.Style{Color: chart.Orange, Dot: 1.5}}}
	least, most := math.Inf(1), math.Inf(-1)
	for _, i := range spread(t.Rows(), shownRows) {
		y, _, err := cmp.Or(r.Judged, r.model).Predict(t.Tasks()[t.Task(i)], t.X(x, i))
		residual := t.Y(i) - y
		if r.Numbers.Log {
			residual = math.Log(t.Y(i) / y)
		}
		if err != nil || math.IsInf(residual, 0) || math.IsNaN(residual) { // a target without logarithm
			continue
		}
		s := &list[0]
		if !train[i] {
			s = &list[1]
		}
		s.X, s.Y, least, most = append(s.X, y), append(s.Y, residual), min(least, y), max(most, y)
	}
	if !(most > least) {
		return figure{}
	}
	zero := chart.Series{X: []float64{least, most}, Y: []float64{0, 0}, Style: chart.Line(chart.Gray, 1, 4, 3)}
	label, words := "Target minus prediction", "A bend or a fan shape is a sign that the model misses something."
	if r.Numbers.Log {
		label = "Logarithm of target / prediction"
	}
	alt := fmt.Sprintf("%s against prediction: %s.", label, quartiles(slices.Concat(list[0].Y, list[1].Y)))
	series := append([]chart.Series{zero}, list[:]...)
	p := chart.Panel{X: chart.Axis{Label: "Prediction", Log: r.Numbers.Log}, Series: series}
	return newFigure("residuals", "Residuals", words, alt, label, p)
}

// linesFigure shows the predictions of tasks of this process along a column, all others at their means.
func (r *Report) linesFigure() figure {
	column, low, high := r.column()
	if low == high {
		return figure{}
	}
	places := r.places(column, low, high)
	line := func(task string, style chart.Style) (s chart.Series) {
		x := slices.Clone(r.model.Parameters().Design.Fill)
		for _, at := range places {
			x[column] = at
			if y, _, err := r.model.Predict(task, x); err == nil {
				s.X, s.Y = append(s.X, x[column]), append(s.Y, y)
			}
		}
		s.Style = style
		return s
	}
	tasks, name := r.model.Tasks(), r.model.Features()[column]
	p := chart.Panel{X: chart.Axis{Label: text.Shortened(name, longestLabel), Dates: r.isDate(name)}}
	for _, i := range spread(len(tasks), shownLines) {
		p.Series = append(p.Series, line(tasks[i], chart.Line(chart.Sky, 0.8)))
	}
	p.Series[0].Name = "a task"
	all := line("", chart.Line(chart.Red, 2))
	if len(all.Y) < len(places) {
		return figure{}
	}
	all.Name = "mean of all tasks"
	of := text.Plural(len(tasks), "task")
	if len(p.Series) < len(tasks) {
		of = fmt.Sprintf("%d of %s", len(p.Series), of)
	}
	p.Series = append(p.Series, all)
	words := fmt.Sprintf("Predictions for %s along %s, the column with the largest differences. Other columns are "+
		"at their means.", of, text.Visible(name))
	last := len(places) - 1
	alt := fmt.Sprintf("%s Mean of all tasks: %s at %s, %s at %s.", words, text.Short(all.Y[0]),
		r.short(name, places[0]), text.Short(all.Y[last]), r.short(name, places[last]))
	return newFigure("lines", "Tasks along a column", words, alt, "Prediction", p)
}

// places returns where lines along a column are drawn: at the values of a period, which have effects of their
// own, and otherwise evenly spaced.
func (r *Report) places(column int, low, high float64) (list []float64) {
	const points = 49
	for _, p := range r.model.Parameters().Design.Periods {
		for _, v := range p.Values {
			if p.Feature == column && v >= low && v <= high {
				list = append(list, v)
			}
		}
	}
	slices.Sort(list)
	if len(list) > 1 {
		return list
	}
	list = nil
	for i := range points {
		list = append(list, low+(high-low)*float64(i)/(points-1))
	}
	return list
}

// curveFigures shows the expected target of an average task along each column with a curve, all others at
// their means and without effects of single values: the curve with the largest departure from a line first.
func (r *Report) curveFigures() (list []figure) {
	const points = 65
	p := r.model.Parameters()
	smooth := p.Design
	smooth.Periods = nil // whose columns are the last ones
	estimate := &mixed.Estimate{Mean: p.Mean, Covariance: p.MeanCovariance}
	if p.Effects != nil {
		estimate = p.Effects
	}
	var curves []mixed.Effect
	for _, e := range largestFirst(r.model) {
		if e.Kind == mixed.CurveEffect {
			curves = append(curves, e)
		}
	}
	more := len(curves) - mostCurves
	for i, e := range curves[:min(len(curves), mostCurves)] {
		at := slices.IndexFunc(p.Design.Curves,
			func(c mixed.Curve) bool { return r.model.Features()[c.Feature] == e.Term })
		c := &p.Design.Curves[at]
		low, high := r.rangeOf(c)
		s := chart.Series{Style: chart.Line(chart.Red, 2)}
		x, z := slices.Clone(p.Design.Fill), make([]float64, p.Design.Width())
		for k := range points {
			x[c.Feature] = low + (high-low)*float64(k)/(points-1)
			smooth.Apply(z[:smooth.Width()], x)
			y, error := floats.Dot(z, estimate.Mean), estimate.StandardError(z)
			s.X, s.Y = append(s.X, x[c.Feature]), append(s.Y, p.Target.Restore(y))
			far := estimate.Quantile() * error
			s.Low, s.High = append(s.Low, p.Target.Restore(y-far)), append(s.High, p.Target.Restore(y+far))
		}
		name := e.Term
		words := fmt.Sprintf("Expected target of an average task along %s with the 95 %% interval. Other columns "+
			"are at their means.", text.Visible(name))
		if more > 0 && i == mostCurves-1 {
			words += fmt.Sprintf(" %s more are not drawn.", text.Plural(more, "curve"))
		}
		alt := fmt.Sprintf("%s %s at %s, %s at %s, %s at %s.", words, text.Short(s.Y[0]), r.short(name, low),
			text.Short(s.Y[points/2]), r.short(name, s.X[points/2]), text.Short(s.Y[points-1]), r.short(name, high))
		axis := chart.Axis{Label: text.Shortened(name, longestLabel), Dates: r.isDate(name)}
		panel := chart.Panel{X: axis, Series: []chart.Series{s}}
		title := "Curve of " + text.Shortened(name, longestLabel)
		list = append(list, newFigure(curveFile(i), title, words, alt, "Expected target", panel))
	}
	return list
}

// rangeOf returns the ends of a curve in a figure: the outer knots, or the outer values where this process
// has the rows of all owners and their values are nearer.
func (r *Report) rangeOf(c *mixed.Curve) (low, high float64) {
	first, last := c.Knots[0], c.Knots[len(c.Knots)-1]
	if len(r.sources) == 0 || r.Owners != nil && len(r.sources) < r.Owners.Nodes {
		return first, last
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range r.sources {
		x := make([]float64, len(s.Table.Features()))
		for i := range s.Table.Rows() {
			if v := s.Table.X(x, i)[c.Feature]; !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return max(low, first), min(high, last)
}

// column returns the numeric feature whose slopes differ most between tasks, per standard deviation of the
// feature. It also returns the ends of its middle 96 % in rows of this process; they are equal without such
// a feature.
func (r *Report) column() (best int, low, high float64) {
	d, t := r.model.Parameters().Design, r.sources[0].Table
	var slopes []mixed.Effect
	place := map[string]int{}
	for j, name := range r.model.Features() {
		place[name] = j
	}
	for _, e := range r.Effects {
		if e.Kind == mixed.Slope {
			s := d.Scale[place[e.Term]]
			e.Deviation, e.Estimate = e.Deviation*s, math.Abs(e.Estimate*s)
			slopes = append(slopes, e)
		}
	}
	if slopes == nil {
		return 0, 0, 0
	}
	largest := slices.MaxFunc(slopes, func(a, b mixed.Effect) int {
		return cmp.Or(cmp.Compare(a.Deviation, b.Deviation), cmp.Compare(a.Estimate, b.Estimate))
	})
	best = place[largest.Term]
	x, column := make([]float64, len(t.Features())), []float64(nil)
	for _, i := range spread(t.Rows(), shownRows) {
		if v := t.X(x, i)[best]; !math.IsNaN(v) {
			column = append(column, v)
		}
	}
	slices.Sort(column)
	if n := len(column); n > 1 {
		low, high = column[n/50], column[n-1-n/50]
	}
	return best, low, high
}

// isDate reports whether a column holds dates.
func (r *Report) isDate(column string) bool {
	return slices.Contains(r.model.Parameters().Schema.Dates, column)
}

// short prints a value of a column: three digits of a number, or a date.
func (r *Report) short(column string, v float64) string {
	if r.isDate(column) {
		return text.Date(v)
	}
	return text.Short(v)
}
