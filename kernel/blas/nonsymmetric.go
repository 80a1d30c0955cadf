package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
)

// Dgeev computes the eigenvalues wr + i wi of a general matrix and, if asked for, its left and right
// eigenvectors, in the columns of vl and vr.
//
// On entry the n x n matrix a holds A. On return it is overwritten; a pair of complex eigenvectors is in two
// columns, real parts and imaginary parts, each of Euclidean norm 1 with a largest component that is real. If
// not all eigenvalues are found, Dgeev returns the number of the first one that is, and no vectors: n for a
// matrix with NaN or infinity.
func (*solvers) Dgeev(
	jobvl lapack.LeftEVJob, jobvr lapack.RightEVJob, n int, a []float64, lda int, wr, wi []float64,
	vl []float64, ldvl int, vr []float64, ldvr int, work []float64, lwork int,
) (first int) {
	left, right := jobvl == lapack.LeftEVCompute, jobvr == lapack.RightEVCompute
	vectors := left || right
	least := 3 * n
	if vectors {
		least = 4 * n
	}
	jobs := (left || jobvl == lapack.LeftEVNone) && (right || jobvr == lapack.RightEVNone)
	if !jobs || n <= 0 || lwork < least || len(work) < lwork || !inside(a, n, n, lda) || len(wr) != n || len(wi) != n ||
		ldvl < 1 || ldvr < 1 || left && !inside(vl, n, n, ldvl) || right && !inside(vr, n, n, ldvr) {
		return own.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork)
	}
	if !finite(n, n, a, lda) {
		fill(wr, math.NaN())
		fill(wi, math.NaN())
		return n
	}
	if n < fewForSchur || !vectorized() && n < 2*fewForSchur {
		work, lwork = work[:least], least // gonum clears all of work for each reflector
		return own.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork)
	}
	scale := scalesOf(own.Dlange(lapack.MaxAbs, n, n, a, lda, nil))
	rescale(-scale, n, n, a, lda)
	balance, tau, rest := work[:n], work[n:2*n-1], work[2*n:lwork]
	ilo, ihi := own.Dgebal(lapack.PermuteScale, n, a, lda, balance)
	own.Dgehrd(n, ilo, ihi, a, lda, tau, rest, len(rest))
	if !vectors {
		first = own.Dhseqr(
			lapack.EigenvaluesOnly, lapack.SchurNone, n, ilo, ihi, a, lda, wr, wi, nil, 1, work[n:lwork],
			lwork-n,
		)
		rescale(scale, 1, n, wr, n)
		rescale(scale, 1, n, wi, n)
		own.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, -1) // sets work[0]
		return first
	}
	side, z, ldz := lapack.EVRight, vr, ldvr
	if left {
		side, z, ldz = lapack.EVLeft, vl, ldvl
	}
	own.Dlacpy(blas.Lower, n, n, a, lda, z, ldz)
	own.Dorghr(n, ilo, ihi, z, ldz, tau, rest, len(rest))
	rest = work[n:lwork]
	job, vectorsOf := lapack.EigenvaluesAndSchur, lapack.SchurOrig
	first = own.Dhseqr(job, vectorsOf, n, ilo, ihi, a, lda, wr, wi, z, ldz, rest, len(rest))
	rescale(scale, 1, n, wr, n)
	rescale(scale, 1, n, wi, n)
	if first > 0 {
		return first
	}
	if left && right {
		side = lapack.EVBoth
		own.Dlacpy(blas.All, n, n, vl, ldvl, vr, ldvr)
	}
	own.Dtrevc3(side, lapack.EVAllMulQ, nil, n, a, lda, vl, ldvl, vr, ldvr, n, rest, len(rest))
	if left {
		own.Dgebak(lapack.PermuteScale, lapack.EVLeft, n, ilo, ihi, balance, n, vl, ldvl)
		own.normalise(n, wi, vl, ldvl, rest)
	}
	if right {
		own.Dgebak(lapack.PermuteScale, lapack.EVRight, n, ilo, ihi, balance, n, vr, ldvr)
		own.normalise(n, wi, vr, ldvr, rest)
	}
	own.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, -1) // sets work[0]
	return 0
}

