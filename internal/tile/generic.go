package tile

import (
	"math"
	"runtime"
	"unsafe"
)

// mulBasisGeneric computes A = X U (Alg. 3, line 8: the matrix whose
// pseudo-inverse is applied to y_t):
//
//	a[j*lda+i] = sum_k x[i*ldx+k] * u[j*ldu+k],  i < n, j < r, k < Pad(d).
func mulBasisGeneric[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int) {
	d = Pad(d)
	for i := range n {
		row := x[i*ldx : i*ldx+d]
		for j := range r {
			col := u[j*ldu : j*ldu+d]
			var s0, s1, s2, s3 float64
			for k := 0; k < len(row); k += 4 {
				s0 += float64(float64(row[k]) * col[k])
				s1 += float64(float64(row[k+1]) * col[k+1])
				s2 += float64(float64(row[k+2]) * col[k+2])
				s3 += float64(float64(row[k+3]) * col[k+3])
			}
			a[j*lda+i] = (s0 + s2) + (s1 + s3)
		}
	}
}

// PackWidth is the number of basis columns that share a packed panel.
const PackWidth = 16

// PackedLen returns the length of a packed basis.
func PackedLen(d, r int) int { return Pad(d) * ((r + PackWidth - 1) &^ (PackWidth - 1)) }

// mulPackedGeneric computes A = X U as mulBasisGeneric does, for u in the layout
// of PackBasis.
func mulPackedGeneric(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int) {
	d = Pad(d)
	for j := range r {
		at := (j&^(PackWidth-1))*d + j&(PackWidth-1) // of row 0 in column j
		for i := range n {
			var s float64
			for k, v := range x[i*ldx:][:d] {
				s += float64(v * p[at+k*PackWidth])
			}
			a[j*lda+i] = s
		}
	}
}

// residualGeneric computes e = A b - y and returns e'e:
//
//	e[i] = sum_j a[j*lda+i] * b[j] - y[i],  i < n, j < r.
func residualGeneric(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	e = e[:n]
	for i, v := range y[:n] {
		e[i] = -v
	}
	for j := range r {
		bj := b[j]
		for i, v := range a[j*lda : j*lda+n] {
			e[i] += float64(v * bj)
		}
	}
	var s float64
	for _, v := range e {
		s += float64(v * v)
	}
	return s
}

// LeastSquaresWork returns the length of work that LeastSquares needs.
func LeastSquaresWork(n, r int) int {
	return (r + 4) * (Pad(n) + r)
}

// Eliminated returns what Orthogonalize leaves in work, see leastSquaresGeneric: the columns w_k of W, ldw
// apart, with zeros behind their n entries, and the rows of F, ldf apart, with w_k'w_k on its diagonal.
// LeastSquares leaves F.
func Eliminated(work []float64, n, r int) (w []float64, ldw int, f []float64, ldf int) {
	ldw, ldf = Pad(n), r+4
	end := ldf * ldw
	return work[:end], ldw, work[end:][:r*ldf], ldf
}

// SetApart returns the share of the squares of an n x r matrix that w_k'w_k must exceed, (2 max(n, r) eps)^2:
// less is rounding.
func SetApart(n, r int) float64 {
	most := max(n, r)
	return float64(most*most) * 0x1p-102
}

// leastSquaresGeneric computes b = argmin |A b - y| for the n x r matrix a (column-major). Of A = QR it
// returns lo, the square of the smallest diagonal entry of R. hi is the sum of the squares of A. When lo is
// not far above the rounding of hi, or one of them is not finite, A is not known to have full rank.
//
// It orthogonalises [A y] by modified Gram-Schmidt, without square roots: with x = a_k, f_kj = x'a_j / x'x
// and a_j -= f_kj x for all j > k, the unit upper triangular system sum_j f_kj b_j = f_ky remains. For least
// squares that is as stable as Householder QR: it is Householder QR of [0 0; A y], to the rounding (Bjorck
// and Paige, 1992), as long as y is treated as a column, as here. It has half of the latency, no square root
// and no special row, and latency is what small problems spend. The remainder of y is y - A b, to the
// rounding of A b and y, for any condition of A: A is W F, and y is the remainder and W f_y, each to the
// rounding.
//
// A column whose remainder is small, x'x <= SetApart(n, r) times the squares of A, is dropped as numerically
// dependent: its f_kj are zero. So b_k is zero, and the columns that are left form a matrix of full rank;
// column k is the sum of f_ik a_i over the columns before it, and x.
func leastSquaresGeneric(b, a []float64, lda, n, r int, y, work []float64) (lo, hi float64) {
	w, ldw, f, ldf := Eliminated(work, n, r)
	for j := range r {
		x := w[j*ldw:][:ldw]
		clear(x[copy(x, a[j*lda:][:n]):])
		hi += Dot(x, x)
	}
	left := w[r*ldw:][:ldw]
	clear(left[copy(left, y[:n]):])
	lo = math.Inf(1)
	limit := SetApart(n, r) * hi
	for k := range r {
		x, row := w[k*ldw:][:n], f[k*ldf:][:r+1]
		s := Dot(x, x)
		apart := s <= limit
		lo = min(lo, s)
		row[k] = s
		for j := k + 1; j <= r; j++ {
			row[j] = 0
			if apart {
				continue
			}
			c := w[j*ldw:][:n]
			fj := Dot(x, c) / s
			row[j] = fj
			if k == r-1 {
				break // LeastSquares computes the residual from it
			}
			for i, v := range x {
				c[i] -= float64(fj * v)
			}
		}
	}
	substituteGeneric(b, f, ldf, r)
	return lo, hi
}

