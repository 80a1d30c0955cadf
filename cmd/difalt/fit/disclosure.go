package fit

import (
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/difalt"
)

// Disclosure says how much the totals of a fit determine of the tasks of other nodes, if somebody knows all but that and looks for it from near
// enough. No attack is known that gets so far from nothing. It is zero for a plain fit, with a single node, and without Config.Owners.
type Disclosure struct {
	// Statistics is how many numbers the estimator needs of the tasks of the other nodes, Z'Z, Z'y and y'y of each, and Determined how
	// many of them, or of their combinations, are determined to a tenth of what tasks differ by. The node's own tasks
	// stand in for those of others. Sums about the noise of tasks are not counted, nor those that are no sums of these: moments by
	// fold, histograms of columns, residuals times squares. Both are zero if the table has so many features (43 or more) that counting would take long.
	Statistics, Determined int
	// Numbers is of how many numbers all totals are made, those of anything else included, and the iterations.
	Numbers int
	// Evaluations is how often the evidence was evaluated, the noise of tasks included.
	Evaluations int
}

// Much reports whether more than half is determined.
func (t Disclosure) Much() bool { return 2*t.Determined > t.Statistics }

// disclosure returns what totals tell the first hosted node: all at which the evidence was evaluated, and each iteration of the
// algorithm, whose sums are not dithered.
func (d *design) disclosure(rows *evidence.Rows, res *difalt.Result, seed uint64) (t Disclosure) {
	others := int(rows.Count) - len(d.layout[0])
	if others < 1 {
		return t
	}
	iterations := 0
	if res != nil {
		w, r := res.U[0].Dims()
		iterations = (res.Iterations + 1) * (w*r + r*(r+1)/2)
	}
	t.Evaluations, t.Numbers = rows.Evaluations(), d.Numbers+iterations
	if evidence.Countable(rows.Width) {
		t.Statistics = others * evidence.Statistics(rows.Width)
		t.Determined = min(rows.Determined(0, others, seed)+iterations, t.Statistics)
	}
	return t
}
