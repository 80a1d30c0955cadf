//go:build openblas

// The least squares of small tasks. It orthogonalises [A y] by modified Gram-Schmidt
// without square roots, as package tile does: LAPACK's overhead is several times what
// such a problem takes.
#include "step.h"

#include <math.h>

// Eight numbers, in as few registers as the processor needs for them.
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE double sum(const eight *v) {
	const double *s = (const double *)v;
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// products sets q[j] to the inner product of x with each of count columns from c on.
INLINE void products(double *q, const double *x, const double *c, ptrdiff_t ld, int count) {
	eight s[4] = {{0}};
	for (ptrdiff_t i = 0; i < ld; i += 8) {
		const eight v = *(const eight *)(x + i);
		for (int j = 0; j < count; j++) s[j] += v * *(const eight *)(c + j * ld + i);
	}
	for (int j = 0; j < count; j++) q[j] = sum(&s[j]);
}

// update subtracts q[j] x from each of count columns from c on.
INLINE void update(const double *q, const double *x, double *c, ptrdiff_t ld, int count) {
	for (ptrdiff_t i = 0; i < ld; i += 8) {
		const eight v = *(const eight *)(x + i);
		for (int j = 0; j < count; j++) *(eight *)(c + j * ld + i) -= q[j] * v;
	}
}

INLINE void orthogonalize(double *b, double *f, ptrdiff_t ld, int r, double *t, double unit, double *least, double *product) {
	for (int k = 0; k < r; k++) {
		const double *x = f + k * ld;
		double s;
		products(&s, x, x, ld, 1);
		const double inverse = 1 / s;
		*least = s < *least ? s : *least;
		*product *= s * unit;
		t[k * (r + 2)] = s;
		int j = k + 1;
		for (; j + 4 <= r + 1; j += 4) {
			double *q = t + k * (r + 1) + j;
			products(q, x, f + j * ld, ld, 4);
			for (int i = 0; i < 4; i++) q[i] *= inverse;
			update(q, x, f + j * ld, ld, 4);
		}
		for (; j <= r; j++) {
			double *q = t + k * (r + 1) + j;
			products(q, x, f + j * ld, ld, 1);
			q[0] *= inverse;
			update(q, x, f + j * ld, ld, 1);
		}
	}
	for (int k = r - 1; k >= 0; k--) {
		double s = t[k * (r + 1) + r];
		for (int j = r - 1; j > k; j--) s -= t[k * (r + 1) + j] * b[j];
		b[k] = s;
	}
}

#if defined(__x86_64__) && defined(__GNUC__)
// The same for processors with wider vectors than the compiler may take for granted.
#define VERSION(name, features)                                                                                  \
	__attribute__((target(features))) static void name(double *b, double *f, ptrdiff_t ld, int r, double *t, \
							   double unit, double *least, double *product) {        \
		orthogonalize(b, f, ld, r, t, unit, least, product);                                             \
	}
VERSION(orthogonalize_avx2, "avx2,fma")
VERSION(orthogonalize_avx512, "avx512f,avx512dq,avx512vl")
#endif

void difalt_orthogonalize(double *b, double *f, ptrdiff_t ld, int r, double *t, double unit, double *least, double *product) {
#ifdef VERSION
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
		orthogonalize_avx512(b, f, ld, r, t, unit, least, product);
		return;
	}
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		orthogonalize_avx2(b, f, ld, r, t, unit, least, product);
		return;
	}
#endif
	orthogonalize(b, f, ld, r, t, unit, least, product);
}
