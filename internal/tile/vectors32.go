package tile

// RowDots32 computes the products of m rows of a and x in float32; see rowDots32Generic.
func RowDots32(sums, a []float32, lda int, x []float32, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	rowDots32(sums, a, lda, x, m, n)
}

// AddRows32 adds m rows of a times numbers of v to y in float32; see addRows32Generic.
func AddRows32(y, a []float32, lda int, v []float32, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(v, 1, m, 0)
	raceWrite(y, 1, n, 0)
	addRows32(y, a, lda, v, m, n)
}

// AddOuter32 adds y times numbers of v to m rows of a in float32; see addOuter32Generic. y may be the only
// row of a.
func AddOuter32(a []float32, lda int, v, y []float32, m, n int) {
	raceRead(v, 1, m, 0)
	raceRead(y, 1, n, 0)
	raceWrite(a, m, n, lda)
	addOuter32(a, lda, v, y, m, n)
}

// rowDots32Generic computes the products of rows and a vector:
//
//	sums[i] = sum_k a[i*lda+k] * x[k],  i < m, k < n.
func rowDots32Generic(sums, a []float32, lda int, x []float32, m, n int) {
	for i := range m {
		row, x := a[i*lda:][:n], x[:n]
		var s0, s1, s2, s3 float32
		for ; len(row) >= 4; row, x = row[4:], x[4:] {
			u, v := (*[4]float32)(row), (*[4]float32)(x)
			s0 += u[0] * v[0]
			s1 += u[1] * v[1]
			s2 += u[2] * v[2]
			s3 += u[3] * v[3]
		}
		for k, v := range row {
			s0 += v * x[k]
		}
		sums[i] = (s0 + s2) + (s1 + s3)
	}
}

// addRows32Generic adds rows to a vector:
//
//	y[k] += sum_i v[i] * a[i*lda+k],  i < m, k < n.
func addRows32Generic(y, a []float32, lda int, v []float32, m, n int) {
	for i, vi := range v[:m] {
		y := y[:n]
		for k, w := range a[i*lda:][:n] {
			y[k] += vi * w
		}
	}
}

// addOuter32Generic adds the product of two vectors to a matrix:
//
//	a[i*lda+k] += v[i] * y[k],  i < m, k < n.
func addOuter32Generic(a []float32, lda int, v, y []float32, m, n int) {
	for i, vi := range v[:m] {
		row := a[i*lda:][:n]
		for k, w := range y[:n] {
			row[k] += vi * w
		}
	}
}
