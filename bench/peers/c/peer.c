// One iteration over all tasks with BLAS and LAPACK from C, column-major: tasks one after
// the other, so that X_t is still in cache when the gradient needs it, with the two tricks
// of difalt that need no kernel: samples on huge pages, and the gradient updated for eight
// tasks at once. All memory is allocated once; OpenMP threads share the tasks.
// The library (OpenBLAS or MKL) is whatever it is linked with.
#include "protocol.h"
#include <omp.h>

// Prototypes of the Fortran interface, which both libraries have (32-bit integers).
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
	const int *, const double *, const int *, const double *, double *, const int *);
void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *,
	const int *, const double *, double *, const int *);
void dgeqrf_(const int *, const int *, double *, const int *, double *, double *, const int *, int *);
void dormqr_(const char *, const char *, const int *, const int *, const int *, const double *, const int *,
	const double *, double *, const int *, double *, const int *, int *);
void dtrtrs_(const char *, const char *, const char *, const int *, const int *, const double *, const int *, double *,
	const int *, int *);

#ifdef OPENBLAS
char *openblas_get_corename(void);
#endif

static const int one = 1;
static const double zero = 0, plus = 1, minus = -1;

enum { BATCH = 8 }; // tasks whose X_t' e_t are added to the gradient as one product

// A scratch is the memory of one thread, allocated once.
typedef struct {
	double *a, *qr, *e, *c, *tau, *work, *v, *g;
	int lwork;
} scratch;

static scratch *scratches;
static int threads;

static scratch new_scratch(const problem *p) {
	scratch s;
	s.lwork = (int)(64 * (p->n + p->r));
	s.a = allocate(p->n * p->r);
	s.qr = allocate(p->n * p->r);
	s.e = allocate(p->n);
	s.c = allocate(p->n);
	s.tau = allocate(p->r);
	s.work = allocate(s.lwork);
	s.v = allocate(p->d * BATCH);
	s.g = allocate(p->d * p->r);
	return s;
}

// solve computes b = A^+ y and e = A b - y.
static void solve(const problem *p, scratch *s, const double *a, const double *y, double *b) {
	const int n = (int)p->n, r = (int)p->r;
	int info;
	memcpy(s->qr, a, (size_t)(p->n * p->r) * 8);
	memcpy(s->c, y, (size_t)n * 8);
	memcpy(s->e, y, (size_t)n * 8);
	dgeqrf_(&n, &r, s->qr, &n, s->tau, s->work, &s->lwork, &info);
	dormqr_("L", "T", &n, &one, &r, s->qr, &n, s->tau, s->c, &n, s->work, &s->lwork, &info);
	dtrtrs_("U", "N", "N", &r, &one, s->qr, &n, s->c, &r, &info);
	if (info != 0)
		fail("singular task");
	memcpy(b, s->c, (size_t)r * 8);
	dgemv_("N", &n, &r, &plus, a, &n, b, &one, &minus, s->e, &one);
}

static void tasks(const problem *p, scratch *s, int64_t lo, int64_t hi, double *b) {
	const int n = (int)p->n, d = (int)p->d, r = (int)p->r;
	int held = 0;
	memset(s->g, 0, (size_t)(p->d * p->r) * 8);
	for (int64_t t = lo; t < hi; t++) {
		const double *x = p->x + t * p->n * p->d; // X_t' by columns, d x n
		dgemm_("T", "N", &n, &r, &d, &plus, x, &d, p->u, &d, &zero, s->a, &n);
		solve(p, s, s->a, p->y + t * n, b + t * r);
		dgemv_("N", &d, &n, &plus, x, &d, s->e, &one, &zero, s->v + held * p->d, &one);
		if (++held == BATCH || t == hi - 1) {
			dgemm_("N", "T", &d, &r, &held, &plus, s->v, &d, b + (t + 1 - held) * r, &r, &plus, s->g, &d);
			held = 0;
		}
	}
}

static void iterate_tasks(const problem *p, double *g, double *b) {
#pragma omp parallel num_threads(threads)
	{
		int w = omp_get_thread_num();
		tasks(p, &scratches[w], p->tasks * w / threads, p->tasks * (w + 1) / threads, b);
	}
	memcpy(g, scratches[0].g, (size_t)(p->d * p->r) * 8);
	for (int w = 1; w < threads; w++)
		for (int64_t i = 0; i < p->d * p->r; i++)
			g[i] += scratches[w].g[i];
}

int main(int argc, char **argv) {
	if (argc != 3)
		fail("usage: peer PROBLEM THREADS");
	problem p = load(argv[1]);
	threads = atoi(argv[2]);
	scratches = malloc((size_t)threads * sizeof *scratches);
	for (int w = 0; w < threads; w++)
		scratches[w] = new_scratch(&p);
	char version[256] = VERSION;
#ifdef OPENBLAS
	// The processor that it takes this one for says what it is worth.
	snprintf(version, sizeof version, "%s (%s)", VERSION, openblas_get_corename());
#endif
	serve(&p, version, iterate_tasks);
	return 0;
}
