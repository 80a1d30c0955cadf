package blas

// Panic messages, checked in this order: dimensions, then strides, then lengths.
const (
	mLT0 = "blas: m < 0"
	nLT0 = "blas: n < 0"
	dLT0 = "blas: d < 0"
	rLT0 = "blas: r < 0"
	pBad = "blas: reflector count not in [0, min(m, n)]"

	badStride   = "blas: stride too small"
	shortMatrix = "blas: matrix slice too short"
	shortVector = "blas: vector slice too short"
)
