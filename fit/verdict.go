package fit

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Verdict says in words, and in numbers, what the model is good for.
type Verdict struct {
	// Text is one or a few sentences.
	Text string
	// Other is the simpler method of the smallest error on held-out rows; empty if none were
	// held out.
	Other string
	// Gain is by what part the held-out RMSE of the model is below that of Other (negative: above),
	// and Low to High the 95 % interval of it, with tasks as what differs by chance. NaN if
	// none were held out, or of a single task.
	Gain, Low, High float64
}

// judge compares the model with the simpler methods.
func (f *fitter) judge(ctx context.Context, tallies [][][2]tally) error {
	r, v := f.report, &f.report.Verdict
	*v = Verdict{Gain: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if len(tallies) == 1 { // a plain fit, with nothing to compare it with
		return nil
	}
	sum, err := f.differences(ctx, tallies)
	if err != nil {
		return err
	}
	if r.Scores[0].Test.Rows == 0 {
		v.Text = f.unheld()
		return nil
	}
	other := 1
	for m := range r.Scores[1:] {
		if r.Scores[m+1].Test.RMSE < r.Scores[other].Test.RMSE {
			other = m + 1
		}
	}
	v.Other = r.Scores[other].Method
	unit := f.TargetScale
	squares := r.Scores[other].Test.RMSE / unit
	squares *= squares * float64(r.Scores[other].Test.Rows)
	d, dd, n := sum[3*other], sum[3*other+1], sum[3*other+2]
	exact := noiseFloor * float64(r.Scores[other].Test.Rows)
	if squares > exact || squares-d > exact {
		v.Gain = relative(d, squares)
		if n > 1 {
			// Sums over tasks: n times the variance of one.
			se := math.Sqrt(max(dd-d*d/n, 0) * n / (n - 1))
			t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
			v.Low, v.High = relative(d-t*se, squares), relative(d+t*se, squares)
		}
	}
	v.Text = f.words()
	return nil
}

// words says how the model compares on held-out rows.
func (f *fitter) words() string {
	r, v := f.report, f.report.Verdict
	ours := fmt.Sprintf("the shared representation of rank %d", r.Chosen.Rank)
	if r.Chosen.Rank == 0 {
		ours = "the model"
	}
	gain, low, high := v.Gain, v.Low, v.High
	if v.High < 0 { // by what part the other is below
		other := func(gain float64) float64 { return 1 - 1/(1-gain) }
		gain, low, high = other(v.Gain), other(v.High), other(v.Low)
	}
	interval := ""
	if !math.IsNaN(low) {
		interval = fmt.Sprintf(" (95 %% interval %s to %s)", percent(low), percent(high))
	}
	var s []string
	switch same := r.Chosen.Rank == 0 && math.IsInf(r.Chosen.Ridge, 1); {
	case math.IsNaN(v.Gain):
		s = append(s, fmt.Sprintf("Both %s and %s predict the held-out rows exactly.", ours, v.Other))
	case same && v.Other == Shrunken:
		s = append(s, fmt.Sprintf("The model that was chosen is the simpler one: %s.", Shrunken))
	case v.Low > 0:
		s = append(s, fmt.Sprintf("On held-out rows %s has an RMSE %s below that of the best simpler method, %s%s.", ours, percent(gain), v.Other, interval))
	case v.High < 0:
		s = append(s, fmt.Sprintf("On held-out rows a simpler method, %s, has an RMSE %s below that of %s%s: use it.", v.Other, percent(gain), ours, interval))
	case max(-low, high) <= alike:
		s = append(s, fmt.Sprintf("On held-out rows %s is as good as %s: their RMSE differs by %s%s.", v.Other, ours, percent(math.Abs(gain)), interval))
	default: // also where there is a single task, and no interval
		s = append(s, fmt.Sprintf("The held-out rows do not tell whether %s or %s is better: the RMSE of the former is %s.", ours, v.Other, versus(gain, low, high)))
	}
	return strings.Join(append(s, f.explanation()...), " ")
}

// alike is by what part of each other two RMSE may differ, with their interval, and still count as the same.
const alike = 0.05

// versus says by what part an RMSE is below another, or above it.
func versus(gain, low, high float64) string {
	side := func(v float64) string {
		if v < 0 {
			return percent(-v) + " above"
		}
		return percent(v) + " below"
	}
	if math.IsNaN(low) {
		return side(gain) + " the latter's"
	}
	return fmt.Sprintf("%s the latter's (95 %% interval %s to %s)", side(gain), side(low), side(high))
}

// explanation says what the choice of the model means.
func (f *fitter) explanation() []string {
	c := f.report.Chosen
	if c.Rank > 0 || f.c.Rank != 0 {
		return nil
	}
	// What the features explain differently in different tasks, against the noise.
	slopes := float64(f.width()-1) / c.Ridge
	intercepts := 1 / c.Intercept
	switch {
	case slopes > slight:
		return []string{"Tasks differ in all directions alike: a ridge for each towards the shared mean explains them, and a representation of low rank adds nothing here."}
	case intercepts > slight:
		return []string{"A shared intercept explains it: tasks differ by their level, shrunken towards that of all, and the representation adds nothing here."}
	}
	return []string{"One regression for all tasks explains it: tasks do not differ by more than noise, and the representation adds nothing here."}
}

// slight is a variance, in units of that of the noise, that makes no difference.
const slight = 0.01

// unheld is the verdict when no rows were held out.
func (f *fitter) unheld() string {
	c := f.report.Chosen
	if c.Rank > 0 {
		return fmt.Sprintf("No rows were held out. By the likelihood of the training rows, rank %d is %s times as probable as rank 0.", c.Rank, power(c.Evidence))
	}
	if f.c.Rank != 0 {
		return "No rows were held out, and no rank was tried."
	}
	return strings.Join(append([]string{"No rows were held out. By the likelihood of the training rows, no rank is worth its parameters."}, f.explanation()...), " ")
}

// power is e^v in words.
func power(v float64) string {
	if v < math.Log(1000) {
		return fmt.Sprintf("%.3g", math.Exp(v))
	}
	return fmt.Sprintf("10^%.0f", v/math.Ln10)
}

func percent(v float64) string {
	return fmt.Sprintf("%.1f %%", math.Round(1000*v)/10+0) // and not -0.0
}
