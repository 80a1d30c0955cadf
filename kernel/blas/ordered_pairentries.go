package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// This file has complex matrices and their triangles as pairs lie in memory.

// An entryMatrix is a complex matrix by rows.
type entryMatrix[F tile.Float] struct {
	data   []pair[F]
	stride int
}

// row returns entries from from to to of row i.
func (m entryMatrix[F]) row(i, from, to int) []pair[F] {
	return m.data[i*m.stride+from : i*m.stride+to]
}

func (m entryMatrix[F]) at(i, j int) pair[F] { return m.data[i*m.stride+j] }

// has reports whether all entries of a matrix of that size are in memory.
func (m entryMatrix[F]) has(rows, columns int) bool {
	return m.stride >= max(1, columns) && len(m.data) >= (rows-1)*m.stride+columns
}

// pairsOf returns a matrix with the given distance of rows.
func pairsOf[F tile.Float](data []pair[F], stride int) entryMatrix[F] {
	return entryMatrix[F]{data, stride}
}

// An entryTriangle is the stored triangle of a symmetric or Hermitian matrix, or a triangular matrix.
type entryTriangle[F tile.Float] struct {
	entryMatrix[F]
	ul blas.Uplo
	n  int
}

// span returns the columns of row i of the triangle, and beside those without the diagonal.
func (t *entryTriangle[F]) span(i int) (from, to int) {
	if t.ul == blas.Upper {
		return i, t.n
	}
	return 0, i + 1
}

func (t *entryTriangle[F]) beside(i int) (from, to int) {
	if t.ul == blas.Upper {
		return i + 1, t.n
	}
	return 0, i
}