// normalise scales eigenvectors to norm 1 and rotates complex ones so that their largest component is real.
func (*solvers) normalise(n int, wi, v []float64, ldv int, work []float64) {
	var i reference.Implementation
	for j, w := range wi {
		re := v[j:]
		switch {
		case w == 0:
			i.Dscal(n, 1/i.Dnrm2(n, re, ldv), re, ldv)
		case w > 0:
			im := v[j+1:]
			size := own.Dlapy2(i.Dnrm2(n, re, ldv), i.Dnrm2(n, im, ldv))
			i.Dscal(n, 1/size, re, ldv)
			i.Dscal(n, 1/size, im, ldv)
			for k := range n {
				work[k] = float64(re[k*ldv]*re[k*ldv]) + float64(im[k*ldv]*im[k*ldv])
			}
			k := i.Idamax(n, work[:n], 1)
			c, s, _ := own.Dlartg(re[k*ldv], im[k*ldv])
			i.Drot(n, re, ldv, im, ldv, c, s)
			im[k*ldv] = 0
		}
	}
}

// Dhseqr computes the eigenvalues wr + i wi of an upper Hessenberg matrix H in rows and columns ilo to ihi.
// On request it computes the Schur form T and Z with H = Z T Z', too.
//
// On entry the n x n matrix h holds H; with lapack.SchurOrig, z holds a matrix that Z is multiplied into from
// the right. On return h holds T, or nothing of use, z the product or Z, and work[0] the best length of work.
// Dhseqr returns 0, or the number of the first eigenvalue that is found: n, no eigenvalue, for a matrix with
// NaN or infinity.
func (*solvers) Dhseqr(
	job lapack.SchurJob, compz lapack.SchurComp, n, ilo, ihi int, h []float64, ldh int, wr, wi []float64,
	z []float64, ldz int, work []float64, lwork int,
) (unconverged int) {
	wanted := compz == lapack.SchurHess || compz == lapack.SchurOrig
	if n <= 0 || job != lapack.EigenvaluesOnly && job != lapack.EigenvaluesAndSchur ||
		!wanted && compz != lapack.SchurNone ||
		ilo < 0 || ihi < ilo || ihi >= n || lwork < n || len(work) < lwork || !inside(h, n, n, ldh) ||
		len(wr) < n || len(wi) < n ||
		ldz < 1 || wanted && !inside(z, n, n, ldz) {
		return own.Implementation.Dhseqr(job, compz, n, ilo, ihi, h, ldh, wr, wi, z, ldz, work, lwork)
	}
	if !finite(n, n, h, ldh) {
		return n
	}
	order := 0
	if wanted {
		order = n
	}
	f := newSchur(n)
	defer f.release()
	f.z = newTurned(order)
	defer f.z.release()
	f.whole, f.re, f.im = job == lapack.EigenvaluesAndSchur, wr[:n], wi[:n]
	f.load(h, ldh)
	if compz == lapack.SchurOrig {
		tile.Transpose(f.z.rows, f.z.stride, z, ldz, n, n)
	}
	unconverged = f.compute(ilo, ihi)
	f.store(h, ldh)
	if wanted {
		tile.Transpose(z, ldz, f.z.rows, f.z.stride, n, n)
	}
	own.Implementation.Dhseqr(job, compz, n, ilo, ihi, h, ldh, wr, wi, z, ldz, work, -1) // sets work[0]
	return unconverged
}

// fill sets all entries of a vector.
func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

// Dsteqr computes the eigenvalues and eigenvectors of a symmetric tridiagonal matrix, as gonum does. It
// returns false for a matrix with NaN or infinity.
func (*solvers) Dsteqr(job lapack.EVComp, n int, d, e, z []float64, ldz int, work []float64) (ok bool) {
	if hasInfinite(n, d, e) {
		return false
	}
	return own.Implementation.Dsteqr(job, n, d, e, z, ldz, work)
}

// hasInfinite reports whether a matrix with n entries d on its diagonal and n-1 entries e beside it has NaN
// or infinity. Where gonum refuses the lengths it returns false.
func hasInfinite(n int, d, e []float64) bool {
	return n > 0 && len(d) >= n && len(e) >= n-1 && !(finite(1, n, d, n) && finite(1, n-1, e, n))
}
