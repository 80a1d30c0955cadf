package blas

import "github.com/difalt/difalt/kernel/internal/tile"

// Packed returns how many of the first of r columns GemmTNPacked multiplies faster
// than GemmTN does, on the CPU tier in use: none, all, or a multiple of 16. Packing
// pays off over the samples of a few tasks.
func Packed(r int) int { return tile.Packed(r) }

// PackLen returns the length of the slice into which Pack copies a matrix of d rows
// and r columns.
func PackLen(d, r int) int { return tile.PackedLen(d, r) }

// Pack copies the padded matrix b to p in the layout of GemmTNPacked: panels of 16
// columns, by rows.
func Pack(b Matrix, p []float64) {
	b.check(Pad(b.Rows))
	checkPacked(p, b.Rows, b.Cols)
	tile.PackBasis(p, b.Data, b.Stride, b.Rows, b.Cols)
}

// GemmTNPacked computes C = A'B for padded a and the matrix B of as many rows that
// Pack has copied to p.
func GemmTNPacked(a Matrix, p []float64, c Matrix) {
	fit(c.Rows == a.Cols)
	a.check(Pad(a.Rows))
	c.check(c.Rows)
	checkPacked(p, a.Rows, c.Cols)
	tile.MulPacked(c.Data, c.Stride, a.Data, a.Stride, p, a.Cols, a.Rows, c.Cols, 0)
}

func checkPacked(p []float64, d, r int) {
	if len(p) < PackLen(d, r) {
		panic(shortMatrix)
	}
}
