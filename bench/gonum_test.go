package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A gonumStep is the step of some tasks with gonum's blas64 and lapack64, as a program without this library
// would write it: all memory is allocated once, and one goroutine computes.
type gonumStep struct {
	u       blas64.General // d x r
	x       []blas64.General
	y       [][]float64
	b       []float64 // b_t behind each other
	grad    blas64.General
	a, qr   []float64 // X_t U and its factors
	c, e, v []float64 // Q'y_t, X_t U b_t - y_t, X_t'e_t
	tau     []float64
	work    []float64
}

func newGonumStep(tasks *kernel.Tasks, u *kernel.Basis) *gonumStep {
	d, r := u.Dims()
	n := tasks.MaxSamples()
	s := &gonumStep{
		u: blas64.General{Rows: d, Cols: r, Stride: r, Data: make([]float64, d*r)}, b: make([]float64, tasks.Len()*r),
		a: make([]float64, n*r), qr: make([]float64, n*r), c: make([]float64, n), e: make([]float64, n),
		v:   make([]float64, d),
		tau: make([]float64, r), work: make([]float64, 64*(n+r)),
		grad: blas64.General{Rows: d, Cols: r, Stride: r, Data: make([]float64, d*r)},
	}
	for i := range d {
		for j := range r {
			s.u.Data[i*r+j] = u.At(i, j)
		}
	}
	for t := range tasks.Len() {
		x := blas64.General{Rows: tasks.Samples(t), Cols: d, Stride: d, Data: make([]float64, tasks.Samples(t)*d)}
		for i := range x.Rows {
			tasks.Row(x.Data[i*d:][:d], t, i)
		}
		s.x, s.y = append(s.x, x), append(s.y, tasks.Y(t))
	}
	return s
}

func (s *gonumStep) run() {
	r := s.u.Cols
	clear(s.grad.Data)
	for t, x := range s.x {
		n := x.Rows
		a := blas64.General{Rows: n, Cols: r, Stride: r, Data: s.a[:n*r]}
		blas64.Gemm(gblas.NoTrans, gblas.NoTrans, 1, x, s.u, 0, a)
		qr, c := a, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: s.c[:n]}
		qr.Data = s.qr[:n*r]
		copy(qr.Data, a.Data)
		copy(c.Data, s.y[t])
		lapack64.Geqrf(qr, s.tau, s.work, len(s.work))
		lapack64.Ormqr(gblas.Left, gblas.Trans, qr, s.tau, c, s.work, len(s.work))
		top := blas64.Triangular{Uplo: gblas.Upper, Diag: gblas.NonUnit, N: r, Stride: r, Data: qr.Data}
		b := blas64.Vector{N: r, Inc: 1, Data: s.b[t*r:][:r]}
		copy(b.Data, c.Data)
		blas64.Trsv(gblas.NoTrans, top, b)
		e, v := blas64.Vector{N: n, Inc: 1, Data: s.e[:n]}, blas64.Vector{N: s.u.Rows, Inc: 1, Data: s.v}
		copy(e.Data, s.y[t])
		blas64.Gemv(gblas.NoTrans, 1, a, b, -1, e)
		blas64.Gemv(gblas.Trans, 1, x, e, 0, v)
		blas64.Ger(1, v, b, s.grad)
	}
}

// BenchmarkGonum is the step of BenchmarkIteration beside the same step with gonum, both on one thread.
// xgonum is gonum's time over ours.
func BenchmarkGonum(b *testing.B) {
	for _, shape := range shapes() {
		p := measure.NewProblem(shape, seed)
		b.Run(fmt.Sprintf("shape=%s/kernel=%s", shape.Name, kernel.Describe().Kernel), func(b *testing.B) {
			tasks := p.Pack(1, kernel.Float64)[0]
			g, s := kernel.NewGroup(tasks, p.Rank), newGonumStep(tasks, p.U)
			ws := kernel.NewWorkspace(g)
			ours := func() { g.Step(p.U, 0, ws) }
			ours()
			s.run()
			if d := floats.Distance(g.B, s.b, math.Inf(1)); !(d <= 1e-9*floats.Norm(g.B, math.Inf(1))) {
				b.Fatalf("gonum's coefficients differ by %g", d)
			}
			for b.Loop() {
				ours()
			}
			besideGonum(b, ours, s.run)
		})
	}
}

// besideGonum reports gonum's time over ours, measured in turns.
func besideGonum(b *testing.B, ours, gonums func()) {
	b.Helper()
	ms := must[[]float64](b)(measure.InTurns(context.Background(), 0, ours, gonums))
	b.ReportMetric(ms[1]/ms[0], "xgonum")
}

// An implementation is a BLAS and a LAPACK below package mat.
type implementation struct {
	blas   gblas.Float64
	lapack lapack.Float64
}

func (i implementation) use() {
	blas64.Use(i.blas)
	lapack64.Use(i.lapack)
}

// BenchmarkBLAS is calls of package mat over kernel/blas. xgonum is the time of the call over gonum's BLAS
// and LAPACK, as multiples of ours. make bench-blas has more cases, and OpenBLAS.
func BenchmarkBLAS(b *testing.B) {
	own := implementation{blas.Implementation{}, blas.Lapack{}}
	gonums := implementation{reference.Implementation{}, lapackreference.Implementation{}}
	before := implementation{blas64.Implementation(), gonums.lapack}
	defer before.use()
	rng := rand.New(rand.NewPCG(seed, 4))
	random := func(m, n int) *mat.Dense {
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, rng.NormFloat64())
			}
		}
		return a
	}
	a, product, x, y := random(300, 300), mat.NewDense(300, 300, nil), mat.NewVecDense(300, nil),
		mat.NewVecDense(300, nil)
	y.CopyVec(random(300, 1).ColView(0))
	s := mat.NewSymDense(300, nil)
	s.SymOuterK(1, a)
	tall := random(1000, 100)
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Mul/size=300", func() { product.Mul(a, a) }},
		{"MulVec/size=300", func() { x.MulVec(a, y) }},
		{"Solve/size=300", func() { _ = x.SolveVec(a, y) }},
		{"Cholesky/size=300", func() { new(mat.Cholesky).Factorize(s) }},
		{"QR/size=1000x100", func() { new(mat.QR).Factorize(tall) }},
		{"EigenSym/size=300", func() { new(mat.EigenSym).Factorize(s, true) }},
		{"SVD/size=300", func() { new(mat.SVD).Factorize(a, mat.SVDThin) }},
	} {
		b.Run(fmt.Sprintf("call=%s/kernel=%s", c.name, kernel.Describe().Kernel), func(b *testing.B) {
			own.use()
			for b.Loop() {
				c.call()
			}
			besideGonum(b, func() { own.use(); c.call() }, func() { gonums.use(); c.call() })
		})
	}
}