// substituteGeneric solves sum_j f_kj b_j = f_ky.
func substituteGeneric(b, f []float64, ldf, r int) {
	for k := r - 1; k >= 0; k-- {
		row := f[k*ldf:][:r+1]
		s := row[r]
		for j := r - 1; j > k; j-- {
			s -= float64(row[j] * b[j])
		}
		b[k] = s
	}
}

// mulTransposedGeneric computes g = X' e:
//
//	g[k] = sum_i x[i*ldx+k] * e[i],  i < n, k < Pad(d).
func mulTransposedGeneric[F Float](g []float64, x []F, ldx int, e []float64, n, d int) {
	g = g[:Pad(d)]
	clear(g)
	for i := range n {
		ei := e[i]
		for k, v := range x[i*ldx : i*ldx+len(g)] {
			g[k] += float64(float64(v) * ei)
		}
	}
}

// rankUpdateGeneric adds a product of rank m to G (the sum over tasks of Alg. 3,
// line 11: column j of the gradient is sum_t b_t[j] X_t' e_t):
//
//	g[j*ldg+k] += sum_t b[t*ldb+j] * v[t*ldv+k],  t < m, j < r, k < Pad(d).
func rankUpdateGeneric(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	d = Pad(d)
	for t := range m {
		vt := v[t*ldv : t*ldv+d]
		for j := range r {
			bj := b[t*ldb+j]
			gj := g[j*ldg : j*ldg+d]
			for k, w := range vt {
				gj[k] += float64(bj * w)
			}
		}
	}
}

// solveUpperGeneric overwrites the m x n matrix a by A R^-1, column after column, for
// the upper triangle R(i,j) = r[j*ldr+i], i < j < n, and inv[j] = 1/R(j,j). What r
// holds on and below the diagonal is not read.
func solveUpperGeneric(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	for j := range n {
		c := a[j*lda:][:m]
		for i := range j {
			f := r[j*ldr+i]
			for k, v := range a[i*lda:][:m] {
				c[k] -= float64(f * v)
			}
		}
		for k := range c {
			c[k] *= inv[j]
		}
	}
}

// PanelWidth returns the number of columns that Panel takes at most: PackWidth in float64, and twice as many
// in float32.
func PanelWidth[F Float]() int { return PackWidth * 8 / int(unsafe.Sizeof(F(0))) }

// panelGeneric computes C = alpha W Z + beta C, with C and Z by rows:
//
//	c[i*ldc+k] = alpha * sum_j w_ij * z[j*ldz+k] + beta * c[i*ldc+k],  i < m, j < n, k < cols.
//
// With alpha = beta = 1 it adds term after term to C. Otherwise it rounds alpha times the sum, and beta times
// the old entry, and adds both.
func panelGeneric[F Float](c []F, ldc int, w []F, at Layout, z []F, ldz, m, n, cols int, u Update[F]) {
	add, by := u.tile()
	for i := range m {
		row := c[i*ldc:][:cols]
		for k, old := range row {
			sum := F(0)
			if add {
				sum = old
			}
			for j := range n {
				sum += F(w[at.index(i, j)] * z[j*ldz+k])
			}
			if by != nil {
				sum = F(u.Alpha * sum)
			}
			if by != nil && u.Beta != 0 {
				sum += F(u.Beta * old)
			}
			row[k] = sum
		}
	}
}

// Dot returns x'y, as four independent sums.
func Dot[F Float](x, y []F) F {
	var s0, s1, s2, s3 F
	for ; len(x) >= 4; x, y = x[4:], y[4:] {
		u, v := (*[4]F)(x), (*[4]F)(y)
		s0 += F(u[0] * v[0])
		s1 += F(u[1] * v[1])
		s2 += F(u[2] * v[2])
		s3 += F(u[3] * v[3])
	}
	for i, v := range x {
		s0 += F(v * y[i])
	}
	return (s0 + s2) + (s1 + s3)
}

