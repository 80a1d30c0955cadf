package fit

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/dataset"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// single is one ridge regression for each task.
type single struct {
	ridge   float64 // the same for all, chosen by cross-validation
	tried   []Tried
	tallies [][2]tally // of every task, by set
}

// fitSingle chooses the strength from the grid, by the given tasks of every node, and
// fits all. It is for the report only.
func (d *design) fitSingle(ctx context.Context, chosenBy dataset.Layout, grid []float64, workers int) (*single, error) {
	errors := d.singleErrors(slices.Concat(chosenBy...), grid, workers)
	z := d.zeros(len(grid) + 1)
	for g, tasks := range chosenBy {
		for range tasks {
			floats.Add(z[g], errors[0])
			errors = errors[1:]
		}
	}
	sum, err := d.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	return d.singleFit(sum, grid, workers), nil
}

// singleErrors returns, for each of the given tasks, the squared error in
// cross-validation of every strength of the grid, and the number of rows.
func (d *design) singleErrors(tasks []int, grid []float64, workers int) [][]float64 {
	sums := make([][]float64, len(tasks))
	paths := d.newPaths(workers)
	parallel(workers, len(tasks), func(worker, at int) {
		rows := d.rows[tasks[at]]
		s := make([]float64, len(grid)+1)
		for f := range d.folds {
			paths[worker].solve(rows, func(i int) bool { return d.fold[i] >= 0 && d.fold[i] != f }, grid, func(g int, theta, z []float64) {
				for _, i := range rows {
					if d.fold[i] == f {
						e := d.row(z, i) - floats.Dot(z, theta)
						s[g] += e * e
					}
				}
			})
		}
		for _, i := range rows {
			if d.fold[i] >= 0 {
				s[len(grid)]++
			}
		}
		sums[at] = s
	})
	return sums
}

// singleFit chooses the strength by the sums of singleErrors, and fits all tasks.
func (d *design) singleFit(sum, grid []float64, workers int) *single {
	o := &single{tallies: make([][2]tally, len(d.rows))}
	for g, ridge := range grid {
		o.tried = append(o.tried, Tried{ridge, math.Sqrt(sum[g] / sum[len(grid)])})
	}
	o.ridge = best(o.tried)
	paths := d.newPaths(workers)
	parallel(workers, len(d.rows), func(worker, k int) {
		rows := d.rows[k]
		paths[worker].solve(rows, func(i int) bool { return d.train[i] }, []float64{o.ridge}, func(_ int, theta, z []float64) {
			for _, i := range rows {
				o.tallies[k][set(d.train[i])].add(d.row(z, i) - floats.Dot(z, theta))
			}
		})
	})
	return o
}

// A ridgePath fits ridge regressions to few rows, in memory that it keeps: there may
// be a hundred for each of very many tasks.
type ridgePath struct {
	d                          *design
	data, y, z, theta, zz, rhs []float64
	solver                     ridgeSolver
}

// newPaths returns one ridgePath a worker.
func (d *design) newPaths(workers int) []*ridgePath {
	paths := make([]*ridgePath, workers)
	for i := range paths {
		paths[i] = &ridgePath{d: d, z: make([]float64, d.Width()), theta: make([]float64, d.Width())}
	}
	return paths
}

// solve calls visit with the ridge regression on those of the given rows that use
// chooses, for every strength of the grid, and with scratch memory for a row. It
// solves in as many unknowns as there are features or rows, whichever are fewer.
func (p *ridgePath) solve(rows []int, use func(i int) bool, grid []float64, visit func(g int, theta, z []float64)) {
	w := len(p.z)
	p.data, p.y = p.data[:0], p.y[:0]
	for _, i := range rows {
		if use(i) {
			p.y = append(p.y, p.d.row(p.z, i))
			p.data = append(p.data, p.z...)
		}
	}
	n := len(p.y)
	if n == 0 {
		clear(p.theta)
		for g := range grid {
			visit(g, p.theta, p.z)
		}
		return
	}
	a := blas64.General{Rows: n, Cols: w, Stride: w, Data: p.data}
	y := blas64.Vector{N: n, Inc: 1, Data: p.y}
	k := min(n, w)
	p.zz = slices.Grow(p.zz[:0], k*k)[:k*k]
	zz := blas64.Symmetric{N: k, Stride: k, Data: p.zz, Uplo: blas.Upper}
	right := p.y
	if n < w {
		blas64.Syrk(blas.NoTrans, 1, a, 0, zz)
	} else {
		blas64.Syrk(blas.Trans, 1, a, 0, zz)
		p.rhs = slices.Grow(p.rhs[:0], w)[:w]
		blas64.Gemv(blas.Trans, 1, a, y, 0, blas64.Vector{N: w, Inc: 1, Data: p.rhs})
		right = p.rhs
	}
	for g, ridge := range grid {
		x := p.solver.solve(zz, right, ridge)
		switch {
		case x == nil:
			// Too little ridge for the rounding errors: as bad as it gets.
			for j := range p.theta {
				p.theta[j] = math.Inf(1)
			}
		case n < w:
			blas64.Gemv(blas.Trans, 1, a, blas64.Vector{N: n, Inc: 1, Data: x}, 0, blas64.Vector{N: w, Inc: 1, Data: p.theta})
		default:
			copy(p.theta, x)
		}
		visit(g, p.theta, p.z)
	}
}

// parallel calls f(worker, 0), ..., f(worker, n-1) on the given number of workers,
// each a thread.
func parallel(workers, n int, f func(worker, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(worker, i)
			}
		})
	}
	wg.Wait()
}

// workersFor returns the number of threads that an option stands for.
func workersFor(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}
