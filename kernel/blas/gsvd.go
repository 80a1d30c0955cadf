package blas

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
)

// Dggsvd3 computes the generalised singular value decomposition of an m x n matrix A and a p x n matrix B:
// U'A Q = D1 [0 R] and V'B Q = D2 [0 R] with orthogonal U, V and Q, an upper triangular R whose order is the
// rank k+r of A above B, and diagonal D1 and D2 with the values alpha and beta.
//
// On entry a and b hold A and B. On return a holds R from row 0 and column n-k-r on, or its first m rows and
// b the rest from row m-k on; u, v and q hold U, V and Q if they are asked for; alpha and beta begin with k
// values 1 and 0; iwork holds the exchanges that sort alpha, and work[0] the best length of work. Dggsvd3
// returns k, the rank r of B, and false if the iterations do not converge, or for matrices with NaN or
// infinity.
//
// gonum v0.17 finds wrong ranks, or panics, where A above B has not full rank: its Dggsvp3 chooses no pivots,
// and applies one factor in the wrong order. It computes small decompositions that surely need no pivots.
func (*solvers) Dggsvd3(
	jobU, jobV, jobQ lapack.GSVDJob, m, n, p int, a []float64, lda int, b []float64, ldb int, alpha, beta,
	u []float64, ldu int, v []float64, ldv int, q []float64, ldq int, work []float64, lwork int,
	iwork []int,
) (k, rank int, ok bool) {
	job := func(j, vectors lapack.GSVDJob, n int, x []float64, ldx int) bool {
		return j == lapack.GSVDNone && ldx >= 1 || j == vectors && inside(x, n, n, ldx)
	}
	if min(m, n, p) <= 0 || !job(jobU, lapack.GSVDU, m, u, ldu) || !job(jobV, lapack.GSVDV, p, v, ldv) ||
		!job(jobQ, lapack.GSVDQ, n, q, ldq) ||
		!inside(a, m, n, lda) || !inside(b, p, n, ldb) || len(alpha) != n || len(beta) != n ||
		len(iwork) < n || lwork < 1 || len(work) < lwork {
		return own.Implementation.Dggsvd3(
			jobU, jobV, jobQ, m, n, p, a, lda, b, ldb, alpha, beta, u, ldu, v, ldv, q, ldq, work, lwork,
			iwork,
		)
	}
	if !finite(m, n, a, lda) || !finite(p, n, b, ldb) {
		return 0, 0, false
	}
	if needed := n + max(3*n+1, m, p); lwork >= needed && gonumsGSVD(m, n, p, a, lda, b, ldb) {
		work, lwork = work[:needed], needed // gonum clears all of work for each reflector
		return own.Implementation.Dggsvd3(
			jobU, jobV, jobQ, m, n, p, a, lda, b, ldb, alpha, beta, u, ldu, v, ldv, q, ldq, work, lwork,
			iwork,
		)
	}
	d := gsvd{m: m, n: n, p: p, alpha: alpha, beta: beta}
	d.a = blas64.General{Rows: m, Cols: n, Stride: lda, Data: a}
	d.b = blas64.General{Rows: p, Cols: n, Stride: ldb, Data: b}
	if jobU == lapack.GSVDU {
		d.u = blas64.General{Rows: m, Cols: m, Stride: ldu, Data: u}
	}
	if jobV == lapack.GSVDV {
		d.v = blas64.General{Rows: p, Cols: p, Stride: ldv, Data: v}
	}
	if jobQ == lapack.GSVDQ {
		d.q = blas64.General{Rows: n, Cols: n, Stride: ldq, Data: q}
	}
	ok = d.compute()
	d.exchanges(iwork)
	// This sets work[0].
	own.Implementation.Dggsvd3(
		jobU, jobV, jobQ, m, n, p, a, lda, b, ldb, alpha, beta, u, ldu, v, ldv, q, ldq, work, -1, iwork,
	)
	return d.k, d.r, ok
}

// fewColumnsOfGSVD and fewRowsOfGSVD are the largest sizes where gonum is as fast. GSVD 3, 5 and 10.
const fewColumnsOfGSVD, fewRowsOfGSVD = 5, 13

