// The arguments of difalt_step. Matrices are column-major, except that rows of
// samples are contiguous: X_t' is a d x n_t matrix with column stride ldx.
#ifndef DIFALT_STEP_H
#define DIFALT_STEP_H

#include <stddef.h>

typedef struct {
	const double *x64;           // samples of all tasks, or NULL
	const float *x32;            // samples of all tasks, if x64 is NULL
	const double *y;             // responses of all tasks
	const ptrdiff_t *fit_first;  // first sample and number of samples of each
	const ptrdiff_t *fit_rows;   // task in the least squares
	const ptrdiff_t *grad_first; // the same in the gradient
	const ptrdiff_t *grad_rows;
	const double *u;             // basis, d x r
	double *b;                   // coefficients, r for each task
	double *grad;                // gradient, d x r, is added to
	double *work;                // difalt_work entries
	double ridge;
	ptrdiff_t ldx;
	int d, r, ldu, ldg, max_rows;
} difalt_args;

typedef struct {
	ptrdiff_t next;   // the first task that was left alone
	double objective; // sum of the squared residuals of the tasks before it
} difalt_result;

// difalt_work returns the number of doubles in work.
ptrdiff_t difalt_work(ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r);

// difalt_step does Alg. 3, lines 7 to 11, for tasks lo, lo+1, ... below hi. It stops at hi, or at a
// task whose least squares needs more than a QR factorisation because it has too few samples,
// dependent columns or numbers that are not finite.
difalt_result difalt_step(difalt_args s, ptrdiff_t lo, ptrdiff_t hi);

// difalt_orthogonalize computes b = argmin |A b - y| for the columns [A y] of f, ld rows
// each, a multiple of 8, which it overwrites. In A = Q D F, with D diagonal, row k of F is
// t[k*(r+1)+j], j > k, after ones on its diagonal, where t has the squares of D. least becomes the
// smallest of these, if it was larger, and product is multiplied by each of them times unit.
void difalt_orthogonalize(double *b, double *f, ptrdiff_t ld, int r, double *t, double unit, double *least, double *product);

#endif
