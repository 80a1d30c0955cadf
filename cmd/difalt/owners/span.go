package owners

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A span is the rows of a set with F = [e_0 U], whose columns span the deviations of the tasks from mu. The
// products of every task with F do not depend on the ridges, so all candidates share them.
type span struct {
	set   int
	u     *kernel.Basis  // nil for rank 0
	f     blas64.General // F', q x P
	tasks [][]projection // [node][task]
}

// A projection is the products of the rows X, y of a task in a set with F.
type projection struct {
	w []float64 // F'X'X, q x P
	c []float64 // F'X'X F, q x q
	v []float64 // F'X'y
}

func column(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

// matrix returns a matrix by rows on the memory of data, or on new memory where that is nil.
func matrix(rows, columns int, data []float64) blas64.General {
	if data == nil {
		data = make([]float64, rows*columns)
	}
	return blas64.General{Rows: rows, Cols: columns, Stride: max(columns, 1), Data: data}
}

// symmetric returns the n x n matrix whose upper triangle is in data.
func symmetric(n int, data []float64) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: data}
}

// foldSpans returns the span of every set but the last.
func (s *frame) foldSpans(u *kernel.Basis) (list []*span) {
	for f := range folds {
		list = append(list, s.newSpan(f, u))
	}
	return list
}

// newSpan multiplies the rows of all hosted tasks in a set by F.
func (s *frame) newSpan(set int, u *kernel.Basis) *span {
	p, rank := s.design.Width(), 0
	if u != nil {
		_, rank = u.Dims()
	}
	x := &span{set: set, u: u, f: matrix(1+rank, p, nil)}
	x.f.Data[0] = 1
	for k := range rank {
		copy(x.f.Data[(k+1)*p+1:][:len(s.design.Scale)], u.Col(k))
	}
	for _, g := range s.nodes {
		list := make([]projection, len(g.tasks))
		s.overTasks(g, 0, func(_ []float64, k int) error {
			list[k] = x.multiply(&g.tasks[k])
			return nil
		})
		x.tasks = append(x.tasks, list)
	}
	return x
}

// multiply returns the projection of the rows of a task outside of the fold of the set.
func (x *span) multiply(t *task) projection {
	q, p := x.f.Rows, x.f.Cols
	w, c, v := matrix(q, p, nil), matrix(q, q, nil), make([]float64, q)
	for fold := range folds {
		if rows, y := t.part(fold); fold != x.set && len(y) > 0 {
			z := matrix(len(y), q, nil)
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, rows, x.f, 0, z)
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, z, rows, 1, w)
			blas64.Gemv(blas.Trans, 1, z, column(y), 1, column(v))
		}
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, w, x.f, 0, c)
	return projection{w.Data, c.Data, v}
}

// deviations returns the standard deviation along every column of F, in units of the noise: the posterior
// mode is the penalised least squares fit.
func (x *span) deviations(r *Ridges) []float64 {
	d := make([]float64, x.f.Rows)
	for k := range d {
		d[k] = 1 / math.Sqrt(r.Direction)
	}
	d[0] = 1 / math.Sqrt(r.Intercept)
	return d
}

var errNumeric = errors.New("the numbers of a task are out of range")

// factor returns the Cholesky factor R of I + D F'X'X F D.
func (x *projection) factor(d []float64) (blas64.Triangular, error) {
	q := len(d)
	a := symmetric(q, make([]float64, q*q))
	for i := range d {
		for j := i; j < q; j++ {
			a.Data[i*q+j] = d[i] * x.c[i*q+j] * d[j]
		}
		a.Data[i*q+i]++
	}
	r, ok := lapack64.Potrf(a)
	if !ok {
		return r, errNumeric
	}
	return r, nil
}

// addInformation adds the sums over the tasks of node i of X'V^-1 X, its upper triangle by rows, X'V^-1 y
// and y'V^-1 y to sum. With K = R'^-1 D F'X' they are X'X - X'K'K X, and so on; the first terms have no
// ridge.
func (s *frame) addInformation(sum []float64, i int, x *span, r *Ridges) {
	p, q, d, list := x.f.Cols, x.f.Rows, x.deviations(r), x.tasks[i]
	less, err := s.parallel(len(list), p*p+p+1, func(out []float64, from, to int) error {
		k, e := matrix((to-from)*q, p, nil), make([]float64, (to-from)*q)
		for t := from; t < to; t++ {
			factor, err := list[t].factor(d)
			if err != nil {
				return err
			}
			at := (t - from) * q
			own, v := k.Data[at*p:][:q*p], e[at:][:q]
			for i := range d {
				floats.ScaleTo(own[i*p:][:p], d[i], list[t].w[i*p:][:p])
				v[i] = d[i] * list[t].v[i]
			}
			blas64.Trsm(blas.Left, blas.Trans, 1, factor, matrix(q, p, own))
			blas64.Trsv(blas.Trans, factor, column(v))
		}
		blas64.Syrk(blas.Trans, -1, k, 0, symmetric(p, out[:p*p]))
		blas64.Gemv(blas.Trans, -1, k, column(e), 0, column(out[p*p:][:p]))
		out[p*p+p] = -floats.Dot(e, e)
		return nil
	})
	s.stop(err)
	addPacked(sum, less, p)
	for f, products := range s.nodes[i].products {
		if f != x.set {
			addPacked(sum, products, p)
		}
	}
}