// gonumsGSVD reports whether gonum's Dggsvd3 is fast and right. It is right where it needs no pivots: if the
// first columns of B are independent, at most p, and the columns of A too where B leaves some directions
// free. A times orthonormal vectors in these is at least as far from dependent as A.
func gonumsGSVD(m, n, p int, a []float64, lda int, b []float64, ldb int) bool {
	if n > fewColumnsOfGSVD || max(m, p) > fewRowsOfGSVD || p < n && m < n {
		return false
	}
	sizeB, apart := independent(p, n, min(p, n), b, ldb)
	if !apart {
		return false
	}
	const unlike = 1e12 // of squares: rotations of rows of unlike sizes may not converge
	columns := 0        // of A that have to be independent
	if p < n {
		columns = n
	}
	sizeA, sure := independent(m, n, columns, a, lda)
	if sizeA > unlike*sizeB || sizeB > unlike*sizeA || !(sizeA > 0) {
		return false
	}
	return sure
}

// independent returns the sum of the squares F^2 of a small m x n matrix, and whether its first k columns are
// surely independent: whether their least singular value exceeds 2^-26 F. The product of their singular
// values is the product of the diagonal of R, and all but the least one make at most (F^2/(k-1))^((k-1)/2).
func independent(m, n, k int, a []float64, lda int) (squares float64, surely bool) {
	const least, smallest, largest = 0x1p-52, 1e-200, 1e200
	var q [fewRowsOfGSVD * fewColumnsOfGSVD]float64 // by columns
	for i := range m {
		for j, v := range a[i*lda:][:n] {
			q[j*m+i] = v
			squares += float64(v * v)
		}
	}
	if !(squares > smallest && squares < largest) {
		return squares, false
	}
	others := float64(max(k-1, 1))
	product, unit := 1.0, others/squares
	for j := range k {
		x, s := q[j*m:][:m], 0.0
		for _, v := range x {
			s += float64(v * v)
		}
		product *= s * unit
		if s == 0 {
			return squares, false
		}
		for l := j + 1; l < k; l++ {
			y, dot := q[l*m:][:m], 0.0
			for i, v := range x {
				dot += float64(v * y[i])
			}
			ratio := dot / s
			for i, v := range x {
				y[i] -= float64(ratio * v)
			}
		}
	}
	return squares, product > others*least
}

// A gsvd is a generalised singular value decomposition. Q, U and V have no rows if they are not wanted.
//
// Reflections first bring A and B to triangular form (Dggsvp3 of LAPACK). It has k rows and columns of A for
// which B is zero, and a square part of order r, the rank of B. The two parts A and B of it, above each
// other, have the factors Q1 R and Q2 R. The cosine sine decomposition of Q1 and Q2 is computed by singular
// value decompositions: of Q1 for sines of at most 45 degrees, and of Q2 for larger sines (Van Loan 1985). So
// both are exact to rounding; no rotations of pairs of columns are needed.
type gsvd struct {
	m, n, p     int
	k, r        int
	a, b        blas64.General
	u, v, q     blas64.General
	alpha, beta []float64
}

func (d *gsvd) compute() bool {
	sizeA := own.Dlange(lapack.Frobenius, d.m, d.n, d.a.Data, d.a.Stride, nil)
	sizeB := own.Dlange(lapack.Frobenius, d.p, d.n, d.b.Data, d.b.Stride, nil)
	d.reduceB(float64(max(d.p, d.n)) * max(sizeB, safeMin) * unitRoundoff)
	d.reduceA(float64(max(d.m, d.n)) * max(sizeA, safeMin) * unitRoundoff)
	clear(d.alpha)
	clear(d.beta)
	fill(d.alpha[:d.k], 1)
	if d.r == 0 {
		return true
	}
	c := newCosineSine(d)
	defer c.release()
	if !c.compute() {
		return false
	}
	c.store()
	return true
}

// exchanges sets the exchanges that sort the values of alpha, descending.
func (d *gsvd) exchanges(iwork []int) {
	sorted := append([]float64(nil), d.alpha[d.k:]...)
	values := max(min(d.r, d.m-d.k), 0)
	for i := range values {
		largest := i
		for j := i + 1; j < values; j++ {
			if sorted[j] > sorted[largest] {
				largest = j
			}
		}
		sorted[i], sorted[largest] = sorted[largest], sorted[i]
		iwork[d.k+i] = d.k + largest
	}
}

