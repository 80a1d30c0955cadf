package report

import (
	"math"
	"strconv"

	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/chart"
)

// CurveFiles returns a learning curve as files, of which the names begin with name.
func CurveFiles(name string, points []fit.CurvePoint) (map[string][]byte, error) {
	files := map[string][]byte{name + ".csv": curveCSV(points)}
	return files, addImages(files, name, curveFigure(points))
}

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
