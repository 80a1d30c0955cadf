package mixed

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	namesShown  = 8    // columns in a note
	groupsShown = 4    // groups of dependent columns, a note each
	toldSlope   = 0.3  // slope of the noise that a note reports
	logGain     = 0.10 // least relative decrease of the error by the logarithm that a note reports
)

// notes returns sentences about the data and the result that a user should read.
func (f *fitter) notes(chosen *choice, m *meanPosterior, report *Report) (list []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	constant := f.constantColumns()
	exact := chosen.q.exact()
	equal := f.rows.equal
	closer := f.without.closer
	interpolates := closer > closely
	add(constant != nil, "Columns that are the same in all training rows, to 12 digits, have no effect: %s.",
		names(constant))
	list = append(list, f.rows.units...)
	list = append(list, f.dependenceNotes()...)
	add(equal, "The target is the same in all training rows, to 12 digits.")
	add(exact && !equal && !interpolates,
		"The training rows are fitted almost exactly: check whether a column repeats the target.")
	add(interpolates && !equal, "%s", f.in.about(fmt.Sprintf("The model follows the training rows: "+
		"each is %.3g times farther from its prediction without the row than from its prediction with the row. "+
		"Errors of training rows, the noise and intervals of these tasks mean little: "+
		"leave columns out, or try --no-curves.", min(closer, 1e6))))
	add(f.tooWide, "Curves were left out: with them there would be more than %d columns.", widest)
	columns, rows := len(f.plain.design.Scale), len(f.rows.order)
	add(f.plain.design.Axes != nil, "There are %d columns for %d training rows: the model works in the span of "+
		"these rows, without curves, and all columns share one strength.", columns, rows)
	for _, p := range chosen.described() {
		name, deviation := f.rows.schema.Features()[p.Feature], p.Deviation*f.rows.target.Scale
		add(true, "The values of %q have effects of their own, of standard deviation %.3g: "+
			"rows that are left out are then predicted better.", name, deviation)
	}
	some, all := f.compared[0], f.compared[1]
	add(some < all, "%s", f.in.about(fmt.Sprintf("Ranks and curves were compared on %d of the %d tasks; "+
		"the final strengths are those of all tasks.", some, all)))
	add(f.lessByLog > logGain, "Training rows that are left out are predicted better by the logarithm of the target, "+
		"with an RMSE %.0f %% lower: try --log-target, and compare errors on held-out rows. Effects then multiply the "+
		"target.", 100*f.lessByLog)
	list = append(list, f.noiseNotes(chosen)...)
	if u := f.unseen; u != nil && u.share >= toldShare {
		add(true, "Tasks without rows are predicted by a mean that is to %.0f %% that of %s: tasks that are left out "+
			"are then predicted better, since tasks differ between each other otherwise than rows within them.",
			100*u.share, u.method.name)
	}
	list = append(list, f.growthNotes(chosen)...)
	add(f.without.funnel != "", "%s", f.in.about(f.without.funnel))
	far := 0
	for _, i := range f.rows.order {
		if b := chosen.s.bounds; b != nil && b[i] < 0.5 {
			far++
		}
	}
	add(far > 0, "%d training rows are so far from the predictions without them that they count less than half: "+
		"all rows are then predicted better. Check their targets.", far)
	add(!report.Converged, "The strengths still moved at the last iteration; predictions hardly depend on that.")
	add(chosen.Rank == mostRank && f.Rank == nil && !interpolates,
		"The largest rank that is compared, %d, was chosen: try --rank %d.", mostRank, mostRank+1)
	return list
}

// dependenceNotes returns a sentence for each group of features that are linearly dependent.
func (f *fitter) dependenceNotes() (list []string) {
	groups, few := f.dependences()
	if few {
		const sentence = "There are no more training rows than columns: effects of single columns are hardly " +
			"determined."
		return []string{sentence}
	}
	features := f.rows.schema.Features()
	shown := min(len(groups), groupsShown)
	if len(groups) == groupsShown+1 {
		shown++ // the sentence about one more group would be as long
	}
	for _, group := range groups[:shown] {
		members := make([]string, len(group))
		for i, j := range group {
			members[i] = features[j]
		}
		const format = "Each of these columns follows from the other ones in all training rows, as dummies " +
			"that add up to 1 do: %s. Predictions are as good, but effects of single columns are hardly " +
			"determined: leave one of them out (--drop)."
		list = append(list, fmt.Sprintf(format, names(members)))
	}
	if more := len(groups) - shown; more > 0 {
		list = append(list, fmt.Sprintf("There are %d more groups of columns that follow from each other.", more))
	}
	return list
}

// constantColumns returns the names of the columns of numbers that do not vary.
func (f *fitter) constantColumns() (list []string) {
	for j, name := range f.rows.schema.Features() {
		if f.plain.design.Scale[j] == 0 && !f.rows.stats[j].level {
			list = append(list, name)
		}
	}
	return list
}

// growthNotes returns a sentence about noise that follows the prediction.
func (f *fitter) growthNotes(chosen *choice) []string {
	noise := Noise{Variance: chosen.q.noise, Level: f.level, Slope: f.slope}
	if f.noise != nil {
		noise.Variance = f.noise.usual
	}
	if math.Abs(noise.Slope) < toldSlope {
		return nil
	}
	sd := func(z float64) float64 { return math.Sqrt(noise.Variance*noise.Factor(z)) * f.rows.target.Scale }
	how := map[bool]string{true: "grows", false: "falls"}[noise.Slope > 0]
	return []string{f.in.about(fmt.Sprintf("The noise %s with the prediction, and "+
		"intervals follow it: its standard deviation is %.3g where the prediction is one standard deviation of the "+
		"target below the mean, and %.3g where it is one above.", how, sd(-1), sd(1)))}
}

// noiseNotes returns sentences about noise by task.
func (f *fitter) noiseNotes(chosen *choice) (list []string) {
	n := f.noise
	if n == nil {
		return nil
	}
	low, high := (&Noise{Variance: n.usual, TaskFreedom: n.freedom}).Span()
	scale := f.rows.target.Scale
	const format = "Tasks differ in their noise: in 95 %% of the tasks its standard deviation is %.3g to %.3g."
	list = append(list, fmt.Sprintf(format, scale*low, scale*high))
	if f.alike {
		list = append(list, "Yet the rows of all tasks count alike: where those of loud tasks count less, "+
			"rows that are left out are not clearly predicted better. The noise of a task is in its intervals.")
	}
	for _, c := range f.all {
		if c.Curves == chosen.Curves && c.Rank == chosen.Rank+1 && c.Penalised > chosen.Penalised {
			list = append(list, fmt.Sprintf("With equal noise rank %d would have more evidence: "+
				"its last direction stands for the noise of some tasks.", c.Rank))
		}
	}
	return list
}

// names lists names for a note.
func names(list []string) string {
	if more := len(list) - namesShown; more > 0 {
		return fmt.Sprintf("%s and %d more", quoted(list[:namesShown]), more)
	}
	return quoted(list)
}

// quoted returns names in quotes, with commas between them.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, name := range list {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}
