package mixed

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
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

// A residualSS is the residual sum of squares of a task and its degrees of freedom.
type residualSS struct{ squares, freedom float64 }

// chooseNoise returns the choice with noise by task in its weights. It does so where the likelihood of the
// residuals supports it and rows that are left out are clearly predicted better. Where they are not, the
// rows of all tasks count alike, and only the widths of intervals are by task. The likelihood shows that
// tasks differ, but depends little on most errors, which are errors of loud tasks. For that reason noise by
// task decides on the rank only where rows also count by it: a direction that it takes for the noise of few
// tasks may be what predicts their rows. The comparison is on the tasks that optimisers use.
func (f *fitter) chooseNoise(ctx context.Context, alike *choice) (*choice, error) {
	all := alike.s.tasks
	widths, err := alike.noiseOfTasks(ctx, all)
	if err != nil || widths == nil {
		return alike, err
	}
	f.noise = widths
	tried, err := alike.onSome(ctx)
	if err != nil {
		return nil, err
	}
	loud, err := f.weighTasks(ctx, tried, widths)
	if err != nil {
		return nil, err
	}
	gain, err := clearlyBetter(ctx, &loud.choice, tried)
	if err != nil {
		return nil, err
	}
	if f.alike = !gain; f.alike {
		return alike, nil
	}
	if tried != alike {
		if loud, err = f.weighRank(ctx, loud.Rank, alike, widths, all); err != nil {
			return nil, err
		}
	}
	f.noise = loud.noise
	return &loud.choice, nil
}

// onSome returns the choice after optimisation on the tasks that optimisers use.
func (c *choice) onSome(ctx context.Context) (*choice, error) {
	if c.s.some == c.s.tasks {
		return c, nil
	}
	end, err := c.s.optimise(ctx, c.s.some, c.q, 3*iterations)
	if err != nil {
		return nil, err
	}
	out := *c
	out.optimum = *end
	return &out, nil
}

// A weighted choice is one whose tasks count by their noise.
type weighted struct {
	choice
	noise *taskNoise
}

// weighTasks returns the choice with noise by task in its weights, on the tasks that optimisers use. With
// equal noise a direction may stand for the noise of few tasks. So lower ranks are compared with noise by
// task, too, as long as their penalised evidence is higher.
func (f *fitter) weighTasks(ctx context.Context, alike *choice, widths *taskNoise) (*weighted, error) {
	tasks := alike.s.some
	best, err := f.weighRank(ctx, alike.Rank, alike, widths, tasks)
	for err == nil && f.Rank == nil {
		var lower *weighted
		lower, err = f.weighRank(ctx, best.Rank-1, alike, widths, tasks)
		if err != nil || lower == nil {
			break
		}
		if lower.evidence-lower.penalty <= best.evidence-best.penalty {
			break
		}
		best = lower
	}
	return best, err
}

// weighRank returns the choice with noise by task in its weights at the rank of an equal choice, or at
// another one of the compared forms, on some tasks. It returns nil where no form has that rank, or where the
// tasks do not differ in their noise there.
func (f *fitter) weighRank(ctx context.Context, rank int, alike *choice, widths *taskNoise,
	tasks *taskSet) (*weighted, error) {
	if rank == alike.Rank {
		return alike.weighTasks(ctx, tasks, widths, polish)
	}
	at := slices.IndexFunc(f.all, func(c choice) bool { return c.Curves == alike.Curves && c.Rank == rank })
	if at < 0 {
		return nil, nil
	}
	other, err := f.all[at].finish(ctx, tasks)
	if err == nil && alike.s.design.Periods != nil {
		other, err = other.under(ctx, alike.s, tasks)
	}
	if err != nil {
		return nil, err
	}
	noise, err := other.noiseOfTasks(ctx, tasks)
	if err != nil || noise == nil {
		return nil, err
	}
	return other.weighTasks(ctx, tasks, noise, polish)
}

// noiseOfTasks returns the noise of the tasks about a choice with equal noise. It returns nil where the
// likelihood of the residuals does not support that tasks differ.
func (c *choice) noiseOfTasks(ctx context.Context, tasks *taskSet) (*taskNoise, error) {
	if c.q.exact() {
		return nil, nil
	}
	list, err := c.s.residualsOfTasks(ctx, c.m, tasks)
	if err != nil {
		return nil, err
	}
	found, err := fitNoise(ctx, c.s.rows, tasks.inOrder(list))
	if found.refused {
		c.s.rows.guard.tellRefused()
	}
	if err != nil || found.refused || found.gain < noiseNats+float64(0.5*rounded.Log(tasks.count)) {
		return nil, err
	}
	noise := &taskNoise{usual: found.usual, freedom: found.freedom}
	noise.set(list)
	return noise, nil
}

