package blas_test

import (
	"fmt"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/mat"
)

// others adds calls that a test of other shapes, views and routines found slow.
func (l *workloadList) others() {
	l.otherProducts()
	l.updates()
	l.bands()
	l.otherVectors()
	l.otherComplex()
}

func (l *workloadList) otherProducts() {
	for _, n := range []int{7, 33, 129} {
		a, b, c := l.dense(n, n).RawMatrix(), l.dense(n, n).RawMatrix(), mat.NewDense(n, n, nil).RawMatrix()
		l.add("products", n, fmt.Sprintf("Gemm %d, alpha and beta", n), func() {
			blas64.Gemm(gblas.NoTrans, gblas.NoTrans, .5, a, b, .5, c)
		})
		var svd mat.SVD
		svd.Factorize(l.dense(n, n), mat.SVDThin)
		rhs, x := l.dense(n, 3), mat.NewDense(n, 3, nil)
		l.add("systems", n, fmt.Sprintf("SVD.Solve %d sides 3", n), func() { svd.SolveTo(x, rhs, n) })
	}
	for _, s := range [][3]int{{3, 3, 2000}, {64, 7, 2000}} {
		a, b, c := l.dense(s[0], s[1]), l.dense(s[1], s[2]), mat.NewDense(s[0], s[2], nil)
		l.add("products", 0, fmt.Sprintf("Mul %dx%d by %dx%d", s[0], s[1], s[1], s[2]), func() { c.Mul(a, b) })
	}
	wide, square := l.dense(3, 10000), mat.NewDense(3, 3, nil)
	l.add("products", 0, "AB' of 3x10000", func() { square.Mul(wide, wide.T()) })
	s, b, c := l.positive(500), l.dense(500, 64), mat.NewDense(500, 64, nil)
	l.add("structured", 64, "Sym 500 by 500x64", func() { c.Mul(s, b) })
	for _, n := range []int{13, 33} {
		a, c := l.dense(n, n), mat.NewDense(n, n, nil)
		tri := mat.NewTriDense(n, mat.Upper, l.dense(n, n).RawMatrix().Data)
		l.add("structured", n, fmt.Sprintf("M·Tri %d", n), func() { c.Mul(a, tri) })
	}
}

func (l *workloadList) updates() {
	for _, n := range []int{48, 129, 600} {
		s, x, y, few := l.positive(n), l.vec(n), l.vec(n), l.dense(n, 3)
		l.add("structured", n, fmt.Sprintf("SymRankOne %d", n), func() { s.SymRankOne(s, 1e-9, x) })
		l.add("structured", n, fmt.Sprintf("RankTwo %d", n), func() { s.RankTwo(s, 1e-9, x, y) })
		l.add("structured", n, fmt.Sprintf("SymRankK %dx3", n), func() { s.SymRankK(s, 1e-9, few) })
		sum, a := mat.NewSymDense(n, nil), l.dense(n, n)
		if n < 100 {
			l.add("structured", n, fmt.Sprintf("SymOuterK %d, alpha", n), func() { sum.SymOuterK(.5, a) })
		}
		l.add("vectors", n, fmt.Sprintf("Frobenius norm %d", n), func() { mat.Norm(a, 2) })
		i := n / 2
		l.add("vectors", n, fmt.Sprintf("Norm of a column %d", n), func() { mat.Norm(a.ColView(i), 2) })
		l.add("vectors", n, fmt.Sprintf("Dot of columns %d", n), func() { mat.Dot(a.ColView(i), a.ColView(0)) })
	}
}

