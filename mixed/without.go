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
	square     float64 // squared error of the prediction
	spent      float64 // variance of the prediction
}

// An intervalNoise is the noise of a task in intervals: its variance, and the half-width of the 95 % interval
// over the standard deviation.
type intervalNoise struct{ variance, half float64 }

// withouts are training rows of this owner, task after task.
type withouts struct {
	rows  []without
	noise []intervalNoise // of every task that has rows here
	ends  []int           // of the rows of every such task
	// Sums of squared errors of the predictions by the task with the row, and without it.
	squaresWith, squaresWithout float64
}

// A withoutSummary is what a fit keeps of the rows without themselves: the list takes as much memory as three
// columns of the table.
type withoutSummary struct {
	closer float64 // see withouts.closer
	funnel string  // see withouts.funnel; empty for none
}

// predictWithout predicts the training rows of this owner, in the tasks that optimisers use, without
// themselves. It takes no total, so others learn nothing. A task out of range, which the sums of the
// optimisers have reported, gives none.
func (f *fitter) predictWithout(ctx context.Context, c *choice) (*withouts, error) {
	s, n := c.s, len(c.s.some.own)
	list := &withouts{noise: make([]intervalNoise, n), ends: make([]int, n)}
	places := make([]int, len(f.in.Table.Tasks())) // of every task in the list
	rows := 0
	for i, k := range s.some.own {
		rows += len(s.rows.of(k))
		places[k], list.ends[i] = i, rows
	}
	list.rows = make([]without, rows)
	alike := c.m.prior.Noise.Variance
	t := s.solveOwn(ctx, c.m.prior, s.some, 2, func(w *worker, k int, part []float64) {
		freedom, variance := f.freedom, alike*cmp.Or(w.task.Noise, 1) // of the noise in intervals
		known := variance                                             // of the noise in the posterior
		if f.noise != nil {
			freedom, variance = f.noise.freedoms[k], f.noise.variances[k]
		}
		place := places[k]
		list.noise[place] = intervalNoise{variance, normal95 * interval95(freedom)}
		own := list.of(place)
		c.eachResidual(w, k, func(row int, e, h float64) {
			weight, bound := f.rows.weight(row), 1.0
			if s.bounds != nil {
				bound = s.bounds[row]
			}
			left := remainder(h)
			residual := e / left // times the roots of the weight and the bound
			own[0] = without{
				prediction: f.rows.standardized(row, s.log) - residual/math.Sqrt(weight*bound),
				square:     residual * residual / bound,
				spent:      known * (1 - left) / left / bound,
			}
			part[0] += e * e / bound
			part[1] += own[0].square
			own = own[1:]
		})
	})
	if errors.Is(t.err, errNumeric) {
		return new(withouts), nil
	}
	list.squaresWith, list.squaresWithout = t.v[0], t.v[1]
	return list, t.err
}

// of returns the rows of the task at a place.
func (list *withouts) of(place int) []without {
	from := 0
	if place > 0 {
		from = list.ends[place-1]
	}
	return list.rows[from:list.ends[place]]
}

// closer returns how many times farther rows are from their predictions without themselves than from their
// predictions with themselves: the ratio of root mean squares. A fit that interpolates has little noise and
// small errors of training rows, and seems to have converged to a good model.
func (list *withouts) closer() float64 {
	if !(list.squaresWithout > 0) {
		return 1
	}
	return math.Sqrt(list.squaresWithout / list.squaresWith)
}

// inside reports whether a row of a task lies in the 95 % interval of the prediction without it.
func (r *without) inside(task *intervalNoise, n *Noise) bool {
	return math.Sqrt(r.square) <= task.half*math.Sqrt(float64(n.Factor(r.prediction)*task.variance)+r.spent)
}

// quarters returns the shares of rows inside their intervals, by quarter of the predictions from the lowest
// to the highest.
func (list *withouts) quarters(n *Noise) (shares [4]float64) {
	rows := len(list.rows)
	order, inside := make([]int32, 0, rows), make([]bool, 0, rows)
	for place := range list.noise {
		own := list.of(place)
		for i := range own {
			order = append(order, int32(len(order)))
			inside = append(inside, own[i].inside(&list.noise[place], n))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(list.rows[a].prediction, list.rows[b].prediction)
	})
	for q := range shares {
		part := order[q*rows/4 : (q+1)*rows/4]
		for _, i := range part {
			if inside[i] {
				shares[q] += 1 / float64(len(part))
			}
		}
	}
	return shares
}

// funnel returns a sentence where intervals are too narrow in the lowest or the highest quarter of
// predictions, beyond chance: the spread of targets follows them in a way that [Noise] does not have.
func (list *withouts) funnel(n *Noise) string {
	if len(list.rows) < 4*quarterRows {
		return ""
	}
	shares := list.quarters(n)
	least := min(leastCovered, .95-float64(chance*math.Sqrt(.95*.05*4/float64(len(list.rows)))))
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
