// Package dense has views of slices as vectors and matrices of gonum's blas64, and packed symmetric matrices.
// Matrices lie by rows without gaps; a packed one holds its upper triangle by rows, n(n+1)/2 numbers.
package dense

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Vector returns x as a vector.
func Vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// General returns an m x n matrix on the memory of x.
func General(m, n int, x []float64) blas64.General {
	return blas64.General{Rows: m, Cols: n, Stride: max(n, 1), Data: x}
}

// Symmetric returns the symmetric n x n matrix with the upper triangle of x, which holds all n x n entries.
func Symmetric(n int, x []float64) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: max(n, 1), Data: x}
}

// Upper returns the upper triangle of x, which holds all n x n entries.
func Upper(n int, x []float64) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: max(n, 1), Data: x}
}

// Mirror copies the upper triangle of the n x n matrix x to the lower one.
func Mirror(n int, x []float64) {
	for i := range n {
		for j := i + 1; j < n; j++ {
			x[j*n+i] = x[i*n+j]
		}
	}
}

// Triangle returns the number of entries of a packed n x n matrix.
func Triangle(n int) int { return n * (n + 1) / 2 }

// Pack appends the upper triangle of the n x n matrix x to dst.
func Pack(dst []float64, n int, x []float64) []float64 {
	for i := range n {
		dst = append(dst, x[i*n+i:(i+1)*n]...)
	}
	return dst
}

// Unpack sets the upper triangle of the n x n matrix dst to the packed one.
func Unpack(dst []float64, n int, packed []float64) {
	for i := range n {
		copy(dst[i*n+i:(i+1)*n], packed)
		packed = packed[n-i:]
	}
}

// Grow returns a slice of n entries of any value, in the memory of x where that is enough.
func Grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}
