package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// This file has gonum's products and systems with complex triangular matrices, in the order of
// ordered_pairs.go.

// A trianglePairs is a product B = alpha op(A) B or B = alpha B op(A), or a system op(A) X = alpha B or
// X op(A) = alpha B, for a triangular A and an m x n matrix B, which the result overwrites.
type trianglePairs[F tile.Float] struct {
	a     entryTriangle[F]
	b     entryMatrix[F]
	side  blas.Side
	op    blas.Transpose
	diag  blas.Diag
	m, n  int
	alpha pair[F]
}

// valid reports whether the arguments are right, and something is to do.
func (p *trianglePairs[F]) valid() bool {
	return isSide(p.side) && isTriangle(p.a.ul) && known(p.op) && isDiagonal(p.diag) && min(p.m, p.n) > 0 &&
		!p.alpha.isZero() && p.a.has(p.a.n, p.a.n) && p.b.has(p.m, p.n)
}

// entry returns an entry of A, or its conjugate where op takes conjugates.
func (p *trianglePairs[F]) entry(i, j int) pair[F] {
	return p.a.at(i, j).conjugateIf(p.op == blas.ConjTrans)
}

// rowOf returns a row of B.
func (p *trianglePairs[F]) rowOf(i int) []pair[F] { return p.b.row(i, 0, p.n) }

// place returns row or column number step of A of those that are taken from the first, or from the last.
func (p *trianglePairs[F]) place(step int, first bool) int {
	if first {
		return step
	}
	return p.a.n - 1 - step
}

// multiply computes the product.
func (p *trianglePairs[F]) multiply() {
	upper, transposed := p.a.ul == blas.Upper, p.op != blas.NoTrans
	if p.side == blas.Right {
		for i := range p.m {
			for step := range p.n {
				p.multiplyColumn(p.rowOf(i), p.place(step, upper == transposed))
			}
		}
		return
	}
	for step := range p.m {
		i := p.place(step, upper != transposed)
		from, to := p.a.beside(i)
		row := p.rowOf(i)
		for j := from; j < to && transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(p.alpha.times(v), row, p.rowOf(j))
			}
		}
		by := p.alpha
		if p.diag == blas.NonUnit {
			by = by.times(p.entry(i, i))
		}
		scalePairsBy(by, row)
		for j := from; j < to && !transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(p.alpha.times(v), p.rowOf(j), row)
			}
		}
	}
}

// multiplyColumn multiplies entry j of a row of B by A on the right.
func (p *trianglePairs[F]) multiplyColumn(row []pair[F], j int) {
	from, to := p.a.beside(j)
	if p.op == blas.NoTrans {
		by := p.alpha.times(row[j])
		if by.isZero() {
			return
		}
		row[j] = by
		if p.diag == blas.NonUnit {
			row[j] = by.times(p.a.at(j, j))
		}
		addMultiple(by, p.a.row(j, from, to), row[from:to])
		return
	}
	v := row[j]
	if p.diag == blas.NonUnit {
		v = v.times(p.entry(j, j))
	}
	v = v.plus(dotInPairs(p.op == blas.ConjTrans, p.a.row(j, from, to), row[from:to]))
	row[j] = p.alpha.times(v)
}

// solve computes the solution of the system.
func (p *trianglePairs[F]) solve() {
	upper, transposed := p.a.ul == blas.Upper, p.op != blas.NoTrans
	if p.side == blas.Right {
		for i := range p.m {
			if !transposed {
				scalePairsBy(p.alpha, p.rowOf(i))
			}
			for step := range p.n {
				p.solveColumn(p.rowOf(i), p.place(step, upper != transposed))
			}
		}
		return
	}
	one := pair[F]{re: 1}
	for step := range p.m {
		i := p.place(step, upper == transposed)
		from, to := p.a.beside(i)
		row := p.rowOf(i)
		if !transposed {
			scalePairsBy(p.alpha, row)
		}
		for j := from; j < to && !transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(v.negative(), p.rowOf(j), row)
			}
		}
		if p.diag == blas.NonUnit {
			scalePairsBy(one.over(p.entry(i, i)), row)
		}
		for j := from; j < to && transposed; j++ {
			if v := p.entry(i, j); !v.isZero() {
				addMultiple(v.negative(), row, p.rowOf(j))
			}
		}
		if transposed {
			scalePairsBy(p.alpha, row)
		}
	}
}

// solveColumn solves for entry j of a row of X, with A on the right.
func (p *trianglePairs[F]) solveColumn(row []pair[F], j int) {
	from, to := p.a.beside(j)
	v := row[j]
	if p.op != blas.NoTrans {
		if !p.alpha.isOne() {
			v = p.alpha.times(v)
		}
		v = v.minus(dotInPairs(p.op == blas.ConjTrans, p.a.row(j, from, to), row[from:to]))
	} else if v.isZero() {
		return
	}
	if p.diag == blas.NonUnit {
		v = v.over(p.entry(j, j))
	}
	row[j] = v
	if p.op == blas.NoTrans {
		addMultiple(v.negative(), p.a.row(j, from, to), row[from:to])
	}
}

// triangleInPairs returns the operands of a product with a triangular matrix, or of a triangular system.
func triangleInPairs[F tile.Float](
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha pair[F], a []pair[F], lda int,
	b []pair[F], ldb int,
) *trianglePairs[F] {
	p := &trianglePairs[F]{b: pairsOf(b, ldb), side: s, op: tA, diag: d, m: m, n: n, alpha: alpha}
	p.a = entryTriangle[F]{pairsOf(a, lda), ul, m}
	if s == blas.Right {
		p.a.n = n
	}
	return p
}
