package model

import (
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// decades returns 10^lo, 10^(lo+1/2), ..., 10^hi times unit, to three digits: more
// would promise a precision that a grid does not have.
func decades(lo, hi int, unit float64) []float64 {
	var grid []float64
	for k := 2 * lo; k <= 2*hi; k++ {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(unit*math.Pow(10, float64(k)/2), 'g', 3, 64), 64)
		grid = append(grid, v)
	}
	return grid
}

// gram is what ridge regression needs of a set of rows: Z'Z, Z'y and y'y. Grams of
// disjoint sets add up.
type gram struct {
	zz   *mat.SymDense
	zy   []float64
	yy   float64
	n    int
	buf  *mat.Dense // rows not yet in zz
	fill int
}

func newGram(width int) *gram {
	return &gram{zz: mat.NewSymDense(width, nil), zy: make([]float64, width), buf: mat.NewDense(256, width, nil)}
}

func (g *gram) add(z []float64, y float64) {
	g.buf.SetRow(g.fill, z)
	for j, v := range z {
		g.zy[j] += v * y
	}
	g.yy += y * y
	g.n++
	if g.fill++; g.fill == g.buf.RawMatrix().Rows {
		g.flush()
	}
}

// flush adds the buffered rows to zz.
func (g *gram) flush() {
	if g.fill == 0 {
		return
	}
	rows := g.buf.RawMatrix()
	rows.Rows = g.fill
	blas64.Syrk(blas.Trans, 1, rows, 1, g.zz.RawSymmetric())
	g.fill = 0
}

// minus sets g to a - b.
func (g *gram) minus(a, b *gram) {
	for i := range g.zy {
		g.zy[i] = a.zy[i] - b.zy[i]
		for j := i; j < len(g.zy); j++ {
			g.zz.SetSym(i, j, a.zz.At(i, j)-b.zz.At(i, j))
		}
	}
	g.yy, g.n = a.yy-b.yy, a.n-b.n
}

// solve returns theta = argmin |Z theta - y|^2 + ridge |theta|^2, or nil if rounding
// leaves Z'Z + ridge I without a Cholesky factor.
func (g *gram) solve(ridge float64) []float64 {
	return ridgeSolve(g.zz, g.zy, ridge)
}

func ridgeSolve(a *mat.SymDense, b []float64, ridge float64) []float64 {
	n := a.SymmetricDim()
	m := mat.NewSymDense(n, nil)
	m.CopySym(a)
	for i := range n {
		m.SetSym(i, i, a.At(i, i)+ridge)
	}
	var c mat.Cholesky
	if !c.Factorize(m) {
		return nil
	}
	x := mat.NewVecDense(n, nil)
	if err := c.SolveVecTo(x, mat.NewVecDense(n, b)); err != nil && c.Cond() > 1e15 {
		return nil
	}
	return x.RawVector().Data
}

// squared returns |y - Z theta|^2.
func (g *gram) squared(theta []float64) float64 {
	v := mat.NewVecDense(len(theta), theta)
	return max(g.yy-2*dot(theta, g.zy)+mat.Inner(v, g.zz, v), 0)
}

// foldGrams returns the Gram matrices of the rows of every fold, and of all
// training rows.
func (d *design) foldGrams() (folds []*gram, all *gram) {
	for range d.folds {
		folds = append(folds, newGram(d.width()))
	}
	z := make([]float64, d.width())
	for i, f := range d.fold {
		if f >= 0 {
			y := d.row(z, i)
			folds[f].add(z, y)
		}
	}
	all = newGram(d.width())
	for _, g := range folds {
		g.flush()
		all.zz.AddSym(all.zz, g.zz)
		all.yy += g.yy
		all.n += g.n
		for j, v := range g.zy {
			all.zy[j] += v
		}
	}
	return folds, all
}

// pooled is one ridge regression for all tasks.
type pooled struct {
	ridge float64     // chosen by cross-validation
	theta []float64   // of all training rows
	fold  [][]float64 // of the training rows outside of each fold
	tried []Tried
}

