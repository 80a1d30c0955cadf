package mixed

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
)

// choose returns the model of the given mean of the slopes and U. With z = x'U it fits what they leave of the
// target,
//
//	y - x'mean = a_t + z'b_t + noise,
//
// by the evidence of the tables of this process, where the b_t have the mean 0.
func (s *privacy) choose(ctx context.Context, res *private.Result) (*choice, error) {
	p, rank, r := s.plain.p, *s.Rank, s.rows
	rest := &Data{TaskNames: s.in.Table.Tasks(), Values: make([][]float64, rank)}
	x, read := make([]float64, p), r.reader()
	for k := range rank {
		rest.Names = append(rest.Names, fmt.Sprint("direction ", k+1))
	}
	for _, i := range r.order {
		s.plain.design.Apply(x, read(int(i)))
		for k := range rank {
			rest.Values[k] = append(rest.Values[k], rounded.Dot(res.U.Col(k), x[1:]))
		}
		rest.TaskOf = append(rest.TaskOf, s.in.Table.Task(int(i)))
		rest.Targets = append(rest.Targets, r.standardized(int(i), false)-rounded.Dot(res.Mean, x[1:]))
	}
	zero := 0
	o := Options{Rank: &zero, NoCurves: true, CommonNoise: true, Workers: s.Workers}
	f := &fitter{Options: o, in: &Input{Table: rest}}
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	start := f.plain.start()
	start.tau[0], start.fixed = leastTau, true
	c := f.plain.candidate(0)
	first := c.newOptimiser(start)
	if err := optimiseAll(ctx, first); err != nil {
		return nil, err
	}
	c.keepHigher(&first.best)
	end, err := c.finish(ctx, c.s.tasks)
	if err != nil {
		return nil, err
	}
	return s.given(res, f, end), nil
}

// given returns the variance components in the design of this process, from those of the intercept and the
// slopes that f has fitted to standardised numbers.
func (s *privacy) given(res *private.Result, f *fitter, end *choice) *choice {
	p, rank, unit := s.plain.p, *s.Rank, f.rows.target.Scale
	prior := &Prior{Deviations: make([]float64, p), Rank: rank, Loadings: make([]float64, p*rank)}
	prior.Deviations[0] = unit * end.m.prior.Deviations[0]
	prior.Noise.Variance = unit * unit * end.q.noise
	intercept := f.rows.target.Center + float64(unit*end.m.mean[0])
	m := &meanPosterior{prior: prior, mean: append([]float64{intercept}, res.Mean...), c: make([]float64, p*p)}
	for k := range rank {
		column := prior.Loadings[k*p:][:p]
		size := f.plain.design.Scale[k]
		if size == 0 {
			continue
		}
		copy(column[1:], res.U.Col(k))
		column[0] = -f.plain.design.Center[k]
		floats.Scale(unit*end.m.prior.Deviations[1+k]/size, column)
	}
	spread, tasks, rows := prior.Covariance(), s.rows.tasks.count, s.rows.tasks.rows
	for j := range p { // the noise for privacy, the sample of tasks, and the noise of their rows
		sample := spread[j*(p+1)] + prior.Noise.Variance*tasks/rows
		m.c[j*(p+1)] = float64(res.MeanDeviation*res.MeanDeviation) + sample/float64(s.tasks)
	}
	out := s.plain.candidate(rank)
	out.optimum = optimum{q: &varianceComponents{noise: prior.Noise.Variance}, m: m, converged: end.converged}
	return &out
}
