package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A screening adds the inputs C of alternatives to the rows Z of a point of rank 0, and says what the evidence would gain at first order. With
// V = I + Z S Z' of a task and residuals e = y - Z mean it needs
//
//	u = C'V^-1 e,  A = C'V^-1 C,  B = Z'V^-1 C
//
// summed over tasks, of A what is about inputs of the same alternative, and u^2 / noise - diag A, by how much tasks differ in them more than noise makes them.
type screening struct {
	nodes.Layout
	u, a, b, excess, squares nodes.Span // the last of the excess of a task
	list                     []*alternative
	first, block             []int // where the inputs of an alternative begin in C, and their products in A
	pt                       *evidence.Point
	root                     []float64 // of S, which is diagonal
	raw, row                 []float64 // features of a row; the same in Z, in C, and its residual
	// Of a task: Z'[Z C e], C'e and the parts of C'C.
	moments, ce, cc []float64
}

func newScreening(d *design, pt *evidence.Point, list []*alternative) *screening {
	s := &screening{list: list, pt: pt, raw: make([]float64, len(d.t.Features()))}
	w, inputs, products := pt.W, 0, 0
	for _, a := range list {
		n := len(a.scale)
		s.first, s.block = append(s.first, inputs), append(s.block, products)
		inputs, products = inputs+n, products+n*n
	}
	s.u, s.a, s.b, s.excess, s.squares = s.Span(inputs), s.Span(products), s.Span(w*inputs), s.Span(inputs), s.Span(inputs)
	for j := range w - 1 {
		s.root = append(s.root, math.Sqrt(pt.Slope(j)))
	}
	s.root = append(s.root, math.Sqrt(pt.Intercept))
	s.row = make([]float64, w+inputs+1)
	s.moments, s.ce, s.cc = make([]float64, w*len(s.row)), make([]float64, inputs), make([]float64, products)
	return s
}

// own returns the parts of sums that are about an alternative: of u, A and B.
func (s *screening) own(k int, sums []float64) (u []float64, a, b blas64.General) {
	first, n, w := s.first[k], len(s.list[k].scale), s.pt.W
	all := mixedmodel.Matrix(s.b.Of(sums), w, len(s.ce))
	all.Data, all.Cols = all.Data[first:], n
	return s.u.Of(sums)[first:][:n], mixedmodel.Square(s.a.Of(sums)[s.block[k]:][:n*n], n), all
}

// A screened alternative has what the evidence promises to gain by it, in -2 log, and by how many standard errors tasks differ in it.
type screened struct {
	*alternative
	gain, differ float64
}

// promisedVariances are those of coefficients, over those of the others, of which the best counts.
var promisedVariances = []float64{0.01, 0.1, 1, 10}

// screen returns what each alternative promises, at a point of rank 0.
func (d *design) screen(ctx context.Context, pt *evidence.Point, list []*alternative) ([]screened, error) {
	s := newScreening(d, pt, list)
	z := d.Zeros(s.Len)
	for g, tasks := range d.layout {
		for k := range tasks {
			s.addTask(d, tasks[k:k+1], z[g])
		}
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	out := make([]screened, len(list))
	for k := range list {
		out[k].alternative = list[k]
		u, a, b := s.own(k, sum)
		n := len(u)
		cb := mixedmodel.Matrix(make([]float64, pt.W*n), pt.W, n)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, mixedmodel.Square(pt.MeanCovariance, pt.W), b, 0, cb)
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, b, cb, 1, a)
		for _, v := range promisedVariances {
			out[k].gain = max(out[k].gain, gainOf(a, u, v*pt.MeanVariance, pt.Noise))
		}
		for j := s.first[k]; j < s.first[k]+n; j++ {
			if v := s.squares.Of(sum)[j]; v > 0 {
				out[k].differ = max(out[k].differ, s.excess.Of(sum)[j]/math.Sqrt(v))
			}
		}
	}
	return out, nil
}

// gainOf returns what coefficients of a variance gain, in -2 log evidence, by their score and information.
func gainOf(a blas64.General, u []float64, variance, noise float64) float64 {
	n := len(u)
	m := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			m.SetSym(i, j, variance*a.Data[i*a.Stride+j])
		}
		m.SetSym(i, i, m.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(m) {
		return 0
	}
	var x mat.VecDense
	right := mat.NewVecDense(n, u)
	if chol.SolveVecTo(&x, right) != nil {
		return 0
	}
	return variance*mat.Dot(right, &x)/noise - chol.LogDet()
}

// addTask adds what a task says: with U'U = I + R Z'Z R for the root R of S and X = U'^-1 R Z', V^-1 = I - X'X.
func (s *screening) addTask(d *design, task []int, out []float64) {
	w, n := s.pt.W, len(s.row)
	s.addRows(d, task)
	x, left := mixedmodel.Matrix(make([]float64, w*n), w, n), make([]float64, w*w) // X [Z C e], and I + R Z'Z R
	for i, r := range s.root {
		floats.ScaleTo(x.Data[i*n:][:n], r, s.moments[i*n:][:n])
		floats.MulTo(left[i*w:][:w], x.Data[i*n:][:w], s.root)
		left[i*w+i]++
	}
	u, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: left, Uplo: blas.Upper})
	if !ok {
		return
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, u, x)
	part := func(from, columns int) blas64.General {
		return blas64.General{Rows: w, Cols: columns, Stride: n, Data: x.Data[from:]}
	}
	e := blas64.Vector{N: w, Inc: n, Data: x.Data[n-1:]}
	blas64.Gemv(blas.Trans, -1, part(w, len(s.ce)), e, 1, mixedmodel.Vector(s.ce))
	floats.Add(s.u.Of(out), s.ce)
	b := mixedmodel.Matrix(s.b.Of(out), w, len(s.ce))
	for i := range w {
		floats.Add(b.Data[i*b.Stride:][:b.Cols], s.moments[i*n+w:][:b.Cols])
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, -1, part(0, w), part(w, len(s.ce)), 1, b)
	for k, first := range s.first {
		m := len(s.list[k].scale)
		own := mixedmodel.Square(s.cc[s.block[k]:][:m*m], m)
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, part(w+first, m), part(w+first, m), 1, own)
		for i := range m {
			excess := s.ce[first+i]*s.ce[first+i]/s.pt.Noise - own.Data[i*m+i]
			s.excess.Of(out)[first+i] += excess
			s.squares.Of(out)[first+i] += excess * excess
		}
	}
	floats.Add(s.a.Of(out), s.cc)
}

// addRows sets the moments of a task.
func (s *screening) addRows(d *design, task []int) {
	w, n := s.pt.W, len(s.row)
	for _, m := range [][]float64{s.moments, s.ce, s.cc} {
		clear(m)
	}
	z, c := s.row[:w], s.row[w:n-1]
	d.eachTraining(task, func(i int) {
		y, weight := d.row(z, i), d.weightOf(i)
		d.filled(s.raw, i)
		for k, a := range s.list {
			a.inputs(c[s.first[k]:][:len(a.scale)], s.raw[a.Feature])
		}
		s.row[n-1] = y - floats.Dot(z, s.pt.Mean)
		blas64.Ger(weight, mixedmodel.Vector(z), mixedmodel.Vector(s.row), mixedmodel.Matrix(s.moments, w, n))
		floats.AddScaled(s.ce, weight*s.row[n-1], c)
		for k, a := range s.list {
			m := len(a.scale)
			own := mixedmodel.Vector(c[s.first[k]:][:m])
			blas64.Ger(weight, own, own, mixedmodel.Square(s.cc[s.block[k]:][:m*m], m))
		}
	})
}
