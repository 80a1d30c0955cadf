package owners

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A span is the rows of a set with F = [e_0 U], whose columns span the deviations of the tasks from mu. The
// products of every task with F do not depend on the ridges, so all candidates share them.
type span struct {
	set   int
	u     *kernel.Basis  // nil for rank 0
	q     int            // columns of F
	tasks [][]projection // [node][task]
}

// A projection is the products of the rows X, y of a task in a set with F.
type projection struct {
	w []float64 // F'X'X, q x P
	c []float64 // F'X'X F, q x q
	v []float64 // F'X'y
}

// noStart returns spans of rank 0 for sets.
func (s *frame) noStart(sets ...int) (list []*span) {
	for _, set := range sets {
		list = append(list, s.newSpan(set, nil))
	}
	return list
}

// newSpan multiplies the rows of all hosted tasks in a set by F.
func (s *frame) newSpan(set int, u *kernel.Basis) *span {
	x := &span{set: set, u: u, q: 1}
	if u != nil {
		_, rank := u.Dims()
		x.q += rank
	}
	f := s.columns(x)
	for _, h := range s.held {
		s.tick()
		list := make([]projection, len(h.tasks))
		_ = divide(s.workers(), len(list), func(from, to int) error {
			for t := from; t < to; t++ {
				list[t] = s.multiplyRows(h.parts[t], set, f)
			}
			return nil
		})
		x.tasks = append(x.tasks, list)
	}
	return x
}

// columns returns F' of a span, q x P.
func (s *frame) columns(x *span) blas64.General {
	p := s.design.Width()
	f := matrix(x.q, p, make([]float64, x.q*p))
	f.Data[0] = 1
	for k := 1; k < x.q; k++ {
		copy(f.Data[k*p+1:][:len(s.design.Scale)], x.u.Col(k-1))
	}
	return f
}

func matrix(rows, columns int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: max(columns, 1), Data: data}
}

// multiplyRows returns the projection of the parts of a task outside of fold set.
func (s *frame) multiplyRows(parts []*mixedmodel.Task, set int, f blas64.General) projection {
	q, p := f.Rows, f.Cols
	w, v := matrix(q, p, make([]float64, q*p)), make([]float64, q)
	for fold, part := range parts {
		switch {
		case fold == set || part.Rows == 0:
		case part.G != nil:
			g := blas64.Symmetric{Uplo: blas.Upper, N: p, Stride: p, Data: part.G}
			blas64.Symm(blas.Right, 1, g, f, 1, w)
			blas64.Gemv(blas.NoTrans, 1, f, column(part.C), 1, column(v))
		default:
			x := matrix(part.Rows, p, part.X)
			z := matrix(part.Rows, q, make([]float64, part.Rows*q))
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, f, 0, z)
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, z, x, 1, w)
			blas64.Gemv(blas.Trans, 1, z, column(part.Y), 1, column(v))
		}
	}
	c := matrix(q, q, make([]float64, q*q))
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, w, f, 0, c)
	return projection{w.Data, c.Data, v}
}

