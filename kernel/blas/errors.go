package blas

// Panic messages, checked in this order: shapes, then strides, then lengths.
const (
	badShape = "blas: shapes do not fit"
	negative = "blas: negative number of rows or columns"

	badStride   = "blas: stride too small"
	shortMatrix = "blas: matrix slice too short"
	shortVector = "blas: vector slice too short"
)
