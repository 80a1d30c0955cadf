package experiment

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// decades marks powers of ten, with labels on so many of them that they stay
// readable.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Ceil(math.Log10(low)-1e-9)), int(math.Floor(math.Log10(high)+1e-9))
	step := max(1, (last-first+7)/8)
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: math.Pow(10, float64(e))}
		switch {
		case e == 0:
			t.Label = "1"
		case e%step == 0:
			t.Label = fmt.Sprintf("10^{−%d}", -e)
			if e > 0 {
				t.Label = fmt.Sprintf("10^{%d}", e)
			}
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// decimals marks round numbers on a linear axis.
type decimals struct{}

// Ticks implements plot.Ticker.
func (decimals) Ticks(low, high float64) []plot.Tick {
	// The largest of 1, 2, 5 times a power of ten with at least four steps.
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	step := unit
	for _, m := range []float64{2, 5} {
		if (high-low)/(m*unit) >= 4 {
			step = m * unit
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high*(1+1e-9); i++ {
		// Rounding away the error of i*step.
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}
