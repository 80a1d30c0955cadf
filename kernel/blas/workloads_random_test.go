package blas_test

import (
	"fmt"
	"math"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/mat"
)

// randomShapes is the number of random shapes of each call, and randomWork the most multiplications of one.
const randomShapes, randomWork = 10, 1 << 22

// A draw is a random shape: three sizes, most of them small, and the forms of operands.
type draw struct {
	m, n, k int
	tA, tB  gblas.Transpose
	ul      gblas.Uplo
	side    gblas.Side
}

func (l *workloadList) draw() draw {
	size := func() int { return int(math.Exp(l.rng.Float64() * math.Log(1000))) }
	d := draw{m: size(), n: size(), k: size()}
	for d.m*d.n*d.k > randomWork {
		d.m, d.n, d.k = size(), size(), size()
	}
	forms := []gblas.Transpose{gblas.NoTrans, gblas.Trans}
	d.tA, d.tB, d.ul = pick(l.rng, forms), pick(l.rng, forms), pick(l.rng, triangles)
	d.side = pick(l.rng, []gblas.Side{gblas.Left, gblas.Right})
	return d
}

// order returns the order of a matrix beside an m x n matrix.
func (d *draw) order() int { return (&settings{side: d.side, m: d.m, n: d.n}).order() }

// random visits calls whose shapes nobody chose.
func (l *workloadList) random() {
	for range randomShapes {
		d := l.draw()
		l.randomProducts(d)
		l.randomVectors(d)
		l.randomComplex(d)
		l.randomFactors(d)
	}
}

func (l *workloadList) drawn(d draw, name string, run func()) {
	l.add("random", 0, fmt.Sprintf("%s %c%c%c%c %d %d %d", name, d.side, d.ul, d.tA, d.tB, d.m, d.n, d.k), run)
}

// op returns a matrix A such that op(A) has the given rows and columns.
func (l *workloadList) op(t gblas.Transpose, rows, columns int) blas64.General {
	if t != gblas.NoTrans {
		rows, columns = columns, rows
	}
	return l.dense(rows, columns).RawMatrix()
}

// triangular returns a triangle near 1: its products and solutions stay in range however often it is applied.
func (l *workloadList) triangular(d draw, n int) blas64.Triangular {
	a := l.dense(n, n).RawMatrix()
	for i := range a.Data {
		a.Data[i] /= float64(8 * n)
	}
	return blas64.Triangular{Uplo: d.ul, Diag: gblas.Unit, N: n, Data: a.Data, Stride: n}
}

func (l *workloadList) symmetric(d draw, n int) blas64.Symmetric {
	return blas64.Symmetric{Uplo: d.ul, N: n, Data: l.dense(n, n).RawMatrix().Data, Stride: n}
}

// randomProducts adds products of matrices, and systems of triangles.
func (l *workloadList) randomProducts(d draw) {
	a, b, c := l.op(d.tA, d.m, d.k), l.op(d.tB, d.k, d.n), l.dense(d.m, d.n).RawMatrix()
	l.drawn(d, "Gemm", func() { blas64.Gemm(d.tA, d.tB, 1, a, b, 0, c) })
	a32, b32, c32 := general32(a), general32(b), general32(c)
	l.drawn(d, "Sgemm", func() { blas32.Gemm(d.tA, d.tB, 1, a32, b32, 0, c32) })
	left, s := l.op(d.tA, d.n, d.k), l.symmetric(d, d.n)
	l.drawn(d, "Syrk", func() { blas64.Syrk(d.tA, 1, left, 0, s) })
	beside, right := l.symmetric(d, d.order()), l.dense(d.m, d.n).RawMatrix()
	l.drawn(d, "Symm", func() { blas64.Symm(d.side, 1, beside, right, 0, c) })
	t := l.triangular(d, d.order())
	l.drawn(d, "Trmm", func() { blas64.Trmm(d.side, d.tA, 1, t, right) })
	l.drawn(d, "Trsm", func() { blas64.Trsm(d.side, d.tA, 1, t, right) })
}

func general32(a blas64.General) blas32.General {
	x := make([]float32, len(a.Data))
	for i, v := range a.Data {
		x[i] = float32(v)
	}
	return blas32.General{Rows: a.Rows, Cols: a.Cols, Stride: a.Stride, Data: x}
}

func (l *workloadList) randomVectors(d draw) {
	a, x, y := l.dense(d.m, d.n).RawMatrix(), l.vec(d.m).RawVector(), l.vec(d.n).RawVector()
	from, to := y, x
	if d.tA != gblas.NoTrans {
		from, to = x, y
	}
	l.drawn(d, "Gemv", func() { blas64.Gemv(d.tA, 1, a, from, 0, to) })
	l.drawn(d, "Ger", func() { blas64.Ger(1e-9, x, y, a) })
	s, z, t := l.symmetric(d, d.n), l.vec(d.n).RawVector(), l.triangular(d, d.n)
	l.drawn(d, "Symv", func() { blas64.Symv(1, s, y, 0, z) })
	l.drawn(d, "Trmv", func() { blas64.Trmv(d.tA, t, z) })
	l.drawn(d, "Trsv", func() { blas64.Trsv(d.tA, t, z) })
}

func (l *workloadList) randomComplex(d draw) {
	matrix := func(rows, columns int) cblas128.General {
		x := make([]complex128, rows*columns)
		for i := range x {
			x[i] = complex(l.rng.NormFloat64(), l.rng.NormFloat64())
		}
		return cblas128.General{Rows: rows, Cols: columns, Stride: columns, Data: x}
	}
	op := func(t gblas.Transpose, rows, columns int) cblas128.General {
		if t != gblas.NoTrans {
			rows, columns = columns, rows
		}
		return matrix(rows, columns)
	}
	a, b, c := op(d.tA, d.m, d.k), op(d.tB, d.k, d.n), matrix(d.m, d.n)
	l.drawn(d, "Zgemm", func() { cblas128.Gemm(d.tA, d.tB, 1, a, b, 0, c) })
	m := op(d.tA, d.m, d.n)
	vector := func(n int) cblas128.Vector { return cblas128.Vector{N: n, Inc: 1, Data: matrix(1, n).Data} }
	x, y := vector(d.n), vector(d.m)
	l.drawn(d, "Zgemv", func() { cblas128.Gemv(d.tA, 1, m, x, 0, y) })
}

// randomFactors visits decompositions of up to some thousand entries.
func (l *workloadList) randomFactors(d draw) {
	for d.m*d.n > 1<<14 {
		d = l.draw()
	}
	a, q := l.dense(d.m, d.n), min(d.m, d.n)
	var svd mat.SVD
	l.drawn(d, "SVD", func() { svd.Factorize(a, mat.SVDThin) })
	l.drawn(d, "SVD values", func() { svd.Factorize(a, mat.SVDNone) })
	tall := a.T()
	if d.m >= d.n {
		tall = a
	}
	var qr mat.QR
	l.drawn(d, "QR", func() { qr.Factorize(tall) })
	var to mat.Dense
	sides := l.dense(max(d.m, d.n), 1+d.k%8)
	l.drawn(d, "QR.SolveTo", func() { _ = qr.SolveTo(&to, false, sides) })
	var lu mat.LU
	var eigen mat.EigenSym
	s := l.positive(q)
	l.drawn(d, "LU", func() { lu.Factorize(s) })
	var cholesky mat.Cholesky
	l.drawn(d, "Cholesky", func() { cholesky.Factorize(s) })
	l.drawn(d, "EigenSym", func() { eigen.Factorize(s, true) })
}