func column(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

// deviations returns the standard deviation along every column of F, in units of the noise.
func (x *span) deviations(r *Ridges) []float64 {
	d := make([]float64, x.q)
	for k := range d {
		d[k] = 1 / math.Sqrt(r.Direction)
	}
	d[0] = 1 / math.Sqrt(r.Intercept)
	return d
}

// factor returns the Cholesky factor R of I + D F'X'X F D.
func (x *projection) factor(d []float64) (blas64.Triangular, error) {
	q := len(d)
	a := blas64.Symmetric{Uplo: blas.Upper, N: q, Stride: q, Data: make([]float64, q*q)}
	for i := range d {
		for j := i; j < q; j++ {
			a.Data[i*q+j] = d[i] * x.c[i*q+j] * d[j]
		}
		a.Data[i*q+i]++
	}
	r, ok := lapack64.Potrf(a)
	if !ok {
		return r, mixedmodel.ErrNumeric
	}
	return r, nil
}

// addInformation adds the sums over the tasks of a node of X'V^-1 X, its upper triangle by rows, X'V^-1 y and
// y'V^-1 y to sum. With K = R'^-1 D F'X' they are X'X - X'K'K X, and so on; the first terms have no ridge.
func (s *frame) addInformation(sum []float64, node int, x *span, r *Ridges) {
	p, d, list := s.design.Width(), x.deviations(r), x.tasks[node]
	less, err := total(s.workers(), len(list), p*p+p+1, func(out []float64, from, to int) error {
		k, e := matrix((to-from)*x.q, p, make([]float64, (to-from)*x.q*p)), make([]float64, (to-from)*x.q)
		for t := from; t < to; t++ {
			factor, err := list[t].factor(d)
			if err != nil {
				return err
			}
			at := (t - from) * x.q
			own, v := k.Data[at*p:][:x.q*p], e[at:][:x.q]
			for i := range d {
				floats.ScaleTo(own[i*p:][:p], d[i], list[t].w[i*p:][:p])
				v[i] = d[i] * list[t].v[i]
			}
			blas64.Trsm(blas.Left, blas.Trans, 1, factor, matrix(x.q, p, own))
			blas64.Trsv(blas.Trans, factor, column(v))
		}
		blas64.Syrk(blas.Trans, -1, k, 0, blas64.Symmetric{Uplo: blas.Upper, N: p, Stride: p, Data: out[:p*p]})
		blas64.Gemv(blas.Trans, -1, k, column(e), 0, column(out[p*p:][:p]))
		out[p*p+p] = -floats.Dot(e, e)
		return nil
	})
	s.stop(err)
	addPacked(sum, less)
	for f, products := range s.held[node].products {
		if f != x.set {
			addPacked(sum, products)
		}
	}
}

// addLosses adds the squared errors of the tasks of a node in the fold of a span for every mean, whose
// prediction is X (mu + F D R^-1 R'^-1 D (F'X'y - F'X'X mu)).
func (s *frame) addLosses(sum []float64, node int, x *span, r *Ridges, means [][]float64) {
	p, d, h, k := s.design.Width(), x.deviations(r), s.held[node], len(means)
	f, all := s.columns(x), matrix(k, p, make([]float64, 0, k*p))
	for _, mu := range means {
		all.Data = append(all.Data, mu...)
	}
	losses, err := total(s.workers(), len(h.tasks), k, func(out []float64, from, to int) error {
		theta, a := matrix(k, p, make([]float64, k*p)), matrix(k, x.q, make([]float64, k*x.q))
		for t := from; t < to; t++ {
			own, left := &x.tasks[node][t], h.parts[t][x.set]
			if left.Rows == 0 {
				continue
			}
			factor, err := own.factor(d)
			if err != nil {
				return err
			}
			for i := range means {
				copy(a.Data[i*x.q:], own.v)
			}
			blas64.Gemm(blas.NoTrans, blas.Trans, -1, all, matrix(x.q, p, own.w), 1, a)
			for i := range means {
				b := a.Data[i*x.q:][:x.q]
				floats.Mul(b, d)
				blas64.Trsv(blas.Trans, factor, column(b))
				blas64.Trsv(blas.NoTrans, factor, column(b))
				floats.Mul(b, d)
			}
			copy(theta.Data, all.Data)
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, f, 1, theta)
			addResiduals(out, left, theta)
		}
		return nil
	})
	s.stop(err)
	floats.Add(sum, losses)
}

// addResiduals adds |y - X theta|^2 for every row of theta.
func addResiduals(out []float64, rows *mixedmodel.Task, theta blas64.General) {
	k, p := theta.Rows, theta.Cols
	if rows.G != nil {
		for i := range k {
			out[i] += rows.Residual(theta.Data[i*p:][:p])
		}
		return
	}
	e := matrix(rows.Rows, k, make([]float64, rows.Rows*k))
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, matrix(rows.Rows, p, rows.X), theta, 0, e)
	for i, y := range rows.Y {
		for j, v := range e.Data[i*k:][:k] {
			out[j] += (y + v) * (y + v)
		}
	}
}
