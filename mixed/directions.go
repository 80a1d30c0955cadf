package mixed

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

const (
	ridgeStart   = 0.3 // standard deviation of the slopes whose main axis starts a direction
	leastLoading = 0.05
)

// countPenalty returns half the number of free loadings of a rank times the logarithm of the number of tasks.
func (s *stats) countPenalty(tasks *taskSet, rank int) float64 {
	free := float64(s.loadings()*rank - rank*(rank-1)/2)
	return free / 2 * rounded.Log(max(tasks.count, 2))
}

// rankPenalty returns what the evidence loses by the loadings of q, which it has been maximised over: at
// least their countPenalty. That one is right for many tasks. Of few tasks with few rows the loadings of many
// columns may follow every row. The noise is then so small that they are determined to many digits, and by
// Laplace's method the evidence over all loadings is lower by the logarithm of their prior deviation over
// their posterior one:
//
//	r/2 log det(I + s^2 sum X'X / noise),
//
// for loadings of mean square s^2 and coefficients of mean square 1.
func (s *stats) rankPenalty(tasks *taskSet, q *varianceComponents) float64 {
	if q.rank == 0 {
		return 0
	}
	l, squares := s.linear, rounded.Dot(q.w, q.w)
	scale := squares / float64(s.directions()*q.rank) / q.noise * tasks.rows / s.tasks.rows
	a := make([]float64, l*l)
	for i := range l {
		for j := i; j < l; j++ {
			if !s.barred[i] && !s.barred[j] {
				a[i*l+j] = float64(scale * s.total[i*s.p+j])
			}
		}
		a[i*l+i]++
	}
	log := 0.0
	if _, ok := dense.Potrf(dense.Symmetric(l, a)); ok {
		for i := range l {
			log += float64(float64(q.rank) * rounded.Log(a[i*l+i]))
		}
	}
	return max(log, s.countPenalty(tasks, q.rank))
}

// loadings returns the number of loadings of a direction, those off the axes of a design included.
func (s *stats) loadings() int {
	if s.design.Axes == nil {
		return s.directions()
	}
	n := 1
	for _, scale := range s.design.Scale {
		if scale > 0 {
			n++
		}
	}
	return n
}

// directions returns the number of columns that loadings act on: the constant and the features that vary.
func (s *stats) directions() (n int) {
	for _, a := range s.active[:s.linear] {
		if a {
			n++
		}
	}
	return n
}

// addDirection returns variance components with one more column of loadings: half the leading principal axis
// of ridge deviations from a mean, off the columns before.
func (s *stats) addDirection(ctx context.Context, q *varianceComponents, mean []float64) (*varianceComponents, error) {
	l, ridge := s.linear, *q
	ridge.sigma, ridge.rank, ridge.w = []float64{q.sigma[0] + 0.05, ridgeStart, 0}, 0, nil
	t := s.solveOwn(ctx, s.prior(&ridge), s.some, l*l, func(w *worker, _ int, part []float64) {
		w.solver.Score(w.u, mean)
		w.solver.Deviate(w.v, w.u)
		dense.Syr(1, dense.Vector(w.v[:l]), dense.Symmetric(l, part))
	})
	t.order = l
	var out *varianceComponents
	w := make([]float64, l*(q.rank+1))
	err := s.rows.decide(ctx, "slopes b b'", w, func() {
		out = q.withDirection(t.v, l, s.some.count)
		copy(w, out.w)
	}, t)
	if err != nil {
		return nil, err
	}
	copy(out.w, w)
	s.bar(out.w)
	return out, nil
}

// withDirection returns variance components with one more column of loadings of length l, from the sum of b
// b' over a number of tasks.
func (q *varianceComponents) withDirection(sum []float64, l int, tasks float64) *varianceComponents {
	dense.Mirror(l, sum)
	axis, length := leading(sum, l, orthonormal(q.w, l, q.rank))
	floats.Scale(max(math.Sqrt(length/tasks)/2, leastLoading), axis)
	out := q.clone()
	out.rank++
	out.w = append(out.w, axis...)
	for g, sigma := range out.sigma {
		if sigma > 0 {
			out.sigma[g] = max(sigma, 0.02)
		}
	}
	return out
}

// orthonormal returns a basis of the r columns of w, l entries each, one after the other.
func orthonormal(w []float64, l, r int) []float64 {
	out := make([]float64, 0, l*r)
	for a := range r {
		out = append(out, off(w[a*l:][:l], out)...)
	}
	return out
}

// off returns the unit vector along the part of v that is orthogonal to orthonormal columns.
func off(v, columns []float64) []float64 {
	out := slices.Clone(v)
	for l := len(v); len(columns) > 0; columns = columns[l:] {
		rounded.AddScaled(out, -rounded.Dot(out, columns[:l]), columns[:l])
	}
	if n := rounded.Norm(out); n > 0 {
		floats.Scale(1/n, out)
	} else {
		out[0] = 1
	}
	return out
}

// leading returns the leading eigenvector of the symmetric l x l matrix a off orthonormal columns, and its
// eigenvalue. Power iteration from the row of the largest diagonal entry is near enough for a start.
func leading(a []float64, l int, columns []float64) (axis []float64, value float64) {
	best := 0
	for i := range l {
		if a[i*l+i] > a[best*l+best] {
			best = i
		}
	}
	next := slices.Clone(a[best*l:][:l])
	for range 100 {
		axis = off(next, columns)
		dense.Symv(1, dense.Symmetric(l, a), dense.Vector(axis), 0, dense.Vector(next))
	}
	return axis, max(rounded.Dot(axis, next), 0)
}
