package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// driverErrors adds the errors of the routines that call these.
func driverErrors(rng *rand.Rand, l blas.Lapack, a *rowMajor, errs map[string]float64) {
	m, n := a.rows, a.cols
	work := make([]float64, 1000*(m+n)+m*n)
	tau, jpvt := make([]float64, m), make([]int, n)

	// Least squares: a consistent tall system, and the others by their normal equations.
	x := random(rng, n, 3, 0)
	b := a.times(x)
	qr, y := a.clone(), b.clone()
	l.Dgels(gblas.NoTrans, m, n, 3, qr.data, n, y.data, 3, work, len(work))
	errs["Dgels tall"] = y.part(n, 3).off(x)
	qr, y = a.transposed(), random(rng, m, 3, 0)
	copy(y.data, b.data)
	l.Dgels(gblas.Trans, n, m, 3, qr.data, m, y.data, 3, work, len(work))
	errs["Dgels wide, transposed"] = y.part(n, 3).off(x)
	for _, tA := range transposes {
		least := a.times(x) // in the range of A: the solution of minimum norm
		y = random(rng, m, 3, 0)
		copy(y.data, a.transposed().times(least).data)
		if tA == gblas.Trans {
			qr = a.clone()
			l.Dgels(tA, m, n, 3, qr.data, n, y.data, 3, work, len(work))
		} else {
			qr = a.transposed()
			l.Dgels(tA, n, m, 3, qr.data, m, y.data, 3, work, len(work))
		}
		errs[fmt.Sprintf("Dgels, minimum norm, %c", tA)] = y.off(least)
	}

	// All columns are fixed, so that Dgeqp3 factors them as they stand.
	qr = a.clone()
	for j := range jpvt {
		jpvt[j] = 0
	}
	l.Dgeqp3(m, n, qr.data, n, jpvt, tau[:n], work, len(work))
	errs["Dgeqp3"] = reflected(qr, 0, m, tau[:n]).part(m, n).times(qr.part(n, n).triangle(0)).off(a)

	// Bidiagonal: Q, and the reflectors of P in the rows.
	d, e, tauP := make([]float64, n), make([]float64, n), make([]float64, n)
	bi := a.clone()
	l.Dgebrd(m, n, bi.data, n, d, e[:n-1], tau[:n], tauP, work, len(work))
	q := reflected(bi, 0, m, tau[:n])
	p := reflected(bi.part(n, n).transposed(), 1, n, tauP[:n-1])
	bidiagonal := identity(n)
	for i := range n {
		bidiagonal.data[i*(n+1)] = d[i]
		if i+1 < n {
			bidiagonal.data[i*(n+1)+1] = e[i]
		}
	}
	errs["Dgebrd"] = q.part(m, n).times(bidiagonal).times(p.transposed()).off(a)
	full := bi.clone()
	l.Dorgbr(lapack.GenerateQ, m, n, n, full.data, n, tau[:n], work, len(work))
	errs["Dorgbr Q"] = full.off(q.part(m, n))
	full = bi.part(n, n).clone()
	l.Dorgbr(lapack.GeneratePT, n, n, n, full.data, n, tauP, work, len(work))
	errs["Dorgbr P"] = full.off(p.transposed())
	x = random(rng, n, 5, 0)
	y = x.clone()
	l.Dormbr(lapack.ApplyP, gblas.Left, gblas.NoTrans, n, 5, n, bi.data, n, tauP, y.data, 5, work, len(work))
	errs["Dormbr P"] = y.off(p.times(x))
	x = random(rng, 5, m, 0)
	y = x.clone()
	l.Dormbr(lapack.ApplyQ, gblas.Right, gblas.Trans, 5, m, n, bi.data, n, tau[:n], y.data, m, work, len(work))
	errs["Dormbr Q"] = y.off(x.times(q.transposed()))

	gram := a.transposed().times(a)
	trace, traceOfSquare := 0.0, 0.0
	for i, v := range gram.data {
		traceOfSquare += v * v
		if i%(n+1) == 0 {
			trace += v
		}
	}
	for _, jobs := range [][2]lapack.SVDJob{{lapack.SVDNone, lapack.SVDNone}, {lapack.SVDStore, lapack.SVDStore},
		{lapack.SVDAll, lapack.SVDNone}, {lapack.SVDNone, lapack.SVDAll}} {
		for _, of := range []*rowMajor{a, a.transposed()} {
			s := newSingular(jobs[0], jobs[1], of, 0)
			s.compute(l, jobs[0], jobs[1])
			squares, fourth := 0.0, 0.0
			for _, v := range s.s {
				squares += v * v
				fourth += v * v * v * v
			}
			name := fmt.Sprintf("Dgesvd %c%c %dx%d", jobs[0], jobs[1], of.rows, of.cols)
			errs[name+", sum of squares"] = math.Abs(squares/trace - 1)
			errs[name+", sum of fourth powers"] = math.Abs(fourth/traceOfSquare - 1)
			if s.u.cols == 0 || s.vt.rows == 0 {
				continue
			}
			for i := range s.u.rows {
				for j, v := range s.s {
					s.u.data[i*s.u.stride+j] *= v
				}
			}
			errs[name] = s.u.part(of.rows, len(s.s)).times(s.vt).off(of)
		}
	}
	square := a.part(n, n).clone()
	squareErrors(l, square, errs)
	// zeros that last in a reduction to Hessenberg form: dummies one row lower, and column 13
	for i := range square.data {
		row, j := i/n, i%n
		switch {
		case row > 0 && j < 7:
			square.data[i] = unit((row-1)%7, j)
		case row > 0 && j != 13:
			square.data[i] = 0
		}
	}
	sparse := map[string]float64{}
	squareErrors(l, square, sparse)
	for name, off := range sparse {
		errs["sparse "+name] = off
	}
}

