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

// panelSum adds panels of samples to g.
func panelSum[F Float](g *float64, x *F, ldx int, e *float64, d, height, count int, add bool, k prefetch) {
	x64, x32 := (*float64)(unsafe.Pointer(x)), (*float32)(unsafe.Pointer(x))
	switch single := unsafe.Sizeof(*x) == 4; {
	case single && active == AVX512:
		mulTransposed32_avx512(g, x32, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
	case single:
		mulTransposed32_avx2(g, x32, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
	case active == AVX512:
		mulTransposed_avx512(g, x64, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
	default:
		mulTransposed_avx2(g, x64, ldx, e, d, height, count, add, k.next, k.apart, k.pace, k.more)
	}
}
