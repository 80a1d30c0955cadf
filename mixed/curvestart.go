package mixed

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// Strengths that curves may start with: the largest, and their number. Each is half of the strength before.
const mostCurve, curveStrengths = 0.5, 7

// restart optimises one form from the optima of the other form at some ranks.
func restart(ctx context.Context, to, from *form, ranks []int) error {
	var starts []*evaluation
	for _, r := range ranks {
		starts = append(starts, &evaluation{s: to.s, tasks: to.s.some, q: to.s.convert(from.end(r).q)})
	}
	if len(to.s.design.Curves) > 0 {
		if err := startCurves(ctx, starts); err != nil {
			return err
		}
	}
	var list []*optimiser
	for i, r := range ranks {
		list = append(list, to.end(r).leanOptimiser(starts[i].q))
	}
	err := optimiseAll(ctx, list...)
	for i, r := range ranks {
		to.end(r).keepHigher(&list[i].best)
	}
	return err
}

// convert converts variance components between the forms. It removes curves, or adds some that are so weak
// that they change nothing yet.
func (s *stats) convert(q *varianceComponents) *varianceComponents {
	out, weak := s.start(), math.Sqrt(q.noise/s.tasks.rows)
	out.sigma[curveGroup] = min(out.sigma[curveGroup], weak)
	for k := range out.tau {
		out.tau[k] = max(weak, leastTau)
	}
	copy(out.sigma, q.sigma[:curveGroup])
	out.tau[0], out.rank, out.w, out.noise = q.tau[0], q.rank, q.w, q.noise
	return out
}

// startCurves replaces weak curves by likely ones where these can be evaluated. It takes two sums.
func startCurves(ctx context.Context, list []*evaluation) error {
	possible := make([]float64, len(list))
	err := evaluateEvidence(ctx, list, possible, func() {
		for i, e := range list {
			if e.err == nil {
				possible[i] = 1
			}
		}
	})
	if err != nil {
		return err
	}
	var some []*evaluation
	var decided []float64
	for i, e := range list {
		if possible[i] == 0 {
			continue
		}
		if e.err != nil {
			return contradiction("a point without evidence has one")
		}
		some, decided = append(some, e), append(decided, make([]float64, len(e.q.numbers()))...)
	}
	err = evaluateScores(ctx, some, decided, func() {
		at := decided
		for _, e := range some {
			q := e.q
			if e.err == nil {
				q = e.likelyCurves()
			}
			at = q.encode(at)
		}
	})
	at := decided
	for _, e := range some {
		if err == nil {
			e.q, at, err = e.q.decode(at)
		}
		e.m, e.z = nil, nil // matrices that nothing reads again
	}
	return err
}

// likelyCurves returns variance components whose curves have the strengths that their scores under weak ones
// make likely. Curves without support in the rows stay weak. From there most optimisers need few steps.
func (e *evaluation) likelyCurves() *varianceComponents {
	s, out := e.s, e.q.clone()
	means, deviations := make([]columnScores, len(out.tau)), columnScores(nil)
	for j, c := range s.columns {
		if c.Kind != CurveColumn {
			continue
		}
		information, score := e.m.m[j*(s.p+1)], e.m.h[j]-rounded.Dot(e.m.m[j*s.p:][:s.p], e.m.mean)
		square := float64(score * score)
		if s.active[j] {
			means[s.group[j]].add(square, information, 1)
		}
		if count := e.tasks.count; s.within[j] && count > 1 {
			// Without the part of the mean, as if tasks had equal information.
			own := max(e.z.scores[j]+e.z.spread[j]-square/count, 0)
			deviations.add(own, float64(information*(count-1))/count, count-1)
		}
	}
	for k, list := range means {
		out.tau[k] = list.likeliest(out.tau[k])
	}
	out.sigma[curveGroup] = deviations.likeliest(out.sigma[curveGroup])
	return out
}

// columnScores holds the scores of columns that share a strength: of every column the sum of the squares of
// its scores, the sum of their informations, and the number of scores.
type columnScores []struct{ square, information, count float64 }

// add adds a column.
func (s *columnScores) add(square, information, count float64) {
	*s = append(*s, struct{ square, information, count float64 }{square, information, count})
}

// gain returns the gain of evidence by a strength over 0, as if columns were independent. A score with the
// information a under strength 0 has the variance a + a v a under the variance v.
func (s columnScores) gain(strength float64) (sum float64) {
	v := strength * strength
	for _, c := range s {
		each := float64(v*c.information) / c.count
		explained := float64(v*c.square) / (1 + each)
		sum += float64((explained - float64(c.count*rounded.Log1p(each))) / 2)
	}
	return sum
}

// likeliest returns the strength of the largest gain, at least the given one.
func (s columnScores) likeliest(least float64) float64 {
	best, most := least, s.gain(least)
	strength := mostCurve
	for range curveStrengths {
		if gain := s.gain(strength); strength > least && gain > most {
			best, most = strength, gain
		}
		strength /= 2
	}
	return best
}
