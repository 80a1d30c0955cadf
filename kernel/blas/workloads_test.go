package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
)

// A workload is one call of gonum's public packages. large ones have at least 64 rows and columns and count
// in the mean beside gonum.
type workload struct {
	group, name string
	large       bool
	run         func()
}

// workloadList makes workloads with operands of normal numbers, and visits each when it is made.
type workloadList struct {
	rng   *rand.Rand
	visit func(workload)
}

func (l *workloadList) add(group string, n int, name string, run func()) {
	l.visit(workload{group, name, n >= 64, run})
}

func (l *workloadList) dense(m, n int) *mat.Dense {
	return mat.NewDense(m, n, random(l.rng, m, n, 0).data)
}

func (l *workloadList) vec(n int) *mat.VecDense {
	return mat.NewVecDense(n, random(l.rng, n, 1, 0).data)
}

// positive returns a positive definite matrix.
func (l *workloadList) positive(n int) *mat.SymDense {
	s := mat.NewSymDense(n, nil)
	s.SymOuterK(1, l.dense(n, n+1))
	return s
}

// eachWorkload visits the calls of the table beside gonum and OpenBLAS, by what users do. The operands of a
// call are garbage after it: while those of all calls are held, as many bytes are allocated before the heap
// is collected, and calls that allocate measure pages of the system.
func eachWorkload(visit func(workload)) {
	l := &workloadList{rand.New(rand.NewPCG(7, 8)), visit}
	l.products()
	l.structured()
	l.systems()
	l.decompositions()
	l.reductions()
	l.statistics()
	l.vectors()
	l.complex()
	l.others()
	l.random()
}

func (l *workloadList) products() {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 24, 32, 48, 64, 100, 200, 300, 400, 800, 1000, 1200,
		2000} {
		a, b, c := l.dense(n, n), l.dense(n, n), mat.NewDense(n, n, nil)
		l.add("products", n, fmt.Sprintf("Mul %d", n), func() { c.Mul(a, b) })
	}
	for _, s := range [][3]int{{5, 3, 7}, {13, 13, 1}, {7, 50, 7}, {50, 7, 50}, {23, 23, 23}, {47, 47, 47}} {
		a, b, c := l.dense(s[0], s[1]), l.dense(s[1], s[2]), mat.NewDense(s[0], s[2], nil)
		l.add("products", 0, fmt.Sprintf("Mul %dx%d by %dx%d", s[0], s[1], s[1], s[2]), func() { c.Mul(a, b) })
	}
	for _, n := range []int{8, 30, 100, 400, 1100} {
		a, b, c := l.dense(n, n), l.dense(n, n), mat.NewDense(n, n, nil)
		l.add("products", n, fmt.Sprintf("A'B %d", n), func() { c.Mul(a.T(), b) })
		l.add("products", n, fmt.Sprintf("AB' %d", n), func() { c.Mul(a, b.T()) })
		l.add("products", n, fmt.Sprintf("A'B' %d", n), func() { c.Mul(a.T(), b.T()) })
	}
	for _, s := range [][3]int{{5000, 20, 20}, {20, 5000, 20}, {20, 20, 5000}, {1000, 3, 3}, {600, 40, 4},
		{100, 10, 50}} {
		a, b, c := l.dense(s[0], s[1]), l.dense(s[1], s[2]), mat.NewDense(s[0], s[2], nil)
		l.add("products", min(s[0], max(s[1], s[2])), fmt.Sprintf("Mul %dx%d by %dx%d", s[0], s[1], s[1], s[2]),
			func() { c.Mul(a, b) })
	}
	for _, share := range []float64{.2, .05, .01, .001} {
		for _, n := range []int{200, 1000} {
			a, b, c := l.dense(n, n), l.dense(n, n), mat.NewDense(n, n, nil)
			a.Apply(func(_, _ int, v float64) float64 {
				if l.rng.Float64() < share {
					return v
				}
				return 0
			}, a)
			l.add("zeros", n, fmt.Sprintf("Mul %d, %g of A not zero", n, share), func() { c.Mul(a, b) })
		}
	}
	x, y, xx, xy := mat.NewDense(5000, 200, nil), l.dense(5000, 30), mat.NewSymDense(200, nil),
		mat.NewDense(200, 30, nil)
	for i := range 5000 {
		x.Set(i, l.rng.IntN(200), 1)
	}
	l.add("zeros", 200, "X'X of one-hot 5000x200", func() { xx.SymOuterK(1, x.T()) })
	l.add("zeros", 200, "X'Y of one-hot 5000x200", func() { xy.Mul(x.T(), y) })
}

