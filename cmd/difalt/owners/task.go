package owners

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/reduce"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A task is the rows of one task in the design: the n rows for training in the order of their folds, the same
// once more, so that those outside of a fold lie side by side, and the rows that are held out. Set f < folds
// is the training rows outside of fold f, and set `folds` all of them.
type task struct {
	index int            // in the table
	from  [folds + 1]int // where every fold starts, and n
	x     []float64      // rows x P, by rows, and
	y     []float64      // targets; both times the roots of the weights in training rows
}

// rows returns a range of the rows.
func (t *task) rows(from, to int) (x blas64.General, y []float64) {
	p := len(t.x) / len(t.y)
	return dense.General(to-from, p, t.x[from*p:to*p]), t.y[from:to]
}

func (t *task) fold(f int) (x blas64.General, y []float64) { return t.rows(t.from[f], t.from[f+1]) }

func (t *task) set(f int) (x blas64.General, y []float64) {
	if f == folds {
		return t.rows(0, t.from[folds])
	}
	return t.rows(t.from[f+1], t.from[folds]+t.from[f])
}

// hold applies the design to the rows of all tables.
func (s *frame) hold() {
	for _, g := range s.nodes {
		fold, rows := g.table.Folds(g.train, folds, s.c.Seed), make([][folds + 1][]int, len(g.table.Tasks()))
		for row, f := range fold {
			if g.held[row] {
				f = folds
			}
			if t := &rows[g.table.Task(row)]; f >= 0 {
				t[f] = append(t[f], row)
			}
		}
		for k := range rows {
			t := task{index: k}
			for f := range folds {
				t.from[f+1] = t.from[f] + len(rows[k][f])
			}
			if t.from[folds] > 0 {
				g.tasks = append(g.tasks, t)
			}
		}
		s.overTasks(g, 0, func(_ []float64, k int) error {
			t, read, w, z := &g.tasks[k], g.reader(), g.table.Weights(), make([]float64, s.design.Width())
			train := slices.Concat(rows[t.index][:folds]...)
			for _, row := range slices.Concat(train, train, rows[t.index][folds]) {
				x, y := read(row)
				s.design.Apply(z, x)
				root := 1.0
				if w != nil && g.train[row] {
					root = math.Sqrt(w[row])
				}
				floats.Scale(root, z)
				t.x, t.y = append(t.x, z...), append(t.y, root*s.target.Standardize(y))
			}
			return nil
		})
		p := s.design.Width()
		for f := range folds {
			g.products = append(g.products, s.overTasks(g, p*p+p+1, func(out []float64, k int) error {
				if x, y := g.tasks[k].fold(f); len(y) > 0 {
					blas64.Syrk(blas.Trans, 1, x, 1, dense.Symmetric(p, out[:p*p]))
					blas64.Gemv(blas.Trans, 1, x, dense.Vector(y), 1, dense.Vector(out[p*p:][:p]))
					out[p*p+p] += floats.Dot(y, y)
				}
				return nil
			}))
		}
	}
}

// linear returns the rows of a set for package difalt: the linear columns of the design, and y - X mu, after
// the elimination of the intercept a_t with ridge l0: for n rows (of weight 1)
//
//	min_a |v - a 1|^2 + l0 a^2 = |v - c 1 1'v|^2,   c = (1 - sqrt(l0 / (n + l0))) / n.
//
// A task without rows in the set has one row of zeros.
func (s *frame) linear(g *node, set int, mu []float64, l0 float64) *kernel.Tasks {
	d, samples := len(s.level), make([]int, len(g.tasks))
	for k := range g.tasks {
		_, y := g.tasks[k].set(set)
		samples[k] = max(len(y), 1)
	}
	b := kernel.NewBuilder(d, samples, kernel.Float64)
	s.overTasks(g, 0, func(_ []float64, k int) error {
		x, y := g.tasks[k].set(set)
		v := dense.General(len(y), d+2, nil)
		for i, target := range y {
			z := x.Data[i*x.Cols:][:x.Cols]
			v.Data = append(append(v.Data, z[:1+d]...), target-floats.Dot(z, mu))
		}
		ones := blas64.Vector{N: v.Rows, Inc: v.Stride, Data: slices.Clone(v.Data)}
		along := dense.Vector(make([]float64, v.Cols))
		if v.Rows > 0 {
			n := blas64.Dot(ones, ones)
			blas64.Gemv(blas.Trans, 1, v, ones, 0, along)
			blas64.Ger((math.Sqrt(l0/(n+l0))-1)/n, ones, along, v)
		}
		for j, e := range v.Data {
			if math.Abs(e) < 1e-6 { // the rest of an exact fit is rounding
				v.Data[j] = 0
			}
		}
		for i := range y {
			row := v.Data[i*v.Cols:][:v.Cols]
			b.SetRow(k, i, row[1:1+d], row[1+d])
		}
		return nil
	})
	return b.Tasks()
}

// A basis is U for a set; nil for rank 0.
type basis struct {
	set int
	u   *kernel.Basis
}

