package mixed

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

// improve returns the variance components after one iteration: a scaled gradient step on the loadings and
// closed forms for all else. With common strengths, every sigma has their prior with the weight of ownPrior
// numbers.
func (s *stats) improve(tasks *taskSet, q *varianceComponents, m *meanPosterior, z *scoreSums) *varianceComponents {
	p, count := s.p, tasks.count
	out := &varianceComponents{rank: q.rank, fixed: q.fixed, group: q.group, common: q.common,
		sigma: slices.Clone(q.sigma)}
	edf, n := 0.0, make([]float64, len(q.sigma))
	change := make([]float64, len(q.sigma)) // sum of E e_j^2 - 1 over tasks and columns
	for j, g := range q.group {
		if s.within[j] {
			v := q.sigma[g] * q.sigma[g]
			edf += float64(v * (m.m[j*p+j] - z.spread[j]))
			change[g] += float64(v * (z.scores[j] + z.spread[j] - m.m[j*p+j]))
			n[g] += count
		}
	}
	for g, v := range q.sigma {
		if n[g] == 0 {
			continue
		}
		squares := float64(v * v * max(n[g]+change[g], 1e-12*n[g]))
		if q.common != nil {
			squares += float64(ownPrior * q.common[g] * q.common[g])
			n[g] += ownPrior
		}
		out.sigma[g] = math.Sqrt(squares / n[g])
	}
	edf += s.improveLoadings(out, q, m, z, tasks)
	out.noise = max((z.residual+float64(q.noise*(edf+m.determined)))/tasks.rows, leastNoise)
	out.tau = s.improveMean(q, m)
	return out
}

// improveMean returns the root mean squares of the mean's entries, E mu^2 = mean^2 + C, by group.
func (s *stats) improveMean(q *varianceComponents, m *meanPosterior) []float64 {
	tau, n := make([]float64, len(q.tau)), make([]float64, len(q.tau))
	for j := 1; j < s.p; j++ {
		if s.active[j] {
			tau[s.group[j]] += float64(m.mean[j]*m.mean[j]) + m.c[j*s.p+j]
			n[s.group[j]]++
		}
	}
	for k := range tau {
		tau[k] = min(max(math.Sqrt(tau[k]/max(n[k], 1)), leastTau), mostTau)
	}
	if q.fixed {
		copy(tau, q.tau)
	}
	return tau
}

// improveLoadings sets out.w to (W + (sum G/noise)^-1 gradient B^-1) chol(B), where B is the mean of E b b'
// over tasks. This is the scaled gradient step of AltGDmin, followed by the change of basis that makes B the
// identity. It returns the degrees of freedom of the loadings, tr W'(M - M C M) W.
func (s *stats) improveLoadings(out, q *varianceComponents, m *meanPosterior, z *scoreSums,
	tasks *taskSet) (edf float64) {
	p, l, r, count := s.p, s.linear, q.rank, tasks.count
	if r == 0 {
		return 0
	}
	gradient, step := dense.General(r, l, make([]float64, r*l)), make([]float64, r*l)
	b := dense.General(r, r, make([]float64, r*r))
	mw := make([]float64, p)
	for a := range r {
		dense.Symv(1, dense.Symmetric(p, m.m), dense.Vector(m.prior.Loadings[a*p:][:p]), 0, dense.Vector(mw))
		row := gradient.Data[a*l:][:l]
		for j := range row {
			sandwich := z.sandwich[a*p+j]
			row[j] = z.outer[a*p+j] + sandwich - mw[j]
			edf += float64(q.w[a*l+j] * (mw[j] - sandwich))
		}
		for k := range r {
			b.Data[k*r+a] = rounded.Dot(q.w[k*l:][:l], row) / count
		}
		b.Data[a*r+a]++
	}
	for i := range r {
		for k := range i {
			b.Data[k*r+i] = (b.Data[k*r+i] + b.Data[i*r+k]) / 2
		}
	}
	out.w = append([]float64(nil), q.w...)
	factor, ok := dense.Potrf(dense.Symmetric(r, b.Data))
	if !ok {
		return edf // the next evaluation shows whether these loadings are any better
	}
	copy(step, gradient.Data)
	s.preconditioner(step, r, q.noise*s.tasks.rows/tasks.rows)
	all := dense.General(r, l, step)
	dense.Trsm(blas.Left, blas.Trans, 1, factor, all)
	dense.Trsm(blas.Left, blas.NoTrans, 1, factor, all)
	floats.Add(out.w, step)
	// W chol(B): with B = R'R the columns of W R'.
	dense.Trmm(blas.Left, blas.NoTrans, 1, factor, dense.General(r, l, out.w))
	s.bar(out.w)
	return edf
}

// bar sets the loadings of barred columns to 0.
func (s *stats) bar(w []float64) {
	for i := range w {
		if s.barred[i%s.linear] {
			w[i] = 0
		}
	}
}

// preconditioner multiplies the rows of x, r x linear, by noise (sum G + 1e-6 trace(sum G)/n I)^-1 for n
// columns that vary.
func (s *stats) preconditioner(x []float64, r int, noise float64) {
	l := s.linear
	if s.gram == nil {
		trace := 0.0
		for j := range l {
			trace += s.total[j*s.p+j]
		}
		s.gram = make([]float64, l*l)
		for i := range l {
			copy(s.gram[i*l:(i+1)*l], s.total[i*s.p:i*s.p+l])
			s.gram[i*l+i] += 1e-6 * trace / float64(s.directions())
		}
		dense.Potrf(dense.Symmetric(l, s.gram)) // definite by the ridge
	}
	factor := dense.Upper(l, s.gram)
	all := dense.General(r, l, x)
	dense.Trsm(blas.Right, blas.NoTrans, noise, factor, all)
	dense.Trsm(blas.Right, blas.Trans, 1, factor, all)
}
