// The part that the C and C++ peers share: the problem file, memory, and the
// conversation with the driver (see bench/peers/README.md).
#ifndef DIFALT_PEER_PROTOCOL_H
#define DIFALT_PEER_PROTOCOL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	int64_t tasks, n, d, r;
	double *x; // tasks x n x d, row-major
	double *y; // tasks x n
	double *u; // d x r, by columns
} problem;

static void fail(const char *what) {
	fprintf(stderr, "%s\n", what);
	exit(1);
}

// allocate returns count zeros, on huge pages where the system offers them.
static double *allocate(int64_t count) {
	const size_t huge = (size_t)2 << 20;
	size_t bytes = ((size_t)count * sizeof(double) + huge - 1) / huge * huge;
	void *p = NULL;
	if (posix_memalign(&p, huge, bytes) != 0)
		fail("out of memory");
#ifdef MADV_HUGEPAGE
	madvise(p, bytes, MADV_HUGEPAGE);
#endif
	memset(p, 0, bytes);
	return (double *)p;
}

static void read_or_fail(void *p, size_t size, size_t count, FILE *f) {
	if (fread(p, size, count, f) != count)
		fail("problem file is truncated");
}

static problem load(const char *path) {
	problem p;
	char magic[8];
	int64_t shape[4];
	FILE *f = fopen(path, "rb");
	if (!f)
		fail("cannot open the problem file");
	read_or_fail(magic, 1, 8, f);
	if (memcmp(magic, "DIFALTB1", 8) != 0)
		fail("not a problem file");
	read_or_fail(shape, 8, 4, f);
	p.tasks = shape[0], p.n = shape[1], p.d = shape[2], p.r = shape[3];
	p.x = allocate(p.tasks * p.n * p.d);
	p.y = allocate(p.tasks * p.n);
	p.u = allocate(p.d * p.r);
	read_or_fail(p.x, 8, (size_t)(p.tasks * p.n * p.d), f);
	read_or_fail(p.y, 8, (size_t)(p.tasks * p.n), f);
	double *rows = allocate(p.d * p.r);
	read_or_fail(rows, 8, (size_t)(p.d * p.r), f);
	for (int64_t i = 0; i < p.d; i++)
		for (int64_t j = 0; j < p.r; j++)
			p.u[j * p.d + i] = rows[i * p.r + j];
	free(rows);
	fclose(f);
	return p;
}

// answer writes the gradient (d x r, given by columns) by rows, and B (tasks x r).
static void answer(const char *path, const problem *p, const double *g, const double *b) {
	FILE *f = fopen(path, "wb");
	if (!f)
		fail("cannot write the answer");
	for (int64_t i = 0; i < p->d; i++)
		for (int64_t j = 0; j < p->r; j++)
			fwrite(&g[j * p->d + i], 8, 1, f);
	fwrite(b, 8, (size_t)(p->tasks * p->r), f);
	if (fclose(f) != 0)
		fail("cannot write the answer");
}

static double now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// serve talks to the driver; iterate fills g (by columns) and b.
static void serve(const problem *p, const char *version, void (*iterate)(const problem *, double *g, double *b)) {
	double *g = allocate(p->d * p->r), *b = allocate(p->tasks * p->r);
	char line[4096];
	printf("ready %s\n", version);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "check ", 6) == 0) {
			iterate(p, g, b);
			answer(line + 6, p, g, b);
			printf("ok\n");
		} else if (strncmp(line, "run ", 4) == 0) {
			int k = atoi(line + 4);
			double start = now_ms();
			for (int i = 0; i < k; i++)
				iterate(p, g, b);
			printf("%.9g\n", (now_ms() - start) / k);
		} else {
			fail("unknown request");
		}
		fflush(stdout);
	}
}

#ifdef __cplusplus
}
#endif
#endif
