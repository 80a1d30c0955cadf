package difalt

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Where a run does not move any more it need not be at a minimum. With U q, q the eigenvector of
// P for which E(U q) is least, the direction of U of which the tasks say least, and e_t the
// residuals, it is at a saddle point if some direction v outside of U would explain more:
//
//	E(v) = sum_t (v'X_t'e_t)^2/n_t   above   E(U q) = sum_t (q'b_t)^2 / (q'(U'X_t'X_t U)^-1 q),
//
// what the objective would rise by without U q. Under noise that happens: U q is then fitted
// noise, and all that follows from P as well, the statistical error for one. So before a run
// ends as converged where E(U q) may be noise, the nodes look: power iterations on
// sum_t X_t'e_t e_t'X_t find the best v, and the objective along the arc from U q to v tells.
const (
	// The nodes look where the smallest eigenvalue of P, in units of what noise alone makes
	// the largest one, is below suspicious. A share counts for no less, unless what is left
	// is more than noise.
	suspicious = 100
	lookFor    = 3 // directions in a power iteration
	lookTimes  = 4 // power iterations
	// An objective of this part of the sum of y^2 is rounding.
	exact = 1e-20
	// An objective is lower if it is by more than this part.
	lower = 1e-7
	// A direction is known where it explains more than this, in units of what noise can, and
	// takes no more than this share of the samples that it is made of.
	standsOut, mostShare = 1.2, 0.5
	// A run leaves a saddle point at most so many times.
	mostEscapes = 12
)

// arc is how far U q is turned towards v.
var arc = [...]float64{-1.2, -0.8, -0.4, -0.15, 0.15, 0.4, 0.8, 1.2, math.Pi / 2}

// A view is what the nodes know of the direction that the tasks say least of.
type view struct {
	weak, next float64 // E(U q) and E(v), in units of the edge of noise
	share      float64 // of the samples that the d numbers of U q take, of the tasks that it is made of
	at         int     // of the arc, where the objective is lowest; -1: at U itself
}

// noiseEnergy is the largest E that noise alone, of the variance that an objective tells, makes of
// a direction which is chosen for it.
func (k *data) noiseEnergy(objective float64) float64 { return k.edge(objective / max(k.free(), 1)) }

// isSuspicious reports whether the direction that the tasks say least of may be noise, or whether a
// few tasks may have one for themselves: one that their samples hardly see, with large b_t. Then
// b_t'P^-1 b_t, r in the sum over all tasks, are large for these. Where nothing is left to explain
// there is nothing to suspect.
func (s *Solver) isSuspicious(ctx context.Context, objective float64) (bool, error) {
	d, p, r := s.data, s.stop.gauge.p, s.o.Rank
	if objective <= exact*d.squares() {
		return false, nil
	}
	left := max(d.meanSamples()-float64(r)-1, 1) * d.variance()
	if p.values[0]*left < suspicious*d.noiseEnergy(objective) {
		return true, nil
	}
	sums, err := s.sum(ctx, 1, func(i int, sum []float64) {
		for b := s.at.groups[i].B; len(b) > 0; b = b[r:] {
			h := 0.0
			for k, v := range b[:r] {
				h += v * floats.Dot(p.inverse[k*r:][:r], b[:r])
			}
			sum[0] += h * h
		}
		finiteOr(sum, 0)
	})
	return err == nil && d.share(sums[0]) > 1, err
}

// share is how many numbers a direction has for a sample of the tasks that it is made of, given
// sum c^4 / (sum c^2)^2 of what these have in it.
func (k *data) share(few float64) float64 {
	return float64(k.features) * few / max(k.meanSamples()-float64(k.rank), 1)
}

// settle decides what a run that does not move any more has arrived at: Running says at a
// saddle point, with bases of a lower objective in z.
func (s *Solver) settle(ctx context.Context, objective float64) (Status, error) {
	m := s.stop
	if s.o.AnyStationary {
		return Converged, nil
	}
	if suspicious, err := s.isSuspicious(ctx, objective); !suspicious || err != nil {
		return Converged, err
	}
	for _, v := range m.gauge.p.values {
		objective += s.data.ridge * v
	}
	w, err := s.look(ctx, objective)
	if err != nil {
		return Running, err
	}
	s.o.Logger.Debug("looked", "weakest", w.weak, "next", w.next, "lower", w.at, "share", w.share)
	m.standing = &Standing{Weakest: w.weak, Next: w.next, Share: w.share}
	switch {
	case w.at >= 0 && m.escapes < mostEscapes:
		return Running, nil
	case w.at >= 0 || w.weak < standsOut || w.share > mostShare && (w.weak < suspicious || w.next > 1):
		return Undetermined, nil
	}
	m.gauge.noise = max(m.gauge.noise, s.data.tilt(w.weak))
	return Converged, nil
}

