package blas

// gonum's assembly adds the inner products of complex64 in an order that depends on the addresses of the
// operands: equal calls have other bits. So this file and ordered_pairs.go compute what gonum
// computes with them.

// dotOfSingles returns the product of a row, or its conjugate, and the entries of x from a place on, as two
// sums.
func dotOfSingles(conjugate bool, row, x []complex64, at, inc int) complex64 {
	var re, im [2]float32
	sign := float32(1)
	if conjugate {
		sign = -1
	}
	for k, v := range row {
		xr, xi, vi := real(x[at]), imag(x[at]), sign*imag(v)
		re[k%2] += float32(real(v)*xr) - float32(vi*xi)
		im[k%2] += float32(real(v)*xi) + float32(vi*xr)
		at += inc
	}
	return complex(re[0]+re[1], im[0]+im[1])
}

// rowsOfSingles computes y = alpha A x + beta y and returns true, or returns false for wrong arguments.
func rowsOfSingles(
	m, n int, alpha complex64, a []complex64, lda int, x []complex64, incX int, beta complex64, y []complex64, incY int,
) bool {
	valid := min(m, n) > 0 && alpha != 0 && insidePairs(singles(a), m, n, lda)
	if !valid || !holdsPairs(singles(x), n, incX) || !holdsPairs(singles(y), m, incY) {
		return false
	}
	to := firstEntry(m, incY)
	for i := range m {
		sum := timesSingles(alpha, dotOfSingles(false, a[i*lda:][:n], x, firstEntry(n, incX), incX))
		switch beta {
		case 0:
		case 1:
			sum += y[to]
		default:
			sum += timesSingles(beta, y[to])
		}
		y[to] = sum
		to += incY
	}
	return true
}
