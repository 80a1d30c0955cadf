package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/private"
	"gonum.org/v1/gonum/stat"
)

// Powers of two that tasks tell apart: deviations and means beyond count as the first or last.
const leastPower, powers = -32, 64

// powerOf returns the place of a size among the powers of two.
func powerOf(size float64) int {
	return min(max(math.Ilogb(size)-leastPower, 0), powers-1)
}

// sizeOf returns the middle of the sizes of a power of two, by ratios.
func sizeOf(power int) float64 { return math.Ldexp(math.Sqrt2, power+leastPower) }

// ownMoments returns mean and standard deviation of every feature and, last, of the target over the training rows of a task; those of no value are NaN.
func (d *design) ownMoments(k int) (mean, deviation []float64) {
	columns, x := make([][]float64, len(d.t.Features())+1), make([]float64, len(d.t.Features()))
	d.eachTraining([]int{k}, func(i int) {
		for j, v := range append(d.t.X(x, i), d.t.Y(i)) {
			if !math.IsNaN(v) {
				columns[j] = append(columns[j], v)
			}
		}
	})
	for _, values := range columns {
		m, s := stat.PopMeanStdDev(values, nil)
		mean, deviation = append(mean, m), append(deviation, s)
	}
	return mean, deviation
}

// places are those of a column in the counts of sizes: powers of two of deviations, of means, and of means below zero.
const places = 3 * powers

// scale chooses the scaling by two private sums. In the first every task says, of every column, in which power of two its deviation lies, and in which its mean: where
// most say the same, beyond the noise, that is about how large these are. In the second tasks say by how much their means are off that.
func (s *privateFit) scale(ctx context.Context) error {
	columns := len(s.t.Features()) + 1
	means, deviations := make([][]float64, len(s.t.Tasks())), make([][]float64, len(s.t.Tasks()))
	for k := range means {
		means[k], deviations[k] = s.ownMoments(k)
	}
	vote := 1 / math.Sqrt(2*float64(columns)) // a task has two for every column
	counts, err := s.sum(ctx, "powers of two of deviations and means", partScales, columns*places, func(k int, v []float64) {
		for j := range columns {
			if size := deviations[k][j]; size > 0 {
				v[j*places+powerOf(size)] = vote
			}
			if mean := means[k][j]; mean > 0 {
				v[j*places+powers+powerOf(mean)] = vote
			} else if mean < 0 {
				v[j*places+2*powers+powerOf(-mean)] = vote
			}
		}
	})
	if err != nil {
		return err
	}
	center, reach, err := s.sizes(counts)
	if err != nil {
		return err
	}
	offsets, err := s.sum(ctx, "means of columns", partCenters, columns, func(k int, v []float64) {
		for j := range columns {
			if off := (means[k][j] - center[j]) / reach[j]; !math.IsNaN(off) {
				v[j] = min(max(off, -1), 1) / math.Sqrt(float64(columns))
			}
		}
	})
	if err != nil {
		return err
	}
	s.centerNoise = make([]float64, columns)
	for j := range columns {
		unit := reach[j] * math.Sqrt(float64(columns)) / float64(s.about.Tasks)
		center[j] += unit * offsets.Values[j]
		s.centerNoise[j] = unit * offsets.Deviation
		s.clipped = math.Abs(unit*offsets.Values[j])+2*s.centerNoise[j] > reach[j]/2 // of the target, which comes last
	}
	s.setScaling(center)
	return nil
}

// sizes sets the deviations of the columns by the counts, and returns about where their means are, and how far off these may be.
func (s *privateFit) sizes(counts *private.Total) (center, reach []float64, err error) {
	names := append(slices.Clone(s.t.Features()), s.c.TargetColumn)
	center, reach, s.deviation = make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	for j, name := range names {
		of := counts.Values[j*places:][:places]
		most, ok := mode(of[:powers], counts.Deviation)
		s.deviation[j] = 1
		switch {
		case !ok:
			s.about.Unknown = append(s.about.Unknown, name)
		case most == 0 || most == powers-1:
			return nil, nil, fmt.Errorf("column %q has a deviation within tasks beyond %.1g to %.1g: bring it nearer to 1, by what is publicly known of it", name, sizeOf(0), sizeOf(powers-1))
		default:
			s.deviation[j] = sizeOf(most)
		}
		reach[j] = 4 * s.deviation[j]
		if most, ok := mode(of[powers:], counts.Deviation); ok {
			center[j] = sizeOf(most % powers)
			reach[j] = max(reach[j], center[j])
			if most >= powers {
				center[j] *= -1
			}
		}
	}
	return center, reach, nil
}

// setScaling takes over the scaling: features have a deviation of about 1 within a task, and the target at most that.
func (s *privateFit) setScaling(center []float64) {
	k := len(center) - 1
	s.Fill, s.Center, s.Scale = center[:k:k], center[:k:k], s.deviation[:k:k]
	_, e := math.Frexp(s.deviation[k])
	s.Target, s.TargetScale, s.Constant = center[k], math.Ldexp(1, e), true
	s.total = 0
	for _, on := range s.train {
		if on {
			s.total++
		}
	}
}

// mode returns the place of the largest count. It is not ok if noise of that deviation could have made it.
func mode(counts []float64, deviation float64) (place int, ok bool) {
	const sure = 5 // of 128 sizes of a column the noise of one in 25,000 is as large; of 4 it was one in 250
	for k, v := range counts {
		if v > counts[place] {
			place = k
		}
	}
	return place, counts[place] > sure*deviation
}
