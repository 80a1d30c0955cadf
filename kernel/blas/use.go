// Package blas is a BLAS and LAPACK for gonum, computed by the tiles of the CPU tier in use. Use
// registers it for the whole program, so that package mat and everything above it computes with the tiles:
//
//	blas.Use()
//
// On one thread, package mat takes these shares of its time with gonum's own implementation:
//
//	                                        AVX-512        AVX2
//	products of matrices                    1/11 to 1/13   1/6
//	LU, Cholesky, QR, order 300 and more    1/7 to 1/10    1/5 to 1/6
//	LU, Cholesky, QR, order 50 to 100       1/4 to 2/5     1/4 to 1/2
//	eigenvectors, singular vectors          1/3 to 1/7     1/3 to 1/5
//	a matrix from memory by a vector        2/5            3/5
//	a matrix from a cache by a vector       4/5            4/5
//	systems of order 10                     2/3            2/3
//
// BENCHMARKS.md has the table, beside OpenBLAS. On arm64 the tiles were never timed. In portable Go gonum's
// own code computes, with its faults corrected (see Implementation and Lapack).
//
// Package gorgonia.org/tensor has another registration, for which Use does nothing:
//
//	import "github.com/difalt/difalt/kernel/blas"
//
//	tensor.Use(blas.Implementation{})
//
// testdata/gorgonia_test.go is an example, which scripts/gorgonia.sh runs in a separate module. With tensor
// v0.9.24 and Go 1.26 a program must require a newer go4.org/unsafe/assume-no-moving-gc, as the script does.
package blas

import (
	reference "gonum.org/v1/gonum/blas/gonum"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
)

// Use registers Implementation with gonum's blas32, blas64, cblas64 and cblas128, and Lapack with lapack64,
// and so both with package mat, for the whole program. In a build with -tags openblas it registers OpenBLAS
// with blas64 and lapack64 instead, and nothing with the other packages. It then limits OpenBLAS to one
// thread for good: gonum's callers start goroutines themselves. Package main calls it before anything
// computes.
//
// Registered on arm64, or on a processor with AVX2 or AVX-512, the tiles compute. On all others, and in a
// build with -tags purego, gonum's own code computes, except where it is wrong; see Lapack. The variable
// DIFALT_KERNEL=avx2 or generic forces a lesser tier. Use ignores names that the processor or the build
// lacks; package kernel reports them.
func Use() { use() }

// An Implementation is gonum's blas.Float64, blas.Float32, blas.Complex128 and blas.Complex64. With AVX2,
// AVX-512 or NEON the tiles compute these routines in both precisions; gonum computes all other ones.
//
//   - vectors: dot, axpy, asum, scal, nrm2, rot, rotm, copy, swap, iamax;
//   - a matrix and a vector: gemv, ger, trmv, trsv, symv, and for triangles and wide bands syr, syr2, spr,
//     spr2, spmv, sbmv, gbmv, tpmv, tpsv, tbmv, tbsv;
//   - matrices: gemm, syrk, syr2k, symm, trmm, trsm;
//   - complex vectors and matrices: axpy, dot, scal, nrm2, asum, iamax, copy, swap, gemv, geru, gerc, gemm,
//     herk, syrk, her2k, syr2k, hemm, symm, trmm, trsm, and level 2 of large triangles and bands.
//
// Portable Go has no tiles for them, and gonum computes there too, where its results are right. gonum's own
// suites pass (TestSuitesOfGonum).
//
// Matrices are stored by rows. Arguments, results and panics are gonum's, except for
//
//   - rounding, by the order of sums. The order depends on the shapes alone, and not on the number of
//     threads that share large operands; AVX2 and AVX-512 give equal bits, and NEON does but for the
//     exceptions in docs/kernel.md;
//   - special values, which follow one rule for every size and tier. With beta = 0 a result is overwritten,
//     not read; with alpha = 0 factors are not read; products of zero by infinity or NaN are NaN;
//   - triangular systems, which divide by a pivot whose inverse overflows or is denormal;
//   - infinite alpha, which is multiplied into a factor: a sum of +Inf and -Inf is NaN then.
//
// Products of complex numbers take the four real products of the definition. Each part has the error of a
// real inner product of twice the depth. Small ones are gonum's own. The rules for special values hold for
// both parts of an entry together: a NaN or infinity of a factor makes each entry where it counts NaN or
// infinite, as in gonum; which of the two may differ. Alpha = 1 and beta = 1 multiply nothing. Complex
// systems skip zeros where gonum solves them, within blocks on the diagonal, and multiply by the inverse of
// a pivot if A is on the left, or small.
//
// A left factor with few nonzero entries is multiplied entry by entry. Memory for blocks is kept: calls on
// one thread allocate none after the first ones. Large operands are shared by goroutines that end 50 us
// after the last of them.
type Implementation struct {
	*routines // nil: no method reads it
	others
}

// routines has the methods that this package computes, and gonum's other ones. Use registers a pointer to it.
// The methods have a pointer as their receiver: those with a value are called by way of a function that
// copies the arguments, which takes a tenth of the time of a small call.
type routines struct{ others }

// others has gonum's methods.
type others struct{ reference.Implementation }

// gonum computes what this package leaves to it, and panics because of the arguments.
var gonum reference.Implementation

// Lapack is gonum's lapack.Float64. It computes the factors of LU, Cholesky, QR and LQ, their Q and inverses,
// eigenvalues and eigenvectors, and singular values and vectors. It also computes norms and estimates of
// condition numbers, which package mat requests for every solution. gonum computes all other routines.
// Differences from gonum are the ones of Implementation, and
//
//   - reflectors are right: gonum v0.17 applies 33 reflectors or more wrongly if some of them end with zeros,
//     which dummy variables cause;
//   - eigenvalues of symmetric matrices with tiny parts are right, where gonum v0.17 panics;
//   - generalised singular values are right for matrices of any rank, where gonum v0.17 finds wrong ranks;
//   - decompositions by iterations return immediately, without success, for matrices with NaN or infinity;
//   - the reciprocal condition number of a matrix with a norm near the largest number is 1, not infinite;
//   - a matrix that Dpotrf finds not positive definite is left in another state;
//   - infinity or NaN in a matrix for Dgeqrf makes more of its factors NaN;
//   - Dgeqrf leaves the best length of work in work[0].
type Lapack struct {
	*solvers // nil: no method reads it
	lapackOthers
}

// solvers is what routines is, for Lapack.
type solvers struct{ lapackOthers }

// lapackOthers has gonum's methods.
type lapackOthers struct{ lapackreference.Implementation }

// own has the methods of Lapack, for calls within this package.
var own solvers
