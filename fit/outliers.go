package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/fit/internal/evidence"
	"gonum.org/v1/gonum/floats"
)

// farOut is how many standard deviations off a row counts as an outlier: normal noise has none,
// and noise of Student's t with three degrees of freedom two in a thousand rows.
const farOut = 10

// outliers returns the training rows of this process that lie far from what a point of rank 0
// expects of them, in standard deviations by the median of all rows or, if that is more, of those of
// their task, and how many they are at all nodes. Nodes add up how many of their rows have a residual of which size, and nothing else.
func (d *design) outliers(ctx context.Context, rows *evidence.Rows, none *evidence.Point) (far []int, total int, err error) {
	theta, err := d.coefficients(rows, none.Posterior())
	if err := d.Check(ctx, err); err != nil {
		return nil, 0, err
	}
	// Bins of sizes against the deviation of the noise, an eighth of a power of two wide.
	const lo, bins = -5, 8 * (3 + 5)
	unit := math.Sqrt(none.Noise)
	residual := make([]float64, len(d.train))
	counts, z := d.Zeros(bins), make([]float64, d.width())
	d.eachRow(func(g, i int) {
		if d.train[i] {
			y := d.row(z, i)
			residual[i] = math.Abs(y-floats.Dot(z, theta[d.t.Task(i)])) / unit * math.Sqrt(d.weightOf(i))
			bin := math.Floor(8 * (math.Log2(residual[i]) - lo))
			counts[g][int(min(max(bin, 0), bins-1))]++
		}
	})
	sum, err := d.Sum(ctx, counts)
	if err != nil {
		return nil, 0, err
	}
	median, below := 0, 0.0
	for below += sum[0]; below < float64(d.total)/2; below += sum[median] {
		median++
	}
	usual := math.Exp2(lo + float64(median+1)/8)
	n := d.Zeros(1)
	for g, tasks := range d.layout {
		for _, k := range tasks {
			own := d.medianOf(k, residual)
			d.eachTraining([]int{k}, func(i int) {
				// Half of a normal distribution lies within 0.6745 deviations.
				if residual[i] > farOut/0.6745*max(usual, own) {
					far = append(far, i)
					n[g][0]++
				}
			})
		}
	}
	if sum, err = d.Sum(ctx, n); err != nil {
		return nil, 0, err
	}
	return far, int(sum[0]), nil
}

// medianOf returns the median of the residuals of a task, so that what is usual in a task of much noise
// is no outlier; 0 of fewer than three.
func (d *design) medianOf(k int, residual []float64) float64 {
	var own []float64
	d.eachTraining([]int{k}, func(i int) { own = append(own, residual[i]) })
	if len(own) < 3 {
		return 0
	}
	slices.Sort(own)
	return own[(len(own)-1)/2]
}

// without returns the design without some training rows, of which all nodes have so many.
func (d *design) without(rows []int, total int) *design {
	fewer := *d
	fewer.train = slices.Clone(d.train)
	for _, i := range rows {
		fewer.train[i] = false
	}
	fewer.total -= total
	return &fewer
}

// confirmed returns the best candidate of a rank that the evidence also chooses without outliers, and the best one if that is
// another; fewer is the design without them. With
// normal noise a few rows far off look like directions in which tasks differ, and predictions would
// follow them.
func (q *question) confirmed(ctx context.Context, c *choice, fewer *design) (kept, dropped *candidate, err error) {
	rows, err := fewer.sufficientRows(ctx, c.rows.Workers)
	if err != nil {
		return nil, nil, err
	}
	if w := c.rows.Weights; w != nil {
		if rows, err = rows.Weighted(ctx, w); err != nil {
			return nil, nil, err
		}
	}
	again := *q
	again.continued, again.shrunken, again.none = nil, c.shrunken, c.none
	next, err := again.choose(ctx, rows, c.algorithm.again())
	if err != nil || next.best.Rank > c.best.Rank {
		return c.best, nil, err
	}
	kept = c.best
	if next.best.Rank < c.best.Rank {
		kept = c.byRank[next.best.Rank]
	}
	if c.levels != nil && next.best == next.levels {
		kept = c.levels
	}
	if kept != c.best {
		dropped = c.best
	}
	return kept, dropped, nil
}
