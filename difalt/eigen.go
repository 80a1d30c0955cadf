package difalt

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
)

// largestEigenvalue returns the largest eigenvalue of the symmetric n x n matrix a, n > 0, which it
// overwrites: both triangles, without gaps. work has 2n entries. The result is accurate to a few roundings of
// the largest absolute eigenvalue, and NaN for NaN or Inf in a. Squares of the entries must not overflow.
//
// Householder reflections bring a to tridiagonal form. Laguerre's iteration then falls from the right of all
// eigenvalues monotonically to the largest, with cubic convergence. That takes a small part of the time of
// LAPACK's syev, which would take longer than an iteration where a hundred nodes are measured in each.
func largestEigenvalue(a []float64, n int, work []float64) float64 {
	e2 := work[:n]
	tridiagonalize(a, n, e2, work[n:2*n])
	x, scale := math.Inf(-1), 0.0
	for i := range n { // Gershgorin: no eigenvalue is above x
		radius := 0.0
		if i > 0 {
			radius += math.Sqrt(e2[i-1])
		}
		if i < n-1 {
			radius += math.Sqrt(e2[i])
		}
		x = max(x, a[i*n+i]+radius)
		scale = max(scale, math.Abs(a[i*n+i])+radius)
	}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return math.NaN()
	}
	const eps = 0x1p-52
	x += 4 * eps * scale
	for range 50 {
		g, h, right := newtonSums(a, n, e2, x)
		if !right {
			break
		}
		m := float64(n)
		step := m / (g + math.Sqrt(max(0, (m-1)*(m*h-g*g))))
		x -= step
		if !(step > eps*scale) {
			break
		}
	}
	return x
}

// newtonSums returns sum_k 1/(x - lambda_k) and sum_k 1/(x - lambda_k)^2 over the eigenvalues of a
// tridiagonal matrix T, with the diagonal of a and the squares e2 of the entries next to it. It also reports
// whether x is right of all of them. The product of the pivots q_i of x I - T is the characteristic
// polynomial. Its derivatives give both sums.
func newtonSums(a []float64, n int, e2 []float64, x float64) (g, h float64, right bool) {
	q, dq, ddq := 1.0, 0.0, 0.0
	for i := range n {
		if i == 0 {
			q, dq, ddq = x-a[0], 1, 0
		} else {
			r := e2[i-1] / (q * q)
			q, dq, ddq = x-a[i*n+i]-r*q, 1+r*dq, r*(ddq-2*dq*dq/q)
		}
		if !(q > 0) {
			return 0, 0, false
		}
		t := dq / q
		g += t
		h += t*t - ddq/q
	}
	return g, h, true
}

// tridiagonalize brings a to tridiagonal form. It leaves the diagonal of the result on the diagonal of a, and
// the squares of the entries next to it in e2.
func tridiagonalize(a []float64, n int, e2, p []float64) {
	for k := 0; k < n-1; k++ {
		v := a[k*n+k+1 : k*n+n] // row k right of the diagonal
		norm := dense.Dot(v, v)
		e2[k] = norm
		alpha := -math.Copysign(math.Sqrt(norm), v[0])
		h := norm - alpha*v[0]
		if len(v) == 1 || h == 0 {
			continue
		}
		v[0] -= alpha
		// A <- H A H with H = I - v v'/h: A - v q' - q v', q = A v/h - v (v'A v)/(2 h^2).
		q := p[:len(v)]
		for i := range q {
			q[i] = dense.Dot(a[(k+1+i)*n+k+1:(k+1+i)*n+n], v) / h
		}
		c := dense.Dot(v, q) / (2 * h)
		for i := range q {
			q[i] -= c * v[i]
		}
		for i := range q {
			row := a[(k+1+i)*n+k+1 : (k+1+i)*n+n]
			vi, qi := v[i], q[i]
			for j := range row {
				row[j] -= vi*q[j] + qi*v[j]
			}
		}
	}
}
