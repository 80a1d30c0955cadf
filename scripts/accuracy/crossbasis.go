package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// starts of the algorithm where it does not begin at a basis, as in fit: the spectral one, and random ones.
const starts = 3

// find returns the directions of a member in every part: the minimiser of
//
//	sum_t min_b |V^-1/2 (y - Z (mean + U b))|^2 + |b|^2 / low
//
// with V and mean those of the model without directions. start is where to begin; nil looks for it.
func (f *folds) find(ctx context.Context, m member, parts []part, start []*kernel.Basis) ([]*kernel.Basis, error) {
	plain := m
	plain.rank, plain.low = 0, none
	priors := make([]*mixedmodel.Prior, len(parts))
	for k := range parts {
		priors[k] = plain.prior(f.w, nil)
	}
	fits, err := f.fit(ctx, priors, parts)
	if err != nil {
		return nil, err
	}
	out := make([]*kernel.Basis, len(parts))
	for k, own := range fits {
		p, err := f.problem(ctx, own)
		if err != nil {
			return nil, err
		}
		var from *kernel.Basis
		if start != nil {
			from = start[k]
		}
		if out[k], err = f.run(ctx, p, m, from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// problem is what the algorithm works on: the rows of a part, whitened and less their mean.
func (f *folds) problem(ctx context.Context, own *fitted) (*difalt.Problem, error) {
	w, p := f.w, &difalt.Problem{Moments: mat.NewSymDense(f.w, nil)}
	z := f.zeros(w*(w+1)/2 + 1)
	for g, tasks := range own.white {
		samples := make([]int, len(tasks))
		for i := range tasks {
			samples[i] = len(tasks[i].Y)
		}
		b, gram := kernel.NewBuilder(w, samples, kernel.Float64), mat.NewSymDense(w, nil)
		for i, k := range tasks {
			for r, u := range k.Y {
				row := k.Z[r*w:][:w]
				b.SetRow(i, r, row, u-floats.Dot(row, own.mean))
				gram.SymRankOne(gram, 1, mat.NewVecDense(w, row))
			}
			z[g][len(z[g])-1] += float64(len(k.Y))
		}
		pack(z[g][:w*(w+1)/2], gram.RawSymmetric().Data, w)
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	at := 0
	for i := range w {
		for j := i; j < w; j++ {
			p.Moments.SetSym(i, j, sum[at]/sum[len(sum)-1])
			at++
		}
	}
	return p, nil
}

// run runs the algorithm with the settings that fit compares ranks with.
func (f *folds) run(ctx context.Context, p *difalt.Problem, m member, from *kernel.Basis) (*kernel.Basis, error) {
	o := fit.DefaultOptions(m.rank)
	o.Ridge, o.Seed, o.Workers = 1/variance(m.low), f.seed, 1
	o.Tolerance, o.StopAtNoise = 1e-2, true
	if from != nil {
		return f.end(ctx, p, from, o)
	}
	best, lowest := (*kernel.Basis)(nil), 0.0
	short := o
	short.Iterations = 14
	for k := range starts {
		at := *p
		if k > 0 {
			at.U0 = slices.Repeat([]*kernel.Basis{randomBasis(f.w, m.rank, f.seed, k)}, len(p.Nodes))
		}
		res, err := difalt.Run(ctx, &at, f.net, short)
		if err != nil && !errors.Is(err, difalt.ErrDiverged) {
			return nil, err
		}
		objective, err := f.objective(ctx, p, res, short.Ridge)
		if err != nil {
			return nil, err
		}
		if best == nil || objective < lowest {
			best, lowest = res.U[0], objective
		}
	}
	return f.end(ctx, p, best, o)
}

// end runs the algorithm from a basis; where that diverges, its best basis counts.
func (f *folds) end(ctx context.Context, p *difalt.Problem, from *kernel.Basis, o difalt.Options) (*kernel.Basis, error) {
	at := *p
	at.U0 = slices.Repeat([]*kernel.Basis{from}, len(p.Nodes))
	res, err := difalt.Run(ctx, &at, f.net, o)
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		return nil, err
	}
	return res.U[0], nil
}

func randomBasis(d, r int, seed uint64, k int) *kernel.Basis {
	u, rng := mat.NewDense(d, r, nil), rand.New(rand.NewPCG(seed, uint64(k)))
	for i := range d {
		for j := range r {
			u.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(u)
	var q mat.Dense
	qr.QTo(&q)
	b := kernel.NewBasis(d, r)
	for j := range r {
		mat.Col(b.Col(j), j, &q)
	}
	return b
}

// objective returns sum_t |y - X U b|^2 + ridge |b|^2 of all nodes.
func (f *folds) objective(ctx context.Context, p *difalt.Problem, res *difalt.Result, ridge float64) (float64, error) {
	z, row := f.zeros(1), make([]float64, f.w)
	for g, tasks := range p.Nodes {
		z[g][0] = ridge * floats.Dot(res.B[g], res.B[g])
		for t := range tasks.Len() {
			theta := res.Theta(g, t)
			for i, y := range tasks.Y(t) {
				e := y - floats.Dot(tasks.Row(row, t, i), theta)
				z[g][0] += e * e
			}
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return 0, err
	}
	return sum[0], nil
}
