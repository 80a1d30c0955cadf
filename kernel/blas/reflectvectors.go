package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isFew reports whether one reflector after the other changes a number of vectors in less time than panels of
// reflectors do, which need the products of all pairs of reflectors.
func (q *orthogonal) isFew(vectors int) bool {
	switch {
	case vectors == 1:
		return q.k >= fewForVectors
	case vectors <= fewVectors:
		return q.k >= fewForVectors && q.length >= longReflectors
	}
	return vectors <= moreVectors && q.k >= panelColumns
}

// reflectVectors overwrites the m x n matrix C by op(Q) C, or by C op(Q), for few vectors: the columns of C,
// or its rows if Q is on the right. One reflector after the other changes them. Vectors and reflectors are
// rows of copies, if they are not rows already.
func (q *orthogonal) reflectVectors(s blas.Side, tA blas.Transpose, m, n int, c []float64, ldc int) {
	count, rows, stride := n, c, ldc
	if s == blas.Right {
		count = m
	}
	columns := s == blas.Left && (n > 1 || ldc > 1)
	long := rowStride(q.length)
	memory := borrow[float64]((count + panelColumns) * long)
	defer giveBack(memory)
	if columns {
		rows, stride = (*memory)[panelColumns*long:], long
		tile.Transpose(rows, stride, c, ldc, m, n)
	}
	firstToLast := (s == blas.Left) == (tA == blas.Trans)
	blocks := (q.k + panelColumns - 1) / panelColumns
	for b := range blocks {
		if !firstToLast {
			b = blocks - 1 - b
		}
		j := b * panelColumns
		reflectors := min(panelColumns, q.k-j)
		v, ldv := q.a[j*(q.lda+1):], q.lda
		if !q.byRows {
			tile.Transpose(*memory, long, v, ldv, q.length-j, reflectors)
			v, ldv = *memory, long
		}
		for i := range reflectors {
			if !firstToLast {
				i = reflectors - 1 - i
			}
			if tau := q.tau[j+i]; tau != 0 {
				reflectRows(rows[j+i:], stride, count, v[i*(ldv+1):][:q.length-j-i], tau)
			}
		}
	}
	if columns {
		tile.Transpose(c, ldc, rows, stride, n, m)
	}
}

// reflectRows overwrites up to moreVectors rows x by (I - tau v v') x, for a vector v whose first entry is 1,
// in place of the number in memory.
func reflectRows(rows []float64, stride, count int, v []float64, tau float64) {
	var sums [moreVectors]float64
	v = v[1:]
	if len(v) > 0 {
		tile.RowDots(sums[:], rows[1:], stride, v, count, len(v))
	}
	for k := range count {
		row := rows[k*stride:][:len(v)+1]
		by := float64(tau * (row[0] + sums[k]))
		row[0] -= by
		addTimes(-by, v, row[1:])
	}
}
