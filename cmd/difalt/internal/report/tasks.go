package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/stat"
)

// How many of the tasks and rows of this process figures show, at most: as many, evenly chosen in their order.
const (
	shownTasks = 200
	shownLines = 40
	shownRows  = 1500
)

// some returns at most so many of n indices, evenly.
func some(n, most int) (list []int) {
	for i := range min(n, most) {
		list = append(list, i*n/min(n, most))
	}
	return list
}

// An ofTask is a number of a task.
type ofTask struct {
	task             string
	value, low, high float64
}

// levelsFigure is a caterpillar: by how much the level of every task of this process, at the means of the features, is from that of all, with its 95 %
// interval. nil where covariances are not known, or levels are alike.
func (r *Report) levelsFigure() *chart.Figure {
	p := r.Model.Parameters()
	if !p.Scaling.Constant {
		return nil
	}
	d := p.Scaling.Width()
	var list []ofTask
	for t, name := range p.Tasks {
		v := (p.Theta[t*d+d-1] - p.Mean[d-1]) * p.Scaling.TargetScale
		cov, err := r.Model.Covariance(name)
		if err != nil {
			return nil
		}
		last := cov.SymmetricDim() - 1
		e := 1.96 * math.Sqrt(max(cov.At(last, last), 0))
		list = append(list, ofTask{name, v, v - e, v + e})
	}
	slices.SortStableFunc(list, func(a, b ofTask) int { return cmp.Compare(a.value, b.value) })
	if len(list) < 2 || !(list[len(list)-1].value-list[0].value > 1e-6*r.Model.Noise()) {
		return nil
	}
	dots := chart.Series{Name: "a task, with its 95 % interval", Style: chart.Style{Color: chart.Blue, Dot: 1.8}}
	panel := chart.Panel{X: chart.Axis{Label: "Tasks, by their levels"}}
	shown := some(len(list), shownTasks)
	panel.Series = append(panel.Series, chart.Series{X: []float64{0, float64(len(shown) + 1)}, Y: []float64{0, 0}, Style: chart.Line(chart.Gray, 1, 4, 3)})
	for at, i := range shown {
		x := float64(at + 1)
		dots.X, dots.Y = append(dots.X, x), append(dots.Y, list[i].value)
		panel.Series = append(panel.Series, chart.Series{X: []float64{x, x}, Y: []float64{list[i].low, list[i].high}, Style: chart.Line(chart.Faint(chart.Blue, 110), 1)})
	}
	if len(shown) <= 12 { // else names would cover each other
		for at, i := range shown {
			panel.X.Marks = append(panel.X.Marks, chart.Mark{Value: float64(at + 1), Label: shortened(list[i].task)})
		}
	}
	panel.Series = append(panel.Series, dots)
	return newFigure("Level less that of all", panel)
}

// shortened is a name as an axis of several has room for it.
func shortened(name string) string {
	if r := []rune(text.Visible(name)); len(r) > 6 {
		return string(r[:5]) + "…"
	}
	return text.Visible(name)
}

// residualsText says what residuals are.
func residualsText(ofLogarithm bool) string {
	if ofLogarithm {
		return "Logarithms of targets over predictions, of targets above 0."
	}
	return "Targets minus predictions."
}

// residualsFigure shows the residuals of rows of this process against their predictions; nil if there are too few to see anything.
func (r *Report) residualsFigure() *chart.Figure {
	x := make([]float64, len(r.Table.Features()))
	train := chart.Series{Name: "training rows", Style: chart.Style{Color: chart.Faint(chart.Blue, 110), Dot: 1.5}}
	held := chart.Series{Name: "held-out rows", Style: chart.Style{Color: chart.Orange, Dot: 1.5}}
	least, most := math.Inf(1), math.Inf(-1)
	for _, i := range some(r.Table.Rows(), shownRows) {
		y, ok := r.predicted(x, i)
		if !ok {
			continue
		}
		s := &train
		if r.Config.Train != nil && !r.Config.Train[i] {
			s = &held
		}
		residual := r.Table.Y(i) - y
		if r.LogTarget {
			residual = math.Log(r.Table.Y(i) / y)
		}
		if math.IsInf(residual, 0) || math.IsNaN(residual) { // a held-out target that has no logarithm
			continue
		}
		s.X, s.Y = append(s.X, y), append(s.Y, residual)
		least, most = min(least, y), max(most, y)
	}
	if !(most > least) {
		return nil
	}
	zero := chart.Series{X: []float64{least, most}, Y: []float64{0, 0}, Style: chart.Line(chart.Gray, 1, 4, 3)}
	label := "Target less prediction"
	if r.LogTarget {
		label = "Logarithm of target over prediction"
	}
	return newFigure(label, chart.Panel{X: chart.Axis{Label: "Prediction", Log: r.LogTarget}, Series: []chart.Series{zero, train, held}})
}