// fitPooled chooses the strength from the grid and fits.
func (d *design) fitPooled(grid []float64) *pooled {
	p := &pooled{}
	folds, all := d.foldGrams()
	rest := make([]*gram, len(folds))
	for k, g := range folds {
		rest[k] = newGram(len(all.zy))
		rest[k].minus(all, g)
	}
	for _, ridge := range grid {
		sum := 0.0
		for k, g := range folds {
			if theta := rest[k].solve(ridge); theta != nil {
				sum += g.squared(theta)
			} else {
				sum = math.Inf(1)
			}
		}
		p.tried = append(p.tried, Tried{ridge, math.Sqrt(sum / float64(all.n))})
	}
	p.ridge = best(p.tried)
	p.theta = all.solve(p.ridge)
	for k := range folds {
		p.fold = append(p.fold, rest[k].solve(p.ridge))
	}
	return p
}

// taskRows returns the rows of every task.
func (d *design) taskRows() [][]int {
	rows := make([][]int, len(d.t.Tasks()))
	for k, n := range d.t.Samples(nil) {
		rows[k] = make([]int, 0, n)
	}
	for i := range d.train {
		rows[d.t.Task(i)] = append(rows[d.t.Task(i)], i)
	}
	return rows
}

// fitSingle fits one ridge regression for each task, all with the same strength,
// and returns that and its errors.
func (d *design) fitSingle(grid []float64) (ridge float64, tried []Tried, sse [2]float64) {
	rows := d.taskRows()
	sums := make([][]float64, len(rows))
	parallel(len(rows), func(k int) {
		sums[k] = make([]float64, len(grid))
		for f := range d.folds {
			d.ridgePath(rows[k], func(i int) bool { return d.fold[i] >= 0 && d.fold[i] != f }, grid, func(g int, theta, z []float64) {
				for _, i := range rows[k] {
					if d.fold[i] == f {
						e := d.row(z, i) - dot(z, theta)
						sums[k][g] += e * e
					}
				}
			})
		}
	})
	n := 0
	for _, on := range d.train {
		if on {
			n++
		}
	}
	for g, ridge := range grid {
		sum := 0.0
		for k := range sums {
			sum += sums[k][g]
		}
		tried = append(tried, Tried{ridge, math.Sqrt(sum / float64(n))})
	}
	ridge = best(tried)
	errs := make([][2]float64, len(rows))
	parallel(len(rows), func(k int) {
		d.ridgePath(rows[k], func(i int) bool { return d.train[i] }, []float64{ridge}, func(_ int, theta, z []float64) {
			for _, i := range rows[k] {
				e := d.row(z, i) - dot(z, theta)
				errs[k][set(d.train[i])] += e * e
			}
		})
	})
	for _, e := range errs {
		sse[0] += e[0]
		sse[1] += e[1]
	}
	return ridge, tried, sse
}

// ridgePath calls visit with the ridge regression on those of the given rows that
// use chooses, for every strength of the grid, and with scratch memory for a row.
// It solves in as many unknowns as there are features or rows, whichever are fewer.
func (d *design) ridgePath(rows []int, use func(i int) bool, grid []float64, visit func(g int, theta, z []float64)) {
	w := d.width()
	data, y := make([]float64, 0, len(rows)*w), make([]float64, 0, len(rows))
	z := make([]float64, w)
	for _, i := range rows {
		if use(i) {
			y = append(y, d.row(z, i))
			data = append(data, z...)
		}
	}
	theta := make([]float64, w)
	n := len(y)
	if n == 0 {
		for g := range grid {
			visit(g, theta, z)
		}
		return
	}
	a := mat.NewDense(n, w, data)
	var right mat.VecDense
	m := mat.NewSymDense(min(n, w), nil)
	if n < w {
		m.SymOuterK(1, a)
		right.CloneFromVec(mat.NewVecDense(n, y))
	} else {
		m.SymOuterK(1, a.T())
		right.MulVec(a.T(), mat.NewVecDense(n, y))
	}
	for g, ridge := range grid {
		x := ridgeSolve(m, right.RawVector().Data, ridge)
		out := mat.NewVecDense(w, theta)
		switch {
		case x == nil:
			// Too little ridge for the rounding errors: as bad as it gets.
			for j := range theta {
				theta[j] = math.Inf(1)
			}
		case n < w:
			out.MulVec(a.T(), mat.NewVecDense(n, x))
		default:
			copy(theta, x)
		}
		visit(g, theta, z)
	}
}

// parallel calls f(0), ..., f(n-1) on all processors.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