func (l *workloadList) structured() {
	for _, n := range []int{3, 8, 10, 50, 100, 300} {
		s, b, c, x, y := l.positive(n), l.dense(n, n), mat.NewDense(n, n, nil), l.vec(n), mat.NewVecDense(n, nil)
		tri := mat.NewTriDense(n, mat.Upper, random(l.rng, n, n, 0).data)
		l.add("structured", n, fmt.Sprintf("Sym·M %d", n), func() { c.Mul(s, b) })
		l.add("structured", n, fmt.Sprintf("Tri·M %d", n), func() { c.Mul(tri, b) })
		l.add("structured", n, fmt.Sprintf("Sym·v %d", n), func() { y.MulVec(s, x) })
		raw := blas64.Triangular{Uplo: gblas.Upper, Diag: gblas.NonUnit, N: n, Stride: n,
			Data: l.positive(n).RawSymmetric().Data}
		v, from := y.RawVector(), x.RawVector()
		l.add("structured", n, fmt.Sprintf("Tri·v %d", n), func() {
			blas64.Copy(from, v)
			blas64.Trmv(gblas.NoTrans, raw, v)
		})
	}
	for _, s := range [][2]int{{10, 10}, {100, 100}, {500, 500}, {2000, 200}, {1000, 50}, {50, 5}} {
		a, sym := l.dense(s[0], s[1]), mat.NewSymDense(s[1], nil)
		l.add("structured", s[1], fmt.Sprintf("SymOuterK %dx%d", s[0], s[1]), func() { sym.SymOuterK(1, a.T()) })
		if by := mat.NewSymDense(s[0], nil); s[0] <= 100 {
			l.add("structured", s[0], fmt.Sprintf("SymOuterK %dx%d, by rows", s[0], s[1]), func() {
				by.SymOuterK(1, a)
			})
		}
	}
	for _, n := range []int{3, 8, 30, 100, 300, 1000, 2000} {
		a, x, y := l.dense(n, n), l.vec(n), mat.NewVecDense(n, nil)
		l.add("vectors", n, fmt.Sprintf("MulVec %d", n), func() { y.MulVec(a, x) })
		l.add("vectors", n, fmt.Sprintf("MulVec %d, transposed", n), func() { y.MulVec(a.T(), x) })
		l.add("vectors", n, fmt.Sprintf("RankOne %d", n), func() { a.RankOne(a, 1e-9, x, y) })
	}
}

func (l *workloadList) systems() {
	for _, n := range []int{2, 3, 5, 8, 10, 13, 20, 31, 50, 100, 300, 1000} {
		a, b, x, many, out := l.dense(n, n), l.vec(n), mat.NewVecDense(n, nil), l.dense(n, n), mat.NewDense(n, n, nil)
		l.add("systems", n, fmt.Sprintf("Solve %d", n), func() { check(x.SolveVec(a, b)) })
		var lu mat.LU
		lu.Factorize(a)
		l.add("systems", n, fmt.Sprintf("LU.SolveVec %d", n), func() { check(lu.SolveVecTo(x, false, b)) })
		l.add("systems", n, fmt.Sprintf("LU.Solve %d sides %d", n, n), func() { check(lu.SolveTo(out, false, many)) })
		l.add("systems", n, fmt.Sprintf("Inverse %d", n), func() { check(out.Inverse(a)) })
		s := l.positive(n)
		var ch mat.Cholesky
		ch.Factorize(s)
		l.add("systems", n, fmt.Sprintf("Cholesky %d", n), func() { new(mat.Cholesky).Factorize(s) })
		l.add("systems", n, fmt.Sprintf("Cholesky.SolveVec %d", n), func() { check(ch.SolveVecTo(x, b)) })
		l.add("systems", n, fmt.Sprintf("Cholesky.Solve %d sides %d", n, n), func() { check(ch.SolveTo(out, many)) })
		inverse := mat.NewSymDense(n, nil)
		l.add("systems", n, fmt.Sprintf("Cholesky.Inverse %d", n), func() { check(ch.InverseTo(inverse)) })
		l.add("systems", n, fmt.Sprintf("Det %d", n), func() { mat.Det(a) })
	}
	for _, s := range [][2]int{{50, 10}, {101, 40}, {1000, 50}, {40, 160}} {
		a, y, x := l.dense(s[0], s[1]), l.vec(s[0]), mat.NewVecDense(s[1], nil)
		l.add("systems", s[1], fmt.Sprintf("Least squares %dx%d", s[0], s[1]), func() { check(x.SolveVec(a, y)) })
	}
}