// predicted returns the prediction for a row of the table, in x.
func (r *Report) predicted(x []float64, i int) (y float64, ok bool) {
	r.Model.FillMissing(r.Table.X(x, i))
	y, err := r.Model.Predict(r.Table.Tasks()[r.Table.Task(i)], x)
	return y, err == nil
}

// linesFigure shows the predictions of tasks of this process along a column, all others at their means; nil if there is no column of numbers.
func (r *Report) linesFigure() (figure *chart.Figure, words string) {
	column, low, high := r.column()
	if column < 0 {
		return nil, ""
	}
	const points = 25
	curve := func(task string) (s chart.Series) {
		x := slices.Clone(r.Model.Parameters().Scaling.Fill)
		for i := range points {
			x[column] = low + (high-low)*float64(i)/(points-1)
			if y, _, err := r.Model.PredictAny(task, x); err == nil {
				s.X, s.Y = append(s.X, x[column]), append(s.Y, y)
			}
		}
		return s
	}
	tasks := r.Model.Tasks()
	shown := some(len(tasks), shownLines)
	panel := chart.Panel{X: chart.Axis{Label: text.Visible(r.Table.Features()[column])}}
	for at, i := range shown {
		s := curve(tasks[i])
		if s.Style = chart.Line(chart.Faint(chart.Blue, 110), 0.8); at == 0 {
			s.Name = "a task"
		}
		panel.Series = append(panel.Series, s)
	}
	all := curve("") // which no task is called
	all.Name, all.Style = "what all share", chart.Line(chart.Red, 2)
	panel.Series = append(panel.Series, all)
	words = fmt.Sprintf("Predictions for %d of %s along %s, the column along which tasks differ most (or, if they do not differ, predictions change most). All other columns are at their means.",
		len(shown), text.Plural(len(tasks), "task"), text.Visible(r.Table.Features()[column]))
	return newFigure("Prediction", panel), words
}

// column is the feature of numbers along which predictions of tasks differ most or, where they do not differ, change most, and the
// ends of its middle 96 % in rows of this process; -1 if there is none, of a plain fit, and where there are too many to look at.
func (r *Report) column() (best int, low, high float64) {
	p := r.Model.Parameters()
	best, names := -1, r.Table.Features()
	if !p.Scaling.Constant || p.Directions != nil {
		return best, 0, 0
	}
	columns := r.sorted()
	tasks, x := r.Model.Tasks(), slices.Clone(p.Scaling.Fill)
	mostApart, mostChange := 0.0, 0.0
	for j, v := range columns {
		if isLevel(&p, names[j]) || len(v) == 0 {
			continue
		}
		from, to := v[len(v)/50], v[len(v)-1-len(v)/50]
		var changes []float64
		for _, t := range some(len(tasks), shownLines) {
			x[j] = to
			above, _, err := r.Model.PredictAny(tasks[t], x)
			x[j] = from
			if below, _, failed := r.Model.PredictAny(tasks[t], x); err == nil && failed == nil {
				changes = append(changes, above-below)
			}
		}
		x[j] = p.Scaling.Fill[j]
		if len(changes) == 0 || from == to {
			continue
		}
		mean, apart := stat.MeanStdDev(append(changes, changes[0]), nil) // of one task too
		if change := math.Abs(mean); apart > mostApart*(1+1e-9) || apart >= mostApart*(1-1e-9) && change > mostChange {
			best, low, high, mostApart, mostChange = j, from, to, apart, change
		}
	}
	return best, low, high
}

// isLevel reports whether a feature is a level of a column.
func isLevel(p *model.Parameters, feature string) bool {
	return slices.ContainsFunc(p.Schema.Categories, func(c schema.Category) bool {
		return slices.ContainsFunc(c.Levels, func(level string) bool { return feature == c.Column+"="+level })
	})
}

// sorted returns the values of every feature in rows of the table, in order.
func (r *Report) sorted() [][]float64 {
	x := make([]float64, len(r.Table.Features()))
	columns := make([][]float64, len(x))
	for _, i := range some(r.Table.Rows(), shownRows) {
		for j, v := range r.Table.X(x, i) {
			if !math.IsNaN(v) {
				columns[j] = append(columns[j], v)
			}
		}
	}
	for _, v := range columns {
		slices.Sort(v)
	}
	return columns
}