// tilt is the sine of the angle to which noise leaves a direction that explains more than noise by
// itself, by a factor weak above 1. Over T tasks a direction that explains theta times the
// variance of the noise, of which there is some in all of d, makes an eigenvalue lambda =
// (1 + theta)(1 + d/(T theta)), and the eigenvector's cosine is
//
//	cos^2 = (1 - d/(T theta^2)) / (1 + d/(T theta))
//
// (Baik, Ben Arous and Peche 2005; Paul 2007). Where P alone is asked, the part of it that noise
// has made for itself is taken for signal.
func (k *data) tilt(weak float64) float64 {
	ratio := float64(k.features) / float64(k.tasks)
	edge := 1 + math.Sqrt(ratio)
	a := weak*edge*edge - 1 - ratio
	theta := (a + math.Sqrt(max(a*a-4*ratio, 0))) / 2
	cos2 := (1 - ratio/(theta*theta)) / (1 + ratio/theta)
	return math.Sqrt(1 - min(max(cos2, 0), 1))
}

// escape goes to the bases that settle has left in z: an iteration in which nothing is sent.
func (s *Solver) escape() {
	s.at.u, s.at.z = s.at.z, s.at.u
	s.pool.Run(s.measureMove)
	s.startMethod()
	s.net.Commit()
	s.at.iteration++
	s.stop.escapes++
	s.stop.gauge.measuring, s.stop.gauge.next = false, s.at.iteration+longestWait
}

// Of every eigenvector q of P the nodes add up E(U q), and sums of (q'b_t)^2 and (q'b_t)^4.
const sumsOfAxis = 3

// look finds what is said above. The nodes have measured, and b_t are fitted. It leaves the
// bases along the arc in z.
func (s *Solver) look(ctx context.Context, objective float64) (w view, err error) {
	r, p := s.o.Rank, s.stop.gauge.p
	axes := make([][]float64, r)
	for k := range r {
		for i := range r {
			axes[k] = append(axes[k], p.vectors[i*r+k])
		}
	}
	left := make([]*kernel.Tasks, len(s.hosted))
	energy, err := s.sum(ctx, sumsOfAxis*r, func(i int, own []float64) {
		left[i] = s.unexplained(i, func(a *mat.Dense, b []float64) {
			for k, q := range axes {
				addExplained(own[sumsOfAxis*k:][:sumsOfAxis], a, b, q, s.data.ridge)
			}
		})
		finiteOr(own, 0)
	})
	if err != nil {
		return w, err
	}
	least, weakest := math.Inf(1), axes[0]
	for k, q := range axes {
		sums := energy[sumsOfAxis*k:][:sumsOfAxis]
		if sums[0] < least {
			least, weakest = sums[0], q
		}
		w.share = max(w.share, s.data.share(sums[2]/(sums[1]*sums[1])))
	}
	v, value, err := s.strongest(ctx, left)
	if err != nil {
		return w, err
	}
	edge := s.data.noiseEnergy(objective)
	w.weak, w.next = least/edge, value/(s.data.meanSamples()*s.data.variance()*edge)
	w.at, err = s.alongArc(ctx, objective, weakest, v)
	return w, err
}

// unexplained returns X_t'e_t of the tasks of hosted node i as samples, and calls each with
// X_t U and b_t.
func (s *Solver) unexplained(i int, each func(a *mat.Dense, b []float64)) *kernel.Tasks {
	k, u, b := s.data.nodes[i], s.at.u[i], s.at.groups[i].B
	d, r := u.Dims()
	out := kernel.NewBuilder(d, []int{k.Len()}, kernel.Float64)
	row, e, g := make([]float64, d), make([]float64, k.MaxSamples()), make([]float64, blas.Pad(d))
	for t := range k.Len() {
		n, bt := k.Samples(t), b[t*r:][:r]
		if n == 0 {
			continue
		}
		a := mat.NewDense(n, r, nil)
		for l, y := range k.Y(t) {
			k.Row(row, t, l)
			for j := range r {
				a.Set(l, j, floats.Dot(row, u.Col(j)))
			}
			e[l] = y - floats.Dot(a.RawRowView(l), bt)
		}
		k.MulTransposed(g, t, e[:n])
		out.SetRow(0, t, g[:d], 0)
		each(a, bt)
	}
	return out.Tasks()
}