// set sets the posterior variances of the tasks.
func (n *taskNoise) set(list []residualSS) {
	n.variances, n.freedoms = make([]float64, len(list)), make([]float64, len(list))
	for k, e := range list {
		n.freedoms[k] = n.freedom + e.freedom
		n.variances[k] = max((float64(n.freedom*n.usual)+e.squares)/n.freedoms[k], leastNoise)
	}
}

// weighTasks returns the choice after optimisation on some tasks with noise by task: at first with the given
// noise, in at most first evaluations, and then with the noise of the residuals that follow.
func (c *choice) weighTasks(ctx context.Context, tasks *taskSet, noise *taskNoise, first int) (*weighted, error) {
	own := &taskNoise{noise.usual, noise.freedom, slices.Clone(noise.variances), noise.freedoms}
	out := &weighted{*c, own}
	for round := range noiseRounds {
		if round > 0 {
			list, err := out.s.residualsOfTasks(ctx, out.m, tasks)
			if err != nil {
				return nil, err
			}
			found, err := fitNoise(ctx, out.s.rows, tasks.inOrder(list))
			if err != nil {
				return nil, err
			}
			if found.gain > 0 {
				out.noise.usual, out.noise.freedom = found.usual, found.freedom
			}
			if !found.refused {
				out.noise.set(list)
			}
		}
		out.s = out.s.withNoise(out.noise.variances, out.q.noise)
		s, most := out.s, first
		if round > 0 && tasks == s.some {
			most = 3 * iterations
		}
		end, err := s.optimise(ctx, tasks, out.q, most)
		if err != nil {
			return nil, err
		}
		end.converged = end.converged || tasks != s.some && out.converged
		out.noise.scale(end.q.noise / out.q.noise)
		out.optimum = *end
	}
	return out, nil
}

// scale multiplies the variances.
func (n *taskNoise) scale(factor float64) {
	n.usual *= factor
	floats.Scale(factor, n.variances)
}

// residualsOfTasks returns the sums for tasks of this owner at the mean's posterior, which those tasks give,
// in units of their variance at ratio 1. A task out of range has none: it is out of range in the sums of the
// next optimiser.
func (s *stats) residualsOfTasks(ctx context.Context, m *meanPosterior, tasks *taskSet) ([]residualSS, error) {
	list := make([]residualSS, len(s.packed))
	share := m.determined / tasks.rows
	t := s.solveOwn(ctx, m.prior, tasks, 0, func(w *worker, k int, _ []float64) {
		w.solver.Coefficients(w.v, nil, m.mean, nil)
		edf := w.solver.Effective()
		n := float64(w.task.Rows)
		list[k] = residualSS{w.task.Residual(w.v) / s.meanBound(k), max(n-edf-float64(share*n), 0)}
	})
	if errors.Is(t.err, errNumeric) {
		t.err = nil
	}
	return list, t.err
}

// meanBound returns the mean of the bounds of a task's rows. It is low for a task with much noise.
func (s *stats) meanBound(k int) float64 {
	if s.bounds == nil {
		return 1
	}
	sum, list := 0.0, s.rows.of(k)
	for _, i := range list {
		sum += s.bounds[i]
	}
	return sum / float64(len(list))
}

// A noiseFit is the scale and the degrees of freedom of variances of tasks with the largest likelihood. gain
// is the difference of its logarithm from the evidence with a common variance. refused: some owner is against
// noise by task.
type noiseFit struct {
	usual, freedom, gain float64
	refused              bool
}

// absurd is the number of times that residuals may have the squares of the distances from the mean target.
const absurd = 4

// refuses reports whether an owner is against noise by task: its residuals are larger than the distances of
// its targets from their mean, so that the model is not one of its rows. A member that lies about the mean
// could otherwise have all tasks but one count as loud, and see this one alone.
func (g *guard) refuses(list []residualSS) bool {
	if g == nil {
		return false
	}
	r := g.rows
	residuals, n, mean, squares := 0.0, 0.0, 0.0, 0.0
	for _, e := range list {
		residuals += e.squares
	}
	for _, i := range g.counted() {
		z, w := r.standardized(int(i), r.target.Log), r.weight(int(i))
		n += w
		d := z - mean
		mean += w * d / n
		squares += float64(w * d * (z - mean))
	}
	return residuals > absurd*squares
}

