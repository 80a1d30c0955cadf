package fit

import (
	"context"
	"math"
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
		if usual, freedom, gain := fitNoise(list); round == 0 || gain > 0 {
			if round == 0 && gain < noiseNats+0.5*math.Log(float64(len(s.tasks))) {
				return nil, nil
			}
			prior.usual, prior.freedom = usual, freedom
		}
		s.ratio = make([]float64, len(list))
		prior.variances, prior.freedoms = make([]float64, len(list)), make([]float64, len(list))
		for k, e := range list {
			prior.freedoms[k] = prior.freedom + e.freedom
			prior.variances[k] = max((prior.freedom*prior.usual+e.squares)/prior.freedoms[k], leastNoise)
			s.ratio[k] = prior.variances[k] / c.q.noise
		}
		most := polish
		if round > 0 && len(s.climbTasks()) == len(s.tasks) {
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

// scatters returns the residuals of all tasks at strengths, in units of their variance at ratio 1.
func (s *stats) scatters(ctx context.Context, m *moments) ([]scatter, error) {
	list := make([]scatter, len(s.packed))
	share := m.determined / s.rowsTotal(s.tasks)
	covariance := m.prior.Covariance()
	_, err := s.solve(ctx, m.prior, s.tasks, 0, func(w *worker, k int, _ []float64) {
		w.solver.Coefficients(w.v, nil, m.mean, nil)
		information, _ := w.solver.Information()
		edf := 0.0
		for i, v := range covariance {
			edf += v * information[i]
		}
		n := float64(w.task.Rows)
		list[k] = scatter{w.task.Residual(w.v), max(n-edf-share*n, 0)}
	})
	return list, err
}

// fitNoise returns the scale and degrees of freedom of variances with the largest likelihood, and the gain
// of its logarithm over one common variance. For scatter (q, d) and v ~ inverse chi-squared(f, s) the
// likelihood of v^(-d/2) exp(-q/2v) is
//
//	Gamma((f+d)/2) / Gamma(f/2) (f s/2)^(f/2) / ((f s + q)/2)^((f+d)/2).
func fitNoise(list []scatter) (usual, freedom, gain float64) {
	squares, df := 0.0, 0.0
	for _, e := range list {
		if e.freedom >= leastDF {
			squares += e.squares
			df += e.freedom
		}
	}
	if df == 0 || squares == 0 {
		return 0, 0, 0
	}
	common := squares / df
	alike := -df/2*math.Log(common) - df/2
	best := math.Inf(-1)
	for step := range 41 {
		f := math.Exp2(float64(step) / 4) // 1 to 1024
		s := common
		for range 100 { // fixed point of the derivative by s, from above
			weight, n := 0.0, 0.0
			for _, e := range list {
				if e.freedom >= leastDF {
					weight += (f + e.freedom) / (f*s + e.squares)
					n++
				}
			}
			next := n / weight
			if math.Abs(next-s) < 1e-9*s {
				break
			}
			s = next
		}
		sum := 0.0
		for _, e := range list {
			if e.freedom < leastDF {
				continue
			}
			above, _ := math.Lgamma((f + e.freedom) / 2)
			below, _ := math.Lgamma(f / 2)
			sum += above - below + f/2*math.Log(f*s/2) - (f+e.freedom)/2*math.Log((f*s+e.squares)/2)
		}
		if sum > best {
			best, usual, freedom = sum, s, f
		}
	}
	return usual, freedom, best - alike
}
