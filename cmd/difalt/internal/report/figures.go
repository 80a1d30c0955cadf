package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/chart"
)

// newFigure returns a panel as a figure of a report: its letters stay readable at
// the width of a phone.
func newFigure(y string, p chart.Panel) *chart.Figure {
	return &chart.Figure{Width: 4.2, Height: 2.9, Y: y, Panels: []chart.Panel{p}}
}

// line and dotted are the styles of lines in reports, and cloud that of many dots.
func line(c chart.Color) chart.Style   { return chart.Line(c, 1.6) }
func dotted(c chart.Color) chart.Style { return chart.Style{Color: c, Width: 1.6, Dot: 2.2} }
func cloud(c chart.Color) chart.Style  { return chart.Style{Color: chart.Faint(c, 170), Dot: 2.2} }

// evidenceFigure shows the evidence of every rank; nil where nothing was compared.
func (r *Report) evidenceFigure() *chart.Figure {
	if len(r.Candidates) < 2 {
		return nil
	}
	all := chart.Series{Name: "all features", Style: dotted(chart.Blue)}
	level := chart.Series{Name: "intercepts only", Style: chart.Style{Color: chart.Orange, Dot: 3.2}}
	expected := chart.Series{Name: "expected", Style: chart.Style{Color: chart.Gray, Dot: 3.2}}
	for _, c := range r.Candidates {
		series := []*chart.Series{&all}
		switch {
		case c.interceptsOnly():
			series[0] = &level
		case c.Expected:
			series = append(series, &expected)
		}
		for _, s := range series {
			s.X, s.Y = append(s.X, float64(c.Rank)), append(s.Y, float64(c.Evidence))
		}
	}
	series := []chart.Series{all, level, expected}
	series = slices.DeleteFunc(series, func(s chart.Series) bool { return s.X == nil })
	return newFigure("Log evidence", chart.Panel{
		X:      chart.Axis{Label: "Rank", Marks: chart.MarkAll(all.X)},
		Series: series,
	})
}

// convergenceFigure shows how far the sum of squared errors is from where it ends, the disagreement of
// the nodes, and the distance to the truth where it is known; nil where the run has started
// so near its end that there is nothing to show. The sum may rise on the way: what a run with ridges
// minimises has their penalty too.
func (r *Report) convergenceFigure() *chart.Figure {
	series := []chart.Series{
		{Name: "squared errors, from where they end", Style: line(chart.Blue)},
		{Name: "disagreement of the nodes", Style: line(chart.Orange)},
		{Name: "distance to the truth", Style: line(chart.Green)},
	}
	if r.Trace == nil || len(r.Trace.curve.Rows) == 0 {
		return nil
	}
	rows := r.Trace.curve.Rows
	end := rows[len(rows)-1].Objective
	for k, row := range rows {
		if k == 0 {
			row.Disagreement = 0 // but for rounding: all nodes start from one estimate
		}
		for i, v := range []float64{math.Abs(row.Objective-end) / math.Abs(end), row.Disagreement, row.SDMax} {
			if !(v > 0) { // a logarithmic axis has no place for it
				v = math.NaN()
			}
			series[i].X, series[i].Y = append(series[i].X, float64(row.Iteration)), append(series[i].Y, v)
		}
	}
	if !(math.Abs(rows[0].Objective-end) > 1e-6*math.Abs(end)) {
		return nil
	}
	return newFigure("", chart.Panel{X: chart.Axis{Label: "Iteration"}, Y: chart.Axis{Log: true}, Series: series})
}

