package blas

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
)

// smallOrder is the largest order of a symmetric matrix whose eigenvalues and eigenvectors are found in plain
// Go, without a tile, and smallValues the largest order without eigenvectors. EigenSym 8 to 20.
const smallOrder, smallValues = 18, 12

// A smallSymmetric is a small symmetric matrix, on its way to its eigenvalues as a tridiagonal and a turned
// are.
type smallSymmetric struct {
	n       int
	turned  int                              // columns of z that rotations turn: all, or 0
	a       [smallOrder * smallOrder]float64 // rows n apart; then reflections in the rows
	z       [smallOrder * smallOrder]float64 // the columns of Q as rows, n apart
	d, e    [smallOrder]float64
	tau     [smallOrder]float64
	product [smallOrder]float64
}

// smallEigen computes the eigenvalues w of a small symmetric matrix with entries of a moderate size,
// ascending, and overwrites a by its eigenvectors if they are wanted. It returns false if one of them is not
// found.
func (l Lapack) smallEigen(vectors bool, ul blas.Uplo, n int, a []float64, lda int, w []float64) bool {
	if n == 2 {
		l.eigenOfTwo(vectors, ul, a, lda, w)
		return true
	}
	var s smallSymmetric
	s.load(ul, n, a, lda)
	s.reduce()
	if vectors {
		s.generate()
		s.turned = n
	}
	if !s.diagonalize() {
		return false
	}
	if !vectors {
		copy(w, s.d[:n])
		slices.Sort(w[:n])
		return true
	}
	for k := range n { // the smallest of those that are left
		least := k
		for j := k + 1; j < n; j++ {
			if s.d[j] < s.d[least] {
				least = j
			}
		}
		w[k], s.d[least] = s.d[least], s.d[k]
		row, other := s.z[k*n:][:n], s.z[least*n:][:n]
		for i, v := range other {
			other[i] = row[i]
			row[i] = v
			a[i*lda+k] = v
		}
	}
	return true
}

// eigenOfTwo is smallEigen for order 2.
func (l Lapack) eigenOfTwo(vectors bool, ul blas.Uplo, a []float64, lda int, w []float64) {
	beside := a[1]
	if ul == blas.Lower {
		beside = a[lda]
	}
	if !vectors {
		w[0], w[1] = l.Dlae2(a[0], beside, a[lda+1])
		slices.Sort(w[:2])
		return
	}
	first, second, c, s := l.Dlaev2(a[0], beside, a[lda+1])
	if first > second {
		w[0], a[0], a[lda] = second, -s, c
		w[1], a[1], a[lda+1] = first, c, s
		return
	}
	w[0], a[0], a[lda] = first, c, s
	w[1], a[1], a[lda+1] = second, -s, c
}

// load copies the triangle of a matrix to both triangles.
func (s *smallSymmetric) load(ul blas.Uplo, n int, a []float64, lda int) {
	s.n = n
	for i := range n {
		for j := i; j < n; j++ {
			v := a[i*lda+j]
			if ul == blas.Lower {
				v = a[j*lda+i]
			}
			s.a[i*n+j], s.a[j*n+i] = v, v
		}
	}
}

// reduce is tridiagonal.reduceWhole in plain Go.
func (s *smallSymmetric) reduce() {
	n := s.n
	for i := range n - 1 {
		s.d[i] = s.a[i*(n+1)]
		v := s.a[i*n+i+1:][:n-1-i]
		beta, tau := smallReflector(v)
		s.e[i], s.tau[i] = beta, tau
		v[0] = 1
		if tau == 0 {
			continue
		}
		w, sum := s.product[:len(v)], 0.0
		for k := range w {
			row, p := s.a[(i+1+k)*n+i+1:][:len(v)], 0.0
			for j, x := range v {
				p += float64(row[j] * x)
			}
			w[k] = tau * p
			sum += float64(w[k] * v[k])
		}
		sum *= -tau / 2
		for k, x := range v {
			w[k] += float64(sum * x)
		}
		for k := range w {
			row, byV, byW := s.a[(i+1+k)*n+i+1:][:len(v)], v[k], w[k]
			for j, x := range v {
				row[j] -= float64(byV*w[j]) + float64(byW*x)
			}
		}
	}
	s.d[n-1] = s.a[n*n-1]
}

// smallReflector is reflector in plain Go.
func smallReflector(x []float64) (beta, tau float64) {
	alpha, rest, squares := x[0], x[1:], 0.0
	for _, v := range rest {
		squares += float64(v * v)
	}
	norm := squares + float64(alpha*alpha)
	if !(squares >= 0x1p-900 && norm <= 0x1p900) {
		size := 0.0
		for _, v := range rest {
			size = max(size, math.Abs(v))
		}
		if size <= math.Abs(alpha)*0x1p-400 {
			clear(rest)
			return alpha, 0
		}
		_, exponent := math.Frexp(size)
		for k, v := range x {
			x[k] = math.Ldexp(v, -exponent)
		}
		beta, tau = smallReflector(x)
		return math.Ldexp(beta, exponent), tau
	}
	beta = -math.Copysign(math.Sqrt(norm), alpha)
	by := 1 / (alpha - beta)
	for k := range rest {
		rest[k] *= by
	}
	return beta, (beta - alpha) / beta
}

// generate sets the rows of z to the columns of Q, by the reflections from the last one on.
func (s *smallSymmetric) generate() {
	n := s.n
	for i := range n {
		s.z[i*(n+1)] = 1
	}
	for i := n - 2; i >= 0; i-- {
		v := s.a[i*n+i+1:][:n-1-i]
		for c := i + 1; c < n; c++ {
			q, p := s.z[c*n+i+1:][:len(v)], 0.0
			for k, x := range v {
				p += float64(x * q[k])
			}
			p *= s.tau[i]
			for k, x := range v {
				q[k] -= float64(p * x)
			}
		}
	}
}

// diagonalize is turned.diagonalize with rotations that are applied immediately. It keeps the precision of
// small parts.
func (s *smallSymmetric) diagonalize() bool {
	const mostSteps = 60
	n, d, e := s.n, &s.d, &s.e
	for l := range n {
		for step := 0; ; step++ {
			m := l
			for m+1 < n && math.Abs(e[m]) > 0x1p-53*(math.Abs(d[m])+math.Abs(d[m+1])) {
				m++
			}
			if m == l {
				break
			}
			if step == mostSteps {
				return false
			}
			s.step(l, m)
		}
	}
	return true
}

// step is turned.step with rotations that are applied immediately.
func (s *smallSymmetric) step(l, m int) {
	n, d, e := s.n, &s.d, &s.e
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(rounded.Hypot(g, 1), g))
	c, sine, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := sine*e[i], float64(c*e[i])
		r := math.Sqrt(float64(f*f) + float64(g*g))
		if !(r >= 0x1p-450 && r <= 0x1p450) {
			r = rounded.Hypot(f, g)
		}
		e[i+1] = r
		if r == 0 { // the matrix splits there
			d[i+1] -= p
			e[m] = 0
			return
		}
		c, sine = g/r, f/r
		g = d[i+1] - p
		r = float64((d[i]-g)*sine) + float64(2*c*b)
		p = float64(sine * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		lower, upper := s.z[i*n:][:s.turned], s.z[(i+1)*n:][:s.turned]
		for k, x := range lower {
			y := upper[k]
			lower[k], upper[k] = float64(c*x)-float64(sine*y), float64(sine*x)+float64(c*y)
		}
	}
	d[l] -= p
	e[l], e[m] = g, 0
}
