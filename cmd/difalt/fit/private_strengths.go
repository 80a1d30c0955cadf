package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// estimatePrivate fits the tasks of this process by what was told of all. How strong the loadings, the intercepts and the other deviations are, and the noise,
// it finds by the likelihood of its own tasks, and tells nobody.
func (s *privateFit) estimatePrivate(ctx context.Context, res *difalt.PrivateResult) (*evidence.Rows, *estimate, error) {
	workers, w := parallel.Workers(s.c.Options.Workers), s.width()
	rows := &evidence.Rows{Tasks: s.compressed(ctx, workers), Source: s, Width: w, Count: float64(s.about.Tasks), Total: float64(s.total), Workers: workers}
	l := &ownLikelihood{rows: rows, mean: append(slices.Clone(res.Mean), 0)}
	if res.U != nil {
		from := res.Loadings()
		for a := range s.c.Rank {
			l.loadings = append(append(l.loadings, from.Col(a)[:w-1]...), 0)
		}
		l.rank = s.c.Rank
	}
	prior, noise := l.best()
	e := &estimate{Posterior: &mixedmodel.Posterior{Prior: prior, Mean: l.mean, S: prior.Covariance(), Noise: noise, Freedom: max(float64(s.total), 1)}}
	e.MeanCovariance = make([]float64, w*w)
	for j := range w {
		off, tasks := res.MeanDeviation, rows.Count
		if j == w-1 {
			off = s.centerNoise[w-1] / s.TargetScale
			if s.clipped { // their mean is as far off as one of them may be
				tasks = 1
			}
		}
		e.MeanCovariance[j*w+j] = off*off/noise + e.S[j*w+j]/tasks
	}
	var err error
	e.theta, err = s.coefficients(ctx, rows, e.Posterior)
	return rows, e, err
}

// axes returns the standard deviations along the loadings, in the unit of the target.
func (s *privateFit) axes(e *estimate) (list []float64) {
	for a := range e.Rank {
		list = append(list, blas64.Nrm2(mixedmodel.Vector(e.Column(a)))*math.Sqrt(e.Noise)*s.TargetScale)
	}
	return list
}

// ownLikelihood is that of strengths, by the tasks of a process, for a mean and directions of loadings that are known.
type ownLikelihood struct {
	rows           *evidence.Rows
	mean, loadings []float64
	rank           int
}

// best returns the prior of the largest likelihood, and the noise, by steps up and down in each number that become shorter. These are binary
// logarithms of Intercept, of Spread and of the length squared of each loading, and how far the level of a task goes along with it, in quarters.
func (l *ownLikelihood) best() (*mixedmodel.Prior, float64) {
	at := make([]float64, 2+2*l.rank)
	if l.rank > 0 {
		at[1] = -6
	}
	const reach = 30
	value, noise := l.value(at)
	for step := 8.0; step >= .5; {
		moved := false
		for j := range at {
			for _, by := range []float64{step, -step} {
				next := append([]float64(nil), at...)
				if next[j] += by; math.Abs(next[j]) > reach {
					continue
				}
				if v, n := l.value(next); v < value {
					value, noise, at, moved = v, n, next, true
					break
				}
			}
		}
		if !moved {
			step /= 2
		}
	}
	return l.prior(at), noise
}

func (l *ownLikelihood) prior(at []float64) *mixedmodel.Prior {
	p := &mixedmodel.Prior{W: len(l.mean), Rank: l.rank, Loadings: append([]float64(nil), l.loadings...), Intercept: math.Exp2(at[0]), Spread: math.Exp2(at[1])}
	for a, v := range at[2:][:l.rank] {
		p.Column(a)[p.W-1] = at[2+l.rank+a] / 4
		floats.Scale(math.Exp2(v/2), p.Column(a))
	}
	return p
}

// value returns -2 log likelihood, N log(e'V^-1 e / N) + log det V of all N rows, and the variance of the noise e'V^-1 e / N.
func (l *ownLikelihood) value(at []float64) (value, noise float64) {
	by, rest, rows := l.prior(at).Deviations(), 0.0, 0.0
	for g, tasks := range l.rows.Tasks {
		parts := make([][2]float64, len(tasks))
		parallel.For(context.Background(), l.rows.Workers, len(tasks), func(_, i int) {
			t, memory := l.rows.Task(g, i)
			defer memory.Put()
			k, ok := t.WhitenInPlace(by)
			if !ok {
				parts[i] = [2]float64{0, math.Inf(1)}
				return
			}
			parts[i] = [2]float64{t.Rest, k.LogDet}
			for r, y := range k.Y {
				parts[i][0] += math.Pow(y-floats.Dot(k.Z[r*len(l.mean):][:len(l.mean)], l.mean), 2)
			}
		})
		for i, p := range parts {
			rest += p[0]
			value += p[1]
			rows += l.rows.Samples(g, i)
		}
	}
	noise = max(rest/max(rows, 1), evidence.NoiseFloor)
	return value + rows*math.Log(noise), noise
}