// tasksFigure shows the error of the model on every task against that of the method that the verdict is about; without one, the
// errors of the tasks in order.
func (r *Report) tasksFigure() *chart.Figure {
	set, errors := "held-out rows", func(t *fit.TaskScore) []fit.Errors { return t.Test }
	if !r.hasTest() {
		set, errors = "training rows", func(t *fit.TaskScore) []fit.Errors { return t.Train }
	}
	s, most := chart.Series{Style: cloud(chart.Blue)}, 0.0
	other := r.otherMethod()
	for t := range r.Fit.Tasks() {
		e := errors(&t)
		s.X, s.Y = append(s.X, e[other].RMSE), append(s.Y, e[0].RMSE)
		if v := max(e[other].RMSE, e[0].RMSE); v > most { // not NaN, of a task without such rows
			most = v
		}
	}
	if other == 0 {
		slices.Sort(s.Y)
		for i := range s.X {
			s.X[i] = float64(i + 1)
		}
		return newFigure("RMSE on its "+set, chart.Panel{X: chart.Axis{Label: "Tasks, by their errors"}, Series: []chart.Series{s}})
	}
	axis := chart.Axis{Max: 1.05 * most}
	same := chart.Series{Name: "as good", X: []float64{0, axis.Max}, Y: []float64{0, axis.Max}, Style: chart.Line(chart.Gray, 1, 4, 3)}
	s.Name = "a task"
	p := chart.Panel{X: axis, Y: axis, Series: []chart.Series{same, s}}
	p.X.Label = "RMSE on its " + set + ": " + r.Methods[other].Name
	return newFigure(r.Methods[0].Name, p)
}

// otherMethod is the method that the verdict is about, or the first simpler one; 0 if there is none.
func (r *Report) otherMethod() int {
	if other := slices.IndexFunc(r.Methods, func(m method) bool { return m.Name == r.Compared }); other > 0 {
		return other
	}
	return min(1, len(r.Methods)-1)
}

// tasksText says what tasksFigure shows.
func (r *Report) tasksText() string {
	other := r.otherMethod()
	if other == 0 {
		return "One dot per task, in the order of their errors."
	}
	better, all := 0, 0
	for t := range r.Fit.Tasks() {
		e := t.Test
		if !r.hasTest() {
			e = t.Train
		}
		if e[0].Rows > 0 {
			all++
		}
		if e[0].RMSE < e[other].RMSE {
			better++
		}
	}
	return fmt.Sprintf("One dot per task: below the line the %s has the smaller error, which holds for %d of %d tasks.", r.Methods[0].Name, better, all)
}

// axesFigure shows how much tasks differ along every axis of the representation; nil where there
// is none.
func (r *Report) axesFigure() *chart.Figure {
	if len(r.Chosen.Axes) == 0 {
		return nil
	}
	var x []float64
	for i := range r.Chosen.Axes {
		x = append(x, float64(i+1))
	}
	return newFigure("Standard deviation", chart.Panel{
		X:      chart.Axis{Label: "Axis", Min: 0.4, Max: float64(len(x)) + 0.6, Marks: chart.MarkAll(x)},
		Y:      chart.Axis{Zero: true},
		Series: []chart.Series{{X: x, Y: r.Chosen.Axes, Style: chart.Style{Color: chart.Blue, Bar: 0.5}}},
	})
}

// CurveFiles returns a learning curve as files, of which the names begin with name.
func CurveFiles(name string, points []fit.CurvePoint) map[string][]byte {
	figure := curveFigure(points)
	return map[string][]byte{name + ".csv": curveCSV(points), name + ".svg": figure.SVG(), name + ".png": figure.PNG()}
}

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
			series[i].X, series[i].Y = x, append(series[i].Y, e.RMSE)
		}
	}
	return newFigure("RMSE on held-out rows", chart.Panel{
		X:      chart.Axis{Label: "Training rows of a new task", Log: len(x) > 3, Marks: chart.MarkAll(x)},
		Series: series,
	})
}

func curveCSV(points []fit.CurvePoint) []byte {
	out := [][]string{append([]string{"samples", "method"}, errorColumns...)}
	for _, p := range points {
		for i, e := range []fit.Errors{p.Ours, p.Pooled, p.Single, p.Mean} {
			if e.Rows > 0 {
				name := []string{fit.Ours, fit.Pooled, fit.Single, fit.TaskMean}[i]
				out = append(out, append([]string{strconv.Itoa(p.Samples), name}, newErrors(e).cells()...))
			}
		}
	}
	return asCSV(out)
}
