package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// plain runs the algorithm on the rows as they are: theta_t = U b_t of the given rank, and
// nothing else.
func (f *fitter) plain(ctx context.Context) (*model.Model, error) {
	if err := f.findExposed(ctx); err != nil {
		return nil, err
	}
	ridge := 0.0
	if f.c.Ridge != nil {
		ridge = *f.c.Ridge
	}
	f.c.Options.Rank = f.c.Rank
	nodes, err := f.t.Pack(f.layout, f.train, f.width(), f.row)
	if err != nil {
		return nil, err
	}
	p := &difalt.Problem{Nodes: nodes, U0: f.c.U0, Start: f.c.Start, Truth: f.c.Truth}
	if err := f.auto(ctx, p); err != nil {
		return nil, err
	}
	if p.U0 == nil && p.Start == nil && f.c.Starts > 1 {
		f.progress("starts", 0, 1)
		best, err := f.search(ctx, p, f.c.Rank, ridge)
		if err != nil {
			return nil, err
		}
		p.U0 = best.U
		f.progress("starts", 1, 1)
	}
	res, err := f.run(ctx, p, f.c.Rank, ridge, f.c.Options.Iterations, true)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	f.report.Result, f.report.Converged = res, res.Status == difalt.Converged
	f.report.Chosen = Candidate{Rank: f.c.Rank, Ridge: ridge, Intercept: math.Inf(1), MeanRidge: math.Inf(1)}
	theta := make([][]float64, len(f.rows))
	for g, tasks := range f.layout {
		for i, k := range tasks {
			theta[k] = make([]float64, f.width())
			for a, b := range res.B[g][i*f.c.Rank:][:f.c.Rank] {
				floats.AddScaled(theta[k], b, res.U[g].Col(a))
			}
		}
	}
	m, err := f.plainModel(ctx, res, theta)
	if err != nil {
		return nil, err
	}
	f.blame(res)
	return m, f.score(ctx, []method{{name: Ours, ridge: ridge, theta: theta}})
}

// plainModel takes the coefficients of the tasks as draws from N(0, U S U'), with S their mean
// square: so new tasks can be added.
func (f *fitter) plainModel(ctx context.Context, res *difalt.Result, theta [][]float64) (*model.Model, error) {
	z := f.zeros(2)
	row := make([]float64, f.width())
	for g, tasks := range f.layout {
		z[g][1] = float64(len(tasks))
		f.eachTraining(tasks, func(i int) {
			y := f.row(row, i)
			e := y - floats.Dot(row, theta[f.t.Task(i)])
			z[g][0] += e * e
		})
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	d, r := res.U[0].Dims()
	f.evidence = &evidence{count: sum[1]}
	prior, err := f.loadings(ctx, res, r)
	if err != nil {
		return nil, err
	}
	// Parameters: b of every task, and a basis up to rotations.
	left := float64(f.total) - sum[1]*float64(r) - float64(d*r-r*r)
	if !(left > 0) {
		return nil, errors.New("there are no more training rows than parameters: the noise is not known")
	}
	noise := max(sum[0]/left, 1e-20*prior.Mass())
	floats.Scale(1/math.Sqrt(noise), prior.Loadings)
	p := f.parameters()
	p.Mean = make([]float64, d)
	p.Prior = priorOf(&mixedmodel.Posterior{Prior: prior, MeanCovariance: make([]float64, d*d), Noise: noise})
	for k := range theta {
		p.Theta = append(p.Theta, theta[k]...)
	}
	return model.New(p)
}

// blame names tasks with few rows, or without a unique solution.
func (f *fitter) blame(res *difalt.Result) {
	samples := f.t.Samples(f.train)
	for g, tasks := range f.layout {
		for i, k := range tasks {
			name := f.t.Tasks()[k]
			if samples[k] < f.c.Rank {
				f.report.FewRows = append(f.report.FewRows, fmt.Sprintf("%q (%s)", name, text.Plural(samples[k], "row")))
			}
			if res.Tasks[g][i] != lsq.OK {
				f.report.Singular = append(f.report.Singular, fmt.Sprintf("%q (%v)", name, res.Tasks[g][i]))
			}
		}
	}
}