func (l *workloadList) bands() {
	for _, n := range []int{129, 600} {
		const k = 50
		x, y := l.vec(n), mat.NewVecDense(n, nil)
		from, to := x.RawVector(), y.RawVector()
		symmetric, general := mat.NewSymBandDense(n, k, nil),
			mat.NewBandDense(n, n, k, k, l.dense(n, 2*k+1).RawMatrix().Data)
		for i := range n {
			for j := i; j < min(n, i+k+1); j++ {
				symmetric.SetSymBand(i, j, l.rng.NormFloat64())
			}
			symmetric.SetSymBand(i, i, 4*k)
		}
		l.add("structured", n, fmt.Sprintf("SymBand.MulVecTo %d", n), func() { symmetric.MulVecTo(y, false, x) })
		l.add("structured", n, fmt.Sprintf("Band.MulVecTo %d", n), func() { general.MulVecTo(y, false, x) })
		l.add("structured", n, fmt.Sprintf("Band.MulVecTo %d, transposed", n), func() { general.MulVecTo(y, true, x) })
		var ch mat.BandCholesky
		ch.Factorize(symmetric)
		l.add("systems", n, fmt.Sprintf("BandCholesky %d", n), func() { new(mat.BandCholesky).Factorize(symmetric) })
		l.add("systems", n, fmt.Sprintf("BandCholesky.SolveVec %d", n), func() { check(ch.SolveVecTo(y, x)) })
		sides, solved := l.dense(n, 20), mat.NewDense(n, 20, nil)
		l.add("systems", n, fmt.Sprintf("BandCholesky.Solve %d, 20 sides", n), func() {
			check(ch.SolveTo(solved, sides))
		})
		packed := blas64.TriangularPacked{Uplo: gblas.Lower, Diag: gblas.Unit, N: n,
			Data: l.dense(n*(n+1)/2, 1).RawMatrix().Data}
		blas64.Scal(1e-6, blas64.Vector{N: len(packed.Data), Inc: 1, Data: packed.Data})
		l.add("structured", n, fmt.Sprintf("Spmv %d", n), func() {
			blas64.Spmv(1, blas64.SymmetricPacked{Uplo: gblas.Lower, N: n, Data: packed.Data}, from, 0, to)
		})
		l.add("structured", n, fmt.Sprintf("Tpmv %d", n), func() {
			blas64.Copy(from, to)
			blas64.Tpmv(gblas.NoTrans, packed, to)
		})
		l.add("systems", n, fmt.Sprintf("Tpsv %d, transposed", n), func() {
			blas64.Copy(from, to)
			blas64.Tpsv(gblas.Trans, packed, to)
		})
	}
}

func (l *workloadList) otherVectors() {
	for _, n := range []int{100, 1000} {
		x, y := l.vec(n).RawVector(), l.vec(n).RawVector()
		l.add("vectors", n, fmt.Sprintf("Iamax %d", n), func() { blas64.Iamax(x) })
		l.add("vectors", n, fmt.Sprintf("Rot %d", n), func() { blas64.Rot(x, y, .6, .8) })
		l.add("vectors", n, fmt.Sprintf("Swap %d", n), func() { blas64.Swap(x, y) })
		z, w := cblas128.Vector{N: n, Inc: 1, Data: make([]complex128, n)},
			cblas128.Vector{N: n, Inc: 1, Data: make([]complex128, n)}
		for i := range n {
			z.Data[i], w.Data[i] = complex(x.Data[i], y.Data[i]), complex(y.Data[i], 1)
		}
		l.add("complex", n, fmt.Sprintf("Zdotu %d", n), func() { cblas128.Dotu(z, w) })
		l.add("complex", n, fmt.Sprintf("Zaxpy %d", n), func() { cblas128.Axpy(1e-9i, z, w) })
		l.add("complex", n, fmt.Sprintf("Zscal %d", n), func() { cblas128.Scal(1i, z) })
		l.add("complex", n, fmt.Sprintf("Dznrm2 %d", n), func() { cblas128.Nrm2(z) })
		l.add("complex", n, fmt.Sprintf("Dzasum %d", n), func() { cblas128.Asum(z) })
	}
}

func (l *workloadList) otherComplex() {
	for _, n := range []int{33, 129} {
		general := func(size float64) cblas128.General {
			g := cblas128.General{Rows: n, Cols: n, Stride: n, Data: make([]complex128, n*n)}
			for i := range g.Data {
				g.Data[i] = complex(size*l.rng.NormFloat64(), size*l.rng.NormFloat64())
			}
			return g
		}
		a, b, c := general(1e-6), general(1), general(1)
		for i := range n {
			a.Data[i*(n+1)] = 1
		}
		tri := cblas128.Triangular{Uplo: gblas.Lower, Diag: gblas.NonUnit, N: n, Stride: n, Data: a.Data}
		hermitian := cblas128.Hermitian{Uplo: gblas.Lower, N: n, Stride: n, Data: c.Data}
		x, y := cblas128.Vector{N: n, Inc: 1, Data: b.Data[:n]},
			cblas128.Vector{N: n, Inc: 1, Data: make([]complex128, n)}
		l.add("complex", n, fmt.Sprintf("Ztrmm %d", n), func() { cblas128.Trmm(gblas.Left, gblas.NoTrans, 1, tri, b) })
		l.add("complex", n, fmt.Sprintf("Zher2k %d", n), func() {
			cblas128.Her2k(gblas.NoTrans, 1, a, b, 0, hermitian)
		})
		l.add("complex", n, fmt.Sprintf("Zhemv %d", n), func() { cblas128.Hemv(1, hermitian, x, 0, y) })
		l.add("complex", n, fmt.Sprintf("Zher %d", n), func() { cblas128.Her(1e-9, x, hermitian) })
		l.add("complex", n, fmt.Sprintf("Ztrsv %d", n), func() { cblas128.Trsv(gblas.NoTrans, tri, x) })
	}
}