func (l *workloadList) decompositions() {
	for _, s := range [][2]int{{3, 3}, {10, 10}, {30, 30}, {100, 100}, {600, 10}, {1000, 50}, {1000, 300}} {
		a, q := l.dense(s[0], s[1]), new(mat.Dense)
		l.add("decompositions", s[1], fmt.Sprintf("QR %dx%d", s[0], s[1]), func() { new(mat.QR).Factorize(a) })
		var qr mat.QR
		qr.Factorize(a)
		l.add("decompositions", s[1], fmt.Sprintf("QTo %dx%d", s[0], s[1]), func() {
			q.Reset()
			qr.QTo(q)
		})
	}
	wide := l.dense(200, 2000)
	l.add("decompositions", 200, "LQ 200x2000", func() { new(mat.LQ).Factorize(wide) })
	for _, n := range []int{2, 3, 5, 10, 20, 30, 100, 300} {
		s, a := l.positive(n), l.dense(n, n)
		l.add("decompositions", n, fmt.Sprintf("EigenSym %d", n), func() { new(mat.EigenSym).Factorize(s, true) })
		l.add("decompositions", n, fmt.Sprintf("EigenSym %d, values", n), func() {
			new(mat.EigenSym).Factorize(s, false)
		})
		l.add("decompositions", n, fmt.Sprintf("SVD %d", n), func() { new(mat.SVD).Factorize(a, mat.SVDThin) })
		l.add("decompositions", n, fmt.Sprintf("SVD %d, values", n), func() { new(mat.SVD).Factorize(a, mat.SVDNone) })
		l.add("decompositions", n, fmt.Sprintf("Eigen %d", n), func() { new(mat.Eigen).Factorize(a, mat.EigenRight) })
	}
	for _, s := range [][2]int{{300, 200}, {1000, 50}, {2000, 20}, {2000, 200}} {
		a := l.dense(s[0], s[1])
		l.add("decompositions", s[1], fmt.Sprintf("SVD %dx%d", s[0], s[1]), func() {
			new(mat.SVD).Factorize(a, mat.SVDThin)
		})
		l.add("decompositions", s[1], fmt.Sprintf("SVD %dx%d, values", s[0], s[1]), func() {
			new(mat.SVD).Factorize(a, mat.SVDNone)
		})
	}
}

func (l *workloadList) statistics() {
	for _, s := range [][2]int{{50, 5}, {1000, 50}, {2000, 20}, {2000, 200}} {
		x, cov := l.dense(s[0], s[1]), mat.NewSymDense(s[1], nil)
		l.add("statistics", s[1], fmt.Sprintf("Cov %dx%d", s[0], s[1]), func() { stat.CovarianceMatrix(cov, x, nil) })
		l.add("statistics", s[1], fmt.Sprintf("PC %dx%d", s[0], s[1]), func() {
			new(stat.PC).PrincipalComponents(x, nil)
		})
	}
	for _, n := range []int{3, 10, 50, 200} {
		normal, ok := distmv.NewNormal(make([]float64, n), l.positive(n), nil)
		if !ok {
			panic("not positive definite")
		}
		at, sample := l.vec(n).RawVector().Data, make([]float64, n)
		l.add("statistics", n, fmt.Sprintf("Normal.LogProb %d", n), func() { normal.LogProb(at) })
		l.add("statistics", n, fmt.Sprintf("Normal.Rand %d", n), func() { normal.Rand(sample) })
	}
}

