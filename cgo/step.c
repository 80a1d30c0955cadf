//go:build openblas

#if defined(__has_include)
#if !__has_include(<cblas.h>)
#define DIFALT_INCOMPLETE
#elif defined(__linux__) && !__has_include(<lapacke.h>) && !__has_include(<lapacke/lapacke.h>)
#define DIFALT_INCOMPLETE
#endif
#endif

#ifdef DIFALT_INCOMPLETE
#error "difalt: -tags openblas needs OpenBLAS and LAPACKE: apt-get install libopenblas-dev liblapacke-dev | dnf install openblas-devel lapack-devel | apk add openblas-dev lapack-dev | brew install openblas | or set CGO_CFLAGS and CGO_LDFLAGS"
#else

#include "step.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

// LAPACK, column-major and over the caller's workspace.
void dgeqrt_(const int *m, const int *n, const int *nb, double *a, const int *lda,
             double *t, const int *ldt, double *work, int *info);

enum {
	BATCH = 8, // products X_t' e_t kept before they are added to the gradient
	BLOCK = 8, // columns of a panel of LAPACK's QR factorisation
	BLOCKED = 48, // the rank from which on that is faster than Gram-Schmidt
};

// Package lsq draws the same lines, a little further out: what passes here passes
// there, and what does not is left to it.
static const double null = 0x1p-51, smallest = 1e-279, largest = 1e299;

// The pieces of the workspace.
typedef struct {
	double *a;   // X_t U, max_rows x r
	double *e;   // X_t U b_t - y_t
	double *f;   // [A y], with the rows of the ridge
	double *t;   // block reflectors, or the triangle of Gram-Schmidt
	double *w;   // scratch of LAPACK
	double *v;   // X_t' e_t of up to BATCH tasks
	double *x;   // X_t in double precision, for storage in single precision
} scratch;

static ptrdiff_t pad(ptrdiff_t n) { return (n + 7) & ~(ptrdiff_t)7; }

// carve cuts work into pieces and returns how many doubles they take.
static ptrdiff_t carve(scratch *s, double *work, ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r) {
	ptrdiff_t sizes[] = {
		max_rows * r, max_rows, pad(max_rows + r) * (r + 1), BLOCKED * (r + 1),
		BLOCK * (r + 1), BATCH * ldx, max_rows * ldx,
	};
	double **pieces[] = {&s->a, &s->e, &s->f, &s->t, &s->w, &s->v, &s->x};
	ptrdiff_t at = 0;
	for (int i = 0; i < 7; i++) {
		*pieces[i] = work ? work + at : NULL;
		at += pad(sizes[i]);
	}
	return at;
}

ptrdiff_t difalt_work(ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r) {
	scratch unused;
	return carve(&unused, NULL, max_rows, ldx, r);
}

// samples returns X_t' of n samples from the given one on.
static const double *samples(const difalt_args *s, const scratch *k, ptrdiff_t first, ptrdiff_t n) {
	if (s->x64) return s->x64 + first * s->ldx;
	const float *x = s->x32 + first * s->ldx;
	for (ptrdiff_t i = 0; i < n; i++)
		for (int j = 0; j < s->d; j++) k->x[i * s->ldx + j] = x[i * s->ldx + j];
	return k->x;
}

// mul_basis computes A = X_t U.
static void mul_basis(const difalt_args *s, const scratch *k, const double *x, int n) {
	cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, s->r, s->d,
	            1, x, (int)s->ldx, s->u, s->ldu, 0, k->a, s->max_rows);
}

// trusted reports whether no digits of b were lost to squares that overflow or underflow; NaN fails every comparison.
static int trusted(const double *b, int r, double least, double squares) {
	double bmax = 0;
	if (!(least > smallest && squares < largest)) return 0;
	for (int j = 0; j < r; j++) {
		if (!isfinite(b[j])) return 0;
		bmax = fmax(bmax, fabs(b[j]));
	}
	return bmax * least > smallest;
}

// inverse_squares returns |R^-1|^2: R is the upper triangle of f, or that of t with the squares of R's diagonal on its own.
static double inverse_squares(const scratch *k, int ldf, int r) {
	double squares = 0, *x = k->w;
	for (int j = 0; j < r; j++) {
		memset(x, 0, j * sizeof *x);
		x[j] = 1;
		if (r < BLOCKED) {
			x[j] = 1 / sqrt(k->t[(ptrdiff_t)j * (r + 2)]);
			cblas_dtrsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasUnit, j + 1, k->t, r + 1, x, 1);
		} else
			cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, j + 1, k->f, ldf, x, 1);
		squares += cblas_ddot(j + 1, x, 1, x, 1);
	}
	return squares;
}