// addPacked adds the upper triangle by rows of the p x p matrix with which full begins, and the numbers
// behind it.
func addPacked(sum, full []float64, p int) {
	for i := range p {
		floats.Add(sum[:p-i], full[i*p+i:][:p-i])
		sum = sum[p-i:]
	}
	floats.Add(sum, full[p*p:])
}

// coefficients returns those of a task for k means, both k x P: mu + F D R^-1 R'^-1 D (F'X'y - F'X'X mu).
func (x *span) coefficients(own *projection, d []float64, means blas64.General) (blas64.General, error) {
	q, theta, b := len(d), matrix(means.Rows, means.Cols, slices.Clone(means.Data)), matrix(means.Rows, len(d), nil)
	factor, err := own.factor(d)
	if err != nil {
		return theta, err
	}
	for i := range b.Data {
		b.Data[i] = own.v[i%q]
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, means, matrix(q, means.Cols, own.w), 1, b)
	for i := range b.Data {
		b.Data[i] *= d[i%q]
	}
	blas64.Trsm(blas.Right, blas.NoTrans, 1, factor, b)
	blas64.Trsm(blas.Right, blas.Trans, 1, factor, b)
	for i := range b.Data {
		b.Data[i] *= d[i%q]
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, b, x.f, 1, theta)
	return theta, nil
}

// addLosses adds the squared errors of the tasks of node i in the fold of a span for every mean.
func (s *frame) addLosses(sum []float64, i int, x *span, r *Ridges, means ...[]float64) {
	d, g, all := x.deviations(r), s.nodes[i], matrix(len(means), x.f.Cols, slices.Concat(means...))
	floats.Add(sum, s.overTasks(g, len(means), func(out []float64, k int) error {
		rows, y := g.tasks[k].part(x.set)
		theta, err := x.coefficients(&x.tasks[i][k], d, all)
		if err != nil || len(y) == 0 {
			return err
		}
		e := matrix(len(y), len(means), nil)
		blas64.Gemm(blas.NoTrans, blas.Trans, -1, rows, theta, 0, e)
		for k, v := range e.Data {
			v += y[k/len(means)]
			out[k%len(means)] += v * v
		}
		return nil
	}))
}

// theta returns the coefficients of the hosted tasks for a mean, [node][task].
func (s *frame) theta(x *span, r *Ridges, mu []float64) (list [][][]float64) {
	d, mean := x.deviations(r), matrix(1, len(mu), mu)
	for i, g := range s.nodes {
		own := make([][]float64, len(g.tasks))
		s.overTasks(g, 0, func(_ []float64, k int) error {
			theta, err := x.coefficients(&x.tasks[i][k], d, mean)
			own[k] = theta.Data
			return err
		})
		list = append(list, own)
	}
	return list
}

// covariance returns that of the coefficients of a task, in units of the noise, where c is that of mu: with B
// = D (I + D F'X'X F D)^-1 D and K = B F'X'X,
//
//	F B F' + (I - F K) c (I - F K)' = c + F H + H'F',   H = (B + K c K') F' / 2 - K c.
func (x *span) covariance(own *projection, d []float64, c *mat.SymDense) (*mat.SymDense, error) {
	q, p := x.f.Rows, x.f.Cols
	factor, err := own.factor(d)
	if err != nil {
		return nil, err
	}
	lapack64.Potri(factor)
	b, f := mat.NewSymDense(q, factor.Data), mat.NewDense(q, p, x.f.Data)
	for i := range q {
		for j := i; j < q; j++ {
			b.SetSym(i, j, d[i]*b.At(i, j)*d[j])
		}
	}
	var k, kc, m, h, fh mat.Dense
	k.Mul(b, mat.NewDense(q, p, own.w))
	kc.Mul(&k, c)
	m.Mul(&kc, k.T())
	m.Add(&m, b)
	h.Mul(&m, f)
	h.Scale(.5, &h)
	h.Sub(&h, &kc)
	fh.Mul(f.T(), &h)
	cov := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			cov.SetSym(i, j, c.At(i, j)+fh.At(i, j)+fh.At(j, i))
		}
	}
	return cov, nil
}
