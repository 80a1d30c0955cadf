package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/chart"
)

// reportFigure returns a panel as a figure of a report: its letters stay readable at
// the width of a phone.
func reportFigure(y string, p chart.Panel) *chart.Figure {
	return &chart.Figure{Width: 4.2, Height: 2.9, Legend: true, Y: y, Panels: []chart.Panel{p}}
}

// line and dotted are the styles of lines in reports, and cloud that of many dots.
func line(c chart.Color) chart.Style   { return chart.Line(c, 1.6) }
func dotted(c chart.Color) chart.Style { return chart.Style{Color: c, Width: 1.6, Dot: 2.2} }
func cloud(c chart.Color) chart.Style  { return chart.Style{Color: c.Faint(170), Dot: 2.2} }

// curveFigure shows a learning curve.
func curveFigure(points []fit.CurvePoint) *chart.Figure {
	series := []chart.Series{
		{Name: fit.Ours, Style: dotted(chart.Blue)},
		{Name: fit.Pooled, Style: dotted(chart.Orange)},
		{Name: fit.Single, Style: dotted(chart.Green)},
		{Name: fit.TaskMean, Style: dotted(chart.Gray)},
	}
	var x []float64
	for _, p := range points {
		x = append(x, float64(p.Samples))
		for i, e := range []fit.Errors{p.Ours, p.Pooled, p.Single, p.Mean} {
			v := e.RMSE
			if e.Rows == 0 {
				v = math.NaN()
			}
			series[i].X, series[i].Y = x, append(series[i].Y, v)
		}
	}
	return reportFigure("RMSE on held-out rows", chart.Panel{
		X:      chart.Axis{Label: "Training rows of a new task", Log: len(x) > 3, Marks: chart.MarkAll(x)},
		Series: series,
	})
}

// evidenceFigure shows the evidence of every rank.
func evidenceFigure(r *fit.Report) *chart.Figure {
	all := chart.Series{Name: "tasks differ in all features", Style: dotted(chart.Blue)}
	level := chart.Series{Name: "in their intercepts only", Style: chart.Style{Color: chart.Orange, Dot: 3.2}}
	for _, c := range r.Tried {
		s := &all
		if math.IsInf(c.Ridge, 1) {
			s = &level
		}
		s.X, s.Y = append(s.X, float64(c.Rank)), append(s.Y, c.Evidence)
	}
	return reportFigure("Log evidence", chart.Panel{
		X:      chart.Axis{Label: "Rank", Marks: chart.MarkAll(all.X)},
		Series: []chart.Series{all, level},
	})
}

// convergenceFigure shows what is left of the objective's fall, the disagreement of
// the nodes, and the distance to the truth where it is known; nil where the run has started
// so near its end that there is no fall to show.
func convergenceFigure(t *trace) *chart.Figure {
	series := []chart.Series{
		{Name: "objective, relative to the least", Style: line(chart.Blue)},
		{Name: "disagreement of the nodes", Style: line(chart.Orange)},
		{Name: "distance to the truth", Style: line(chart.Green)},
	}
	rows := t.curve.Rows
	if len(rows) == 0 {
		return nil
	}
	least := math.Inf(1)
	for _, r := range rows {
		least = min(least, r.Objective)
	}
	for k, r := range rows {
		if k == 0 {
			r.Disagreement = 0 // but for rounding: all nodes start from one estimate
		}
		for i, v := range []float64{(r.Objective - least) / math.Abs(least), r.Disagreement, r.SDMax} {
			if !(v > 0) { // a logarithmic axis has no place for it
				v = math.NaN()
			}
			series[i].X, series[i].Y = append(series[i].X, float64(r.Iteration)), append(series[i].Y, v)
		}
	}
	if !(rows[0].Objective-least > 1e-6*math.Abs(least)) {
		return nil
	}
	return reportFigure("", chart.Panel{X: chart.Axis{Label: "Iteration"}, Y: chart.Axis{Log: true}, Series: series})
}

// tasksFigure shows the error of every task against its number of training rows, or,
// if all have the same, of all rows.
func tasksFigure(r *fit.Report) *chart.Figure {
	set := "held-out rows"
	errors := func(t *fit.TaskScore) []fit.Errors { return t.Test }
	if r.Scores[0].Test.Rows == 0 {
		set = "training rows"
		errors = func(t *fit.TaskScore) []fit.Errors { return t.Train }
	}
	label, rows := "Training rows of the task", func(t *fit.TaskScore) int { return t.Train[0].Rows }
	if slices.IndexFunc(r.Tasks, func(t fit.TaskScore) bool { return rows(&t) != rows(&r.Tasks[0]) }) < 0 {
		label = fmt.Sprintf("All rows of the task (%d for training)", rows(&r.Tasks[0]))
		rows = func(t *fit.TaskScore) int { return t.Train[0].Rows + t.Test[0].Rows }
	}
	p := chart.Panel{X: chart.Axis{Label: label}}
	methods, colors := []int{0}, []chart.Color{chart.Blue, chart.Orange}
	if len(r.Scores) > 1 {
		// What the verdict is about. Ours last, on top.
		other := slices.IndexFunc(r.Scores, func(s fit.Score) bool { return s.Method == r.Verdict.Other })
		methods = append(methods, max(other, 1))
	}
	for k, m := range slices.Backward(methods) {
		s := chart.Series{Name: r.Scores[m].Method, Style: cloud(colors[k])}
		for i := range r.Tasks {
			s.X, s.Y = append(s.X, float64(rows(&r.Tasks[i]))), append(s.Y, errors(&r.Tasks[i])[m].RMSE)
		}
		p.Series = append(p.Series, s)
	}
	return reportFigure("RMSE on its "+set, p)
}

// tasksText says what tasksFigure shows.
func tasksText(r *fit.Report) string {
	switch {
	case len(r.Scores) == 1:
		return "Every task has a dot, above the number of its rows."
	case r.Verdict.Other == "":
		return "Every task has a dot for the model and one for a simpler method, above the number of its rows."
	}
	return "Every task has a dot for the model and one for the best simpler method, above the number of its rows."
}

// axesFigure shows how much tasks differ along every axis of the representation.
func axesFigure(r *fit.Report) *chart.Figure {
	var x []float64
	for i := range r.Chosen.Axes {
		x = append(x, float64(i+1))
	}
	return reportFigure("Standard deviation", chart.Panel{
		X:      chart.Axis{Label: "Axis", Min: 0.4, Max: float64(len(x)) + 0.6, Marks: chart.MarkAll(x)},
		Y:      chart.Axis{Zero: true},
		Series: []chart.Series{{X: x, Y: r.Chosen.Axes, Style: chart.Style{Color: chart.Blue, Bar: 0.5}}},
	})
}
