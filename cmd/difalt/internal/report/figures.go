package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"gonum.org/v1/gonum/stat"
)

// The numbers of tasks and rows that figures show at most, evenly chosen in their order.
const (
	shownTasks = 200
	shownLines = 40
	shownRows  = 1500
)

// spread returns at most the given number of n indices, evenly.
func spread(n, most int) (list []int) {
	for i := range min(n, most) {
		list = append(list, i*n/min(n, most))
	}
	return list
}

// ofTasks describes the tasks that a figure shows.
func ofTasks(shown, all int) string {
	if shown == all {
		return text.Plural(all, "task")
	}
	return fmt.Sprintf("%d of %d tasks", shown, all)
}

// A figure is drawn on the page, and to a file of its name. alt describes the data to readers who do not
// see them.
type figure struct {
	File, Title, Text string
	alt               string
	image             *chart.Figure // nil leaves the figure out
}

// newImage returns a panel as a figure of a report: its letters stay readable at the width of a phone.
func newImage(y string, p chart.Panel) *chart.Figure {
	return &chart.Figure{Width: 4.2, Height: 2.9, Y: y, Panels: []chart.Panel{p}}
}

// otherMethod is the index of the simpler method that the verdict names, or of the first one; 0 without any.
func (r *Report) otherMethod() int {
	if other := slices.IndexFunc(r.Scores, func(s fit.Score) bool { return s.Method == r.Verdict.Other }); other > 0 {
		return other
	}
	return min(1, len(r.Scores)-1)
}

// tasksFigure shows the error of the model on every task against that of a simpler method.
func (r *Report) tasksFigure() figure {
	set, errors := "held-out rows", func(t *fit.TaskScore) []fit.Errors { return t.Test }
	if !r.hasTest() {
		set, errors = "training rows", func(t *fit.TaskScore) []fit.Errors { return t.Train }
	}
	other := r.otherMethod()
	s, most, better := chart.Series{Name: "a task", Style: chart.Style{Color: chart.Blue, Dot: 2.2}}, 0.0, 0
	for t := range r.tasks {
		e := errors(&t)
		x, y := e[max(other, 0)].RMSE, e[0].RMSE
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		s.X, s.Y = append(s.X, x), append(s.Y, y)
		most = max(most, x, y)
		if y < x {
			better++
		}
	}
	if other < 1 || most == 0 {
		return figure{}
	}
	axis := chart.Axis{Max: 1.05 * most}
	same := chart.Series{Name: "equal errors", X: []float64{0, axis.Max}, Y: []float64{0, axis.Max}, Style: chart.Line(chart.Gray, 1, 4, 3)}
	p := chart.Panel{X: axis, Y: axis, Series: []chart.Series{same, s}}
	p.X.Label = "RMSE of " + r.Scores[other].Method
	words := fmt.Sprintf("Root mean square error on the %s of each task. Below the line the model has the smaller error: %d of %d "+
		"tasks.", set, better, len(s.X))
	alt := fmt.Sprintf("%s Model: %s. %s: %s.", words, quartiles(s.Y), r.Scores[other].Method, quartiles(s.X))
	return figure{"tasks", "Error per task", words, alt, newImage("RMSE of the model", p)}
}

// quartiles describes a sample in words.
func quartiles(list []float64) string {
	sorted := slices.Sorted(slices.Values(list))
	q := func(p float64) string { return text.Short(stat.Quantile(p, stat.Empirical, sorted, nil)) }
	return fmt.Sprintf("least %s, quartiles %s, %s and %s, largest %s", q(0), q(.25), q(.5), q(.75), q(1))
}

// A level is the expected target of a task at the means of all features, with its 95 % interval.
type level struct {
	task             string
	value, low, high float64
}

// levels returns the levels of the tasks of this process in increasing order, and the level of all tasks;
// nil if predictions overflow.
func (r *Report) levels() (list []level, all float64) {
	at := r.Model.Parameters().Design.Fill
	for _, name := range r.Model.Tasks() {
		p, err := r.Model.PredictError(name, at)
		if err != nil {
			return nil, 0
		}
		e := 1.96 * p.StandardError
		list = append(list, level{name, p.Value, p.Value - e, p.Value + e})
	}
	slices.SortStableFunc(list, func(a, b level) int { return cmp.Compare(a.value, b.value) })
	all, _, _ = r.Model.Predict("", at) // as the tasks
	return list, all
}

// levelsFigure is a caterpillar of the levels of tasks.
func (r *Report) levelsFigure() figure {
	list, all := r.levels()
	n := len(list)
	if n < 2 || !(list[n-1].value-list[0].value > 1e-6*r.Model.Noise()) {
		return figure{}
	}
	dots := chart.Series{Name: "a task, with its 95 % interval", Style: chart.Style{Color: chart.Blue, Dot: 1.8}}
	panel := chart.Panel{X: chart.Axis{Label: "Tasks in the order of their levels"}}
	shown := spread(n, shownTasks)
	panel.Series = append(panel.Series, chart.Series{Name: "all tasks", X: []float64{0, float64(len(shown) + 1)}, Y: []float64{all,
		all}, Style: chart.Line(chart.Gray, 1, 4, 3)})
	for k, i := range shown {
		x := float64(k + 1)
		dots.X, dots.Y = append(dots.X, x), append(dots.Y, list[i].value)
		panel.Series = append(panel.Series, chart.Series{X: []float64{x, x}, Y: []float64{list[i].low, list[i].high},
			Style: chart.Line(chart.Sky, 1)})
		if len(shown) <= 12 { // else names would cover each other
			panel.X.Marks = append(panel.X.Marks, chart.Mark{Value: x, Label: shortened(list[i].task, 6)})
		}
	}
	panel.Series = append(panel.Series, dots)
	words := fmt.Sprintf("Expected target of %s with all features at their means.", ofTasks(len(shown), n))
	alt := fmt.Sprintf("%s Lowest: %s, %s; highest: %s, %s; mean of all tasks: %s.", words,
		text.Visible(list[0].task), text.Short(list[0].value), text.Visible(list[n-1].task), text.Short(list[n-1].value), text.Short(all))
	return figure{"levels", "Levels of tasks", words, alt, newImage("Expected target", panel)}
}

