package mixed

import (
	"context"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

// The posterior of a task's coefficients is that for given variance components. They are estimates, and of
// few tasks uncertain ones. Let S be the covariance of deviations, M = X'V^-1 X of the task, and u = X'V^-1
// (y - X mean), so that theta = mean + S u. The error of the mean, of covariance C, moves theta by I - S M
// times itself. An error d of the variance of the deviations in the columns J moves theta by (I - S M) (d
// u_J), where u_J has the covariance M_JJ in the mean (Kackar and Harville 1984). So the uncertainty of
// components adds to C, for every group J of columns with one variance, M_JJ times the variance of its
// estimate. This counts twice: the posterior variance is concave in the components, and so too small by as
// much again (Prasad and Rao 1990). The noise is an estimate, too: as in a regression, the posterior
// covariance is in units of its variance, so that it is widened from normal intervals to intervals of
// Student's t. With many tasks all of it vanishes.

// twice is the number of times that the uncertainty of variance components counts.
const twice = 2.0

// varianceErrors returns the variance of the estimate of sigma^2 for every group of columns: the inverse of
// its expected information for T tasks with the mean information m = M/T, 2 / ((T - 1) sum m_ij^2) over the
// group's columns. Tasks of different sizes have more information than that. 0: the group has no deviations.
func (c *choice) varianceErrors() []float64 {
	s, q, m := c.s, c.q, c.m.m
	list, count := make([]float64, len(q.sigma)), max(s.tasks.count, 2)
	for i, g := range q.group {
		for j, h := range q.group {
			if g == h && s.within[i] && s.within[j] {
				list[g] += square(m[i*s.p+j] / count)
			}
		}
	}
	for g, v := range list {
		if v > 0 {
			list[g] = 2 / ((count - 1) * v)
		}
	}
	return list
}

// freedom returns the degrees of freedom of the noise: the number of rows less the effective number of
// coefficients, and less the number of strengths that the rows determine. Errors about coefficients whose
// strengths the same rows have chosen are too small (Greven and Kneib 2010). A direction counts as a
// strength.
func (c *choice) freedom() float64 { return max(c.z.residual/c.q.noise-c.strengths(), 1) }

// strengths returns the number of strengths of deviations that the rows determine: 1 for every direction, and
// for every kind of columns 1 for the common strength, or for the only one. A column's own strength counts by
// the share n/(n + ownPrior) of its n deviations, and the common strength by the rest.
func (c *choice) strengths() float64 {
	s, q := c.s, c.q
	deviations, kinds := make([]float64, len(q.sigma)), make([]ColumnKind, len(q.sigma))
	for j, g := range q.group {
		if s.within[j] && q.sigma[g] > 0 {
			deviations[g] += s.tasks.count
			kinds[g] = s.columns[j].Kind
		}
	}
	sum, left := float64(q.rank), [curveGroup + 1]float64{} // left has the largest rest of a kind
	for g, n := range deviations {
		if n > 0 {
			share := n / (n + ownPrior)
			sum += share
			left[kinds[g]] = max(left[kinds[g]], 1-share)
		}
	}
	for _, v := range left {
		sum += v
	}
	return sum
}

// meanFactor returns the factor of C for the task of a worker. The loadings are uncertain as slopes of the
// mean are: of the task that has b on the directions, they are known like a mean with 1 + |b|^2 times the
// variance.
func (c *choice) meanFactor(w *worker) float64 {
	w.solver.Score(w.u, c.m.mean)
	size := 1.0
	for a := range c.q.rank {
		size += square(rounded.Dot(c.m.prior.Loadings[a*c.s.p:][:c.s.p], w.u))
	}
	return size
}

// strengthErrors returns what the uncertainty of variance components adds to C for a unit of M, in the groups
// of columns with one variance.
func (c *choice) strengthErrors(widening float64) *Strengths {
	s, errors := c.s, c.varianceErrors()
	out := &Strengths{Widening: widening, Groups: make([]int, s.p), Variances: make([]float64, s.p)}
	share := 1 - 1/max(s.tasks.count, 2) // of the covariance of u that the mean leaves
	for j := range out.Groups {
		out.Groups[j] = -1
		if s.within[j] && len(c.q.group) > 0 {
			g := c.q.group[j]
			out.Groups[j], out.Variances[j] = g, twice*share*errors[g]
		}
	}
	return out
}

// uncertain returns C for the task of a worker with what the uncertainty of variance components adds to it.
// The result is valid until the next call with the worker.
func (c *choice) uncertain(w *worker, strengths *Strengths) []float64 {
	p := c.s.p
	w.uncertain = dense.Grow(w.uncertain, p*p)
	floats.ScaleTo(w.uncertain, c.meanFactor(w), c.m.c)
	information, _ := w.solver.Information()
	for i, g := range strengths.Groups {
		for j, h := range strengths.Groups {
			if g == h && g >= 0 {
				w.uncertain[i*p+j] += float64(strengths.Variances[i] * information[i*p+j])
			}
		}
	}
	return w.uncertain
}

// coefficients returns the coefficients of all tasks of the table.
func (c *choice) coefficients(ctx context.Context) ([]float64, error) {
	s := c.s
	p, all := s.p, s.allTasks()
	theta := make([]float64, len(all)*p)
	_, err := s.reduceOwn(ctx, all, 0, func(w *worker, k int, _ []float64) error {
		err := s.set(w, c.m.prior, k)
		if err == nil {
			w.solver.Coefficients(theta[k*p:][:p], nil, c.m.mean, nil)
		}
		return err
	})
	return theta, err
}

// covariances returns the covariances of the coefficients of all tasks of the table, and the strengths of
// reduced ones. Both are nil if covariances have more than most numbers. freedom has the degrees of freedom
// of the noise. The tasks are forgotten: a covariance may have as many numbers as the rows of its task.
func (c *choice) covariances(ctx context.Context, freedom float64, most int) (list []Covariance, strengths *Strengths,
	err error) {
	s := c.s
	p, all, numbers := s.p, s.allTasks(), 0.0
	for _, k := range all {
		numbers += float64(s.covarianceSize(k))
	}
	if numbers > float64(most) {
		return nil, nil, nil
	}
	list, strengths = make([]Covariance, len(all)), c.strengthErrors(square(interval95(freedom)))
	_, err = s.reduceOwn(ctx, all, 0, func(w *worker, k int, _ []float64) error {
		if err := s.set(w, c.m.prior, k); err != nil {
			return err
		}
		defer s.forgetTask(k)
		if isReduced(len(s.rows.of(k)), p) {
			var err error
			list[k], err = w.solver.reduced()
			list[k].MeanFactor = c.meanFactor(w)
			return err
		}
		w.cov = dense.Grow(w.cov, p*p)
		w.solver.Coefficients(w.v, w.cov, c.m.mean, c.uncertain(w, strengths))
		floats.Scale(strengths.Widening, w.cov)
		list[k].Packed = dense.Pack(make([]float64, 0, dense.Triangle(p)), p, w.cov)
		return nil
	})
	if !slices.ContainsFunc(list, func(c Covariance) bool { return c.Packed == nil }) {
		strengths = nil
	}
	return list, strengths, err
}

// allTasks lists the tasks of the table.
func (s *stats) allTasks() []int {
	list := make([]int, len(s.rows.in.Table.Tasks()))
	for k := range list {
		list[k] = k
	}
	return list
}

// covarianceSize returns how many numbers the covariance of task k has.
func (s *stats) covarianceSize(k int) int {
	if n := len(s.rows.of(k)); isReduced(n, s.p) {
		return n * (s.p + 1)
	}
	return dense.Triangle(s.p)
}
