package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// freedoms are what the degrees of freedom of the prior of the noise of tasks are chosen from; 0 is infinite. Rows are
// weighted as if it were at least minFreedom: else a few tasks of little noise would outweigh all others, and a task of
// unusual coefficients could pass for one of much noise.
var freedoms = []float64{0, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1.5, 1}

const minFreedom = 4

// A TaskNoise says how the noise differs between tasks. That of task t has a variance v_t of its own, of prior
// Scale / v_t ~ chi^2(f) / f, whose scale and f are those of the largest likelihood of what the rows of every task say
// about v_t (Smyth 2004). Rows of task t then count Scale / v_t times (as in Lee and Nelder 2006).
type TaskNoise struct {
	mixedmodel.NoisePrior
	// Of every hosted node and task: the estimate of the variance, its degrees of freedom, and
	// the weight of the rows.
	Variance, Freedoms, Weight [][]float64
	// Total is the degrees of freedom of the residuals of all tasks.
	Total float64
	// Unlike says that the likelihood is for tasks that differ by their noise.
	Unlike bool
	// Correction is how much more -2 log likelihood is with variances that are estimated than if they were known to be those by
	// which rows are weighted.
	Correction float64
}

// TaskNoise estimates the noise of all tasks near a point of these rows.
func (r *Rows) TaskNoise(ctx context.Context, pt *Point) (*TaskNoise, error) {
	scatter := perTask[mixedmodel.Scatter](r)
	s := pt.Covariance()
	r.hostedSums(ctx, 0, func(g, i int, _ []float64) {
		out := r.Tasks[g][i].Scatter(&pt.whitened[g][i], pt.Mean, s)
		out.Square /= r.weight(g, i)
		scatter[g][i] = out
	})
	priors := make([]mixedmodel.NoisePrior, len(freedoms))
	for k, f := range freedoms {
		priors[k] = mixedmodel.NoisePrior{Scale: pt.Noise, Freedom: f}
	}
	values, err := r.climbScales(ctx, scatter, priors)
	if err != nil {
		return nil, err
	}
	// With the variances that are in use, and degrees of freedom.
	var l nodes.Layout
	value, freedom := l.Span(1), l.Span(1)
	sum, err := r.sum(ctx, l.Len, func(g, i int, out []float64) {
		inUse := mixedmodel.NoisePrior{Scale: pt.Noise / r.weight(g, i)}
		v, _, _ := inUse.Likelihood(scatter[g][i])
		value.Add(out, v)
		freedom.Add(out, scatter[g][i].Freedom)
	})
	if err != nil {
		return nil, err
	}
	best := floats.MaxIdx(values)
	n := &TaskNoise{
		NoisePrior: priors[best], Total: freedom.First(sum), Correction: 2 * (value.First(sum) - values[best]),
		// A parameter more costs the logarithm of the number of tasks.
		Unlike:   2*(values[best]-values[0]) > math.Log(r.Count),
		Variance: perTask[float64](r), Freedoms: perTask[float64](r), Weight: perTask[float64](r),
	}
	limited := priors[min(best, slices.Index(freedoms, minFreedom))]
	for g, list := range scatter {
		for i, s := range list {
			v, freedom := n.Posterior(s)
			n.Variance[g][i], n.Freedoms[g][i] = v, min(freedom, n.Total)
			v, _ = limited.Posterior(s)
			n.Weight[g][i] = pt.Noise / v // in the unit of the prior, so that it stays where it is
		}
	}
	return n, nil
}

// Range returns the least and the largest variance of all nodes.
func (n *TaskNoise) Range(ctx context.Context, group *nodes.Group) (least, most float64, err error) {
	z := group.Zeros(2)
	for g, list := range n.Variance {
		z[g][0] = -math.MaxFloat64
		for _, v := range list {
			z[g][0], z[g][1] = max(z[g][0], -v), max(z[g][1], v)
		}
	}
	ends, err := group.Max(ctx, z)
	if err != nil {
		return 0, 0, err
	}
	return -ends[0], ends[1], nil
}

// FarthestWeight returns by how much the logarithm of a weight is from that in use, at most, over all nodes.
func (r *Rows) FarthestWeight(ctx context.Context, n *TaskNoise) (float64, error) {
	z := r.group.Zeros(1)
	for g, list := range n.Weight {
		for i, w := range list {
			z[g][0] = max(z[g][0], math.Abs(math.Log(w/r.weight(g, i))))
		}
	}
	far, err := r.group.Max(ctx, z)
	if err != nil {
		return 0, err
	}
	return far[0], nil
}

// climbScales sets every Scale to that of the largest likelihood with its Freedom, by Newton's method: the logarithm of
// the likelihood is concave in that of the scale. It returns these likelihoods.
func (r *Rows) climbScales(ctx context.Context, scatter [][]mixedmodel.Scatter, priors []mixedmodel.NoisePrior) ([]float64, error) {
	var l nodes.Layout
	value, slope, curvature := l.Span(len(priors)), l.Span(len(priors)), l.Span(len(priors))
	values := make([]float64, len(priors))
	for range 12 {
		sum, err := r.sum(ctx, l.Len, func(g, i int, out []float64) {
			for k, n := range priors {
				v, s, c := n.Likelihood(scatter[g][i])
				value.Of(out)[k] += v
				slope.Of(out)[k] += s
				curvature.Of(out)[k] += c
			}
		})
		if err != nil {
			return nil, err
		}
		copy(values, value.Of(sum))
		far := 0.0
		for k := range priors {
			step := -slope.Of(sum)[k] / (curvature.Of(sum)[k] - 1e-300)
			step = math.Min(math.Max(step, -1), 1)
			priors[k].Scale *= math.Exp(step)
			far = max(far, math.Abs(step))
		}
		if far < 1e-4 {
			break
		}
	}
	return values, nil
}
