package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// A screening adds the inputs C of alternatives to the rows Z of a point of rank 0, and says what the evidence would gain at first order. With
// V = I + Z S Z' of a task and residuals e = y - Z mean it needs
//
//	u = C'V^-1 e,  A = C'V^-1 C,  B = Z'V^-1 C
//
// summed over tasks, and u^2 / noise - diag A, by how much tasks differ in them more than noise makes them.
type screening struct {
	l              nodes.Layout
	u, b, excess   nodes.Span
	squares        nodes.Span // of the excess of a task
	a              []nodes.Span
	first, columns []int // of every alternative among the columns of C
	width          int   // of C
	blocks         []int // where that of an alternative begins in the products of C with itself
	products       int   // of these
}

func newScreening(list []*alternative, w int) *screening {
	s := &screening{}
	for _, a := range list {
		n := len(a.scale)
		s.first, s.columns = append(s.first, s.width), append(s.columns, n)
		s.width += n
		s.blocks = append(s.blocks, s.products)
		s.products += n * n
		s.a = append(s.a, s.l.Span(n*n))
	}
	s.u, s.b, s.excess, s.squares = s.l.Span(s.width), s.l.Span(w*s.width), s.l.Span(s.width), s.l.Span(s.width)
	return s
}

// A screened alternative has what the evidence promises to gain by it, in -2 log, and by how many standard errors tasks differ in it.
type screened struct{ gain, differ float64 }

// promisedVariances are those of coefficients, over those of the others, of which the best counts.
var promisedVariances = []float64{0.01, 0.1, 1, 10}

