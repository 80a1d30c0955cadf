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

enum {
	BATCH = 8, // products X_t' e_t kept before they are added to the gradient
};

// Package leastsq draws the same lines, a little further out: what passes here passes there, and what does not
// is left to it.
static const double null = 0x1p-51, smallest = 1e-279, largest = 1e299;

// The pieces of the workspace.
typedef struct {
	double *a; // X_t U, max_rows x r
	double *e; // X_t U b_t - y_t
	double *f; // [A y], with the rows of the ridge
	double *q; // R and Q'y, r x (r+1) by columns
	double *w; // a column of R^-1
	double *v; // X_t' e_t of up to BATCH tasks
	double *x; // X_t in double precision, for storage in single precision
} scratch;

// carve cuts work into pieces and returns how many doubles they take.
static ptrdiff_t carve(scratch *s, double *work, ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r) {
	ptrdiff_t sizes[] = {
		max_rows * r, max_rows, (max_rows + r) * (r + 1), r * (r + 1), r, BATCH * ldx, max_rows * ldx,
	};
	double **pieces[] = {&s->a, &s->e, &s->f, &s->q, &s->w, &s->v, &s->x};
	ptrdiff_t at = 0;
	for (int i = 0; i < 7; i++) {
		*pieces[i] = work ? work + at : NULL;
		at += (sizes[i] + 7) & ~(ptrdiff_t)7;
	}
	return at;
}

ptrdiff_t difalt_work(ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r) {
	scratch unused;
	return carve(&unused, NULL, max_rows, ldx, r);
}

// multiply returns X_t' of n samples from the given one on, and sets A = X_t U.
static const double *multiply(const difalt_args *s, const scratch *k, ptrdiff_t first, int n) {
	const double *x = k->x;
	if (s->x64) x = s->x64 + first * s->ldx;
	else
		for (ptrdiff_t i = 0; i < n; i++)
			for (int j = 0; j < s->d; j++) k->x[i * s->ldx + j] = s->x32[(first + i) * s->ldx + j];
	cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, s->r, s->d, 1, x, s->ldx, s->u, s->ldu, 0, k->a, s->max_rows);
	return x;
}

// dot returns x'y in eight sums, which compilers vectorise. Tasks are small: calls of BLAS, which lock its
// buffers, would take longer than their arithmetic.
static double dot(const double *x, const double *y, int n) {
	double s[8] = {0};
	int i = 0;
	for (; i + 8 <= n; i += 8)
		for (int l = 0; l < 8; l++) s[l] += x[i + l] * y[i + l];
	for (int l = 0; i < n; i++, l++) s[l] += x[i] * y[i];
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// substitute solves R x = x for the first n columns of R.
static void substitute(const double *q, int r, double *x, int n) {
	for (int j = n - 1; j >= 0; j--) {
		const double *column = q + (ptrdiff_t)j * r;
		x[j] /= column[j];
		for (int i = 0; i < j; i++) x[i] -= x[j] * column[i];
	}
}

// trusted reports whether R has full rank beyond doubt, since |R^-1| bounds the smallest singular value, and
// no digits of b were lost to squares that overflow or underflow; NaN fails every comparison.
static int trusted(const scratch *k, const double *b, ptrdiff_t n, int r, double squares) {
	double least = INFINITY, most = 0, inverse = 0, *x = k->w;
	for (int j = 0; j < r; j++) {
		const double diagonal = k->q[(ptrdiff_t)j * r + j];
		if (!isfinite(b[j])) return 0;
		least = fmin(least, diagonal * diagonal);
		most = fmax(most, fabs(b[j]));
		memset(x, 0, j * sizeof *x);
		x[j] = 1;
		substitute(k->q, r, x, j + 1);
		inverse += dot(x, x, j + 1);
	}
	const double tol = null * (n > r ? n : r);
	return least > smallest && squares < largest && most * least > smallest && tol * tol * squares * inverse < 1;
}

// solve computes b = argmin |A b - y|^2 + ridge |b|^2 for A in k->a by modified Gram-Schmidt of [A y]. It
// returns 0 if the result cannot be trusted.
static int solve(const difalt_args *s, const scratch *k, double *b, const double *y, int n, ptrdiff_t original) {
	const int r = s->r, m = s->ridge > 0 ? n + r : n;
	if (n == 0 || m < r) return 0;
	double squares = 0;
	for (int j = 0; j <= r; j++) {
		double *column = k->f + (ptrdiff_t)j * m;
		memcpy(column, j < r ? k->a + (ptrdiff_t)j * s->max_rows : y, n * sizeof *column);
		memset(column + n, 0, (m - n) * sizeof *column);
		if (m > n && j < r) column[n + j] = sqrt(s->ridge);
		if (j < r) squares += dot(column, column, m);
	}
	for (int j = 0; j < r; j++) {
		const double *x = k->f + (ptrdiff_t)j * m;
		const double norm = sqrt(dot(x, x, m));
		k->q[(ptrdiff_t)j * r + j] = norm;
		for (int c = j + 1; c <= r; c++) {
			double *column = k->f + (ptrdiff_t)c * m;
			const double q = dot(x, column, m) / norm, step = q / norm;
			k->q[(ptrdiff_t)c * r + j] = q;
			for (int i = 0; i < m; i++) column[i] -= step * x[i];
		}
	}
	memcpy(b, k->q + (ptrdiff_t)r * r, r * sizeof *b);
	substitute(k->q, r, b, r);
	return trusted(k, b, original, r, squares);
}

double difalt_step(difalt_args args, ptrdiff_t lo, ptrdiff_t hi) {
	const difalt_args *s = &args;
	scratch pieces, *k = &pieces;
	carve(k, s->work, s->max_rows, s->ldx, s->r);
	double objective = 0;
	int held = 0;           // products in k->v
	ptrdiff_t first = lo;   // the task of the first of them
	for (ptrdiff_t t = lo; t < hi; t++) {
		const int n = (int)s->rows[t];
		const double *x = multiply(s, k, s->first[t], n), *y = s->y + s->first[t];
		double *b = s->b + t * s->r;
		s->status[t] = solve(s, k, b, y, n, s->original ? s->original[t] : n) ? 0 : DIFALT_LEFT;
		if (s->status[t] == 0) {
			memcpy(k->e, y, n * sizeof *k->e);
			cblas_dgemv(CblasColMajor, CblasNoTrans, n, s->r, 1, k->a, s->max_rows, b, 1, -1, k->e, 1);
			objective += cblas_ddot(n, k->e, 1, k->e, 1);
			double *v = k->v + held++ * s->ldx;
			memset(v, 0, s->d * sizeof *v); // BLAS leaves it alone when n is 0
			cblas_dgemv(CblasColMajor, CblasNoTrans, s->d, n, 1, x, s->ldx, k->e, 1, 1, v, 1);
		}
		if (held > 0 && (held == BATCH || t == hi - 1 || s->status[t] != 0)) { // b of the held tasks follow each other
			cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, s->d, s->r, held,
			            1, k->v, s->ldx, s->b + first * s->r, s->r, 1, s->grad, s->ldg);
			held = 0;
		}
		if (held == 0) first = t + 1;
	}
	return objective;
}

#endif