// tellRefused keeps a sentence about all owners where one of them is against noise by task.
func (g *guard) tellRefused() {
	const refused = "All tasks have the same noise: at some owner residuals are much larger than the distances of " +
		"its targets from their mean, as in few rows that are alike."
	if !slices.Contains(g.did, refused) {
		g.noteAll(refused)
	}
}

// noiseGrid is the number of degrees of freedom that are compared, 1 to 1024.
const noiseGrid = 41

// fitNoise returns the distribution of noise over the tasks of all owners. For a sum q with d degrees of
// freedom and v ~ inverse chi-squared(f, s) the likelihood of v^(-d/2) exp(-q/2v) is
//
//	Gamma((f+d)/2) / Gamma(f/2) (f s/2)^(f/2) / ((f s + q)/2)^((f+d)/2).
//
// For every f of a grid, Newton's method finds the best s by its logarithm.
func fitNoise(ctx context.Context, r *rows, list []residualSS) (noiseFit, error) {
	against := map[bool]float64{true: 1}[r.guard.refuses(list)]
	list = slices.DeleteFunc(slices.Clone(list), func(e residualSS) bool { return e.freedom < leastDF })
	sums := []float64{0, 0, 0, against}
	for _, e := range list {
		floats.Add(sums[:3], []float64{e.squares, e.freedom, 1})
	}
	err := r.add(ctx, "residuals, owners against noise by task", &total{v: sums, grows: anyNumber})
	if refused := sums[3] > 0; err != nil || refused || !(sums[0] > 0 && sums[1] > 0) {
		return noiseFit{refused: refused}, err
	}
	tasks, common := sums[2], sums[0]/sums[1]
	degrees, scales := make([]float64, noiseGrid), make([]float64, noiseGrid)
	for i := range degrees {
		degrees[i], scales[i] = rounded.Exp(float64(i)/4*math.Ln2), common
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
			above, below := rounded.LogGamma((f+e.freedom)/2), rounded.LogGamma(f/2)
			unit := f * scales[i] / 2
			size, far := rounded.Log(unit), rounded.Log1p(e.squares/2/unit)
			likelihoods[i] += above - below - float64(e.freedom/2*size) - float64((f+e.freedom)/2*far)
		}
	}
	t, out := &total{v: likelihoods}, make([]float64, 3)
	err = r.decide(ctx, "likelihoods of noise", out, func() {
		best := floats.MaxIdx(likelihoods)
		half := float64(sums[1] / 2)
		alike := float64(-half*rounded.Log(common)) - half
		copy(out, []float64{scales[best], degrees[best], likelihoods[best] - alike})
	}, t)
	if err == nil && !(out[0] > 0 && out[1] > 0) {
		err = contradiction("the noise of tasks")
	}
	return noiseFit{usual: out[0], freedom: out[1], gain: out[2]}, err
}

// inOrder returns the residual sums of the own tasks of a set, in their order, from a list of all tasks of
// the table.
func (t *taskSet) inOrder(all []residualSS) (list []residualSS) {
	for _, k := range t.own {
		list = append(list, all[k])
	}
	return list
}

const (
	noiseSteps = 100
	noiseStill = 1e-9 // longest step of the logarithm of a scale after which all count as found
)

// noiseStep takes a Newton step of every scale towards a zero of the derivative of the likelihood by its
// logarithm, and returns the length of the longest.
func noiseStep(ctx context.Context, r *rows, list []residualSS, tasks float64,
	degrees, scales []float64) (longest float64, err error) {
	n := len(scales)
	v := make([]float64, 2*n)
	for i, f := range degrees {
		for _, e := range list {
			whole := float64(f*scales[i]) + e.squares
			part := (f + e.freedom) * scales[i] / whole
			v[i] += part
			v[n+i] += part * e.squares / whole
		}
	}
	t, out := &total{v: v}, make([]float64, n+1)
	err = r.decide(ctx, "derivatives of noise", out, func() {
		for i, scale := range scales {
			step := max(min((tasks-v[i])/max(v[n+i], 1e-300), 1), -1)
			out[i] = scale * rounded.Exp(step)
			out[n] = max(out[n], math.Abs(step))
		}
	}, t)
	copy(scales, out)
	if err == nil && !(slices.Min(scales) > 0) {
		err = contradiction("the noise of tasks")
	}
	return out[n], err
}
