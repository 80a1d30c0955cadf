package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// freedoms are what the degrees of freedom of the prior of the noise of tasks are chosen from; 0 is infinite. Rows are
// weighted as if it were at least minFreedom: else a few tasks of little noise would outweigh all others, and a task of
// unusual coefficients could pass for one of much noise.
var freedoms = []float64{0, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1.5, 1}

const minFreedom = 8

const noiseNumbers = 48

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

	limited mixedmodel.NoisePrior // of weights
	usual   float64               // weight of a task with noise of the scale of the prior: as long as it stays, strengths mean the same
}

// TaskNoise estimates the noise of all tasks near a point of these rows.
func (r *Rows) TaskNoise(ctx context.Context, pt *Point) (*TaskNoise, error) {
	r.released.evaluations++
	scatter := r.scatter(ctx, pt)
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
	sum, err := r.sum(ctx, l.Len, r.dither(0), func(g, i int, out []float64) {
		inUse := mixedmodel.NoisePrior{Scale: pt.Noise / r.Weight(g, i)}
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
		Variance: perTask[float64](r), Freedoms: perTask[float64](r),
		limited: priors[min(best, slices.Index(freedoms, minFreedom))],
		usual:   r.usual,
	}
	if r.Weights == nil {
		n.usual = pt.Noise / n.limited.Scale
	}
	for g, list := range scatter {
		for i, s := range list {
			v, freedom := n.Posterior(s)
			n.Variance[g][i], n.Freedoms[g][i] = v, min(freedom, n.Total)
		}
	}
	n.Weight = n.weights(scatter)
	return n, nil
}

// scatter returns what the rows of every hosted task say about their noise, near a point of these rows.
func (r *Rows) scatter(ctx context.Context, pt *Point) [][]mixedmodel.Scatter {
	scatter, s := perTask[mixedmodel.Scatter](r), pt.Covariance()
	r.hostedSums(ctx, 0, false, func(g, i int, _ []float64) {
		t, memory := r.Task(g, i)
		defer memory.Put()
		out, _ := t.Scatter(pt.Mean, s) // where rounding leaves none, it says nothing
		out.Square /= r.Weight(g, i)
		scatter[g][i] = out
	})
	return scatter
}

// weights returns those of the rows of every hosted task.
func (n *TaskNoise) weights(scatter [][]mixedmodel.Scatter) [][]float64 {
	out := make([][]float64, len(scatter))
	for g, list := range scatter {
		for _, s := range list {
			v, _ := n.limited.Posterior(s)
			out[g] = append(out[g], n.usual*n.limited.Scale/max(v, NoiseFloor))
		}
	}
	return out
}

// Reweigh chooses the weights of rows anew at a point, of the same prior. Every node does so by itself.
func (n *TaskNoise) Reweigh(ctx context.Context, pt *Point) {
	n.Weight = n.weights(pt.rows.scatter(ctx, pt))
}

// Widen makes all variances so many times as large.
func (n *TaskNoise) Widen(by float64) {
	n.Scale *= by
	for _, list := range n.Variance {
		floats.Scale(by, list)
	}
}

// Range returns the standard deviations between which 95 % of tasks are expected, in a unit.
func (n *TaskNoise) Range(unit float64) (least, most float64) {
	chi := distuv.ChiSquared{K: n.Freedom}
	end := func(p float64) float64 { return math.Sqrt(n.Scale*n.Freedom/chi.Quantile(p)) * unit }
	return end(0.975), end(0.025)
}

// ChangeOfWeights returns by how much the logarithms of the weights of rows are from those in use: the root of the mean square.
func (r *Rows) ChangeOfWeights(ctx context.Context, n *TaskNoise) (float64, error) {
	sum, err := r.sum(ctx, 1, r.dither(0), func(g, i int, out []float64) {
		by := math.Log(n.Weight[g][i] / r.Weight(g, i))
		out[0] += r.Samples(g, i) * by * by
	})
	if err != nil {
		return 0, err
	}
	return math.Sqrt(max(sum[0], 0) / r.Total), nil
}

// startScales sets every Scale to that of its Freedom by the mean logarithm of what tasks say about their noise (Smyth 2004).
func (r *Rows) startScales(ctx context.Context, scatter [][]mixedmodel.Scatter, priors []mixedmodel.NoisePrior) error {
	var l nodes.Layout
	logarithm, weight := l.Span(1), l.Span(1)
	floor := 1e-6 * priors[0].Scale
	sum, err := r.sum(ctx, l.Len, r.dither(0), func(g, i int, out []float64) {
		if s := scatter[g][i]; s.Freedom > 0.5 {
			logarithm.Add(out, s.Freedom*(math.Log(max(s.Square, floor))-logChi(s.Freedom)))
			weight.Add(out, s.Freedom)
		}
	})
	if err != nil {
		return err
	}
	for k := range priors {
		if f := priors[k].Freedom; f > 0 {
			priors[k].Scale = math.Exp(logarithm.First(sum)/max(weight.First(sum), 1e-300) + logChi(f))
		}
	}
	return nil
}

// logChi is the mean of the logarithm of chi^2(f) / f.
func logChi(f float64) float64 { return mathext.Digamma(f/2) - math.Log(f/2) }

// climbScales sets every Scale to that of the largest likelihood with its Freedom, by Newton's method: the logarithm of
// the likelihood is concave in that of the scale. It returns these likelihoods.
func (r *Rows) climbScales(ctx context.Context, scatter [][]mixedmodel.Scatter, priors []mixedmodel.NoisePrior) ([]float64, error) {
	var l nodes.Layout
	value, slope, curvature := l.Span(len(priors)), l.Span(len(priors)), l.Span(len(priors))
	values := make([]float64, len(priors))
	if err := r.startScales(ctx, scatter, priors); err != nil {
		return nil, err
	}
	for range 2 {
		sum, err := r.sum(ctx, l.Len, r.dither(0), func(g, i int, out []float64) {
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
		far := 0.0
		for k := range priors {
			step := -slope.Of(sum)[k] / (curvature.Of(sum)[k] - 1e-300)
			step = math.Min(math.Max(step, -1), 1)
			// What the step gains, if the likelihood is a parabola.
			values[k] = value.Of(sum)[k] + slope.Of(sum)[k]*step/2
			priors[k].Scale *= math.Exp(step)
			far = max(far, math.Abs(step))
		}
		if far < 0.02 {
			break
		}
	}
	return values, nil
}
