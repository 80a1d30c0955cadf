package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// The noise of task t has a variance of its own, v_t: scale / v_t ~ chi^2(f) / f, of which the nodes
// choose scale and f by the likelihood of what the rows of every task say about v_t (Smyth 2004).
// Rows of task t then count scale / v_t times (as in Lee and Nelder 2006), and the prior of the coefficients is
// chosen again; and so on until both stay. Where f is infinite, all tasks have the same noise, and
// nothing changes.

// freedoms are what f is chosen from; 0 is infinite. Rows are weighed as if it were at least leastWeighed:
// else a few tasks of little noise would outweigh all others, and a task of unusual coefficients
// could pass for one of much noise.
var freedoms = []float64{0, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1.5, 1}

const leastWeighed = 4

// A noises says how the noise differs between tasks.
type noises struct {
	mixedmodel.NoisePrior
	// Of every hosted node and task: the estimate of v, to how many degrees of freedom it is known, and
	// by what rows are weighed.
	variance, freedom, weight [][]float64
	// gain is by how much -2 log likelihood is below that of tasks of the same noise, and open by how much it is above
	// what it would be if the variances were known to be those by which tasks were weighed.
	gain, open float64
	total      float64 // degrees of freedom of all tasks
}

// noises estimates the noise of all tasks near a point.
func (e *evidence) noises(ctx context.Context, pt *point) (*noises, error) {
	scatter := make([][]mixedmodel.Scatter, len(e.tasks))
	s := pt.Covariance()
	e.overTasks(ctx, 0, func(g, i int, _ []float64) {
		out := e.tasks[g][i].Scatter(&pt.white[g][i], pt.shift, s)
		out.Square /= e.weightOf(g, i)
		scatter[g][i] = out
	}, func(g int) { scatter[g] = make([]mixedmodel.Scatter, len(e.tasks[g])) })
	at := make([]mixedmodel.NoisePrior, len(freedoms))
	for k, f := range freedoms {
		at[k] = mixedmodel.NoisePrior{Scale: pt.noise, Freedom: f}
	}
	values, err := e.climbScales(ctx, scatter, at)
	if err != nil {
		return nil, err
	}
	// What the variances that are in use would have, and degrees of freedom.
	sum, err := e.sum(ctx, e.overTasks(ctx, 2, func(g, i int, out []float64) {
		known := mixedmodel.NoisePrior{Scale: pt.noise / e.weightOf(g, i)}
		v, _, _ := known.Likelihood(scatter[g][i])
		out[0] += v
		out[1] += scatter[g][i].Freedom
	}, nil))
	if err != nil {
		return nil, err
	}
	best := floats.MaxIdx(values)
	n := &noises{NoisePrior: at[best], gain: 2 * (values[best] - values[0]), open: 2 * (sum[0] - values[best]), total: sum[1]}
	for g, list := range scatter {
		n.variance, n.freedom, n.weight = append(n.variance, nil), append(n.freedom, nil), append(n.weight, nil)
		for _, s := range list {
			v, freedom := n.Posterior(s)
			held, _ := at[min(best, slices.Index(freedoms, leastWeighed))].Posterior(s)
			n.variance[g], n.freedom[g] = append(n.variance[g], v), append(n.freedom[g], min(freedom, n.total))
			n.weight[g] = append(n.weight[g], pt.noise/held) // in the unit of the prior, so that it stays where it is
		}
	}
	return n, nil
}

// scaled multiplies all variances.
func (n *noises) scaled(by float64) {
	n.Scale *= by
	for _, list := range n.variance {
		floats.Scale(by, list)
	}
}

// climbScales sets every Scale to that of the largest likelihood with its Freedom, by Newton's method: the logarithm of
// the likelihood is concave in that of the scale. It returns these likelihoods.
func (e *evidence) climbScales(ctx context.Context, scatter [][]mixedmodel.Scatter, at []mixedmodel.NoisePrior) ([]float64, error) {
	values := make([]float64, len(at))
	for range 12 {
		sum, err := e.sum(ctx, e.overTasks(ctx, 3*len(at), func(g, i int, out []float64) {
			for k, n := range at {
				v, slope, curvature := n.Likelihood(scatter[g][i])
				out[3*k] += v
				out[3*k+1] += slope
				out[3*k+2] += curvature
			}
		}, nil))
		if err != nil {
			return nil, err
		}
		far := 0.0
		for k := range at {
			values[k] = sum[3*k]
			step := -sum[3*k+1] / (sum[3*k+2] - 1e-300)
			step = math.Min(math.Max(step, -1), 1)
			at[k].Scale *= math.Exp(step)
			far = max(far, math.Abs(step))
		}
		if far < 1e-4 {
			break
		}
	}
	return values, nil
}

// weightOf is by what the rows of a task are weighed.
func (e *evidence) weightOf(g, i int) float64 {
	if e.weight == nil {
		return 1
	}
	return e.weight[g][i]
}

