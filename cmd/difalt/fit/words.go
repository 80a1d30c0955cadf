package fit

import (
	"fmt"
	"math"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
)

// words says how a model compares on held-out rows, by numbers; as explanation says what its choice means, if it was one.
func (v *Verdict) words(chosen *Candidate, explanation []string) string {
	ours := fmt.Sprintf("the shared representation of rank %d", chosen.Rank)
	if chosen.Rank == 0 {
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
	switch same := chosen.Rank == 0 && math.IsInf(chosen.Ridge, 1); {
	case math.IsNaN(v.Gain):
		s = append(s, fmt.Sprintf("Both %s and %s predict the held-out rows exactly.", ours, v.Other))
	case same && v.Other == Shrunken:
		s = append(s, fmt.Sprintf("The model that was chosen is the simpler one: %s.", Shrunken))
	case v.Low > 0:
		s = append(s, fmt.Sprintf("On held-out rows %s has an RMSE %s below that of the best simpler method, %s%s.", ours, percent(gain), v.Other, interval))
	case v.High < 0:
		s = append(s, fmt.Sprintf("On held-out rows a simpler method, %s, has an RMSE %s below that of %s%s: use it.", v.Other, percent(gain), ours, interval))
	case v.Gain < -alike:
		s = append(s, fmt.Sprintf("Of %s and %s the latter is probably better: on held-out rows the RMSE of the former is %s.", ours, v.Other, versus(gain, low, high)))
	case max(-low, high) <= alike:
		s = append(s, fmt.Sprintf("On held-out rows %s is as good as %s: their RMSE differs by %s%s.", v.Other, ours, percent(math.Abs(gain)), interval))
	default: // also where there is a single task, and no interval
		s = append(s, fmt.Sprintf("The held-out rows do not tell whether %s or %s is better: the RMSE of the former is %s.", ours, v.Other, versus(gain, low, high)))
	}
	return strings.Join(append(s, explanation...), " ")
}

// alike is by what part of each other two RMSE may differ, with their interval, and still count as the same.
const alike = 0.05

// versus says by what part an RMSE is below another, or above it, or how many times it is.
func versus(gain, low, high float64) string {
	side := func(v float64) string {
		switch {
		case v < -10:
			return fmt.Sprintf("%.0f times", 1-v)
		case v < -2:
			return fmt.Sprintf("%.1f times", 1-v)
		case v < 0:
			return percent(-v) + " above"
		}
		return percent(v) + " below"
	}
	if math.IsNaN(low) {
		return side(gain) + " the latter's"
	}
	return fmt.Sprintf("%s the latter's (95 %% interval %s to %s)", side(gain), side(low), side(high))
}

// explanation says what the choice of a model of so many features means, where ranks were compared and none was worth it.
func explanation(chosen *Candidate, rank, features int, alone bool) []string {
	switch {
	case chosen.Rank > 0 || rank != 0:
		return nil
	case alone:
		return []string{"There is a single task: the model is one regression, and nothing is known about how tasks differ."}
	}
	// What the features explain differently in different tasks, against the noise.
	slopes, intercepts := float64(features)/chosen.Ridge, 1/chosen.Intercept
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

// unheldWords is the verdict when no rows were held out.
func unheldWords(chosen *Candidate, rank int, explanation []string) string {
	switch {
	case chosen.Rank > 0:
		return fmt.Sprintf("No rows were held out. By the likelihood of the training rows, rank %d is %s times as probable as rank 0.", chosen.Rank, power(chosen.Evidence))
	case rank != 0:
		return "No rows were held out, and no rank was tried."
	}
	return strings.Join(append([]string{"No rows were held out. By the likelihood of the training rows, no rank is worth its parameters."}, explanation...), " ")
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

// Findings are what notes are about beside what is in a report.
type findings struct {
	outliers              int     // training rows far off
	leastNoise, mostNoise float64 // standard deviations of most tasks; 0 if all have the same
	byLog                 float64 // the part of squared errors that the logarithm of the target, which was chosen, takes off
	exact                 float64 // the deviation of the noise by that of the target, where rows are fitted exactly; else 0
	dependent             []int   // features that are combinations of others
	judge                 *design // in whose units errors are told
}

// Sentences are what a user should read.
type sentences []string

// when adds one if something holds.
func (s *sentences) when(holds bool, format string, args ...any) {
	if holds {
		*s = append(*s, fmt.Sprintf(format, args...))
	}
}

// notes are what a user should know about a fit, its strengths and its columns.
func notes(c *Config, d *design, r *Report, f *findings) (list sentences) {
	res := r.Result
	asked := res != nil && c.Options.EveryIteration && res.Status == difalt.IterationLimit
	if res == nil {
		res = new(difalt.Result)
	}
	list.when(!r.Converged && asked, "All %d iterations were done, as asked for: whether they have converged was not judged.", res.Iterations)
	list.when(!r.Converged && !asked, "The fit has not converged: predictions are usable, strengths and intervals may be off.")
	list.when(res.Status == difalt.Diverged, "The last run of the algorithm diverged after %d iterations with the step size %.3g: the loadings are those of the largest evidence from the best basis before that.", res.Iterations, res.Step)
	list.when(r.Result == nil && r.Chosen.Rank > 0, "Tasks have no more rows than the rank: the representation is that of the largest evidence, and the algorithm was not run.")
	list.when(f.byLog > 0, "The target is fitted by its logarithm, so that effects multiply it: training rows that are left out of their task are predicted with squared errors %s smaller. Predictions are medians. With --log-target no the target is taken as it is.", percent(f.byLog))
	list.when(f.outliers > 0, "Training rows more than %d standard deviations from what is expected of them: %d. They were left out: are their targets right?", farOut, f.outliers)
	list.when(f.mostNoise > 0, "Tasks differ by their noise: in 95 %% of them its standard deviation is between %.3g and %.3g. Each has its own, shrunken towards what is usual, and rows count accordingly.", f.leastNoise, f.mostNoise)
	list.when(r.Chosen.Rank == maxRank && c.Rank == 0, "The largest rank that is tried, %d, was chosen: a larger one may be better (--rank).", maxRank)
	for _, s := range r.Scores {
		for i, t := range s.Tried {
			list.when(t.Ridge == s.Ridge && (i == 0 || i == len(s.Tried)-1), "The ridge of %q is at the end of its grid, %.3g.", s.Method, s.Ridge)
		}
	}
	list = append(list, d.transformNotes(c)...)
	list = append(list, d.columnNotes(f.dependent)...)
	list.when(d.equalTarget, "The target is %.4g in all training rows: that is what the model predicts.", d.UnscaleTarget(0))
	list.when(!d.equalTarget && f.exact > 0, "The training rows are fitted exactly, to %.0e of the target's deviation: is the target among the features?", f.exact)
	return list
}

// standingNotes are about the directions of U that a run cannot tell from noise.
func standingNotes(res *difalt.Result) []string {
	w := res.Standing
	if res.Status != difalt.Undetermined || w == nil {
		return nil
	}
	var values []string
	for _, v := range w.SingularValues {
		values = append(values, text.Short(v))
	}
	return []string{fmt.Sprintf("The rows do not determine all directions of the representation. Singular values of the coefficients: %s. The weakest direction explains %.2g times what noise alone could (1.2 are needed), and the most crowded has %.2g numbers a row (0.5 at most). A smaller --rank, or more rows, would do.",
		text.List(values), w.Weakest, w.Share)}
}

// columnNotes are about features, of which some are combinations of others.
func (d *design) columnNotes(combinations []int) (list sentences) {
	list.when(d.directions != nil, "%d features were replaced by %d directions in which the training rows lie.", len(d.Center), d.width()-1)
	names := d.t.Features()
	var constant, dependent, ids []string
	column, isLevel := d.columns()
	for _, j := range d.constant {
		if !isLevel[j] { // those of held-out rows only
			constant = append(constant, names[j])
		}
	}
	ours := map[int]bool{} // levels of a column add up to 1: one of them is a combination of the others
	for _, j := range combinations {
		if isLevel[j] && !ours[column[j]] {
			ours[column[j]] = true
			continue
		}
		dependent = append(dependent, names[j])
	}
	for _, j := range d.ids {
		if names[j] != d.t.TimeColumn() { // whose order means something
			ids = append(ids, names[j])
		}
	}
	list.when(constant != nil, "Columns without any variation but rounding: %s. They have no effect.", text.Names(constant))
	list.when(dependent != nil, "Columns that are exact combinations of those before them: %s. Predictions do not suffer, but their coefficients have no meaning of their own.", text.Names(dependent))
	list.when(ids != nil, "Columns of whole numbers that are all different, as numbers of rows are: %s. Leave them out unless their order means something.", text.Names(ids))
	return list
}
