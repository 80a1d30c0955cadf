package tile

// RotateWidth is the number of columns that Rotate takes.
const RotateWidth = 32

// rotateGeneric rotates rows i and i+1 by c[i] and s[i], for i from n-1 down to 0:
//
//	z[i*ldz+k], z[(i+1)*ldz+k] = c[i] z[i*ldz+k] - s[i] z[(i+1)*ldz+k],
//	                             s[i] z[i*ldz+k] + c[i] z[(i+1)*ldz+k],  k < RotateWidth.
//
// If ldz is negative, row i is at z[(i-n)*ldz], as in BLAS.
func rotateGeneric(z []float64, ldz int, c, s []float64, n int) {
	first := max(-ldz*n, 0)
	for i := n - 1; i >= 0; i-- {
		ci, si := c[i], s[i]
		lower, upper := (*[RotateWidth]float64)(z[first+i*ldz:]), (*[RotateWidth]float64)(z[first+(i+1)*ldz:])
		for k, v := range lower {
			lower[k], upper[k] = float64(ci*v)-float64(si*upper[k]), float64(si*v)+float64(ci*upper[k])
		}
	}
}

// ReflectWidth is the largest number of columns of a panel for Reflect.
const ReflectWidth = 32

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
			row[k] -= float64(row[col] * w[k])
			sums[k] += float64(row[col+1] * row[k])
		}
	}
}
