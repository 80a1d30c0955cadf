package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// fitPlain runs the algorithm on the rows as they are: theta_t = U b_t of the given rank, and
// nothing else.
func fitPlain(ctx context.Context, d *design, c *Config, r *Report) (*model.Model, error) {
	ridge := 0.0
	if c.Ridge != nil {
		ridge = *c.Ridge
	}
	packed, err := d.t.Pack(d.layout, d.train, d.width(), d.row)
	if err != nil {
		return nil, err
	}
	p := &difalt.Problem{Nodes: packed, U0: c.U0, Start: c.Start, Truth: c.Truth}
	a := &algorithm{d.Group, c, c.Options}
	a.options.Rank = c.Rank
	if err := a.agree(ctx, p); err != nil {
		return nil, err
	}
	r.Options = a.options
	if p.U0 == nil && p.Start == nil && c.Starts > 1 {
		c.progress("starts", 0, 1)
		best, err := a.search(ctx, p, ridge)
		if err != nil {
			return nil, err
		}
		p.U0 = best.U
		c.progress("starts", 1, 1)
	}
	res, err := a.final(ctx, p, c.Rank, ridge)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	r.Result, r.Converged, r.Notes = res, res.Status.Arrived(), standingNotes(res)
	r.Chosen = Candidate{Rank: c.Rank, Ridge: ridge, Intercept: math.Inf(1), MeanRidge: math.Inf(1)}
	ours := method{Score: Score{Method: Ours, Ridge: ridge}, of: d, theta: d.newThetas()}
	for g, tasks := range d.layout {
		for i, k := range tasks {
			for j, b := range res.B[g][i*c.Rank:][:c.Rank] {
				floats.AddScaled(ours.theta.of(k), b, res.U[g].Col(j))
			}
		}
	}
	m, err := d.plainModel(ctx, c, &a.options, res, ours.theta)
	if err != nil {
		return nil, err
	}
	r.FewRows, r.Singular = d.doubtful(res, c.Rank)
	return m, d.score(ctx, r, parallel.Workers(c.Options.Workers), []method{ours})
}

// plainModel takes the coefficients of the tasks as draws from N(0, U S U'), with S their mean
// square: so new tasks can be added.
func (d *design) plainModel(ctx context.Context, c *Config, o *difalt.Options, res *difalt.Result, theta thetas) (*model.Model, error) {
	var l nodes.Layout
	squares, count := l.Span(1), l.Span(1) // of residuals; of tasks
	z := d.Zeros(l.Len)
	row := make([]float64, d.width())
	for g, tasks := range d.layout {
		count.Add(z[g], float64(len(tasks)))
		d.eachTraining(tasks, func(i int) {
			y := d.row(row, i)
			e := y - floats.Dot(row, theta.of(d.t.Task(i)))
			squares.Add(z[g], e*e)
		})
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	w, r := res.U[0].Dims()
	prior, err := loadings(ctx, d.Group, res, count.First(sum))
	if err != nil {
		return nil, err
	}
	// Parameters: b of every task, and a basis up to rotations.
	freedom := float64(d.total) - count.First(sum)*float64(r) - float64(w*r-r*r)
	if !(freedom > 0) {
		return nil, errors.New("there are no more training rows than parameters: the noise is not known")
	}
	noise := max(squares.First(sum)/freedom, 1e-20*prior.Mass())
	floats.Scale(1/math.Sqrt(noise), prior.Loadings)
	p := d.parameters(c, o)
	p.Mean = make([]float64, w)
	p.Prior = priorOf(&estimate{Posterior: &mixedmodel.Posterior{Prior: prior, MeanCovariance: make([]float64, w*w), Noise: noise}})
	p.Theta = theta.values
	return model.New(p)
}

// doubtful names tasks with fewer rows than the rank, and such without a unique solution.
func (d *design) doubtful(res *difalt.Result, rank int) (fewRows, singular []string) {
	samples := d.t.Samples(d.train)
	for g, tasks := range d.layout {
		for i, k := range tasks {
			name := d.t.Tasks()[k]
			if samples[k] < rank {
				fewRows = append(fewRows, fmt.Sprintf("%q (%s)", name, text.Plural(samples[k], "row")))
			}
			if res.Tasks[g][i] != lsq.OK {
				singular = append(singular, fmt.Sprintf("%q (%v)", name, res.Tasks[g][i]))
			}
		}
	}
	return fewRows, singular
}
