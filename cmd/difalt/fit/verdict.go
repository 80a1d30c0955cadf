package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
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

// judge compares the first method with the others, by the scores of all. A single method has nothing to be compared with.
func (d *design) judge(ctx context.Context, scores []Score, methods []method) (Verdict, error) {
	v := Verdict{Gain: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if len(scores) == 1 {
		return v, nil
	}
	// Over the tasks of all nodes with held-out rows, by method: the squared error less that of the first method, its square,
	// and the number of these tasks.
	var l nodes.Layout
	differences, squares, tasks := l.Span(len(scores)), l.Span(len(scores)), l.Span(len(scores))
	z := d.Zeros(l.Len)
	for g, list := range d.layout {
		for _, k := range list {
			ours := methods[0].errors.of(k, 1)
			if d.counts(k)[1] == 0 {
				continue
			}
			for m := range methods {
				e := methods[m].errors.of(k, 1).squares - ours.squares
				differences.Of(z[g])[m] += e
				squares.Of(z[g])[m] += e * e
				tasks.Of(z[g])[m]++
			}
		}
	}
	sum, err := d.Sum(ctx, z)
	if err != nil || scores[0].Test.Rows == 0 {
		return v, err
	}
	other := 1
	for m := range scores[1:] {
		if scores[m+1].Test.RMSE < scores[other].Test.RMSE {
			other = m + 1
		}
	}
	v.Other = scores[other].Method
	rows := float64(scores[other].Test.Rows)
	mean := scores[other].Test.RMSE / d.TargetScale
	all := mean * (mean * rows)
	exact := evidence.NoiseFloor * rows
	difference, square, n := differences.Of(sum)[other], squares.Of(sum)[other], tasks.First(sum)
	if all > exact || all-difference > exact {
		v.Gain = relative(difference, all)
		if n > 1 {
			// Sums over tasks: n times the variance of one.
			se := math.Sqrt(max(square-difference*difference/n, 0) * n / (n - 1))
			t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
			v.Low, v.High = relative(difference-t*se, all), relative(difference+t*se, all)
		}
	}
	return v, nil
}

// relative turns a difference of squared errors into one of root mean square errors, as a part of
// the larger: 1 - sqrt(ours / other).
func relative(difference, other float64) float64 {
	return 1 - math.Sqrt(max(1-difference/other, 0))
}
