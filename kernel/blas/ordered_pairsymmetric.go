package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// This file has gonum's products of complex symmetric and Hermitian matrices, and products that are such
// matrices, in the order of ordered_pairs.go.

// A symmetricPairs is C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric
// or a Hermitian A.
type symmetricPairs[F tile.Float] struct {
	a           entryTriangle[F]
	b, c        entryMatrix[F]
	m, n        int
	alpha, beta pair[F]
	hermitian   bool
}

func (p *symmetricPairs[F]) diagonal(i int) pair[F] {
	v := p.a.at(i, i)
	if p.hermitian {
		v.im = 0
	}
	return v
}

// scaled returns v plus beta times an entry of C.
func (p *symmetricPairs[F]) scaled(v, c pair[F]) pair[F] {
	if p.beta.isZero() {
		return v
	}
	return v.plus(p.beta.times(c))
}

func (p *symmetricPairs[F]) onLeft() {
	for i := range p.m {
		row, by := p.c.row(i, 0, p.n), p.alpha.times(p.diagonal(i))
		for j, v := range p.b.row(i, 0, p.n) {
			row[j] = p.scaled(by.times(v), row[j])
		}
		for k := range p.m {
			if k == i {
				continue
			}
			var v pair[F]
			if stored := (k > i) == (p.a.ul == blas.Upper); stored {
				v = p.a.at(i, k)
			} else {
				v = p.a.at(k, i).conjugateIf(p.hermitian)
			}
			addMultiple(p.alpha.times(v), p.b.row(k, 0, p.n), row)
		}
	}
}

func (p *symmetricPairs[F]) onRight() {
	for i := range p.m {
		b, c := p.b.row(i, 0, p.n), p.c.row(i, 0, p.n)
		for step := range p.n {
			j := step
			if p.a.ul == blas.Upper {
				j = p.n - 1 - step
			}
			by, sum := p.alpha.times(b[j]), pair[F]{}
			for k, to := p.a.beside(j); k < to; k++ {
				v := p.a.at(j, k)
				c[k] = c[k].plus(by.times(v))
				sum = sum.plus(b[k].times(v.conjugateIf(p.hermitian)))
			}
			c[j] = p.scaled(by.times(p.diagonal(j)).plus(p.alpha.times(sum)), c[j])
		}
	}
}

// A squarePairs is a triangle of C = alpha A A' + beta C or, with a transposition, C = alpha A'A + beta C;
// with a second factor, of C = alpha A B' + alpha B A' + beta C or C = alpha A'B + alpha B'A + beta C. If C
// is Hermitian, A* stands for A', and the conjugate of the second alpha for alpha.
type squarePairs[F tile.Float] struct {
	a, b        entryMatrix[F]
	twice       bool // with a second factor
	c           entryTriangle[F]
	transposed  bool
	k           int
	alpha, beta pair[F]
	hermitian   bool
}

func (p *squarePairs[F]) compute() {
	for i := range p.c.n {
		if p.transposed {
			p.rowByRows(i)
		} else {
			p.rowByDots(i)
		}
		if p.hermitian {
			p.c.data[i*p.c.stride+i].im = 0
		}
	}
}

// rowByDots computes a row as inner products of rows of the factors.
func (p *squarePairs[F]) rowByDots(i int) {
	from, to := p.c.span(i)
	row := p.c.row(i, from, to)
	for at, old := range row {
		j := from + at
		var v pair[F]
		if p.twice {
			v = p.alpha.times(dotInPairs(p.hermitian, p.b.row(j, 0, p.k), p.a.row(i, 0, p.k)))
			second := dotInPairs(p.hermitian, p.a.row(j, 0, p.k), p.b.row(i, 0, p.k))
			v = v.plus(p.alpha.conjugateIf(p.hermitian).times(second))
		} else {
			v = p.alpha.times(dotInPairs(p.hermitian, p.a.row(j, 0, p.k), p.a.row(i, 0, p.k)))
		}
		switch {
		case p.beta.isZero():
		case p.beta.isOne():
			v = v.plus(old)
		default:
			v = v.plus(p.beta.times(old))
		}
		row[at] = v
	}
}

// rowByRows computes a row as a sum of multiples of rows of the factors.
func (p *squarePairs[F]) rowByRows(i int) {
	from, to := p.c.span(i)
	row := p.c.row(i, from, to)
	if p.beta.isZero() {
		clear(row)
	} else {
		scalePairsBy(p.beta, row)
	}
	for j := range p.k {
		v := p.a.at(j, i)
		if !p.twice {
			p.addRow(p.alpha, v, p.a.row(j, from, to), row)
			continue
		}
		p.addRow(p.alpha, v, p.b.row(j, from, to), row)
		p.addRow(p.alpha.conjugateIf(p.hermitian), p.b.at(j, i), p.a.row(j, from, to), row)
	}
}

func (p *squarePairs[F]) addRow(alpha, v pair[F], x, row []pair[F]) {
	if !v.isZero() {
		addMultiple(alpha.times(v.conjugateIf(p.hermitian)), x, row)
	}
}

// multiplySymmetric computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, and
// returns true. It returns false for arguments that gonum refuses, and for nothing to add.
func multiplySymmetric[F tile.Float](
	hermitian bool, s blas.Side, ul blas.Uplo, m, n int, alpha pair[F], a []pair[F], lda int, b []pair[F], ldb int,
	beta pair[F], c []pair[F], ldc int,
) bool {
	p := symmetricPairs[F]{b: pairsOf(b, ldb), c: pairsOf(c, ldc), m: m, n: n, alpha: alpha, beta: beta}
	p.a, p.hermitian = entryTriangle[F]{pairsOf(a, lda), ul, m}, hermitian
	if s == blas.Right {
		p.a.n = n
	}
	valid := isSide(s) && isTriangle(ul) && min(m, n) > 0 && !alpha.isZero() && p.a.has(p.a.n, p.a.n)
	if !valid || !p.b.has(m, n) || !p.c.has(m, n) {
		return false
	}
	if s == blas.Left {
		p.onLeft()
	} else {
		p.onRight()
	}
	return true
}

// multiplyTransposed computes a triangle of a product of A and its transpose, or of A and B, as
// multiplySymmetric returns. b is not read for the product of A alone.
func multiplyTransposed[F tile.Float](
	hermitian, twice bool, ul blas.Uplo, tA blas.Transpose, n, k int, alpha pair[F], a []pair[F], lda int,
	b []pair[F], ldb int, beta pair[F], c []pair[F], ldc int,
) bool {
	p := squarePairs[F]{a: pairsOf(a, lda), k: k, alpha: alpha, beta: beta, hermitian: hermitian}
	p.b, p.twice, p.transposed = pairsOf(b, ldb), twice, tA != blas.NoTrans
	p.c = entryTriangle[F]{pairsOf(c, ldc), ul, n}
	other := blas.Trans
	if hermitian {
		other = blas.ConjTrans
	}
	rows, columns := opShape(tA, n, k)
	valid := isTriangle(ul) && (tA == blas.NoTrans || tA == other) && min(n, k) > 0 && !alpha.isZero()
	if !valid || !p.a.has(rows, columns) || p.twice && !p.b.has(rows, columns) || !p.c.has(n, n) {
		return false
	}
	p.compute()
	return true
}
