package fit

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// farOut is how many standard deviations off a row counts as an outlier: normal noise has none,
	// and noise of Student's t with three degrees of freedom two in a thousand rows.
	farOut = 10
	// Where more than this part of the rows of a node is that far off, or so few are all, it is how its targets are.
	mostOutliers, fewestRows = 0.05, 20
	// With noise of which farOut deviations are so little beside the target, a row of a task of few rows, or far out in a column, may lie on its line and be that far off what the
	// others of its task expect: how sure these are counts too. With more noise that leaves in what bends slopes.
	littleNoise = 0.02
)

// leaveOutliers leaves training rows out that lie far from what is expected of them: with normal noise a few of these look like
// directions in which tasks differ. Every node finds its own by itself, before it says anything of any row: what others are
// told is never made of them. The nodes add up how many they are.
func (d *design) leaveOutliers(ctx context.Context, c *Config, workers int) (total int, err error) {
	train, n := slices.Clone(d.train), d.Zeros(1)
	own := workers // threads of a node; with several nodes one each, since matrices of many features leave others idle
	if len(d.layout) > 1 {
		own = 1
	}
	done := 0
	d.show("outliers", done, len(d.layout))
	var one sync.Mutex
	parallel.For(ctx, workers, len(d.layout), func(_, g int) {
		alone := &design{Group: nodes.Alone(), t: d.t, layout: d.layout[g : g+1], rows: d.rows, train: d.train, weight: d.weight}
		alone.LogTarget = d.LogTarget
		far, _ := alone.outliers(ctx, c, own) // of an error others say what is wrong with the data
		one.Lock()
		defer one.Unlock()
		for _, i := range far {
			train[i] = false
		}
		n[g][0] = float64(len(far))
		done++
		d.show("outliers", done, len(d.layout))
	})
	sum, err := d.Sum(ctx, n)
	if err != nil {
		return 0, err
	}
	d.groupRows(func(i int) bool { return d.train[i] && !train[i] }) // they are not held out either
	d.train = train
	return int(sum[0]), nil
}

// outliers returns the training rows of the only node that lie far from what a model without directions expects of them, in standard
// deviations by the median of all rows or, if that is more, of those of their task.
func (d *design) outliers(ctx context.Context, c *Config, workers int) (far []int, err error) {
	if err := d.scaleBy(ctx, c); err != nil || d.total < fewestRows || d.equalTarget {
		return nil, err
	}
	if err := d.reduce(ctx, c.Options.Seed); err != nil {
		return nil, err
	}
	rows, err := d.sufficientRows(ctx, workers)
	if err != nil {
		return nil, err
	}
	pt, _, err := rows.Maximize(ctx, &evidence.Point{Prior: rows.FirstGuess()}, nil, evidence.Unknown(), 10*enough, nextSteps)
	if err != nil || pt.Noise <= 2*evidence.NoiseFloor {
		return nil, err
	}
	posterior, offs := pt.Posterior(), make([][]float64, len(d.layout[0]))
	parallel.For(ctx, workers, len(offs), func(_, at int) {
		t, memory := rows.Task(0, at)
		defer memory.Put()
		if theta := make([]float64, rows.Width); posterior.Coefficients(&t, theta, nil) {
			offs[at] = d.residuals(d.layout[0][at], theta, nil)
		}
	})
	all := slices.Concat(offs...)
	if err := ctx.Err(); err != nil || len(all) < d.total {
		return nil, err
	}
	limit := farOut / halfWithin * medianOf(all)
	for at, k := range d.layout[0] {
		off := offs[at]
		if !slices.ContainsFunc(off, func(v float64) bool { return v > limit }) {
			continue
		}
		// What the others of the task expect of them, and what is usual there: in a task of much noise that is no outlier.
		without := func(i int) bool { return off[i] <= limit }
		t := d.taskOf(k, without)
		own, unsure := make([]float64, rows.Width), []float64(nil)
		if limit < littleNoise {
			unsure = make([]float64, rows.Width*rows.Width)
		}
		if !posterior.Coefficients(t, own, unsure) {
			continue
		}
		usual := 0.0
		if rest := d.residuals(k, own, without); len(rest) > 2 {
			usual = medianOf(rest)
		}
		open := make([]float64, len(off)) // how far off what the others expect may be
		if unsure != nil {
			open = d.uncertain(k, mat.NewSymDense(rows.Width, unsure))
		}
		for at, v := range d.residuals(k, own, nil) {
			if off[at] > limit && v > max(limit, farOut/halfWithin*usual, farOut*open[at]) {
				far = append(far, d.trainingRow(k, at))
			}
		}
	}
	if float64(len(far)) > max(mostOutliers*float64(d.total), 1) {
		return nil, nil
	}
	return far, nil
}

// halfWithin is how many deviations from its mean half of a normal distribution lies within.
const halfWithin = 0.6745

// residuals returns how far the training rows of a task, or those that use says of the first, second and so on, are from what coefficients expect.
func (d *design) residuals(k int, theta []float64, use func(at int) bool) (out []float64) {
	z, at := make([]float64, d.width()), 0
	d.eachTraining([]int{k}, func(i int) {
		if use == nil || use(at) {
			y := d.row(z, i)
			out = append(out, math.Abs(y-floats.Dot(z, theta))*math.Sqrt(d.weightOf(i)))
		}
		at++
	})
	return out
}

// uncertain returns the standard deviations of what coefficients with a covariance expect of the training rows of a task.
func (d *design) uncertain(k int, covariance *mat.SymDense) (out []float64) {
	z := mat.NewVecDense(d.width(), nil)
	d.eachTraining([]int{k}, func(i int) {
		d.row(z.RawVector().Data, i)
		out = append(out, math.Sqrt(max(mat.Inner(z, covariance, z), 0)*d.weightOf(i)))
	})
	return out
}

// taskOf returns a task of those of its training rows that use says.
func (d *design) taskOf(k int, use func(at int) bool) *mixedmodel.Task {
	w, at := d.width(), 0
	c := mixedmodel.NewCompressor(w)
	d.eachTraining([]int{k}, func(i int) {
		if use(at) {
			row := c.Next()
			row[w] = d.row(row[:w], i)
			floats.Scale(math.Sqrt(d.weightOf(i)), row)
		}
		at++
	})
	return c.Task()
}

// trainingRow returns the row of the table that is the given training row of a task.
func (d *design) trainingRow(k, at int) (row int) {
	d.eachTraining([]int{k}, func(i int) {
		if at == 0 {
			row = i
		}
		at--
	})
	return row
}

// medianOf returns the lower median, and sorts the values.
func medianOf(v []float64) float64 {
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