func (l *workloadList) vectors() {
	for _, n := range []int{10, 100, 1000, 10000} {
		x, y := l.vec(n), l.vec(n)
		v := x.RawVector()
		l.add("vectors", n, fmt.Sprintf("Norm1 %d", n), func() { mat.Norm(x, 1) })
		l.add("vectors", n, fmt.Sprintf("Scal %d", n), func() { blas64.Scal(-1, v) })
		if n == 10 || n == 10000 {
			l.add("vectors", n, fmt.Sprintf("Dot %d", n), func() { mat.Dot(x, y) })
			l.add("vectors", n, fmt.Sprintf("Norm %d", n), func() { mat.Norm(x, 2) })
			l.add("vectors", n, fmt.Sprintf("AddScaledVec %d", n), func() { y.AddScaledVec(y, 1e-9, x) })
		}
	}
	for _, n := range []int{2, 5, 13} {
		a, x, y, s := l.dense(n, n), l.vec(n), mat.NewVecDense(n, nil), l.positive(n)
		l.add("vectors", n, fmt.Sprintf("MulVec %d", n), func() { y.MulVec(a, x) })
		l.add("structured", n, fmt.Sprintf("SymRankOne %d", n), func() { s.SymRankOne(s, 1e-9, x) })
		l.add("structured", n, fmt.Sprintf("Inner %d", n), func() { mat.Inner(x, a, x) })
	}
	for _, n := range []int{3, 30, 100, 1000, 100000} {
		x, y := l.vec(n), l.vec(n)
		l.add("vectors", n, fmt.Sprintf("Dot %d", n), func() { mat.Dot(x, y) })
		l.add("vectors", n, fmt.Sprintf("Norm %d", n), func() { mat.Norm(x, 2) })
		l.add("vectors", n, fmt.Sprintf("AddScaledVec %d", n), func() { y.AddScaledVec(y, 1e-9, x) })
		u, v := blas32.Vector{N: n, Inc: 1, Data: make([]float32, n)},
			blas32.Vector{N: n, Inc: 1, Data: make([]float32, n)}
		for i := range n {
			u.Data[i], v.Data[i] = float32(math.Sin(float64(i))), float32(math.Cos(float64(i)))
		}
		l.add("float32", n, fmt.Sprintf("Sdot %d", n), func() { blas32.Dot(u, v) })
		l.add("float32", n, fmt.Sprintf("Saxpy %d", n), func() { blas32.Axpy(1e-9, u, v) })
		l.add("float32", n, fmt.Sprintf("Snrm2 %d", n), func() { blas32.Nrm2(u) })
	}
	for _, n := range []int{3, 8, 13, 30, 100, 500} {
		general := func() blas32.General {
			g := blas32.General{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
			for i := range g.Data {
				g.Data[i] = float32(l.rng.NormFloat64()) / float32(n)
			}
			return g
		}
		a, b, c := general(), general(), general()
		for i := range n {
			a.Data[i*(n+1)] = 1
		}
		x, y := blas32.Vector{N: n, Inc: 1, Data: b.Data[:n]}, blas32.Vector{N: n, Inc: 1, Data: make([]float32, n)}
		tri := blas32.Triangular{Uplo: gblas.Lower, Diag: gblas.NonUnit, N: n, Stride: n, Data: a.Data}
		l.add("float32", n, fmt.Sprintf("Sgemm %d", n), func() {
			blas32.Gemm(gblas.NoTrans, gblas.NoTrans, 1, a, b, 0, c)
		})
		l.add("float32", n, fmt.Sprintf("Sgemv %d", n), func() { blas32.Gemv(gblas.NoTrans, 1, a, x, 0, y) })
		l.add("float32", n, fmt.Sprintf("Strsm %d", n), func() {
			copy(c.Data, b.Data)
			blas32.Trsm(gblas.Left, gblas.NoTrans, 1, tri, c)
		})
	}
}

func (l *workloadList) complex() {
	const no, conjugate = gblas.NoTrans, gblas.ConjTrans
	for _, n := range []int{8, 100, 500} {
		general := func() cblas128.General {
			g := cblas128.General{Rows: n, Cols: n, Stride: n, Data: make([]complex128, n*n)}
			for i := range g.Data {
				g.Data[i] = complex(l.rng.NormFloat64(), l.rng.NormFloat64()) / complex(float64(n), 0)
			}
			return g
		}
		a, b, c := general(), general(), general()
		x, y := cblas128.Vector{N: n, Inc: 1, Data: b.Data[:n]},
			cblas128.Vector{N: n, Inc: 1, Data: make([]complex128, n)}
		for i := range n {
			a.Data[i*(n+1)] = 1
		}
		tri := cblas128.Triangular{Uplo: gblas.Lower, Diag: gblas.NonUnit, N: n, Stride: n, Data: a.Data}
		l.add("complex", n, fmt.Sprintf("Zgemm %d", n), func() { cblas128.Gemm(no, no, 1, a, b, 0, c) })
		l.add("complex", n, fmt.Sprintf("Zgemm %d, adjoint", n), func() { cblas128.Gemm(conjugate, no, 1, a, b, 0, c) })
		l.add("complex", n, fmt.Sprintf("Zgemv %d", n), func() { cblas128.Gemv(no, 1, a, x, 0, y) })
		l.add("complex", n, fmt.Sprintf("Zgeru %d", n), func() { cblas128.Geru(1e-9, x, y, c) })
		l.add("complex", n, fmt.Sprintf("Ztrsm %d", n), func() {
			copy(c.Data, b.Data)
			cblas128.Trsm(gblas.Left, no, 1, tri, c)
		})
	}
}
