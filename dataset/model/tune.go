package model

import (
	"context"
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// maxPasses bounds how often tune looks again.
const maxPasses = 3

// tune chooses the ridge on b_t by cross-validation. U depends on the strength that
// was used in the iterations, so that trying every strength of the grid would take a
// run for each. Instead, U is found with one strength in every fold, all strengths
// are compared on that U, and this is repeated with the best of them until it is
// the one that was used.
func (f *fitter) tune(ctx context.Context, grid []float64) (float64, []Tried, error) {
	used := len(grid) * 2 / 3
	var tried []Tried
	for pass := range maxPasses {
		sums := make([]float64, len(grid))
		for fold := range f.folds {
			f.progress("cross-validation", pass*f.folds+fold, maxPasses*f.folds)
			res, err := f.run(ctx, fold, grid[used])
			if err != nil {
				return 0, nil, err
			}
			if res.Status == difalt.Canceled {
				return 0, nil, ctx.Err()
			}
			f.compare(sums, fold, res.U, grid)
		}
		n := 0
		for _, k := range f.fold {
			if k >= 0 {
				n++
			}
		}
		tried = nil
		at, ridge := 0, 0.0
		for g, s := range sums {
			tried = append(tried, Tried{grid[g], math.Sqrt(s / float64(n))})
		}
		ridge = best(tried)
		for grid[at] != ridge {
			at++
		}
		if at == used {
			break
		}
		used = at
	}
	f.progress("cross-validation", maxPasses*f.folds, maxPasses*f.folds)
	return grid[used], tried, nil
}

// compare adds to sums[g] the squared error on the rows of a fold of all tasks,
// with b_t fitted to the training rows outside of it with strength grid[g].
func (f *fitter) compare(sums []float64, fold int, u []*kernel.Basis, grid []float64) {
	rows := f.taskRows()
	mean := f.mean(fold)
	perTask := make([][]float64, len(rows))
	for g, tasks := range f.layout {
		parallel(len(tasks), func(i int) {
			k := tasks[i]
			perTask[k] = f.compareTask(rows[k], fold, u[g], mean, grid)
		})
	}
	for _, s := range perTask {
		for g, v := range s {
			sums[g] += v
		}
	}
}

func (f *fitter) compareTask(rows []int, fold int, u *kernel.Basis, mean, grid []float64) []float64 {
	_, r := u.Dims()
	z := make([]float64, f.width())
	project := func(i int, into []float64, stride int) (y float64) {
		y = f.row(z, i)
		y -= dot(z, mean)
		for j := range r {
			into[j*stride] = dot(z, u.Col(j))
		}
		return y
	}
	n := 0
	for _, i := range rows {
		if f.fold[i] >= 0 && f.fold[i] != fold {
			n++
		}
	}
	a, y := make([]float64, max(n, 1)*r), make([]float64, n)
	at := 0
	for _, i := range rows {
		if f.fold[i] >= 0 && f.fold[i] != fold {
			y[at] = project(i, a[at:], max(n, 1))
			at++
		}
	}
	b := make([]float64, len(grid)*r)
	ws := lsq.NewWorkspace(n, r)
	for g, ridge := range grid {
		lsq.Solve(b[g*r:][:r], a, max(n, 1), n, r, y, ridge, ws)
	}
	sums := make([]float64, len(grid))
	p := make([]float64, r)
	for _, i := range rows {
		if f.fold[i] == fold {
			yi := project(i, p, 1)
			for g := range grid {
				e := yi - dot(p, b[g*r:][:r])
				sums[g] += e * e
			}
		}
	}
	return sums
}
