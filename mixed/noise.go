package mixed

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A taskNoise is the distribution of the noise variance over tasks: freedom usual / v has a chi-squared
// distribution with that many degrees of freedom (Smyth 2004), and the posterior variance of every task.
type taskNoise struct {
	usual, freedom      float64
	variances, freedoms []float64 // of every task
}

const (
	noiseNats   = 3.0 // least gain of noise by task, in nats beyond half the logarithm of the number of tasks
	noiseRounds = 2
	leastDF     = 1.0 // degrees of freedom of the residuals of a task that the test counts
)

// A scatter is the residual sum of squares of a task and its degrees of freedom.
type scatter struct{ squares, freedom float64 }

// chooseNoise returns the choice with noise by task where the likelihood of the residuals supports it. With
// equal noise a direction may stand for the noise of few tasks. So lower ranks are then compared with noise
// by task, too, as long as their penalised evidence is higher.
func (f *fitter) chooseNoise(ctx context.Context, chosen *choice) (*choice, error) {
	noise, err := chosen.noiseByTask(ctx)
	s := chosen.s
	for i := len(f.all) - 1; i >= 0 && err == nil && noise != nil && f.Rank == nil; i-- {
		if c := &f.all[i]; c.s != s || c.Rank != chosen.Rank-1 {
			continue
		}
		ratio := s.ratio
		s.ratio = nil
		lower, err := f.all[i].finish(ctx)
		if err != nil {
			return nil, err
		}
		other, err := lower.noiseByTask(ctx)
		if err != nil {
			return nil, err
		}
		if other == nil || lower.evidence-s.rankPenalty(s.tasks, lower.Rank) <= chosen.evidence-s.rankPenalty(s.tasks, chosen.Rank) {
			s.ratio = ratio
			break
		}
		chosen, noise = lower, other
	}
	f.noise = noise
	return chosen, err
}

// noiseByTask gives every task its own noise variance and climbs on, or returns nil where the likelihood of
// the residuals does not support it.
func (c *choice) noiseByTask(ctx context.Context) (*taskNoise, error) {
	s, prior := c.s, new(taskNoise)
	if c.q.noise <= 2*leastNoise {
		return nil, nil // an exact fit: its residuals are rounding
	}
	for round := range noiseRounds {
		list, err := s.scatters(ctx, c.m)
		if err != nil {
			return nil, err
		}
		found, err := fitNoise(ctx, s.rows, list)
		if err != nil {
			return nil, err
		}
		if round == 0 || found.gain > 0 {
			if round == 0 && found.gain < noiseNats+0.5*math.Log(s.tasks.count) {
				return nil, nil
			}
			prior.usual, prior.freedom = found.usual, found.freedom
		}
		s.ratio = make([]float64, len(list))
		prior.variances, prior.freedoms = make([]float64, len(list)), make([]float64, len(list))
		for k, e := range list {
			prior.freedoms[k] = prior.freedom + e.freedom
			prior.variances[k] = max((prior.freedom*prior.usual+e.squares)/prior.freedoms[k], leastNoise)
			s.ratio[k] = prior.variances[k] / c.q.noise
		}
		most := polish
		if round > 0 && s.some == s.tasks {
			most = 3 * iterations
		}
		end, err := s.climb(ctx, s.tasks, c.q, most)
		if err != nil {
			return nil, err
		}
		end.converged = end.converged || most == polish && c.converged
		factor := end.q.noise / c.q.noise
		prior.usual *= factor
		for k := range prior.variances {
			prior.variances[k] *= factor
		}
		c.climbed = *end
	}
	return prior, nil
}

// scatters returns the residuals of all tasks of this owner at strengths, in units of their variance at ratio
// 1. A task out of range has none: it is out of range in the sums of the next climb.
func (s *stats) scatters(ctx context.Context, m *moments) ([]scatter, error) {
	list := make([]scatter, len(s.packed))
	share := m.determined / s.tasks.rows
	covariance := m.prior.Covariance()
	t := s.solveOwn(ctx, m.prior, s.tasks, 0, func(w *worker, k int, _ []float64) {
		w.solver.Coefficients(w.v, nil, m.mean, nil)
		information, _ := w.solver.Information()
		edf := 0.0
		for i, v := range covariance {
			edf += v * information[i]
		}
		n := float64(w.task.Rows)
		list[k] = scatter{w.task.Residual(w.v), max(n-edf-share*n, 0)}
	})
	if errors.Is(t.err, ErrNumeric) {
		t.err = nil
	}
	return list, t.err
}

