package blas_test

import (
	"fmt"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// reductions adds decompositions of general matrices, and what package mat computes with them.
func (l *workloadList) reductions() {
	for _, n := range []int{5, 10, 20, 50, 100, 300} {
		a := l.dense(n, n)
		l.add("decompositions", n, fmt.Sprintf("Eigen %d, values", n), func() {
			new(mat.Eigen).Factorize(a, mat.EigenNone)
		})
		l.add("decompositions", n, fmt.Sprintf("Eigen %d, both sides", n), func() {
			new(mat.Eigen).Factorize(a, mat.EigenBoth)
		})
	}
	for _, s := range [][3]int{{3, 3, 3}, {5, 4, 3}, {10, 10, 10}, {20, 20, 20}, {100, 100, 100}, {300, 30, 40},
		{200, 150, 160}} {
		a, b := l.dense(s[0], s[1]), l.dense(s[2], s[1])
		l.add("decompositions", s[1], fmt.Sprintf("GSVD %d and %d by %d", s[0], s[2], s[1]), func() {
			new(mat.GSVD).Factorize(a, b, mat.GSVDAll)
		})
	}
	for _, n := range []int{5, 30, 100} {
		a, b := l.dense(2*n, n), l.dense(3*n, n)
		l.add("decompositions", n, fmt.Sprintf("HOGSVD %d", n), func() { new(mat.HOGSVD).Factorize(a, b) })
	}
	for _, n := range []int{3, 10, 30, 100, 300} {
		a, out := l.dense(n, n), new(mat.Dense)
		l.add("systems", n, fmt.Sprintf("Exp %d", n), func() { out.Exp(a) })
		s := l.positive(n)
		tri, inverse := mat.NewTriDense(n, mat.Upper, s.RawSymmetric().Data), mat.NewTriDense(n, mat.Upper, nil)
		l.add("systems", n, fmt.Sprintf("InverseTri %d", n), func() { check(inverse.InverseTri(tri)) })
		l.add("systems", n, fmt.Sprintf("Norm of a triangle %d", n), func() { mat.Norm(tri, 1) })
		l.add("systems", n, fmt.Sprintf("PivotedCholesky %d", n), func() { new(mat.PivotedCholesky).Factorize(s, -1) })
	}
	for _, s := range [][2]int{{20, 5}, {100, 30}, {400, 100}, {1000, 300}} {
		l.pivotedQR(s[0], s[1])
	}
	for _, s := range [][2]int{{5, 20}, {50, 100}, {50, 1000}, {200, 400}} {
		a, q, x, b := l.dense(s[0], s[1]), new(mat.Dense), new(mat.VecDense), l.vec(s[0])
		l.add("decompositions", s[0], fmt.Sprintf("LQ %dx%d", s[0], s[1]), func() { new(mat.LQ).Factorize(a) })
		var lq mat.LQ
		lq.Factorize(a)
		l.add("decompositions", s[0], fmt.Sprintf("LQ.QTo %dx%d", s[0], s[1]), func() {
			q.Reset()
			lq.QTo(q)
		})
		l.add("systems", s[0], fmt.Sprintf("LQ.SolveVec %dx%d", s[0], s[1]), func() {
			check(lq.SolveVecTo(x, false, b))
		})
	}
}

// pivotedQR adds factors of an m x n matrix with exchanged columns, and a solution of A'x = b.
func (l *workloadList) pivotedQR(m, n int) {
	a, copied := l.dense(m, n), mat.NewDense(m, n, nil)
	work, tau, order := make([]float64, 100*(m+n)), make([]float64, n), make([]int, n)
	l.add("decompositions", n, fmt.Sprintf("Geqp3 %dx%d", m, n), func() {
		copied.Copy(a)
		for j := range order {
			order[j] = -1
		}
		lapack64.Geqp3(copied.RawMatrix(), order, tau, work, len(work))
	})
	sides, b := l.dense(m, 2), mat.NewDense(m, 2, nil)
	l.add("systems", n, fmt.Sprintf("Gels %dx%d, transposed", m, n), func() {
		copied.Copy(a)
		b.Copy(sides)
		lapack64.Gels(gblas.Trans, copied.RawMatrix(), b.RawMatrix(), work, len(work))
	})
}
