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
	}
	var x []float64
	for _, p := range points {
		x = append(x, float64(p.Samples))
		for i, e := range []fit.Errors{p.Ours, p.Pooled, p.Single} {
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

// tuningFigure shows the error in cross-validation against the ridge, a line for each
// rank at the mean strength that suits it best.
func tuningFigure(r *fit.Report) *chart.Figure {
	p := chart.Panel{X: chart.Axis{Label: "Ridge on the coefficients of a task", Log: true}}
	colors := []chart.Color{chart.Sky, chart.Green, chart.Orange, chart.Pink, chart.Red}
	lowest := math.Inf(1)
	for _, b := range bestOfTrials(r.Tried) {
		lowest = min(lowest, b.RMSE)
	}
	for i, b := range bestOfRanks(r.Tried) {
		s := chart.Series{Name: fmt.Sprintf("rank %d", b.Rank), Style: line(colors[i%len(colors)])}
		for _, t := range r.Tried {
			// Far worse ones would press the others together.
			if t.Rank == b.Rank && t.MeanRidge == b.MeanRidge && t.RMSE < 1.25*lowest {
				s.X, s.Y = append(s.X, t.Ridge), append(s.Y, t.RMSE)
			}
		}
		p.Series = append(p.Series, s)
	}
	p.Series = append(p.Series, chart.Series{Name: "chosen", Style: dotted(chart.Blue), X: []float64{r.Chosen.Ridge}, Y: []float64{r.Chosen.RMSE}})
	return reportFigure("RMSE in cross-validation", p)
}

// bestOfRanks returns the candidate of smallest error at every rank.
func bestOfRanks(tried []fit.Candidate) []fit.Candidate {
	var out []fit.Candidate
	for _, t := range tried {
		n := len(out)
		switch {
		case n == 0 || out[n-1].Rank != t.Rank:
			out = append(out, t)
		case t.RMSE < out[n-1].RMSE:
			out[n-1] = t
		}
	}
	return out
}

// convergenceFigure shows what is left of the objective's fall, the disagreement of
// the nodes, and the distance to the truth where it is known.
func convergenceFigure(t *trace) *chart.Figure {
	series := []chart.Series{
		{Name: "objective, relative to the last", Style: line(chart.Blue)},
		{Name: "disagreement of the nodes", Style: line(chart.Orange)},
		{Name: "distance to the truth", Style: line(chart.Green)},
	}
	rows := t.curve.Rows
	last := rows[len(rows)-1].Objective
	for k, r := range rows {
		if k == 0 {
			r.Disagreement = 0 // but for rounding: all nodes start from one estimate
		}
		for i, v := range []float64{(r.Objective - last) / math.Abs(last), r.Disagreement, r.SDMax} {
			if !(v > 0) { // a logarithmic axis has no place for it
				v = math.NaN()
			}
			series[i].X, series[i].Y = append(series[i].X, float64(r.Iteration)), append(series[i].Y, v)
		}
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
	colors := []chart.Color{chart.Blue, chart.Orange}
	// Ours last, on top. One ridge per task would only hide the two that matter.
	for m := min(len(r.Scores), 2) - 1; m >= 0; m-- {
		s := chart.Series{Name: r.Scores[m].Method, Style: cloud(colors[m])}
		for i := range r.Tasks {
			s.X, s.Y = append(s.X, float64(rows(&r.Tasks[i]))), append(s.Y, errors(&r.Tasks[i])[m].RMSE)
		}
		p.Series = append(p.Series, s)
	}
	return reportFigure("RMSE on its "+set, p)
}

// spectrumFigure shows the singular values of the coefficients, those of the chosen
// rank in full colour.
func spectrumFigure(r *fit.Report) *chart.Figure {
	var x []float64
	for i := range r.Spectrum {
		x = append(x, float64(i+1))
	}
	n := min(r.Chosen.Rank, len(x))
	return reportFigure("Singular value of the deviations", chart.Panel{
		X: chart.Axis{Label: "Axis", Min: 0.4, Max: float64(len(x)) + 0.6, Marks: chart.MarkAll(x)},
		Y: chart.Axis{Zero: true},
		Series: []chart.Series{
			{X: x[:n], Y: r.Spectrum[:n], Style: chart.Style{Color: chart.Blue, Bar: 0.5}},
			{X: x[n:], Y: r.Spectrum[n:], Style: chart.Style{Color: chart.Gray.Faint(120), Bar: 0.5}},
		},
	})
}
