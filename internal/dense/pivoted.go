package dense

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Pstrf computes R of P'A P = R'R for a semidefinite n x n matrix A, whose upper triangle it overwrites by R,
// and a permutation P: row and column i of P'A P are those number pivots[i] of A. It stops where no entry
// that is left on the diagonal exceeds tol, and returns how many rows of R it has computed. work has 2n
// entries.
func Pstrf(a blas64.Symmetric, pivots []int, tol float64, work []float64) (r blas64.Triangular, rank int) {
	n, x, ld := a.N, a.Data, a.Stride
	r = blas64.Triangular{Uplo: gonum.Upper, Diag: gonum.NonUnit, N: n, Stride: ld, Data: x}
	squares, left := work[:n], work[n:2*n] // of the columns of R; and the diagonal of the rest of A
	clear(squares)
	for i := range n {
		pivots[i] = i
	}
	var b blas.Implementation
	for j := range n {
		pivot := j
		for i := j; i < n; i++ {
			if j > 0 {
				v := x[(j-1)*ld+i]
				squares[i] += float64(v * v)
			}
			left[i] = x[i*(ld+1)] - squares[i]
			if left[i] > left[pivot] {
				pivot = i
			}
		}
		if largest := left[pivot]; !(largest > max(tol, 0)) {
			return r, j
		}
		if pivot != j {
			interchange(r, j, pivot)
			squares[j], squares[pivot] = squares[pivot], squares[j]
			pivots[j], pivots[pivot] = pivots[pivot], pivots[j]
		}
		root := math.Sqrt(left[pivot])
		x[j*(ld+1)] = root
		if rest := n - j - 1; rest > 0 {
			row := x[j*ld+j+1:]
			if j > 0 {
				b.Dgemv(gonum.Trans, j, rest, -1, x[j+1:], ld, x[j:], ld, 1, row, 1)
			}
			b.Dscal(rest, 1/root, row, 1)
		}
	}
	return r, n
}

// interchange exchanges rows and columns j and k > j of a symmetric matrix, whose rows before j are rows of
// R, in the upper triangle.
func interchange(r blas64.Triangular, j, k int) {
	n, x, ld := r.N, r.Data, r.Stride
	var b blas.Implementation
	x[k*(ld+1)] = x[j*(ld+1)]
	if j > 0 {
		b.Dswap(j, x[j:], ld, x[k:], ld)
	}
	if k < n-1 {
		b.Dswap(n-k-1, x[j*ld+k+1:], 1, x[k*ld+k+1:], 1)
	}
	if k > j+1 {
		b.Dswap(k-j-1, x[j*ld+j+1:], 1, x[(j+1)*ld+k:], ld)
	}
}
