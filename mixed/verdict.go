package mixed

import (
	"fmt"
	"math"
	"strconv"

	"github.com/difalt/difalt/internal/rounded"
)

// A Verdict reports in words and numbers whether the model is worth using.
type Verdict struct {
	// Text is one or two sentences.
	Text string `json:"text"`
	// Other is the baseline with the smallest error on held-out rows; empty without held-out rows.
	Other string `json:"method"`
	// Gain is 1 - RMSE of the model / RMSE of Other on held-out rows. Low to High is its 95 % interval,
	// with tasks as the units that vary; the logarithm of the ratio of errors counts as normal. They are
	// NaN without held-out rows; Low and High are NaN for a single task, too, and where one of the two is
	// exact.
	Gain float64 `json:"gain"`
	Low  float64 `json:"gain_low"`
	High float64 `json:"gain_high"`
}

// A comparison holds sums of one method over the tasks with held-out rows. With e the squared error of the
// method in a task and m that of the model, product sums e m, and square sums e^2.
type comparison struct{ tasks, product, square float64 }

// exactNoise is the mean squared error, in units of the target's variance, below which predictions are almost
// exact.
const exactNoise = 1e-12

// newVerdict compares the first of scores, the model, with the other methods, whose comparisons are in the
// same order; the comparison of the model is not read. Squared errors of the comparisons are in units of
// unit^2.
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
	rows, exact := float64(scores[best].Test.Rows), exactNoise*float64(scores[best].Test.Rows)
	ours, other := square(scores[0].Test.RMSE/unit)*rows, square(scores[best].Test.RMSE/unit)*rows
	if ours <= exact && other <= exact {
		v.Text = fmt.Sprintf("Both the model and %q predict held-out rows almost exactly.", v.Other)
		return v
	}
	v.Gain = 1 - math.Sqrt(ours/other)
	if ours > exact && other > exact {
		v.Low, v.High = comparisons[best].interval(ours, other, comparisons[0].square)
	}
	v.Text = v.words(scores[0].Test.RMSE, scores[best].Test.RMSE)
	return v
}

// interval returns the 95 % interval of the gain 1 - sqrt(ours / other), of sums of squared errors over
// tasks; squares is the sum of the squares of ours over tasks. It is NaN for a single task.
func (c comparison) interval(ours, other, squares float64) (low, high float64) {
	if c.tasks < 2 {
		return math.NaN(), math.NaN()
	}
	// A task moves the logarithm of ours / other by its share of ours less its share of other.
	variance := squares/ours/ours - 2*c.product/ours/other + c.square/other/other
	// As many tasks of equal errors would be as uncertain.
	tasks := min(max(other*other/c.square, 2), c.tasks)
	far := student95(tasks-1) * math.Sqrt(max(variance, 0)*tasks/(tasks-1))
	ratio := math.Sqrt(ours / other)
	return 1 - float64(ratio*rounded.Exp(far/2)), 1 - float64(ratio*rounded.Exp(-far/2))
}

// clearGain is the least gain or loss for which a verdict of few tasks names the better guess.
const clearGain = 0.05

func (v *Verdict) words(ours, other float64) string {
	s := fmt.Sprintf("On held-out rows the model's RMSE, %s, is %s the best simpler method, %q (%s).",
		number(ours), amount(v.Gain), v.Other, number(other))
	if math.IsNaN(v.Low) {
		return s
	}
	s += gainInterval(v.Low, v.High)
	switch {
	case v.Low > 0:
		return s + ": the model predicts better."
	case v.High < 0:
		return s + ": use the simpler method."
	case v.Gain < -clearGain:
		return s + ": too few tasks to be sure, but use the simpler method unless you know a reason not to."
	case v.Gain > clearGain:
		return s + ": too few tasks to be sure, but the model is the better guess."
	}
	return s + ": the held-out rows are inconclusive."
}

// mostLoss is the loss from which on a sentence does not give its size.
const mostLoss = 10

// gainInterval returns the beginning of a sentence on the interval of a gain.
func gainInterval(low, high float64) string {
	end := func(gain float64) string {
		if gain < -mostLoss {
			return fmt.Sprintf("less than -%d %%", 100*mostLoss)
		}
		return percent(gain)
	}
	return fmt.Sprintf(" The 95 %% interval over tasks of this gain is %s to %s", end(low), end(high))
}

// amount returns a gain in words, before the name of the method that the error is compared with.
func amount(gain float64) string {
	switch {
	case gain < -2:
		return fmt.Sprintf("%s times that of", number(1-gain))
	case gain < 0:
		return fmt.Sprintf("%s higher than that of", percent(-gain))
	}
	return fmt.Sprintf("%s lower than that of", percent(gain))
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