// MaxAbs returns the largest absolute value in x, 0 if x is empty and NaN if one of
// its entries is: without the sign, the bits of numbers are ordered as integers,
// which compare fast, and the bits of NaN are above the bits of infinity.
func MaxAbs[F Float](x []F) float64 {
	const sign = 1 << 63
	m := uint64(0)
	for _, v := range x {
		m = max(m, math.Float64bits(float64(v))&^sign)
	}
	return math.Float64frombits(m)
}

// transposeGeneric sets the rows of dst to the columns of src.
func transposeGeneric[F Float](dst []F, ldd int, src []F, lds, m, n int) {
	for j := range n {
		row, at := dst[j*ldd:][:m], j
		for i := range row {
			row[i] = src[at]
			at += lds
		}
	}
}

// sumDifferencesGeneric computes, in this order, every operation rounded,
//
//	sum[k] = sum_i w[i] * (x[rows[i]*ldx+k] - x[own*ldx+k]),  k < Pad(n).
func sumDifferencesGeneric(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	sum = sum[:Pad(n)]
	clear(sum)
	from := x[own*ldx:][:len(sum)]
	for i, row := range rows {
		for k, v := range x[row*ldx:][:len(sum)] {
			sum[k] += float64(w[i] * (v - from[k])) // or arm64 would not round the product
		}
	}
}

func rowDotsGeneric[F Float](sums, a []F, lda int, x []F, m, n int) {
	for i := range m {
		sums[i] = Dot(a[i*lda:][:n], x)
	}
}

// absolutesGeneric adds absolute values from the first one on.
func absolutesGeneric[F Float](x []F) (sum F) {
	for _, v := range x {
		sum += F(math.Abs(float64(v)))
	}
	return sum
}

// squaresGeneric adds four partial sums of squares.
func squaresGeneric(x []float32) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		s0 += float64(float64(v[0]) * float64(v[0]))
		s1 += float64(float64(v[1]) * float64(v[1]))
		s2 += float64(float64(v[2]) * float64(v[2]))
		s3 += float64(float64(v[3]) * float64(v[3]))
	}
	for _, v := range x {
		s0 += float64(float64(v) * float64(v))
	}
	return (s0 + s2) + (s1 + s3)
}

func addRowsGeneric[F Float](y, a []F, lda int, b []F, m, n int) {
	for i, bi := range b[:m] {
		y := y[:n]
		for k, v := range a[i*lda:][:n] {
			y[k] += F(bi * v)
		}
	}
}

// pairPanelGeneric sets columns of C to W Z, for Z from PackPairs. An entry is the sum of two sums: the first
// one has the products of every other column of W, and of the first column if n is odd; the second one has
// the others.
func pairPanelGeneric(c []float64, ldc int, w []float64, ldw int, z []float64, m, n, cols int) {
	for i := range m {
		row := w[i*ldw:][:n]
		for j := range cols {
			var sums [2]float64
			for k, v := range row {
				at := k + n%2 // of the padded rows
				if k == 0 {
					at = 0
				}
				sums[at%2] += float64(v * z[at/2*2*PairColumns+2*j+at%2])
			}
			c[i*ldc+j] = sums[0] + sums[1]
		}
	}
}

// symmetricRowsGeneric adds the entries a_ij of the upper or lower triangle in rows first to first+Width-1,
// times x_j, to y_i. Entries beside the diagonal, times x_i, are added to y_j, too. It does not read the
// other triangle.
func symmetricRowsGeneric[F Float](y, a []F, lda int, x []F, upper bool, first, n int) {
	for i := first; i < first+Width; i++ {
		from, to := 0, i
		if upper {
			from, to = i+1, n
		}
		sum := F(a[i*lda+i] * x[i])
		for j := from; j < to; j++ {
			v := a[i*lda+j]
			sum += F(v * x[j])
			y[j] += F(v * x[i])
		}
		y[i] += sum
	}
}

func addOuterGeneric[F Float](a []F, lda int, b, y []F, m, n int) {
	for i, bi := range b[:m] {
		row := a[i*lda:][:n]
		for k, v := range y[:n] {
			row[k] += F(bi * v)
		}
	}
}

func addAbsGeneric(y, a []float64, n int) (sum float64) {
	for k, v := range a[:n] {
		v = math.Abs(v)
		y[k] += v
		sum += v
	}
	return sum
}

func fmaPeakGeneric(rounds int) float64 {
	var x [64]float64
	sum := 0.
	for range rounds {
		sum += Dot(x[:], x[:])
	}
	runtime.KeepAlive(sum) // keeps the compiler from dropping products
	return float64(2 * len(x) * rounds)
}
