package mixed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	closely = 10.0 // least ratio of errors without and with the row of a fit that interpolates

	quarterRows  = 40  // least rows of a quarter whose coverage is looked at
	leastCovered = .91 // share of rows inside intervals below which a note names the quarter, beyond chance
	chance       = 3.0 // standard errors of that share
)

// A without compares a training row with its prediction from the other rows, at the strengths of all rows.
type without struct {
	prediction float64
	// Squared errors of the predictions by the task with the row, and without it.
	squareWith, squareWithout float64
	noise, spent              float64 // variances, of the row's noise in intervals and of the prediction
	half                      float64 // half-width of the 95 % interval over the standard deviation
}

// withouts are training rows of this owner.
type withouts []without

// predictWithout predicts the training rows of this owner, in the tasks that optimisers use, without
// themselves. It takes no total, so others learn nothing. A task out of range, which the sums of the
// optimisers have reported, gives none.
func (f *fitter) predictWithout(ctx context.Context, c *choice) (withouts, error) {
	s, rows := c.s, 0
	start := make([]int, len(f.in.Table.Tasks())) // of every task in the list
	for _, k := range s.some.own {
		start[k] = rows
		rows += len(s.rows.of(k))
	}
	list := make(withouts, rows)
	alike := c.m.prior.Noise.Variance
	t := s.solveOwn(ctx, c.m.prior, s.some, 0, func(w *worker, k int, _ []float64) {
		freedom, variance := f.freedom, alike*cmp.Or(w.task.Noise, 1) // of the noise in intervals
		known := variance                                             // of the noise in the posterior
		if f.noise != nil {
			freedom, variance = f.noise.freedoms[k], f.noise.variances[k]
		}
		half, own := normal95*interval95(freedom), list[start[k]:]
		c.eachResidual(w, k, func(row int, e, h float64) {
			weight, bound := f.rows.weight(row), 1.0
			if s.bounds != nil {
				bound = s.bounds[row]
			}
			left := remainder(h)
			residual := e / left // times the roots of the weight and the bound
			own[0] = without{
				prediction:    f.rows.standardized(row, s.log) - residual/math.Sqrt(weight*bound),
				squareWith:    e * e / bound,
				squareWithout: residual * residual / bound,
				noise:         variance,
				spent:         known * (1 - left) / left / bound,
				half:          half,
			}
			own = own[1:]
		})
	})
	if errors.Is(t.err, errNumeric) {
		return nil, nil
	}
	return list, t.err
}

// closer returns how many times farther rows are from their predictions without themselves than from their
// predictions with themselves: the ratio of root mean squares. A fit that interpolates has little noise and
// small errors of training rows, and seems to have converged to a good model.
func (list withouts) closer() float64 {
	with, out := 0.0, 0.0
	for _, r := range list {
		with, out = with+r.squareWith, out+r.squareWithout
	}
	if !(out > 0) {
		return 1
	}
	return math.Sqrt(out / with)
}

// inside reports whether the row lies in the 95 % interval of the prediction without it.
func (r *without) inside(n *Noise) bool {
	return math.Sqrt(r.squareWithout) <= r.half*math.Sqrt(float64(n.Factor(r.prediction)*r.noise)+r.spent)
}

// quarters returns the shares of rows inside their intervals, by quarter of the predictions from the lowest
// to the highest.
func (list withouts) quarters(n *Noise) (shares [4]float64) {
	rows := len(list)
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(list[a].prediction, list[b].prediction) })
	for q := range shares {
		part := order[q*rows/4 : (q+1)*rows/4]
		for _, i := range part {
			if list[i].inside(n) {
				shares[q] += 1 / float64(len(part))
			}
		}
	}
	return shares
}

// funnel returns a sentence where intervals are too narrow in the lowest or the highest quarter of
// predictions, beyond chance: the spread of targets follows them in a way that [Noise] does not have.
func (list withouts) funnel(n *Noise) string {
	if len(list) < 4*quarterRows {
		return ""
	}
	shares := list.quarters(n)
	least := min(leastCovered, .95-float64(chance*math.Sqrt(.95*.05*4/float64(len(list)))))
	name, share := "highest", shares[3]
	if shares[0] < shares[3] {
		name, share = "lowest", shares[0]
	}
	if share >= least {
		return ""
	}
	const format = "Intervals are too narrow where predictions are %s: in that quarter %s of the training rows lie " +
		"inside 95 %% intervals from the other rows (by quarter, lowest to highest: %s)."
	var quarters []string
	for _, s := range shares {
		quarters = append(quarters, percent(s))
	}
	return fmt.Sprintf(format, name, percent(share), strings.Join(quarters, ", "))
}
