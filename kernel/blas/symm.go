package blas

import (
	"gonum.org/v1/gonum/blas"
)

// smallSymmetric is the order up to which a symmetric matrix is not cut in two.
const smallSymmetric = 64

// Dsymm computes C = alpha A B + beta C, or C = alpha B A + beta C, for the symmetric matrix of which a holds a triangle.
func (i Implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	order := m
	if s == blas.Right {
		order = n
	}
	if s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || m <= 0 || n <= 0 || m*n*order < worthwhile || alpha == 0 ||
		!inside(a, order, order, lda) || !inside(b, m, n, ldb) || !inside(c, m, n, ldc) {
		i.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p := product{m: m, n: n, alpha: alpha, c: c, ldc: ldc, part: blas.All}
	p.scale(beta)
	if p.set {
		for row := range m {
			clear(c[row*ldc:][:n])
		}
	}
	y := symmetricProduct{s == blas.Right, ul == blas.Upper, m + n - order, lda, ldb, ldc, alpha}
	y.add(order, a, b, c)
}

// A symmetricProduct is C += alpha A B, or C += alpha B A for A on the right, with other columns, or rows, of B.
type symmetricProduct struct {
	right, upper  bool
	other         int
	lda, ldb, ldc int
	alpha         float64
}

// add adds the product of a matrix of an order: of its halves, and of what is beside the diagonal for either of them.
func (y *symmetricProduct) add(order int, a, b, c []float64) {
	if order <= smallSymmetric {
		y.addSmall(order, a, b, c)
		return
	}
	half := order / 2
	rest := order - half
	beside := factor{a[half:], y.lda, false} // rows of the first half, columns of the second
	if !y.upper {
		beside = factor{a[half*y.lda:], y.lda, true}
	}
	below := factor{beside.data, beside.stride, !beside.transposed}
	var bRest, cRest []float64
	if y.right {
		bRest, cRest = b[half:], c[half:]
		y.product(y.other, half, rest, factor{bRest, y.ldb, false}, below, c)
		y.product(y.other, rest, half, factor{b, y.ldb, false}, beside, cRest)
	} else {
		bRest, cRest = b[half*y.ldb:], c[half*y.ldc:]
		y.product(half, y.other, rest, beside, factor{bRest, y.ldb, false}, c)
		y.product(rest, y.other, half, below, factor{b, y.ldb, false}, cRest)
	}
	y.add(half, a, b, c)
	y.add(rest, a[half*y.lda+half:], bRest, cRest)
}

// addSmall adds the product of a small matrix, of which both triangles are set first.
func (y *symmetricProduct) addSmall(order int, a, b, c []float64) {
	w := sidesPool.Get().(*sides)
	defer sidesPool.Put(w)
	for i := range order {
		for j := i; j < order; j++ {
			v := a[i*y.lda+j]
			if !y.upper {
				v = a[j*y.lda+i]
			}
			w.whole[i*smallSymmetric+j], w.whole[j*smallSymmetric+i] = v, v
		}
	}
	whole, side := factor{w.whole[:], smallSymmetric, false}, factor{b, y.ldb, false}
	if y.right {
		y.product(y.other, order, order, side, whole, c)
	} else {
		y.product(order, y.other, order, whole, side, c)
	}
}

func (y *symmetricProduct) product(m, n, k int, a, b factor, c []float64) {
	p := product{a: a, b: b, m: m, n: n, k: k, alpha: y.alpha, c: c, ldc: y.ldc, part: blas.All}
	p.compute()
}