// screen returns what each alternative promises, at a point of rank 0.
func (d *design) screen(ctx context.Context, pt *evidence.Point, list []*alternative) ([]screened, error) {
	s := newScreening(list, pt.W)
	z := d.Zeros(s.l.Len)
	w := newScreenedTask(s, pt)
	w.raw = make([]float64, len(d.t.Features()))
	for g, tasks := range d.layout {
		for k := range tasks {
			w.clear()
			d.eachTraining(tasks[k:k+1], func(i int) { w.add(d, i, list) })
			w.addTo(z[g])
		}
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	out := make([]screened, len(list))
	cover := mixedmodel.Square(pt.MeanCovariance, pt.W)
	b := mixedmodel.Matrix(s.b.Of(sum), pt.W, s.width)
	for i := range list {
		n, first := s.columns[i], s.first[i]
		own := blas64.General{Rows: b.Rows, Cols: n, Stride: b.Stride, Data: b.Data[first:]}
		cb := mixedmodel.Matrix(make([]float64, pt.W*n), pt.W, n)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, cover, own, 0, cb)
		a := mixedmodel.Square(s.a[i].Of(sum), n)
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, own, cb, 1, a)
		u := s.u.Of(sum)[first:][:n]
		for _, v := range promisedVariances {
			out[i].gain = max(out[i].gain, gainOf(a, u, v*pt.MeanVariance, pt.Noise))
		}
		for j := first; j < first+n; j++ {
			if v := s.squares.Of(sum)[j]; v > 0 {
				out[i].differ = max(out[i].differ, s.excess.Of(sum)[j]/math.Sqrt(v))
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

// A screenedTask has the moments of the rows of a task.
type screenedTask struct {
	*screening
	pt         *evidence.Point
	root       []float64 // of the variances of deviations
	raw        []float64 // features of a row
	z, c       []float64 // a row
	zz, zc, cc []float64
	ze, ce     []float64
	moments    []float64 // all of them
	k, kzc     []float64
}

func newScreenedTask(s *screening, pt *evidence.Point) *screenedTask {
	w, q := pt.W, s.width
	t := &screenedTask{screening: s, pt: pt, z: make([]float64, w), c: make([]float64, q), k: make([]float64, w*w), kzc: make([]float64, w*q)}
	t.moments = make([]float64, w*w+w*q+s.products+w+q)
	rest := t.moments
	take := func(n int) []float64 {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	t.zz, t.zc, t.cc, t.ze, t.ce = take(w*w), take(w*q), take(s.products), take(w), take(q)
	for j := range w - 1 {
		t.root = append(t.root, math.Sqrt(pt.Slope(j)))
	}
	t.root = append(t.root, math.Sqrt(pt.Intercept))
	return t
}

func (t *screenedTask) clear() { clear(t.moments) }

// add adds a row.
func (t *screenedTask) add(d *design, i int, list []*alternative) {
	w, q := t.pt.W, t.width
	y := d.row(t.z, i)
	weight := d.weightOf(i)
	d.filled(t.raw, i)
	for j, a := range list {
		a.inputs(t.c[t.first[j]:][:t.columns[j]], t.raw[a.Feature])
	}
	e := y
	for j, m := range t.pt.Mean {
		e -= m * t.z[j]
	}
	z, c := mixedmodel.Vector(t.z), mixedmodel.Vector(t.c)
	blas64.Ger(weight, z, z, mixedmodel.Square(t.zz, w))
	blas64.Ger(weight, z, c, mixedmodel.Matrix(t.zc, w, q))
	blas64.Axpy(weight*e, z, mixedmodel.Vector(t.ze))
	blas64.Axpy(weight*e, c, mixedmodel.Vector(t.ce))
	for j, n := range t.columns {
		own := mixedmodel.Vector(t.c[t.first[j]:][:n])
		blas64.Ger(weight, own, own, mixedmodel.Square(t.cc[t.blocks[j]:][:n*n], n))
	}
}

// addTo adds what the task says: with K = R (I + R Z'Z R)^-1 R of the root R of S, V^-1 = I - Z K Z'.
func (t *screenedTask) addTo(out []float64) {
	w, q := t.pt.W, t.width
	m := mat.NewSymDense(w, nil)
	for i := range w {
		for j := i; j < w; j++ {
			m.SetSym(i, j, t.root[i]*t.zz[i*w+j]*t.root[j])
		}
		m.SetSym(i, i, m.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(m) {
		return
	}
	var inverse mat.SymDense
	if chol.InverseTo(&inverse) != nil {
		return
	}
	for i := range w {
		for j := range w {
			t.k[i*w+j] = t.root[i] * inverse.At(i, j) * t.root[j]
		}
	}
	k, zc, kzc := mixedmodel.Square(t.k, w), mixedmodel.Matrix(t.zc, w, q), mixedmodel.Matrix(t.kzc, w, q)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, k, zc, 0, kzc)
	// u = C'e - C'Z K Z'e.
	u := t.ce
	blas64.Gemv(blas.Trans, -1, kzc, mixedmodel.Vector(t.ze), 1, mixedmodel.Vector(u))
	// B = Z'C - Z'Z K Z'C.
	b := mixedmodel.Matrix(t.b.Of(out), w, q)
	for i := range w {
		blas64.Axpy(1, mixedmodel.Vector(t.zc[i*q:][:q]), mixedmodel.Vector(b.Data[i*q:][:q]))
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, mixedmodel.Square(t.zz, w), kzc, 1, b)
	for j, n := range t.columns {
		first := t.first[j]
		cc := mixedmodel.Square(t.cc[t.blocks[j]:][:n*n], n)
		left := blas64.General{Rows: w, Cols: n, Stride: q, Data: t.zc[first:]}
		right := blas64.General{Rows: w, Cols: n, Stride: q, Data: t.kzc[first:]}
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, left, right, 1, cc)
		blas64.Axpy(1, mixedmodel.Vector(cc.Data), mixedmodel.Vector(t.a[j].Of(out)))
		for i := range n {
			excess := u[first+i]*u[first+i]/t.pt.Noise - cc.Data[i*n+i]
			t.excess.Of(out)[first+i] += excess
			t.squares.Of(out)[first+i] += excess * excess
		}
	}
	blas64.Axpy(1, mixedmodel.Vector(u), mixedmodel.Vector(t.u.Of(out)))
}
