package owners

import (
	"iter"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A task is the training rows of one task in the design, those of a fold side by side. Set f of them, f <
// folds, is those outside of fold f; the set number folds is all of them.
type task struct {
	index int            // in the table
	rows  []int          // of the table
	from  [folds + 1]int // of every fold
	x     []float64      // len(rows) x P, by rows, and
	y     []float64      // targets, both times the roots of the weights
}

// part returns the rows of a fold.
func (t *task) part(fold int) (x blas64.General, y []float64) {
	p, from, to := len(t.x)/len(t.rows), t.from[fold], t.from[fold+1]
	return matrix(to-from, p, t.x[from*p:to*p]), t.y[from:to]
}

// outside yields the rows of a set.
func (t *task) outside(set int) iter.Seq2[[]float64, float64] {
	return func(yield func([]float64, float64) bool) {
		for f := range folds {
			x, y := t.part(f)
			for i := range y {
				if f != set && !yield(x.Data[i*x.Cols:][:x.Cols], y[i]) {
					return
				}
			}
		}
	}
}

// hold applies the design to the training rows of all tables.
func (s *frame) hold() {
	for _, g := range s.nodes {
		fold, rows := g.table.Folds(g.train, folds, s.c.Seed), make([][]int, len(g.table.Tasks()))
		for row, train := range g.train {
			if t := g.table.Task(row); train {
				rows[t] = append(rows[t], row)
			}
		}
		for k, own := range rows {
			if len(own) > 0 {
				slices.SortStableFunc(own, func(a, b int) int { return fold[a] - fold[b] })
				t := task{index: k, rows: own}
				for _, row := range own {
					t.from[fold[row]+1]++
				}
				for f := range folds {
					t.from[f+1] += t.from[f]
				}
				g.tasks = append(g.tasks, t)
			}
		}
		s.overTasks(g, 0, func(_ []float64, k int) error {
			t, r := &g.tasks[k], s.reader(g)
			for _, row := range t.rows {
				root, y := 1.0, r.apply(row)
				if w := g.table.Weights(); w != nil {
					root = math.Sqrt(w[row])
				}
				floats.Scale(root, r.columns)
				t.x, t.y = append(t.x, r.columns...), append(t.y, root*y)
			}
			return nil
		})
		for f := range folds {
			g.products = append(g.products, s.products(g, f))
		}
	}
}

// products returns X'X, X'y and y'y over the tasks of a node in a fold.
func (s *frame) products(g *node, fold int) []float64 {
	p := s.design.Width()
	return s.overTasks(g, p*p+p+1, func(out []float64, k int) error {
		if x, y := g.tasks[k].part(fold); len(y) > 0 {
			blas64.Syrk(blas.Trans, 1, x, 1, symmetric(p, out[:p*p]))
			blas64.Gemv(blas.Trans, 1, x, column(y), 1, column(out[p*p:][:p]))
			out[p*p+p] += floats.Dot(y, y)
		}
		return nil
	})
}

// linear returns the rows of a set for package difalt: the linear columns of the design, and y - X mu, after
// the elimination of the intercept a_t with ridge l0: for n rows (of weight 1)
//
//	min_a |v - a 1|^2 + l0 a^2 = |v - c 1 1'v|^2,   c = (1 - sqrt(l0 / (n + l0))) / n.
//
// A task without rows in the set has one row of zeros.
func (s *frame) linear(g *node, set int, mu []float64, l0 float64) *kernel.Tasks {
	d, samples := len(s.design.Scale), make([]int, len(g.tasks))
	for k := range g.tasks {
		for range g.tasks[k].outside(set) {
			samples[k]++
		}
		samples[k] = max(samples[k], 1)
	}
	b := kernel.NewBuilder(d, samples, kernel.Float64)
	s.overTasks(g, 0, func(_ []float64, k int) error {
		along, n, list := make([]float64, d+2), 0.0, [][]float64(nil)
		for x, y := range g.tasks[k].outside(set) {
			v := append(slices.Clone(x[:1+d]), y-floats.Dot(x, mu))
			floats.AddScaled(along, v[0], v)
			n += v[0] * v[0]
			list = append(list, v)
		}
		for i, v := range list {
			floats.AddScaled(v, -v[0]*(1-math.Sqrt(l0/(n+l0)))/n, along)
			for j, e := range v { // the range of package difalt; what is left of an exact fit is rounding
				if v[j] = min(max(e, -1e6), 1e6); math.Abs(e) < 1e-6 {
					v[j] = 0
				}
			}
			b.SetRow(k, i, v[1:1+d], v[1+d])
		}
		return nil
	})
	return b.Tasks()
}
