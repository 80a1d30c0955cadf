package blas

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// smallOrder is the largest order of a symmetric matrix whose eigenvalues and eigenvectors are found in plain
// Go, without a tile. EigenSym 8 to 20.
const smallOrder = 18

// A smallSymmetric is a small symmetric matrix, on its way to its eigenvalues as a tridiagonal and a turned
// are.
type smallSymmetric struct {
	n        int
	mirrored bool                             // as in tridiagonal
	a        [smallOrder * smallOrder]float64 // rows n apart; then reflections in the rows
	z        []float64                        // the columns of Q as rows, n apart
	d, e     [smallOrder]float64
	tau      [smallOrder]float64
	product  [smallOrder]float64
}

// smallEigen computes the eigenvalues w of a small symmetric matrix with entries of a moderate size,
// ascending, and overwrites a by its eigenvectors if they are wanted. It returns false if one of them is not
// found.
func (*solvers) smallEigen(vectors bool, ul blas.Uplo, n int, a []float64, lda int, w []float64) bool {
	if n == 2 {
		own.eigenOfTwo(vectors, ul, a, lda, w)
		return true
	}
	var s smallSymmetric
	s.load(ul, n, a, lda, vectors)
	s.reduce()
	if !vectors {
		copy(w, s.d[:n])
		return own.Dsterf(n, w, s.e[:n-1])
	}
	var z [smallOrder * smallOrder]float64
	s.z = z[:]
	s.generate()
	if s.mirrored {
		slices.Reverse(s.d[:n])
		slices.Reverse(s.e[:n-1])
		slices.Reverse(s.z[:n*n])
	}
	if !s.diagonalize() {
		return false
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
func (*solvers) eigenOfTwo(vectors bool, ul blas.Uplo, a []float64, lda int, w []float64) {
	beside := a[1]
	if ul == blas.Lower {
		beside = a[lda]
	}
	if !vectors {
		w[0], w[1] = own.Dlae2(a[0], beside, a[lda+1])
		slices.Sort(w[:2])
		return
	}
	first, second, c, s := own.Dlaev2(a[0], beside, a[lda+1])
	if first > second {
		w[0], a[0], a[lda] = second, -s, c
		w[1], a[1], a[lda+1] = first, c, s
		return
	}
	w[0], a[0], a[lda] = first, c, s
	w[1], a[1], a[lda+1] = second, -s, c
}

// load copies a triangle of a matrix to both triangles. An upper one is mirrored if vectors are wanted; see
// tridiagonal.
func (s *smallSymmetric) load(ul blas.Uplo, n int, a []float64, lda int, vectors bool) {
	s.n, s.mirrored = n, vectors && ul == blas.Upper
	for i := range n {
		first, end, row := 0, i+1, s.a[i*n:][:n]
		if ul == blas.Upper {
			first, end = i, n
		}
		copy(row[first:end], a[i*lda+first:])
	}
	for i := range n {
		for j := range i {
			if ul == blas.Upper {
				s.a[i*n+j] = s.a[j*n+i]
			} else {
				s.a[j*n+i] = s.a[i*n+j]
			}
		}
	}
	if s.mirrored {
		slices.Reverse(s.a[:n*n])
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
	if !safeReflection(squares, norm) {
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
	var cosines, sines [smallOrder]float64
	t := symmetricSteps{d: s.d[:s.n], e: s.e[:s.n-1]}
	for lo, n, down := t.next(); n > 0; lo, n, down = t.next() {
		if !t.converging() {
			return false
		}
		t.step(cosines[:n], sines[:n])
		for k := n - 1; k >= 0; k-- {
			first, second := lo+k+1, lo+k
			if down {
				first, second = lo+n-1-k, lo+n-k
			}
			s.turn(first, second, cosines[k], sines[k])
		}
	}
	return true
}

// turn rotates two rows of z.
func (s *smallSymmetric) turn(first, second int, cosine, sine float64) {
	x, y := s.z[first*s.n:][:s.n], s.z[second*s.n:][:s.n]
	for k, v := range x {
		w := y[k]
		x[k], y[k] = float64(cosine*v)+float64(sine*w), float64(cosine*w)-float64(sine*v)
	}
}