// weighed returns the evidence of the same rows, those of every task weighed.
func (e *evidence) weighed(ctx context.Context, weight [][]float64) (*evidence, error) {
	out := *e
	out.tasks, out.weight = make([][]mixedmodel.Task, len(e.tasks)), weight
	sum, err := e.sum(ctx, e.overTasks(ctx, 1, func(g, i int, sum []float64) {
		t, w := &e.tasks[g][i], weight[g][i]
		out.tasks[g][i] = t.Weighted(w / e.weightOf(g, i))
		sum[0] += float64(t.Rows) * math.Log(w)
	}, func(g int) { out.tasks[g] = make([]mixedmodel.Task, len(e.tasks[g])) }))
	if err != nil {
		return nil, err
	}
	out.logWeights = sum[0]
	return &out, nil
}

// unlike is the least gain from which on tasks are said to differ by their noise: that of one
// parameter more, by the number of tasks.
func (e *evidence) unlike(n *noises) bool { return n.gain > math.Log(e.count) }

// weigh returns the best contender with the noise of every task, and that of rank 0, if the evidence says
// that tasks differ by their noise; else what it is given.
func (f *fitter) weigh(ctx context.Context, best *contender, none *point) (*contender, *point, error) {
	n, err := f.evidence.noises(ctx, best.point)
	if err != nil || !f.evidence.unlike(n) || none.noise <= 2*noiseFloor {
		return best, none, err
	}
	c := *f.c
	c.Auto = false
	again := &fitter{design: f.design, c: &c, report: &Report{}, evidence: f.evidence, before: strengths{f.shrunken, none}}
	if _, _, err = again.settle(ctx, best, none); err != nil {
		return nil, nil, err
	}
	chosen, level, err := again.choose(ctx)
	if err != nil {
		return nil, nil, err
	}
	if chosen, n, err = again.settle(ctx, chosen, level); err != nil {
		return nil, nil, err
	}
	if chosen.evidence+n.open > best.evidence-math.Log(f.evidence.count) {
		return best, none, nil
	}
	f.evidence, f.whitened, f.levels, f.contenders, f.step = again.evidence, again.whitened, again.levels, again.contenders, again.step
	f.report.Tried = again.report.Tried
	return chosen, level, nil
}

// rangeOfNoise finds the tasks of the least and of the most noise.
func (f *fitter) rangeOfNoise(ctx context.Context) error {
	z := f.zeros(2)
	for g, list := range f.noises.variance {
		z[g][0] = -math.MaxFloat64
		for _, v := range list {
			z[g][0], z[g][1] = max(z[g][0], -v), max(z[g][1], v)
		}
	}
	most, err := f.max(ctx, z)
	if err == nil {
		f.quietest, f.loudest = math.Sqrt(-most[0])*f.TargetScale, math.Sqrt(most[1])*f.TargetScale
	}
	return err
}

// ownNoise sets the noise of every task of a model.
func (f *fitter) ownNoise(m *model.Parameters) {
	if m.Prior.NoisePrior.Freedom == 0 {
		return
	}
	m.Noise, m.Freedom = make([]float64, len(m.Tasks)), make([]float64, len(m.Tasks))
	for g, tasks := range f.layout {
		for i, k := range tasks {
			m.Noise[k], m.Freedom[k] = f.noises.variance[g][i], f.noises.freedom[g][i]
		}
	}
}

// settled says how little weights may change, as logarithms, when they are said to stay, and mostSettling how often
// they are chosen at most.
const settled, mostSettling = 0.05, 8

// settle weighs tasks by their noise and climbs from a contender until weights stay.
func (f *fitter) settle(ctx context.Context, c *contender, none *point) (*contender, *noises, error) {
	known := f.c.known()
	if c.Rank == 0 && c.Spread == 0 {
		known.spread = 0
	}
	for k := 0; ; k++ {
		n, err := f.evidence.noises(ctx, c.point)
		if err != nil {
			return nil, nil, err
		}
		far := f.zeros(1)
		for g, list := range n.weight {
			for i, w := range list {
				far[g][0] = max(far[g][0], math.Abs(math.Log(w/f.evidence.weightOf(g, i))))
			}
		}
		farthest, err := f.max(ctx, far)
		if err != nil || k > 0 && farthest[0] < settled || k == mostSettling {
			return c, n, err
		}
		if f.evidence, err = f.evidence.weighed(ctx, n.weight); err != nil {
			return nil, nil, err
		}
		pt, converged, err := f.evidence.maximize(ctx, c.point, c.scale, known, roughly, stepsMost)
		if err != nil {
			return nil, nil, err
		}
		next := *c
		next.point, next.converged = pt, converged
		next.evidence += pt.penalized() - c.penalized()
		c = &next
	}
}
