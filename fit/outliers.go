package fit

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// farOut is how many standard deviations off a row counts as an outlier: normal noise has none,
// and noise of Student's t with three degrees of freedom two in a thousand rows.
const farOut = 10

// outlying returns the training rows of this process that lie far from what a point of rank 0
// expects of them, in standard deviations by the median of all rows or, if that is more, of those of
// their task, and how many they are at all nodes. Nodes add up how many of their rows have a residual of which size, and nothing else.
func (f *fitter) outlying(ctx context.Context, none *point) (rows []int, total int, err error) {
	theta, err := f.coefficients(none.given())
	if err := f.check(ctx, err); err != nil {
		return nil, 0, err
	}
	// Bins of sizes against the deviation of the noise, an eighth of a power of two wide.
	const lo, bins = -5, 8 * (3 + 5)
	unit := math.Sqrt(none.noise)
	residual := make([]float64, len(f.train))
	counts, z := f.zeros(bins), make([]float64, f.width())
	f.eachRow(func(g, i int) {
		if f.train[i] {
			y := f.row(z, i)
			residual[i] = math.Abs(y-floats.Dot(z, theta[f.t.Task(i)])) / unit * math.Sqrt(f.weightOf(i))
			at := math.Floor(8 * (math.Log2(residual[i]) - lo))
			counts[g][int(min(max(at, 0), bins-1))]++
		}
	})
	sum, err := f.sum(ctx, counts)
	if err != nil {
		return nil, 0, err
	}
	median, below := 0, 0.0
	for below += sum[0]; below < float64(f.total)/2; below += sum[median] {
		median++
	}
	usual := math.Exp2(lo + float64(median+1)/8)
	n := f.zeros(1)
	for g, tasks := range f.layout {
		for _, k := range tasks {
			own := f.ownMedian(k, residual)
			f.eachTraining([]int{k}, func(i int) {
				// Half of a normal distribution lies within 0.6745 deviations.
				if residual[i] > farOut/0.6745*max(usual, own) {
					rows = append(rows, i)
					n[g][0]++
				}
			})
		}
	}
	if sum, err = f.sum(ctx, n); err != nil {
		return nil, 0, err
	}
	return rows, int(sum[0]), nil
}

// ownMedian returns the median of the residuals of a task, so that what is usual in a task of much noise
// is no outlier; 0 of fewer than three.
func (f *fitter) ownMedian(k int, residual []float64) float64 {
	var own []float64
	f.eachTraining([]int{k}, func(i int) { own = append(own, residual[i]) })
	if len(own) < 3 {
		return 0
	}
	slices.Sort(own)
	return own[(len(own)-1)/2]
}

// soberly returns the best contender of a rank that the evidence also chooses without outliers. With
// normal noise a few rows far off look like directions in which tasks differ, and predictions would
// follow them.
func (f *fitter) soberly(ctx context.Context, best *contender, none *point, outliers []int) (*contender, error) {
	if f.outliers == 0 || best == f.levels || f.c.Rank > 0 {
		return best, nil
	}
	d, c := *f.design, *f.c
	d.train = slices.Clone(f.train)
	for _, i := range outliers {
		d.train[i] = false
	}
	d.total -= f.outliers
	c.Auto, c.Continue = false, nil
	without := &fitter{design: &d, c: &c, report: &Report{}, before: strengths{f.shrunken, none}}
	if err := without.newEvidence(ctx); err != nil {
		return nil, err
	}
	if w := f.evidence.weight; w != nil {
		var err error
		if without.evidence, err = without.evidence.weighed(ctx, w); err != nil {
			return nil, err
		}
	}
	chosen, _, err := without.choose(ctx)
	if err != nil {
		return nil, err
	}
	sober := best
	switch {
	case chosen.Rank < best.Rank:
		sober = f.contenders[chosen.Rank]
	case chosen.Rank > best.Rank:
		return best, nil
	}
	if f.levels != nil && chosen == without.levels {
		sober = f.levels
	}
	if sober != best {
		f.carried = best
	}
	return sober, nil
}
