package mixed

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

const (
	// Predictions farther than growthRange target deviations from the mean have the noise at that distance.
	growthRange = 3.0
	// growthNats is the least gain of a noise that changes with the prediction, in nats.
	growthNats  = 3.0
	growthRows  = 40 // least training rows
	growthSteps = 8  // most evaluations
	// Level and slope count as found after a step of growthStill or less.
	growthStill = 0.02
	// mostSquare bounds the square of an error over its standard deviation.
	mostSquare = 25.
	mostGrowth = 3.0  // largest slope, in size
	mostLevel  = 30.0 // largest level, in size
)

// Factor returns the factor of the noise variance in intervals at an expected target z, standardised.
func (n *Noise) Factor(z float64) float64 {
	if n.Level == 0 && n.Slope == 0 {
		return 1
	}
	return rounded.Exp(n.Level + float64(n.Slope*min(max(z, -growthRange), growthRange)))
}

// A growthSums holds sums over training rows at a level and a slope: the log likelihood of the errors of rows
// that are predicted without themselves, its gradient, and its expected information.
type growthSums struct {
	likelihood  float64
	gradient    [2]float64
	information [3]float64 // of the level, of both, and of the slope
}

// at returns the sums over these rows. An error is normal with the variance f noise + spent, where f is the
// factor. No row counts as farther out than 5 deviations: a few wrong targets do not count as growth.
func (list *withouts) at(n *Noise) (s growthSums) {
	for place, task := range list.noise {
		own := list.of(place)
		for i := range own {
			s.add(&own[i], task.variance, n)
		}
	}
	return s
}

// add adds a row of a task whose noise has the given variance in intervals.
func (s *growthSums) add(r *without, taskVariance float64, n *Noise) {
	z := min(max(r.prediction, -growthRange), growthRange)
	noise := float64(n.Factor(z) * taskVariance)
	variance := noise + r.spent
	share := noise / variance
	squares := min(r.square/variance, mostSquare)
	s.likelihood -= float64((squares + rounded.Log(variance)) / 2)
	excess := float64(share * (squares - 1) / 2)
	s.gradient[0] += excess
	s.gradient[1] += float64(excess * z)
	weight := float64(share * share / 2)
	s.information[0] += weight
	s.information[1] += float64(weight * z)
	s.information[2] += float64(weight * z * z)
}

// step returns the step of Fisher's scoring in level and slope, at most 1 long in either.
func (s *growthSums) step() (level, slope float64) {
	a, b, c := s.information[0], s.information[1], s.information[2]
	a, c = a*(1+1e-9), c*(1+1e-9)
	det := float64(a*c) - float64(b*b)
	if !(det > 0) {
		return 0, 0
	}
	level = (float64(c*s.gradient[0]) - float64(b*s.gradient[1])) / det
	slope = (float64(a*s.gradient[1]) - float64(b*s.gradient[0])) / det
	if long := max(math.Abs(level), math.Abs(slope)); long > 1 {
		level, slope = level/long, slope/long
	}
	return level, slope
}

// growth returns the level and the slope of the noise in intervals, and 0 where they gain too little. They
// maximise the likelihood of the errors of rows that are predicted without themselves.
func (list *withouts) growth() (level, slope float64) {
	if len(list.rows) < growthRows {
		return 0, 0
	}
	at := new(Noise)
	sums := list.at(at)
	best, first := sums.likelihood, sums.likelihood
	for range growthSteps {
		up, along := sums.step()
		if max(math.Abs(up), math.Abs(along)) < growthStill {
			break
		}
		next := &Noise{Level: at.Level + up, Slope: min(max(at.Slope+along, -mostGrowth), mostGrowth)}
		if sums = list.at(next); !(sums.likelihood > best) {
			break
		}
		at, best = next, sums.likelihood
	}
	if !(best-first >= growthNats) {
		return 0, 0
	}
	return at.Level, at.Slope
}

// setGrowth predicts the training rows of this owner without themselves, and sets how the noise changes with
// the prediction. A fit to all rows follows the judged form, and takes the rows for its notes alone. Each of
// several owners uses its own rows, for its own tasks: sums over errors of single rows would show rows to a
// member that lies.
func (f *fitter) setGrowth(ctx context.Context, chosen *choice) error {
	list, err := f.predictWithout(ctx, chosen)
	if err != nil {
		return err
	}
	switch {
	case f.form != nil:
		f.level, f.slope = f.form.level, f.form.slope
	case !chosen.q.exact():
		f.level, f.slope = list.growth()
	}
	f.without = withoutSummary{list.closer(), list.funnel(&Noise{Level: f.level, Slope: f.slope})}
	return nil
}