// addExplained adds (q'b)^2 over the variance that noise of variance 1 gives q'b, or 0 for a task
// without a unique solution, (q'b)^2 and (q'b)^4 to sums. Without a ridge that variance is
// q'(a'a)^-1 q; a ridge shrinks it as it shrinks b.
func addExplained(sums []float64, a *mat.Dense, b, q []float64, ridge float64) {
	along := floats.Dot(q, b)
	sums[1] += along * along
	sums[2] += along * along * along * along

	gram := mat.NewSymDense(len(b), nil)
	gram.SymOuterK(1, a.T())
	for i := range b {
		gram.SetSym(i, i, gram.At(i, i)+ridge)
	}
	var c mat.Cholesky
	var x mat.VecDense
	if c.Factorize(gram) && c.SolveVecTo(&x, mat.NewVecDense(len(q), q)) == nil {
		v := x.RawVector().Data
		sums[0] += along * along / (floats.Dot(q, v) - ridge*floats.Dot(v, v))
	}
}

// strongest returns the direction for which the sum of the squares of v'X_t'e_t is largest, and
// that sum.
func (s *Solver) strongest(ctx context.Context, left []*kernel.Tasks) (v []float64, value float64, err error) {
	d := s.data.features
	k := min(lookFor, d)
	u := gaussian(d, k, rand.NewPCG(s.o.Seed, 0x5add1e))
	sums := make([][]float64, len(left))
	z := make([]*kernel.Basis, len(left))
	for i := range left {
		z[i] = kernel.NewBasis(d, k)
		sums[i] = z[i].Data()
	}
	small := mat.NewSymDense(k, nil)
	for range lookTimes {
		u.Orthonormalize(nil, nil)
		s.pool.Run(s.each(func(i int) { left[i].GramProduct(z[i], u, nil) }))
		if err := s.net.Sum(ctx, sums); err != nil {
			return nil, 0, err
		}
		for a := range k {
			for b := range a + 1 {
				small.SetSym(a, b, floats.Dot(u.Col(a), z[0].Col(b)))
			}
		}
		u.CopyFrom(z[0])
	}
	var e mat.EigenSym
	if !e.Factorize(small, true) {
		return make([]float64, d), 0, nil
	}
	var w mat.Dense
	e.VectorsTo(&w)
	v = make([]float64, d)
	for j := range k {
		floats.AddScaled(v, w.At(j, k-1), u.Col(j))
	}
	return v, e.Values(nil)[k-1], nil
}

// alongArc looks where the objective is lowest if U q is turned to v, and leaves U there in z.
func (s *Solver) alongArc(ctx context.Context, objective float64, q, v []float64) (best int, err error) {
	groups := make([]*kernel.Group, len(s.data.nodes))
	sums := make([][]float64, len(groups))
	for i, tasks := range s.data.nodes {
		groups[i], sums[i] = kernel.NewGroup(tasks, s.o.Rank), make([]float64, len(arc))
	}
	e := kernel.NewExecutor(s.pool, groups)
	for k, angle := range arc {
		s.turn(q, v, angle)
		e.Minimize(s.at.z, s.data.ridge)
		for i, g := range groups {
			sums[i][k] = s.data.penalized(g)
		}
	}
	for i := range sums {
		finiteOr(sums[i], objective)
	}
	if err := s.net.Sum(ctx, sums); err != nil {
		return 0, err
	}
	if best = floats.MinIdx(sums[0]); !(sums[0][best] < objective*(1-lower)) {
		return -1, nil
	}
	s.turn(q, v, arc[best])
	return best, nil
}

// finiteOr replaces numbers that are out of range, as a ridge near the largest number makes them:
// these may be sent, and what they are about says nothing.
func finiteOr(v []float64, other float64) []float64 {
	for k, x := range v {
		if !finite(x) {
			v[k] = other
		}
	}
	return v
}

// turn sets z = u + (cos a U q + sin a v - U q) q', with v made orthogonal to u.
func (s *Solver) turn(q, v []float64, angle float64) {
	for i, u := range s.at.u {
		weak, other := make([]float64, len(v)), append([]float64(nil), v...)
		for j, c := range q {
			floats.AddScaled(weak, c, u.Col(j))
			floats.AddScaled(other, -floats.Dot(u.Col(j), v), u.Col(j))
		}
		sin, cos := math.Sincos(angle)
		if length := floats.Norm(other, 2); length > 0 {
			floats.Scale(sin/length, other)
		}
		floats.AddScaled(other, cos-1, weak)
		z := s.at.z[i]
		z.CopyFrom(u)
		for j, c := range q {
			floats.AddScaled(z.Col(j), c, other)
		}
		z.Orthonormalize(nil, nil)
	}
}
