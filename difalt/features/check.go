package features

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// ErrNotStandard is returned by Check for features that mislead the methods.
var ErrNotStandard = errors.New("features: offsets or sizes of features mislead the methods: use " +
	"features.Standardize, or Options.AnyFeatures")

const (
	// Means of features mislead if the squared length of their vector, in units of the mean variance, is
	// above offset; variances if one is more than wide times their mean, or below the mean divided by narrow.
	offset       = 0.5
	wide, narrow = 2, 4
	chance       = 6 // allowance for chance, in standard deviations
	inspected    = 1000
	fewest       = 8 // samples for a decision
)

// mislead reports whether the means and variances of features, found in that number of samples, mislead the
// methods. Features that are 0 everywhere do not count.
func mislead(mean, variance []float64, samples float64) bool {
	total, squares, d := 0.0, 0.0, 0.0
	least, most := math.Inf(1), 0.0
	for j, v := range variance {
		m := float64(mean[j] * mean[j])
		if v <= rounding*rounding*m {
			if m == 0 {
				continue
			}
			v = m // a constant is as large as its mean
		} else {
			squares += m
		}
		total, least, most, d = total+v, min(least, v), max(most, v), d+1
	}
	average := total / d
	luck := rounded.Exp(chance / math.Sqrt(samples))
	means := squares/average-d/samples > offset+chance*math.Sqrt(2*d)/samples
	return means || most > wide*luck*average || least*narrow*luck < average
}

// eachRow calls f with one in step rows of the samples.
func eachRow(k *kernel.Tasks, step int, f func(row []float64)) {
	row, at := make([]float64, k.Features()), 0
	for t := range k.Len() {
		for i := range k.Samples(t) {
			if at%step == 0 {
				f(k.Row(row, t, i))
			}
			at++
		}
	}
}

// Misleading inspects up to 1,000 samples of one node by Welford's update, and reports whether their means or
// variances would mislead the methods. Nodes may differ: only Check decides for all of them.
func Misleading(k *kernel.Tasks) bool {
	if k == nil {
		return false
	}
	d := k.Features()
	mean, variance, n := make([]float64, d), make([]float64, d), 0.0
	eachRow(k, 1+k.TotalSamples()/inspected, func(row []float64) {
		n++
		for j, v := range row {
			c := v - mean[j]
			mean[j] += c / n
			variance[j] += float64(c * (v - mean[j]))
		}
	})
	if n < fewest {
		return false
	}
	floats.Scale(1/(n-1), variance)
	return mislead(mean, variance, n)
}

// Check returns ErrNotStandard if the means or variances of the features of all nodes would mislead the
// methods. All nodes call it together. It reads all samples twice. If the arguments of one node cannot be
// used, all nodes return an error.
func Check(ctx context.Context, net consensus.Sums, nodes []*kernel.Tasks) error {
	if net == nil {
		return errNoNetwork
	}
	d, err := agree(ctx, net, nodes, checkNodes(net.Hosted(), nodes))
	if err != nil {
		return err
	}
	mean, _, err := average(ctx, net, nodes, d, func(sum, row []float64) { floats.Add(sum, row) })
	if err != nil {
		return err
	}
	variance, samples, err := average(ctx, net, nodes, d, func(sum, row []float64) {
		for j, v := range row {
			sum[j] += float64((v - mean[j]) * (v - mean[j]))
		}
	})
	if err != nil {
		return err
	}
	if mislead(mean, variance, samples) {
		return ErrNotStandard
	}
	return nil
}

// average returns the number of samples of all nodes, and the mean over them of the numbers that visit adds
// to sum for each sample.
func average(
	ctx context.Context, net consensus.Sums, nodes []*kernel.Tasks, d int, visit func(sum, row []float64),
) (mean []float64, samples float64, err error) {
	rows := make([][]float64, len(nodes))
	for i, k := range nodes {
		rows[i] = make([]float64, d)
		eachRow(k, 1, func(row []float64) { visit(rows[i], row) })
	}
	unit, err := unitOf(ctx, net, rows)
	if err != nil {
		return nil, 0, err
	}
	for i, k := range nodes {
		floats.Scale(1/unit, rows[i])
		rows[i] = append(rows[i], float64(k.TotalSamples()))
	}
	if err := net.Sum(ctx, rows); err != nil {
		return nil, 0, err
	}
	samples = rows[0][d]
	return floats.ScaleTo(rows[0][:d], unit/samples, rows[0][:d]), samples, nil
}
