package qr

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// reflectors overwrites the columns of a by the vectors v_k, with zeros above row k, of reflectors H_k = I -
// v_k v_k'/h[k] with A = H_0 ... H_{n-1} R, and stores the upper triangle of R in r. h[k] is zero, and H_k
// the identity, where a column is zero from row k on.
//
// v_k is x - alpha e_k with x the column and alpha = -sign(x_k)|x|, and h = v'v/2 = |x|^2 - alpha x_k. Then
// v'c = x'c - alpha c_k: all inner products of a step are taken before the norm is known.
//
// The rest of a dependent column may be as tiny as the rounding of a rounding. A column whose squares would
// underflow is scaled up first, and its entry of R down: a reflector is the same for v of any length.
func reflectors(a, r blas64.GeneralCols, h []float64) {
	for k := range a.Cols {
		top := k &^ (tile.Width - 1) // whole vectors, since there are zeros above row k
		c := a.Data[k*a.Stride+top:]
		x, row, w := c[:a.Rows-top], k-top, h[k:a.Cols]
		products(w, x, c, a.Stride)
		scale := 1.0
		if w[0] < tinySquare && raise(x) {
			scale = 1 / raiseBy
			products(w, x, c, a.Stride)
		}
		alpha := -math.Copysign(math.Sqrt(w[0]), x[row])
		hk := w[0] - alpha*x[row]
		inv := inverse(hk)
		for j := 1; j < len(w); j++ {
			w[j] = (alpha*c[j*a.Stride+row] - w[j]) * inv
		}
		r.Data[k*r.Stride+k] = alpha * scale
		x[row] -= alpha
		if len(w) > 1 {
			add(c[a.Stride:], a.Stride, x, w[1:])
		}
		for j := 1; j < len(w); j++ {
			r.Data[(k+j)*r.Stride+k] = c[j*a.Stride+row]
			c[j*a.Stride+row] = 0
		}
		h[k] = hk
	}
}

// formQ overwrites reflectors by the first columns of Q = H_0 ... H_{n-1}, and uses up h.
func formQ(a blas64.GeneralCols, h []float64) {
	for k := a.Cols - 1; k >= 0; k-- {
		top := k &^ (tile.Width - 1)
		c := a.Data[k*a.Stride+top:]
		x, row, w, inv := c[:a.Rows-top], k-top, h[k+1:a.Cols], inverse(h[k])
		if len(w) > 0 {
			products(w, x, c[a.Stride:], a.Stride)
			for j := range w {
				w[j] *= -inv
			}
			add(c[a.Stride:], a.Stride, x, w)
		}
		f := x[row] * inv // H_k e_k = e_k - v (v_k / h)
		for i := range x {
			x[i] *= -f
		}
		x[row]++
	}
}

// products sets w[j] to x'c_j for columns of stride ldc.
func products(w, x, c []float64, ldc int) {
	whole := len(x) &^ (tile.Width - 1)
	tile.MulBasis(w, 1, x, whole, c, ldc, 1, whole, len(w), tile.Hint{})
	for j := range w {
		w[j] += dense.Dot(x[whole:], c[j*ldc+whole:])
	}
}

// add adds f[j] x to columns c_j of stride ldc.
func add(c []float64, ldc int, x, f []float64) {
	whole := len(x) &^ (tile.Width - 1)
	const columns = 8 // the first-level cache keeps a line of each
	for j := 0; j < len(f); j += columns {
		n := min(columns, len(f)-j)
		tile.RankUpdate(c[j*ldc:], ldc, x, whole, f[j:], n, 1, whole, n)
	}
	for j, v := range f {
		dense.Axpy(v, x[whole:], c[j*ldc+whole:])
	}
}

// inverse returns 1/h, and 0 for the reflector of a column of zeros.
func inverse(h float64) float64 {
	if h == 0 {
		return 0
	}
	return 1 / h
}

const (
	tinySquare = 1e-280  // sums of squares below may have lost some to underflow
	raiseBy    = 0x1p600 // the smallest number times this has a square that is a normal number
)

// raise scales a column with a tiny square up. It returns false for a column of zeros.
func raise(x []float64) bool {
	zero := true
	for i, v := range x {
		zero = zero && v == 0
		x[i] = v * raiseBy
	}
	return !zero
}
