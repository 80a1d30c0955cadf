package tile

import "math"

// RowDots sets sums[i] to sum_k a[i*lda+k] x[k], i < m, k < n. It reads nothing beyond n entries of a row.
func RowDots[F Float](sums, a []F, lda int, x []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	rowDots(sums, a, lda, x, m, n)
}

func rowDotsGeneric[F Float](sums, a []F, lda int, x []F, m, n int) {
	for i := range m {
		sums[i] = Dot(a[i*lda:][:n], x)
	}
}

// AddRows adds sum_i b[i] a[i*lda+k] to y[k], i < m, k < n.
func AddRows[F Float](y, a []F, lda int, b []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(b, 1, m, 0)
	raceWrite(y, 1, n, 0)
	addRows(y, a, lda, b, m, n)
}

func addRowsGeneric[F Float](y, a []F, lda int, b []F, m, n int) {
	for i, bi := range b[:m] {
		y := y[:n]
		for k, v := range a[i*lda:][:n] {
			y[k] += bi * v
		}
	}
}

// AddOuter adds b[i] y[k] to a[i*lda+k], i < m, k < n. y may be the only row of a.
func AddOuter[F Float](a []F, lda int, b, y []F, m, n int) {
	raceRead(b, 1, m, 0)
	raceRead(y, 1, n, 0)
	raceWrite(a, m, n, lda)
	addOuter(a, lda, b, y, m, n)
}

func addOuterGeneric[F Float](a []F, lda int, b, y []F, m, n int) {
	for i, bi := range b[:m] {
		row := a[i*lda:][:n]
		for k, v := range y[:n] {
			row[k] += bi * v
		}
	}
}

// AddAbs adds the absolute values of n entries of a to y, and returns their sum.
func AddAbs(y, a []float64, n int) float64 {
	raceRead(a, 1, n, 0)
	raceWrite(y, 1, n, 0)
	return addAbs(y, a, n)
}

func addAbsGeneric(y, a []float64, n int) (sum float64) {
	for k, v := range a[:n] {
		v = math.Abs(v)
		y[k] += v
		sum += v
	}
	return sum
}

// ReflectWidth is the largest number of columns of a panel for Reflect.
const ReflectWidth = 32

// Reflect applies a reflection to the columns from col+1 on of the rows of a panel of Pad(n) columns, and
// computes the products of the next column, which are what the next reflection needs; see reflectGeneric.
func Reflect(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	raceRead(w[:], 1, Pad(n), 0)
	raceWrite(sums[:], 1, Pad(n), 0)
	raceWrite(a, m, Pad(n), lda)
	reflect(a, lda, col, w, sums, scale, m, Pad(n))
}

// reflectGeneric computes, row after row, for the columns k > col,
//
//	a[i,col] *= scale, a[i,k] -= a[i,col] w[k], sums[k] = sum_i a[i,col+1] a[i,k],  i < m, k < n.
//
// The caller sets w[k] to zero for k <= col. The sums of these columns mean nothing, and if one of the
// numbers is not finite, columns up to col may become NaN.
func reflectGeneric(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	clear(sums[:n])
	for i := range m {
		row := a[i*lda:][:n]
		row[col] *= scale
		for k := col + 1; k < n; k++ {
			row[k] -= row[col] * w[k]
			sums[k] += row[col+1] * row[k]
		}
	}
}

// RotateDown rotates pairs of rows of RotateWidth columns as Rotate does, from the first row down: it is
// Rotate of the rows in the other order,
//
//	z[(j+1)*ldz+k], z[j*ldz+k] = c[i] z[(j+1)*ldz+k] - s[i] z[j*ldz+k],
//	                             s[i] z[(j+1)*ldz+k] + c[i] z[j*ldz+k],
//
// j = 0, 1, ..., n-1, with i = n-1-j.
func RotateDown(z []float64, ldz int, c, s []float64, n int) {
	raceRead(c, 1, n, 0)
	raceRead(s, 1, n, 0)
	raceWrite(z, n+1, RotateWidth, ldz)
	rotateDown(z, ldz, c, s, n)
}

func rotateDownGeneric(z []float64, ldz int, c, s []float64, n int) {
	for j := range n {
		ci, si := c[n-1-j], s[n-1-j]
		upper, lower := (*[RotateWidth]float64)(z[j*ldz:]), (*[RotateWidth]float64)(z[(j+1)*ldz:])
		for k, v := range upper {
			upper[k], lower[k] = si*lower[k]+ci*v, ci*lower[k]-si*v
		}
	}
}
