package blas_test

import (
	"slices"

	gonumblas "gonum.org/v1/gonum/blas"
)

// sharedCalls returns the calls: vectors, then matrices, triangles and bands.
func sharedCalls() []sharedCall {
	const n, m, k, ld, long = sharedColumns, sharedRows, 150, sharedStride, sharedLength
	none := func(call func(b sharedAPI, o *sharedOperands)) func(sharedAPI, *sharedOperands) float64 {
		return func(b sharedAPI, o *sharedOperands) float64 { call(b, o); return 0 }
	}
	calls := []sharedCall{
		{"Ddot", func(b sharedAPI, o *sharedOperands) float64 { return b.Ddot(long, o.x, 1, o.y, 1) }},
		{"Sdot", func(b sharedAPI, o *sharedOperands) float64 { return float64(b.Sdot(long, o.x32, 1, o.y32, 1)) }},
		{"Dnrm2", func(b sharedAPI, o *sharedOperands) float64 { return b.Dnrm2(long, o.x, 1) }},
		{"Snrm2", func(b sharedAPI, o *sharedOperands) float64 { return float64(b.Snrm2(long, o.x32, 1)) }},
		{"Dasum", func(b sharedAPI, o *sharedOperands) float64 { return b.Dasum(long, o.x, 1) }},
		{"Sasum", func(b sharedAPI, o *sharedOperands) float64 { return float64(b.Sasum(long, o.x32, 1)) }},
		{"Zdotu", func(b sharedAPI, o *sharedOperands) float64 {
			re, _ := parts(b.Zdotu(long, o.xz, 1, o.yz, 1))
			return re
		}},
		{"Zdotc", func(b sharedAPI, o *sharedOperands) float64 {
			_, im := parts(b.Zdotc(long, o.xz, 1, o.yz, 1))
			return im
		}},
		{"Cdotc", func(b sharedAPI, o *sharedOperands) float64 {
			re, _ := parts(b.Cdotc(long, o.xc, 1, o.yc, 1))
			return re
		}},
		{"Znrm2", func(b sharedAPI, o *sharedOperands) float64 { return b.Dznrm2(long, o.xz, 1) }},
		{"Zasum", func(b sharedAPI, o *sharedOperands) float64 { return b.Dzasum(long, o.xz, 1) }},
		{"Daxpy", none(func(b sharedAPI, o *sharedOperands) { b.Daxpy(long, 1.5, o.x, 1, o.y, 1) })},
		{"Saxpy", none(func(b sharedAPI, o *sharedOperands) { b.Saxpy(long, 1.5, o.x32, 1, o.y32, 1) })},
		{"Zaxpy", none(func(b sharedAPI, o *sharedOperands) { b.Zaxpy(long, 1.5-1i, o.xz, 1, o.yz, 1) })},
		{"Caxpy", none(func(b sharedAPI, o *sharedOperands) { b.Caxpy(long, 1.5-1i, o.xc, 1, o.yc, 1) })},
		{"Dscal", none(func(b sharedAPI, o *sharedOperands) { b.Dscal(long, 1.5, o.x, 1) })},
		{"Sscal", none(func(b sharedAPI, o *sharedOperands) { b.Sscal(long, 1.5, o.x32, 1) })},
		{"Zscal", none(func(b sharedAPI, o *sharedOperands) { b.Zscal(long, 1.5+2i, o.xz, 1) })},
		{"Zdscal", none(func(b sharedAPI, o *sharedOperands) { b.Zdscal(long, 1.5, o.xz, 1) })},
		{"Drot", none(func(b sharedAPI, o *sharedOperands) { b.Drot(long, o.x, 1, o.y, 1, .6, .8) })},
		{"Srot", none(func(b sharedAPI, o *sharedOperands) { b.Srot(long, o.x32, 1, o.y32, 1, .6, .8) })},
		{"Dswap", none(func(b sharedAPI, o *sharedOperands) { b.Dswap(long, o.x, 1, o.y, 1) })},
		{"Cswap", none(func(b sharedAPI, o *sharedOperands) { b.Cswap(long, o.xc, 1, o.yc, 1) })},
		{"Dger", none(func(b sharedAPI, o *sharedOperands) { b.Dger(m, n, 1.5, o.x, 1, o.y, 1, o.a, ld) })},
		{"Sger", none(func(b sharedAPI, o *sharedOperands) { b.Sger(m, n, 1.5, o.x32, 2, o.y32, 3, o.a32, ld) })},
		{"Zgeru", none(func(b sharedAPI, o *sharedOperands) { b.Zgeru(m, n, 1.5i, o.xz, 1, o.yz, 1, o.az, ld) })},
		{"Cgerc", none(func(b sharedAPI, o *sharedOperands) { b.Cgerc(m, n, 1.5i, o.xc, 1, o.yc, 1, o.ac, ld) })},
	}
	for _, tA := range []gonumblas.Transpose{'N', 'T'} {
		calls = append(calls,
			sharedCall{"Dgemv " + string(tA), none(func(b sharedAPI, o *sharedOperands) {
				b.Dgemv(tA, m, n, 2, o.a, ld, o.x, 1, .5, o.y, 1)
			})},
			sharedCall{"Sgemv " + string(tA), none(func(b sharedAPI, o *sharedOperands) {
				b.Sgemv(tA, m, n, 2, o.a32, ld, o.x32, 1, .5, o.y32, 1)
			})},
			sharedCall{"Zgemv " + string(tA), none(func(b sharedAPI, o *sharedOperands) {
				b.Zgemv(tA, m, n, 2, o.az, ld, o.xz, 1, .5, o.yz, 1)
			})},
			sharedCall{"Cgemv " + string(tA), none(func(b sharedAPI, o *sharedOperands) {
				b.Cgemv(tA, m, n, 2, o.ac, ld, o.xc, 1, .5, o.yc, 1)
			})},
			sharedCall{"Dgbmv " + string(tA), none(func(b sharedAPI, o *sharedOperands) {
				b.Dgbmv(tA, m, n, k, k+7, 2, o.a, ld, o.x, 1, .5, o.y, 1)
			})},
		)
	}
	return slices.Concat(calls, sharedParts(none), sharedTriangles(none), sharedPacked(none))
}