// A noiseFit is the scale and the degrees of freedom of variances of tasks with the largest likelihood, and
// the gain of its logarithm over one common variance.
type noiseFit struct{ usual, freedom, gain float64 }

// noiseGrid is the number of degrees of freedom that are compared, 1 to 1024.
const noiseGrid = 41

// fitNoise returns the distribution of noise over the tasks of all owners. For scatter (q, d) and v ~ inverse
// chi-squared(f, s) the likelihood of v^(-d/2) exp(-q/2v) is
//
//	Gamma((f+d)/2) / Gamma(f/2) (f s/2)^(f/2) / ((f s + q)/2)^((f+d)/2).
//
// For every f of a grid, Newton's method finds the best s by its logarithm.
func fitNoise(ctx context.Context, r *rows, list []scatter) (noiseFit, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(e scatter) bool { return e.freedom < leastDF })
	sums := make([]float64, 3)
	for _, e := range list {
		floats.Add(sums, []float64{e.squares, e.freedom, 1})
	}
	if err := r.add(ctx, "residuals", &total{v: sums}); err != nil || !(sums[0] > 0 && sums[1] > 0) {
		return noiseFit{}, err
	}
	tasks, common := sums[2], sums[0]/sums[1]
	degrees, scales := make([]float64, noiseGrid), make([]float64, noiseGrid)
	for i := range degrees {
		degrees[i], scales[i] = math.Exp2(float64(i)/4), common
	}
	for range noiseSteps {
		longest, err := noiseStep(ctx, r, list, tasks, degrees, scales)
		if err != nil {
			return noiseFit{}, err
		}
		if longest < noiseStill {
			break
		}
	}
	likelihoods := make([]float64, noiseGrid)
	for i, f := range degrees {
		for _, e := range list {
			above, _ := math.Lgamma((f + e.freedom) / 2)
			below, _ := math.Lgamma(f / 2)
			unit := f * scales[i] / 2
			likelihoods[i] += above - below - e.freedom/2*math.Log(unit) - (f+e.freedom)/2*math.Log1p(e.squares/2/unit)
		}
	}
	if err := r.add(ctx, "likelihoods of noise", &total{v: likelihoods}); err != nil {
		return noiseFit{}, err
	}
	best := floats.MaxIdx(likelihoods)
	alike := -sums[1]/2*math.Log(common) - sums[1]/2
	out := []float64{scales[best], degrees[best], likelihoods[best] - alike}
	err := r.sums.Agree(ctx, out)
	return noiseFit{out[0], out[1], out[2]}, err
}

const (
	noiseSteps = 100
	noiseStill = 1e-9 // longest step of the logarithm of a scale after which all count as found
)

// noiseStep takes a Newton step of every scale towards a zero of the derivative of the likelihood by its
// logarithm, and returns the length of the longest.
func noiseStep(ctx context.Context, r *rows, list []scatter, tasks float64, degrees, scales []float64) (longest float64, err error) {
	n := len(scales)
	v := make([]float64, 2*n)
	for i, f := range degrees {
		for _, e := range list {
			whole := f*scales[i] + e.squares
			part := (f + e.freedom) * scales[i] / whole
			v[i] += part
			v[n+i] += part * e.squares / whole
		}
	}
	if err := r.add(ctx, "derivatives of noise", &total{v: v}); err != nil {
		return 0, err
	}
	for i := range scales {
		step := max(min((tasks-v[i])/max(v[n+i], 1e-300), 1), -1)
		scales[i] *= math.Exp(step)
		longest = max(longest, math.Abs(step))
	}
	v = append(v[:0], longest)
	v = append(v, scales...)
	err = r.sums.Agree(ctx, v)
	copy(scales, v[1:])
	return v[0], err
}
