// The arguments of difalt_step. Matrices are column-major, except that rows of
// samples are contiguous: X_t' is a d x n_t matrix with column stride ldx.
#ifndef DIFALT_STEP_H
#define DIFALT_STEP_H

#include <stddef.h>

typedef struct {
	const double *x64;           // samples of all tasks, or NULL
	const float *x32;            // samples of all tasks, if x64 is NULL
	const double *y;             // responses of all tasks
	const ptrdiff_t *first;      // first sample and number of samples of each task
	const ptrdiff_t *rows;
	const ptrdiff_t *original;   // samples from which these were computed, for the tolerance; NULL: rows
	const double *u;             // basis, d x r
	double *b;                   // coefficients, r for each task
	unsigned char *status;       // of each task: 0, or DIFALT_LEFT
	double *grad;                // gradient, d x r, is added to
	double *work;                // difalt_work entries
	double ridge;
	int ldx, d, r, ldu, ldg, max_rows;
} difalt_args;

enum { DIFALT_LEFT = 255 };

// difalt_work returns the number of doubles in work.
ptrdiff_t difalt_work(ptrdiff_t max_rows, ptrdiff_t ldx, ptrdiff_t r);

// difalt_step does Alg. 3, lines 7 to 11, for tasks lo, lo+1, ... below hi, and returns the sum of their
// squared residuals. It leaves alone, with the status DIFALT_LEFT, tasks whose least squares needs more than
// a QR factorisation because they have too few samples, dependent columns or numbers that are not finite.
double difalt_step(difalt_args s, ptrdiff_t lo, ptrdiff_t hi);

#endif