// from returns the part of a matrix from a row and a column on.
func from(a blas64.General, row, column int) blas64.General {
	a.Rows, a.Cols = a.Rows-row, a.Cols-column
	if a.Rows <= 0 || a.Cols <= 0 {
		a.Data = nil
		return a
	}
	a.Data = a.Data[row*a.Stride+column:]
	return a
}

// first returns the first rows and columns of a matrix.
func first(a blas64.General, rows, columns int) blas64.General {
	a.Rows, a.Cols = rows, columns
	return a
}

// workOf returns the length of work for reflections of a matrix.
func workOf(rows, columns int) int { return reflectorMemory + 3*(rows+columns)*reductionBlock }

// apply overwrites a matrix C by op(Q) C or C op(Q), for reflections in the columns of a.
func (*solvers) apply(s blas.Side, t blas.Transpose, a blas64.General, tau []float64, c blas64.General) {
	if c.Rows <= 0 || c.Cols <= 0 || len(tau) == 0 {
		return
	}
	work := borrow[float64](workOf(c.Rows, c.Cols))
	defer giveBack(work)
	own.Dormqr(s, t, c.Rows, c.Cols, len(tau), a.Data, a.Stride, tau, c.Data, c.Stride, *work, len(*work))
}

// qr factors a matrix, with reflections in it and tau.
func (*solvers) qr(a blas64.General, tau []float64) {
	if a.Rows <= 0 || a.Cols <= 0 {
		return
	}
	work := borrow[float64](workOf(a.Rows, a.Cols))
	defer giveBack(work)
	own.Dgeqrf(a.Rows, a.Cols, a.Data, a.Stride, tau, *work, len(*work))
}

// rankedQR factors A P, with reflections in a and tau, and returns P, nil for no exchanges, and the rank:
// pivots of at most tol count as zero. It chooses pivots only where the factor without is not surely of full
// rank.
func (*solvers) rankedQR(a blas64.General, tau []float64, tol float64) (p []int, rank int) {
	const surely = 0x1p-26 // of a reciprocal condition number
	k := min(a.Rows, a.Cols)
	work := borrow[float64](workOf(a.Rows, a.Cols) + a.Rows*a.Cols)
	defer giveBack(work)
	before, rest := (*work)[:a.Rows*a.Cols], (*work)[a.Rows*a.Cols:]
	own.Dlacpy(blas.All, a.Rows, a.Cols, a.Data, a.Stride, before, a.Cols)
	own.Dgeqrf(a.Rows, a.Cols, a.Data, a.Stride, tau, rest, len(rest))
	least := math.Inf(1)
	for i := range k {
		least = min(least, math.Abs(a.Data[i*(a.Stride+1)]))
	}
	if least > tol {
		apart := own.Dtrcon(lapack.MaxColumnSum, blas.Upper, blas.NonUnit, k, a.Data, a.Stride, rest, make([]int, k))
		if apart > surely {
			return nil, k
		}
	}
	own.Dlacpy(blas.All, a.Rows, a.Cols, before, a.Cols, a.Data, a.Stride)
	p = make([]int, a.Cols)
	for j := range p {
		p[j] = -1
	}
	own.Dgeqp3(a.Rows, a.Cols, a.Data, a.Stride, p, tau, rest, len(rest))
	for i := range k {
		if math.Abs(a.Data[i*(a.Stride+1)]) > tol {
			rank++
		}
	}
	return p, rank
}

// generate sets a square matrix to Q, for reflections in the columns of a.
func (*solvers) generate(q, a blas64.General, tau []float64) {
	if q.Rows == 0 {
		return
	}
	for i := range q.Rows {
		row := q.Data[i*q.Stride:][:q.Cols]
		clear(row)
		copy(row, a.Data[i*a.Stride:][:min(i, len(tau))])
	}
	work := borrow[float64](workOf(q.Rows, q.Cols))
	defer giveBack(work)
	own.Dorgqr(q.Rows, q.Cols, len(tau), q.Data, q.Stride, tau, *work, len(*work))
}

