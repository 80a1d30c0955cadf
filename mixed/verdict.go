package mixed

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Verdict reports in words and numbers whether the model is worth using.
type Verdict struct {
	// Text is one or two sentences.
	Text string `json:"text"`
	// Other is the baseline with the smallest error on held-out rows; empty without held-out rows.
	Other string `json:"method"`
	// Gain is 1 - RMSE of the model / RMSE of Other on held-out rows, and Low to High its 95 % interval,
	// with tasks as the units that vary. They are NaN without held-out rows; Low and High are NaN for a
	// single task, too.
	Gain float64 `json:"gain"`
	Low  float64 `json:"gain_low"`
	High float64 `json:"gain_high"`
}

// A comparison sums over tasks with held-out rows, for one baseline, the difference of its squared error
// and the model's, and the square of that difference.
type comparison struct{ tasks, difference, square float64 }

// exactNoise is the mean squared error, in units of the target's variance, below which predictions are exact.
const exactNoise = 1e-12

// newVerdict compares the first of scores, the model, with the others, whose comparisons are in the same
// order; the first one is not read. Squared errors of the comparisons are in units of unit^2.
func newVerdict(scores []Score, comparisons []comparison, unit float64) Verdict {
	v := Verdict{Gain: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if len(scores) < 2 || scores[0].Test.Rows == 0 {
		v.Text = "No rows were held out, so the model is not compared with simpler methods."
		return v
	}
	best := 1
	for m := 2; m < len(scores); m++ {
		if scores[m].Test.RMSE < scores[best].Test.RMSE {
			best = m
		}
	}
	v.Other = scores[best].Method
	c, rows := comparisons[best], float64(scores[best].Test.Rows)
	mean := scores[best].Test.RMSE / unit
	all := mean * mean * rows
	if exact := exactNoise * rows; all <= exact && all-c.difference <= exact {
		v.Text = fmt.Sprintf("Both the model and %q predict held-out rows exactly.", v.Other)
		return v
	}
	v.Gain = relative(c.difference, all)
	if c.tasks > 1 {
		se := math.Sqrt(max(c.square-c.difference*c.difference/c.tasks, 0) * c.tasks / (c.tasks - 1))
		t := distuv.StudentsT{Sigma: 1, Nu: c.tasks - 1}.Quantile(0.975)
		v.Low, v.High = relative(c.difference-t*se, all), relative(c.difference+t*se, all)
	}
	v.Text = v.words(scores[0].Test.RMSE, scores[best].Test.RMSE)
	return v
}

// relative turns a difference of squared errors into one of root mean square errors: 1 - sqrt(model / other).
func relative(difference, other float64) float64 {
	return 1 - math.Sqrt(max(1-difference/other, 0))
}

func (v *Verdict) words(ours, other float64) string {
	amount := fmt.Sprintf("%s lower than that of", percent(v.Gain))
	switch {
	case v.Gain < -2:
		amount = fmt.Sprintf("%s times that of", number(1-v.Gain))
	case v.Gain < 0:
		amount = fmt.Sprintf("%s higher than that of", percent(-v.Gain))
	}
	s := fmt.Sprintf("On held-out rows the model's RMSE, %s, is %s the best simpler method, %q (%s).",
		number(ours), amount, v.Other, number(other))
	if math.IsNaN(v.Low) {
		return s
	}
	s += fmt.Sprintf(" The 95 %% interval over tasks of this gain is %s to %s", percent(v.Low), percent(v.High))
	switch {
	case v.Low > 0:
		return s + ": the model predicts better."
	case v.High < 0:
		return s + ": use the simpler method."
	}
	return s + ": the held-out rows are inconclusive."
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
