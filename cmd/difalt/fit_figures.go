package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/fit"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// curveChart shows a learning curve.
func curveChart(points []fit.CurvePoint) *chart {
	c := newChart("Training rows of a new task", "RMSE on held-out rows")
	errors := [3][]float64{}
	var x []float64
	for _, p := range points {
		x = append(x, float64(p.Samples))
		for i, e := range []fit.Errors{p.Ours, p.Pooled, p.Single} {
			v := e.RMSE
			if e.Rows == 0 {
				v = math.NaN()
			}
			errors[i] = append(errors[i], v)
		}
	}
	for i, name := range []string{fit.Ours, fit.Pooled, fit.Single} {
		c.line(name, x, errors[i], []color.Color{blue, orange, green}[i], true)
	}
	if len(x) > 3 {
		logarithmic(&c.X)
	}
	c.X.Tick.Marker = plot.ConstantTicks(markAll(x))
	c.roomAbove(0.3)
	return c
}

// markAll labels every value.
func markAll(values []float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)})
	}
	return ticks
}

// roomAbove makes room for the legend above the data.
func (c *chart) roomAbove(share float64) { c.Y.Max += share * (c.Y.Max - c.Y.Min) }

// tuningChart shows the error in cross-validation against the ridge, a line for each
// rank at the mean strength that suits it best.
func tuningChart(r *fit.Report) *chart {
	c := newChart("Ridge on the coefficients of a task", "RMSE in cross-validation")
	looks := []color.Color{sky, green, orange, pink, red}
	lowest := math.Inf(1)
	for _, b := range bestOfTrials(r.Tried) {
		lowest = min(lowest, b.RMSE)
	}
	for i, b := range bestOfRanks(r.Tried) {
		var x, y []float64
		for _, t := range r.Tried {
			// Far worse ones would press the others together.
			if t.Rank == b.Rank && t.MeanRidge == b.MeanRidge && t.RMSE < 1.25*lowest {
				x, y = append(x, t.Ridge), append(y, t.RMSE)
			}
		}
		c.line(fmt.Sprintf("rank %d", b.Rank), x, y, looks[i%len(looks)], false)
	}
	c.line("chosen", []float64{r.Chosen.Ridge}, []float64{r.Chosen.RMSE}, blue, true)
	logarithmic(&c.X)
	c.roomAbove(0.15)
	return c
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

// convergenceChart shows what is left of the objective's fall, the disagreement of
// the nodes, and the distance to the truth where it is known.
func convergenceChart(t *trace) *chart {
	c := newChart("Iteration", "")
	rows := t.curve.Rows
	last := rows[len(rows)-1].Objective
	var x, objective, disagreement, distance []float64
	for _, r := range rows {
		x = append(x, float64(r.Iteration))
		objective = append(objective, positive((r.Objective-last)/math.Abs(last)))
		disagreement = append(disagreement, positive(r.Disagreement))
		distance = append(distance, positive(r.SDMax))
	}
	c.line("objective, relative to the last", x, objective, blue, false)
	c.line("disagreement of the nodes", x[1:], disagreement[1:], orange, false) // the nodes start from one estimate
	c.line("distance to the truth", x, distance, green, false)
	if c.Y.Min > 0 && c.Y.Max > c.Y.Min {
		c.Y.Max *= math.Pow(c.Y.Max/c.Y.Min, 0.3)
		logarithmic(&c.Y)
	}
	return c
}

// positive returns v, or NaN where a logarithmic axis has no place for it.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

// tasksChart shows the error of every task against its number of training rows, or,
// if all have the same, of all rows.
func tasksChart(r *fit.Report) *chart {
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
	c := newChart(label, "RMSE on its "+set)
	looks := []color.NRGBA{blue, orange}
	// Ours last, on top. One ridge per task would only hide the two that matter.
	for m := min(len(r.Scores), 2) - 1; m >= 0; m-- {
		var x, y []float64
		for i := range r.Tasks {
			x = append(x, float64(rows(&r.Tasks[i])))
			y = append(y, errors(&r.Tasks[i])[m].RMSE)
		}
		c.dots(r.Scores[m].Method, x, y, looks[m])
	}
	c.roomAbove(0.25)
	return c
}

// spectrumChart shows the singular values of the coefficients, those of the chosen
// rank in full colour.
func spectrumChart(r *fit.Report) (*chart, error) {
	c := newChart("Axis", "Singular value of the deviations")
	for i, v := range r.Spectrum {
		bar, err := plotter.NewBarChart(plotter.Values{v}, 0.5*chartWidth/vg.Length(len(r.Spectrum)+1))
		if err != nil {
			return nil, err
		}
		bar.XMin = float64(i + 1)
		bar.LineStyle.Width = 0
		bar.Color = color.Gray{200}
		if i < r.Chosen.Rank {
			bar.Color = blue
		}
		c.Add(bar)
	}
	c.X.Min, c.X.Max = 0.4, float64(len(r.Spectrum))+0.6
	c.Y.Min = 0
	c.Y.Padding = 0
	var x []float64
	for i := range r.Spectrum {
		x = append(x, float64(i+1))
	}
	c.X.Tick.Marker = plot.ConstantTicks(markAll(x))
	return c, nil
}