// rq overwrites a matrix M of full row rank by [0 R] with M = [0 R] Z, and multiplies others by Z' from the
// right. R and Z come from the QR factors of M' with its columns in reverse order.
func (*solvers) rq(m blas64.General, others ...blas64.General) {
	rows, columns := m.Rows, m.Cols
	memory := borrow[float64](rows*columns + rows)
	defer giveBack(memory)
	turned := blas64.General{Rows: columns, Cols: rows, Stride: rows, Data: (*memory)[:rows*columns]}
	tau := (*memory)[rows*columns:]
	for i := range rows {
		for j, v := range m.Data[i*m.Stride:][:columns] {
			turned.Data[j*rows+rows-1-i] = v
		}
	}
	own.qr(turned, tau)
	for i := range rows {
		row := m.Data[i*m.Stride:][:columns]
		clear(row)
		for j := i; j < rows; j++ {
			row[columns-rows+j] = turned.Data[(rows-1-j)*rows+rows-1-i]
		}
	}
	for _, c := range others {
		own.apply(blas.Right, blas.NoTrans, turned, tau, c)
		for i := range c.Rows {
			row := c.Data[i*c.Stride:][:columns]
			for j := range columns / 2 {
				row[j], row[columns-1-j] = row[columns-1-j], row[j]
			}
		}
	}
}

// reduceB brings B to [0 R] of full row rank, with V and the first factor of Q.
func (d *gsvd) reduceB(tol float64) {
	tau := make([]float64, d.n)
	p, rank := own.rankedQR(d.b, tau[:min(d.p, d.n)], tol)
	d.r = rank
	if p != nil {
		permuteColumns(d.m, d.a.Data, d.a.Stride, p)
	}
	own.generate(d.v, d.b, tau[:min(d.p, d.n)])
	upperTriangle(d.b, rank)
	if d.q.Rows > 0 {
		own.Dlaset(blas.All, d.n, d.n, 0, 1, d.q.Data, d.q.Stride)
		if p != nil {
			permuteColumns(d.n, d.q.Data, d.q.Stride, p)
		}
	}
	if rank == d.n || rank == 0 {
		return
	}
	others := []blas64.General{d.a}
	if d.q.Rows > 0 {
		others = append(others, d.q)
	}
	own.rq(first(d.b, rank, d.n), others...)
}

// upperTriangle clears what is not in the upper triangle of the first rows of a matrix.
func upperTriangle(a blas64.General, rows int) {
	for i := range a.Rows {
		row := a.Data[i*a.Stride:][:a.Cols]
		if i < rows {
			row = row[:min(i, a.Cols)]
		}
		clear(row)
	}
}

// reduceA brings the columns of A for which B is zero to [0 R]. In the other columns it brings the rows
// below to upper triangular form. The transformations go into U and Q.
func (d *gsvd) reduceA(tol float64) {
	free := d.n - d.r
	own.Dlaset(blas.All, d.u.Rows, d.u.Rows, 0, 1, d.u.Data, max(d.u.Stride, 1))
	tau := make([]float64, d.n)
	if free > 0 {
		left, q := first(d.a, d.m, free), first(d.q, d.q.Rows, free)
		reflections := tau[:min(d.m, free)]
		p, rank := own.rankedQR(left, reflections, tol)
		d.k = rank
		own.apply(blas.Left, blas.Trans, left, reflections, from(d.a, 0, free))
		own.generate(d.u, left, reflections)
		if p != nil && q.Rows > 0 {
			permuteColumns(d.n, q.Data, q.Stride, p)
		}
		upperTriangle(left, rank)
		if free > rank && rank > 0 {
			others := []blas64.General{q}
			if q.Rows == 0 {
				others = nil
			}
			own.rq(first(left, rank, free), others...)
		}
	}
	if rest := from(d.a, d.k, free); rest.Rows > 0 && d.r > 0 {
		reflections := tau[:min(rest.Rows, d.r)]
		own.qr(rest, reflections)
		if d.u.Rows > 0 {
			own.apply(blas.Right, blas.NoTrans, rest, reflections, from(d.u, 0, d.k))
		}
		upperTriangle(rest, len(reflections))
	}
}

// permuteColumns moves column p[j] of a matrix of m rows to j.
func permuteColumns(m int, a []float64, lda int, p []int) {
	before := make([]float64, len(p))
	for i := range m {
		row := a[i*lda:][:len(p)]
		copy(before, row)
		for j, from := range p {
			row[j] = before[from]
		}
	}
}
