//go:build !purego

package tile

import "unsafe"

// The functions of this file choose a tile by tier and size.

// dots multiplies groups of width columns each.
func dots[F Float](a *float64, lda int, x *F, ldx int, u *float64, ldu int, n, d, width, groups int, k prefetch) {
	if unsafe.Sizeof(*x) == 8 {
		dots64(a, lda, (*float64)(unsafe.Pointer(x)), ldx, u, ldu, n, d, width, groups, k)
	} else {
		dots32(a, lda, (*float32)(unsafe.Pointer(x)), ldx, u, ldu, n, d, width, groups, k)
	}
}

func dots64(a *float64, lda int, x *float64, ldx int, u *float64, ldu int, n, d, width, groups int, k prefetch) {
	if active == AVX512 {
		switch width {
		case 1:
			mulBasis_4x1_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 2:
			mulBasis_4x2_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 3:
			mulBasis_4x3_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 4:
			mulBasis_4x4_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 5:
			mulBasis_4x5_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 6:
			mulBasis_4x6_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		}
		return
	}
	switch width {
	case 1:
		mulBasis_4x1_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 2:
		mulBasis_4x2_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 3:
		mulBasis_4x3_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 4:
		mulBasis_2x4_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 5:
		mulBasis_2x5_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 6:
		mulBasis_2x6_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	}
}

func dots32(a *float64, lda int, x *float32, ldx int, u *float64, ldu int, n, d, width, groups int, k prefetch) {
	if active == AVX512 {
		switch width {
		case 1:
			mulBasis32_4x1_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 2:
			mulBasis32_4x2_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 3:
			mulBasis32_4x3_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 4:
			mulBasis32_4x4_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 5:
			mulBasis32_4x5_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		case 6:
			mulBasis32_4x6_avx512(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, k.twice)
		}
		return
	}
	switch width {
	case 1:
		mulBasis32_4x1_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 2:
		mulBasis32_4x2_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 3:
		mulBasis32_4x3_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 4:
		mulBasis32_2x4_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 5:
		mulBasis32_2x5_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 6:
		mulBasis32_2x6_avx2(a, lda, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	}
}

// dotsHalf is dots for samples of 16 bits.
func dotsHalf(a *float64, lda int, a0 *float64, lda0 int, x *uint16, ldx int, u *float32, ldu int, n, d, width, groups int, k prefetch) {
	if active == AVX512 {
		switch width {
		case 1:
			mulBasisHalf_4x1_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 2:
			mulBasisHalf_4x2_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 3:
			mulBasisHalf_4x3_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 4:
			mulBasisHalf_4x4_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 5:
			mulBasisHalf_4x5_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 6:
			mulBasisHalf_4x6_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		}
		return
	}
	switch width {
	case 1:
		mulBasisHalf_4x1_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 2:
		mulBasisHalf_4x2_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 3:
		mulBasisHalf_4x3_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 4:
		mulBasisHalf_2x4_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 5:
		mulBasisHalf_2x5_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 6:
		mulBasisHalf_2x6_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	}
}

// rankUpdateTile adds the first few of left products, and returns how many.
func rankUpdateTile(g *float64, ldg int, v *float64, ldv int, b *float64, ldb, left, d, r int) int {
	wide := active == AVX512
	switch {
	case left >= 8 && wide:
		rankUpdate_8_avx512(g, ldg, v, ldv, b, ldb, d, r)
		return 8
	case left >= 8:
		rankUpdate_8_avx2(g, ldg, v, ldv, b, ldb, d, r)
		return 8
	case left >= 4 && wide:
		rankUpdate_4_avx512(g, ldg, v, ldv, b, ldb, d, r)
		return 4
	case left >= 4:
		rankUpdate_4_avx2(g, ldg, v, ldv, b, ldb, d, r)
		return 4
	case left >= 2 && wide:
		rankUpdate_2_avx512(g, ldg, v, ldv, b, ldb, d, r)
		return 2
	case left >= 2:
		rankUpdate_2_avx2(g, ldg, v, ldv, b, ldb, d, r)
		return 2
	case wide:
		rankUpdate_1_avx512(g, ldg, v, ldv, b, ldb, d, r)
	default:
		rankUpdate_1_avx2(g, ldg, v, ldv, b, ldb, d, r)
	}
	return 1
}

// panelSum adds panels of samples X to g, in numbers N.
func panelSum[X, N any](g *N, x *X, ldx int, e *N, d, height, count int, add bool, k prefetch) {
	wide := active == AVX512
	g64, e64 := (*float64)(unsafe.Pointer(g)), (*float64)(unsafe.Pointer(e))
	switch unsafe.Sizeof(*x) {
	case 8:
		x := (*float64)(unsafe.Pointer(x))
		if wide {
			mulTransposed_avx512(g64, x, ldx, e64, d, height, count, add, k.next, k.apart, k.pace, k.more)
		} else {
			mulTransposed_avx2(g64, x, ldx, e64, d, height, count, add, k.next, k.apart, k.pace, k.more)
		}
	case 4:
		x := (*float32)(unsafe.Pointer(x))
		if wide {
			mulTransposed32_avx512(g64, x, ldx, e64, d, height, count, add, k.next, k.apart, k.pace, k.more)
		} else {
			mulTransposed32_avx2(g64, x, ldx, e64, d, height, count, add, k.next, k.apart, k.pace, k.more)
		}
	case 2:
		g, x, e := (*float32)(unsafe.Pointer(g)), (*uint16)(unsafe.Pointer(x)), (*float32)(unsafe.Pointer(e))
		if wide {
			mulTransposedHalf_avx512(g, x, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
		} else {
			mulTransposedHalf_avx2(g, x, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
		}
	}
}