// squareErrors adds the errors of routines for square matrices.
func squareErrors(l blas.Lapack, a *rowMajor, errs map[string]float64) {
	n := a.rows
	work, tau := make([]float64, 1000*n+n*n), make([]float64, n)
	h := a.clone()
	l.Dgehrd(n, 0, n-1, h.data, n, tau[:n-1], work, len(work))
	q := reflected(h, 1, n, tau[:n-1])
	errs["Dgehrd"] = q.times(h.triangle(1)).off(a.times(q))
	full := h.clone()
	l.Dorghr(n, 0, n-1, full.data, n, tau[:n-1], work, len(work))
	errs["Dorghr"] = full.off(q)
	y := a.clone()
	l.Dormhr(gblas.Right, gblas.NoTrans, n, n, 0, n-1, h.data, n, tau[:n-1], y.data, n, work, len(work))
	errs["Dormhr"] = y.off(a.times(q))

	// A V = V W for real eigenvalues, with the two columns of a pair for complex ones.
	wr, wi, v := make([]float64, n), make([]float64, n), identity(n)
	y = a.clone()
	if l.Dgeev(lapack.LeftEVNone, lapack.RightEVCompute, n, y.data, n, wr, wi, nil, 1, v.data, n, work,
		len(work)) != 0 {
		errs["Dgeev"] = math.Inf(1)
	}
	want := identity(n)
	for j := range n {
		for i := range n {
			re := v.data[i*n+j]
			switch {
			case wi[j] == 0:
				want.data[i*n+j] = wr[j] * re
			case wi[j] > 0:
				want.data[i*n+j] = wr[j]*re - wi[j]*v.data[i*n+j+1]
			default:
				want.data[i*n+j] = wr[j]*re - wi[j]*v.data[i*n+j-1]
			}
		}
	}
	for j := range n {
		if wi[j] < 0 {
			for i := range n {
				want.data[i*n+j] = wr[j]*v.data[i*n+j] + wi[j-1]*v.data[i*n+j-1]
			}
		}
	}
	errs["Dgeev A V = V W"] = a.times(v).off(want) / 10

	symmetric := a.times(a.transposed())
	for _, ul := range triangles {
		d, e := make([]float64, n), make([]float64, n)
		reduced := symmetric.clone()
		l.Dsytrd(ul, n, reduced.data, n, d, e[:n-1], tau[:n-1], work, len(work))
		l.Dorgtr(ul, n, reduced.data, n, tau[:n-1], work, len(work))
		tridiagonal := identity(n)
		for i := range n {
			tridiagonal.data[i*(n+1)] = d[i]
			if i+1 < n {
				tridiagonal.data[i*(n+1)+1], tridiagonal.data[i*(n+1)+n] = e[i], e[i]
			}
		}
		errs[fmt.Sprintf("Dorgtr %c", ul)] = reduced.times(tridiagonal).off(symmetric.times(reduced))
		w, vectors := make([]float64, n), symmetric.clone()
		l.Dsyev(lapack.EVCompute, ul, n, vectors.data, n, w, work, len(work))
		scaled := vectors.clone()
		for i := range n {
			for j := range n {
				scaled.data[i*n+j] *= w[j]
			}
		}
		errs[fmt.Sprintf("Dsyev %c", ul)] = symmetric.times(vectors).off(scaled)
	}
}