// factorize computes b from the columns [A y] of f, m rows ldf apart, by the blocked QR
// factorisation of LAPACK, which turns the last column into Q'y.
static void factorize(const scratch *k, double *b, int m, int ldf, int r, double unit, double *least, double *product) {
	double *f = k->f;
	const int columns = r + 1, rank = m < columns ? m : columns, block = rank < BLOCK ? rank : BLOCK;
	int info;
	dgeqrt_(&m, &columns, &block, f, &ldf, k->t, &block, k->w, &info);
	for (int j = 0; j < r; j++) {
		const double diagonal = f[(ptrdiff_t)j * ldf + j], square = diagonal * diagonal;
		*least = square < *least ? square : *least;
		*product *= square * unit;
	}
	memcpy(b, f + (ptrdiff_t)r * ldf, r * sizeof *b);
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, r, f, ldf, b, 1);
}

// solve computes b = argmin |A b - y|^2 + ridge |b|^2 for A in k->a. It returns 0 if the
// result cannot be trusted.
static int solve(const difalt_args *s, const scratch *k, double *b, const double *y, int n) {
	const int r = s->r;
	const int m = s->ridge > 0 ? n + r : n, ldf = (int)pad(m);
	if (m < r) return 0;
	const double root = sqrt(s->ridge);
	double least = INFINITY, squares = 0, product = 1;
	for (int j = 0; j <= r; j++) {
		double *column = k->f + (ptrdiff_t)j * ldf;
		memcpy(column, j < r ? k->a + (ptrdiff_t)j * s->max_rows : y, n * sizeof *column);
		memset(column + n, 0, (ldf - n) * sizeof *column);
		if (m > n && j < r) column[n + j] = root;
		if (j < r) squares += cblas_ddot(m, column, 1, column, 1);
	}
	const double unit = (r > 1 ? r - 1 : 1) / squares;
	if (r < BLOCKED)
		difalt_orthogonalize(b, k->f, ldf, r, k->t, unit, &least, &product);
	else
		factorize(k, b, m, ldf, r, unit, &least, &product);
	if (!trusted(b, r, least, squares)) return 0;
	// |R^-1| bounds the smallest singular value, and so does their product, which the diagonal shows: the others, each
	// square times unit, make at most 1.
	const double tol = null * (n > r ? n : r);
	return (product > tol * tol * (r > 1 ? r - 1 : 1) && product <= 1) || tol * tol * squares * inverse_squares(k, ldf, r) < 1;
}

// flush adds the products v_t b_t' of the held tasks before t to the gradient.
static void flush(const difalt_args *s, const scratch *k, ptrdiff_t t, int held) {
	if (held == 0) return;
	cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, s->d, s->r, held,
	            1, k->v, (int)s->ldx, s->b + (t - held) * s->r, s->r, 1, s->grad, s->ldg);
}

difalt_result difalt_step(difalt_args args, ptrdiff_t lo, ptrdiff_t hi) {
	const difalt_args *s = &args;
	scratch pieces, *k = &pieces;
	carve(k, s->work, s->max_rows, s->ldx, s->r);
	difalt_result result = {lo, 0};
	int held = 0;
	ptrdiff_t t;
	for (t = lo; t < hi; t++) {
		int n = (int)s->fit_rows[t];
		const double *x = samples(s, k, s->fit_first[t], n);
		double *b = s->b + t * s->r;
		if (n == 0 || (s->ridge == 0 && n < s->r)) break;
		mul_basis(s, k, x, n);
		if (!solve(s, k, b, s->y + s->fit_first[t], n)) break;
		if (s->grad_first[t] != s->fit_first[t] || s->grad_rows[t] != n) {
			n = (int)s->grad_rows[t];
			x = samples(s, k, s->grad_first[t], n);
			mul_basis(s, k, x, n);
		}
		memcpy(k->e, s->y + s->grad_first[t], n * sizeof *k->e);
		cblas_dgemv(CblasColMajor, CblasNoTrans, n, s->r, 1, k->a, s->max_rows, b, 1, -1, k->e, 1);
		result.objective += cblas_ddot(n, k->e, 1, k->e, 1);
		double *v = k->v + held * s->ldx;
		memset(v, 0, s->d * sizeof *v); // BLAS leaves it alone when n is 0
		cblas_dgemv(CblasColMajor, CblasNoTrans, s->d, n, 1, x, (int)s->ldx, k->e, 1, 1, v, 1);
		if (++held == BATCH) {
			flush(s, k, t + 1, held);
			held = 0;
		}
	}
	flush(s, k, t, held);
	result.next = t;
	return result;
}

#endif