// A span holds, under ridges, the posteriors of all hosted tasks for the rows X, y of a set. F = D [e_0 U]
// has the deviations of the tasks from mu, D the standard deviations along them in units of the noise: the
// posterior mode is the penalised least squares fit.
type span struct {
	basis
	f blas64.General        // F', q x P
	r [][]blas64.Triangular // Cholesky factor R of I + F'X'X F, of every node and task
	k []blas64.General      // K = R'^-1 F'X'X of the tasks of every node, one below the other
	e [][]float64           // e = R'^-1 F'X'y
}

// block returns K and e of a task.
func (x *span) block(i, t int) (blas64.General, []float64) {
	q, p := x.f.Rows, x.f.Cols
	return dense.General(q, p, x.k[i].Data[t*q*p:][:q*p]), x.e[i][t*q:][:q]
}

// spans returns the spans of bases under ridges.
func (s *frame) spans(list []basis, r *ridges) (spans []*span) {
	for _, b := range list {
		spans = append(spans, s.span(b, r))
	}
	return spans
}

// span returns the span of a basis under ridges.
func (s *frame) span(b basis, r *ridges) *span {
	p, q := s.design.Width(), 1
	if b.u != nil {
		_, rank := b.u.Dims()
		q += rank
	}
	x := &span{basis: b, f: dense.General(q, p, make([]float64, q*p))}
	x.f.Data[0] = 1 / math.Sqrt(r[intercept])
	for k := 1; k < q; k++ {
		floats.ScaleTo(x.f.Data[k*p+1:][:len(s.level)], 1/math.Sqrt(r[direction]), b.u.Col(k - 1)[:len(s.level)])
	}
	for i, g := range s.nodes {
		n := len(g.tasks)
		x.r, x.e = append(x.r, make([]blas64.Triangular, n)), append(x.e, make([]float64, n*q))
		x.k = append(x.k, dense.General(n*q, p, make([]float64, n*q*p)))
		s.overTasks(g, 0, func(_ []float64, t int) error {
			rows, y := g.tasks[t].set(b.set)
			k, e := x.block(i, t)
			z, a := dense.General(len(y), q, make([]float64, len(y)*q)), dense.Symmetric(q, make([]float64, q*q))
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, rows, x.f, 0, z)
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, z, rows, 0, k)
			blas64.Gemv(blas.Trans, 1, z, dense.Vector(y), 0, dense.Vector(e))
			blas64.Syrk(blas.Trans, 1, z, 0, a)
			for j := range q {
				a.Data[j*q+j]++
			}
			var ok bool
			if x.r[i][t], ok = lapack64.Potrf(a); !ok {
				return &Error{errors.New("the numbers of a task are out of range"), "numbers are out of range"}
			}
			blas64.Trsm(blas.Left, blas.Trans, 1, x.r[i][t], k)
			blas64.Trsv(blas.Trans, x.r[i][t], dense.Vector(e))
			return nil
		})
	}
	return x
}

// addInformation adds the sums over the tasks of node i of X'V^-1 X, its upper triangle by rows, X'V^-1 y and
// y'V^-1 y to sum, where V = I + X F F'X'. They are X'X - K'K, X'y - K'e and y'y - e'e; the first terms have
// no ridge.
func (s *frame) addInformation(sum []float64, i int, x *span) {
	q, p := x.f.Rows, x.f.Cols
	all, err := reduce.Sum(s.c.Workers, len(x.r[i]), p*p+p+1, func(out []float64, from, to int) error {
		k, e := dense.General((to-from)*q, p, x.k[i].Data[from*q*p:to*q*p]), x.e[i][from*q:to*q]
		blas64.Syrk(blas.Trans, -1, k, 0, dense.Symmetric(p, out[:p*p]))
		blas64.Gemv(blas.Trans, -1, k, dense.Vector(e), 0, dense.Vector(out[p*p:][:p]))
		out[p*p+p] = -floats.Dot(e, e)
		return nil
	})
	must(err)
	for f, products := range s.nodes[i].products {
		if f != x.set {
			floats.Add(all, products)
		}
	}
	copy(sum, append(dense.Pack(nil, p, all), all[p*p:]...))
}

// theta returns the coefficients of a task for every row of means, k x P: mu + F R^-1 (e - K mu).
func (x *span) theta(i, t int, means blas64.General) blas64.General {
	q, m := x.f.Rows, means.Rows
	k, e := x.block(i, t)
	theta, b := dense.General(m, means.Cols, slices.Clone(means.Data)), dense.General(m, q, slices.Repeat(e, m))
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, means, k, 1, b)
	blas64.Trsm(blas.Right, blas.Trans, 1, x.r[i][t], b)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, b, x.f, 1, theta)
	return theta
}

// losses returns the squared errors of the tasks of node i in the fold of the set for every row of means.
func (s *frame) losses(i int, x *span, means blas64.General) []float64 {
	m := means.Rows
	return s.overTasks(s.nodes[i], m, func(out []float64, t int) error {
		rows, y := s.nodes[i].tasks[t].fold(x.set)
		e := dense.General(len(y), m, make([]float64, len(y)*m))
		blas64.Gemm(blas.NoTrans, blas.Trans, -1, rows, x.theta(i, t, means), 0, e)
		for k, v := range e.Data {
			v += y[k/m]
			out[k%m] += v * v
		}
		return nil
	})
}