// shortened is the beginning of a name that is longer than the given number of characters.
func shortened(name string, most int) string {
	if r := []rune(text.Visible(name)); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text.Visible(name)
}

// residualsFigure shows the residuals of rows of this process against their predictions.
func (r *Report) residualsFigure() figure {
	x := make([]float64, len(r.Table.Features()))
	train := chart.Series{Name: "training rows", Style: chart.Style{Color: chart.Blue, Dot: 1.5}}
	held := chart.Series{Name: "held-out rows", Style: chart.Style{Color: chart.Orange, Dot: 1.5}}
	least, most := math.Inf(1), math.Inf(-1)
	for _, i := range spread(r.Table.Rows(), shownRows) {
		y, _, err := r.Model.Predict(r.Table.Tasks()[r.Table.Task(i)], r.Table.X(x, i))
		residual := r.Table.Y(i) - y
		if r.Fitted.Log {
			residual = math.Log(r.Table.Y(i) / y)
		}
		if err != nil || math.IsInf(residual, 0) || math.IsNaN(residual) { // a target without logarithm
			continue
		}
		s := &train
		if r.Train != nil && !r.Train[i] {
			s = &held
		}
		s.X, s.Y = append(s.X, y), append(s.Y, residual)
		least, most = min(least, y), max(most, y)
	}
	if !(most > least) {
		return figure{}
	}
	zero := chart.Series{X: []float64{least, most}, Y: []float64{0, 0}, Style: chart.Line(chart.Gray, 1, 4, 3)}
	label, words := "Target minus prediction", "A bend or a fan shape is a sign that the model misses something."
	if r.Fitted.Log {
		label = "Logarithm of target / prediction"
	}
	alt := fmt.Sprintf("%s against prediction. Training rows: %s.", label, quartiles(train.Y))
	if held.Y != nil {
		alt += fmt.Sprintf(" Held-out rows: %s.", quartiles(held.Y))
	}
	image := newImage(label, chart.Panel{X: chart.Axis{Label: "Prediction", Log: r.Fitted.Log}, Series: []chart.Series{zero, train, held}})
	return figure{"residuals", "Residuals", words, alt, image}
}

// linesFigure shows the predictions of tasks of this process along a column, all others at their means.
func (r *Report) linesFigure() figure {
	column, low, high := r.column()
	if column < 0 {
		return figure{}
	}
	const points = 25
	line := func(task string) (s chart.Series) {
		x := slices.Clone(r.Model.Parameters().Design.Fill)
		for i := range points {
			x[column] = low + (high-low)*float64(i)/(points-1)
			if y, _, err := r.Model.Predict(task, x); err == nil {
				s.X, s.Y = append(s.X, x[column]), append(s.Y, y)
			}
		}
		return s
	}
	tasks, name := r.Model.Tasks(), r.Table.Features()[column]
	shown := spread(len(tasks), shownLines)
	panel := chart.Panel{X: chart.Axis{Label: shortened(name, 40)}}
	for k, i := range shown {
		s := line(tasks[i])
		if s.Style = chart.Line(chart.Sky, 0.8); k == 0 {
			s.Name = "a task"
		}
		panel.Series = append(panel.Series, s)
	}
	all := line("")
	if len(all.Y) < points {
		return figure{}
	}
	all.Name, all.Style = "mean of all tasks", chart.Line(chart.Red, 2)
	panel.Series = append(panel.Series, all)
	words := fmt.Sprintf("Predictions for %s along %s, the column with the largest differences. Other columns are at their means.",
		ofTasks(len(shown), len(tasks)), text.Visible(name))
	alt := fmt.Sprintf("%s Mean of all tasks: %s at %s, %s at %s.", words, text.Short(all.Y[0]), text.Short(low),
		text.Short(all.Y[points-1]), text.Short(high))
	return figure{"lines", "Tasks along a column", words, alt, newImage("Prediction", panel)}
}

// column returns the numeric feature with the largest differences between tasks, and the ends of its middle
// 96 % in rows of this process. It returns -1 without such a feature.
func (r *Report) column() (best int, low, high float64) {
	levels := map[string]bool{}
	for _, c := range r.Model.Parameters().Schema.Categories {
		for _, l := range c.Levels {
			levels[c.Column+"="+l] = true
		}
	}
	list := slices.DeleteFunc(features(r.Model), func(f shared) bool { return levels[r.Table.Features()[f.feature]] })
	if len(list) == 0 {
		return -1, 0, 0
	}
	best = list[0].feature
	x, column := make([]float64, len(r.Table.Features())), []float64(nil)
	for _, i := range spread(r.Table.Rows(), shownRows) {
		if v := r.Table.X(x, i)[best]; !math.IsNaN(v) {
			column = append(column, v)
		}
	}
	slices.Sort(column)
	if n := len(column); n > 1 {
		low, high = column[n/50], column[n-1-n/50]
	}
	if low == high {
		return -1, 0, 0
	}
	return best, low, high
}