// sharedParts returns the calls whose parts could share a line of a cache, or are uneven. returning makes a
// call return 0.
func sharedParts(
	returning func(func(b sharedAPI, o *sharedOperands)) func(sharedAPI, *sharedOperands) float64,
) (calls []sharedCall) {
	const n, m, ld = sharedColumns, sharedRows, sharedStride
	for _, tA := range []gonumblas.Transpose{'N', 'T'} {
		calls = append(calls,
			sharedCall{"Dgemv between lines " + string(tA), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dgemv(tA, m, n, 1, o.a[1:], ld, o.x[2:], 1, .5, o.y[3:], 1)
			})},
			sharedCall{"Sgemv between lines " + string(tA), returning(func(b sharedAPI, o *sharedOperands) {
				b.Sgemv(tA, m, n, 1, o.a32[1:], ld, o.x32[2:], 1, .5, o.y32[5:], 1)
			})},
			sharedCall{"Zgemv of few rows " + string(tA), returning(func(b sharedAPI, o *sharedOperands) {
				b.Zgemv(tA, 19, 8*n, 2, o.az, 8*n, o.xz, 1, .5, o.yz[1:], 1)
			})},
			sharedCall{"Cgemv of few rows " + string(tA), returning(func(b sharedAPI, o *sharedOperands) {
				b.Cgemv(tA, 19, 8*n, 2, o.ac, 8*n, o.xc, 1, .5, o.yc[1:], 2)
			})},
		)
	}
	return calls
}

// sharedTriangles returns the calls of triangles and of symmetric matrices. returning makes a call return 0.
func sharedTriangles(
	returning func(func(b sharedAPI, o *sharedOperands)) func(sharedAPI, *sharedOperands) float64,
) (calls []sharedCall) {
	const n, k, ld = sharedColumns, 150, sharedStride
	for _, ul := range []gonumblas.Uplo{'U', 'L'} {
		calls = append(calls,
			sharedCall{"Dsymv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dsymv(ul, n, 2, o.a, ld, o.x, 1, .5, o.y, 1)
			})},
			sharedCall{"Dsyr " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dsyr(ul, n, 2, o.x, 1, o.a, ld)
			})},
			sharedCall{"Dspr " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dspr(ul, n, 2, o.x, 2, o.a)
			})},
			sharedCall{"Dsyr2 " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dsyr2(ul, n, 2, o.x, 1, o.y, 1, o.a, ld)
			})},
			sharedCall{"Ssyr2 " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Ssyr2(ul, n, 2, o.x32, 1, o.y32, 1, o.a32, ld)
			})},
			sharedCall{"Zhemv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Zhemv(ul, n, 2i, o.az, ld, o.xz, 1, .5, o.yz, 1)
			})},
			sharedCall{"Chbmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Chbmv(ul, n, k, 2, o.ac, ld, o.xc, 1, .5, o.yc, -1)
			})},
			sharedCall{"Zher " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Zher(ul, n, 2, o.xz, 1, o.az, ld)
			})},
			sharedCall{"Chpr2 " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Chpr2(ul, n, 2i, o.xc, 1, o.yc, 1, o.ac)
			})},
			sharedCall{"Dtrmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtrmv(ul, 'N', 'N', n, o.a, ld, o.x, -2)
			})},
			sharedCall{"Strmv T " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Strmv(ul, 'T', 'U', n, o.a32, ld, o.x32, 1)
			})},
		)
	}
	return calls
}

// sharedPacked returns the calls of packed triangles and of bands. returning makes a call return 0.
func sharedPacked(
	returning func(func(b sharedAPI, o *sharedOperands)) func(sharedAPI, *sharedOperands) float64,
) (calls []sharedCall) {
	const n, k, ld = sharedColumns, 150, sharedStride
	for _, ul := range []gonumblas.Uplo{'U', 'L'} {
		calls = append(calls,
			sharedCall{"Dtpmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtpmv(ul, 'N', 'N', n, o.a, o.x, 1)
			})},
			sharedCall{"Dtpmv unit " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtpmv(ul, 'N', 'U', n, o.a, o.x, -1)
			})},
			sharedCall{"Dtbmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtbmv(ul, 'N', 'N', n, 3*k-50, o.a, ld, o.x, 1)
			})},
			sharedCall{"Dtbmv T " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtbmv(ul, 'T', 'U', n, 3*k-50, o.a, ld, o.x, 2)
			})},
			sharedCall{"Dtpmv T " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dtpmv(ul, 'T', 'N', n, o.a, o.x, 1)
			})},
			sharedCall{"Dspmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dspmv(ul, n, 2, o.a, o.x, 1, .5, o.y, 1)
			})},
			sharedCall{"Dsbmv " + string(ul), returning(func(b sharedAPI, o *sharedOperands) {
				b.Dsbmv(ul, n, k, 2, o.a, ld, o.x, 1, .5, o.y, 3)
			})},
		)
	}
	return calls
}
