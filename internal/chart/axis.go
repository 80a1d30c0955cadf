package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// plot returns the panel without labels and legend.
func (p *Panel) plot() (*plot.Plot, error) {
	out := plot.New()
	out.TextHandler = handler()
	out.BackgroundColor = nil
	line := draw.LineStyle{Color: color.Gray{225}, Width: 0.5}
	out.Add(&plotter.Grid{Horizontal: line})
	for i := range p.Series {
		if err := p.Series[i].addTo(out); err != nil {
			return nil, err
		}
	}
	p.X.apply(&out.X)
	p.Y.apply(&out.Y)
	out.X.Tick.Label = style(smallSize, color.Black, draw.XCenter, draw.YTop)
	out.Y.Tick.Label = style(smallSize, color.Black, draw.XRight, draw.YCenter)
	return out, nil
}

// apply sets an axis of a plot, which fits the data so far.
func (a *Axis) apply(to *plot.Axis) {
	to.Tick.Length = 4
	to.Tick.LineStyle.Width, to.LineStyle.Width = 0.6, 0.6
	to.Padding = 4
	if a.Min != a.Max {
		to.Min, to.Max, to.Padding = a.Min, a.Max, 0
	} else if a.Zero {
		to.Min, to.Padding = 0, 0
	}
	to.Tick.Marker = roundNumbers{}
	if a.Log && to.Min > 0 && to.Max > to.Min {
		to.Scale, to.Tick.Marker = plot.LogScale{}, powers{}
	}
	if a.Marks != nil {
		var ticks plot.ConstantTicks
		for _, m := range a.Marks {
			ticks = append(ticks, plot.Tick{Value: m.Value, Label: m.Label})
		}
		to.Tick.Marker = ticks
	}
}

// MarkAll marks values with themselves.
func MarkAll(values []float64) []Mark {
	var marks []Mark
	for _, v := range values {
		marks = append(marks, Mark{v, strconv.FormatFloat(v, 'g', 4, 64)})
	}
	return marks
}

// powers marks powers of ten on a logarithmic axis, with labels on so many of them
// that they stay readable; also multiples of them where there are few.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(low, high float64) []plot.Tick {
	const near = 1e-9
	first, last := int(math.Floor(math.Log10(low)+near)), int(math.Floor(math.Log10(high)+near))
	every := max(1, (last-first+7)/8)
	plain := low > 0.002 && high < 1e6
	factors := []float64{1}
	switch ratio := high / low; {
	case ratio < 10:
		factors, plain = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, true
	case ratio <= 300 && plain:
		factors = []float64{1, 2, 5}
	}
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for _, m := range factors {
			t := plot.Tick{Value: m * math.Pow(10, float64(e))}
			switch {
			case t.Value < low*(1-near) || t.Value > high*(1+near):
				continue
			case e%every != 0:
			case plain || e == 0:
				t.Label = strconv.FormatFloat(t.Value, 'g', 6, 64)
			case e > 0:
				t.Label = fmt.Sprintf("10^{%d}", e)
			default:
				t.Label = fmt.Sprintf("10^{−%d}", -e)
			}
			ticks = append(ticks, t)
		}
	}
	if len(ticks) < 2 {
		return roundNumbers{}.Ticks(low, high)
	}
	return ticks
}

// roundNumbers marks round numbers on a linear axis.
type roundNumbers struct{}

// Ticks implements plot.Ticker.
func (roundNumbers) Ticks(low, high float64) []plot.Tick {
	// The largest of 1, 2, 5 times a power of ten with at least three steps.
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	step := unit
	for _, m := range []float64{2, 5} {
		if (high-low)/(m*unit) >= 3 {
			step = m * unit
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step) + 0; i*step <= high*(1+1e-9); i++ { // + 0 makes 0 of -0
		// Rounding away the error of i*step.
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}
