package tile

// PackWidth32 is the number of columns of a panel of float32.
const PackWidth32 = 2 * PackWidth

// Panel32 computes up to PackWidth32 columns of C = W Z, or adds to them, in float32; see panel32Generic.
func Panel32(c []float32, ldc int, w []float32, ldw int, z []float32, ldz, m, n, columns int, add bool) {
	raceRead(w, m, n, ldw)
	raceRead(z, n, columns, ldz)
	raceWrite(c, m, columns, ldc)
	mulPanel32(c, ldc, w, ldw, z, ldz, m, n, columns, add)
}

// panel32Generic computes C = W Z, or C += W Z, by rows:
//
//	c[i*ldc+k] = sum_j w[i*ldw+j] * z[j*ldz+k],  i < m, j < n, k < columns <= PackWidth32.
func panel32Generic(c []float32, ldc int, w []float32, ldw int, z []float32, ldz, m, n, columns int, add bool) {
	for i := range m {
		ci := c[i*ldc:][:columns]
		if !add {
			clear(ci)
		}
		for j, wij := range w[i*ldw:][:n] {
			for k, v := range z[j*ldz:][:columns] {
				ci[k] += wij * v
			}
		}
	}
}

// Transpose32 is Transpose for float32.
func Transpose32(dst []float32, ldd int, src []float32, lds, m, n int) {
	raceRead(src, m, n, lds)
	raceWrite(dst, n, m, ldd)
	rows, columns := transpose32(dst, ldd, src, lds, m, n) // that are done
	if rows < m && columns > 0 {
		transposeGeneric(dst[rows:], ldd, src[rows*lds:], lds, m-rows, columns)
	}
	if columns < n && m > 0 {
		transposeGeneric(dst[columns*ldd:], ldd, src[columns:], lds, m, n-columns)
	}
}
