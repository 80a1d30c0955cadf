package blas

import "github.com/difalt/difalt/kernel/internal/tile"

// Packed returns how many of the first columns of a basis of rank r are faster
// multiplied by MulPacked than by MulBasis, on the CPU tier in use: none, all, or a
// multiple of 16. Packing pays off over the samples of a few tasks.
func Packed(r int) int { return tile.Packed(r) }

// PackedLen returns the length of the slice that PackBasis and MulPacked need for r
// columns of d features.
func PackedLen(d, r int) int { return tile.PackedLen(d, r) }

// PackBasis copies r columns u of a basis (d x r) to p in the layout of MulPacked:
// panels of 16 columns, by rows.
func PackBasis(p, u []float64, ldu, d, r int) {
	if d < 0 {
		panic(dLT0)
	}
	checkColumns(len(u), ldu, Pad(d), r)
	checkPacked(p, d, r)
	tile.PackBasis(p, u, ldu, d, r)
}

// MulPacked computes A = X U as MulBasis does, for r columns in p from PackBasis.
//
// next is where the samples start that the caller will use after these, or zero; it is
// a prefetch hint and never dereferenced.
func MulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, next uintptr) {
	checkMulPacked(a, lda, len(x), ldx, p, n, d, r)
	tile.MulPacked(a, lda, x, ldx, p, n, d, r, next)
}

// MulPacked32 is MulPacked for samples stored as float32. It writes to the end of p,
// behind the basis: one p serves one goroutine at a time.
func MulPacked32(a []float64, lda int, x []float32, ldx int, p []float64, n, d, r int, next uintptr) {
	checkMulPacked(a, lda, len(x), ldx, p, n, d, r)
	tile.MulPacked32(a, lda, x, ldx, p, n, d, r, next)
}

func checkMulPacked(a []float64, lda, lenX, ldx int, p []float64, n, d, r int) {
	checkSamples(lenX, ldx, n, d)
	checkColumns(len(a), lda, n, r)
	checkPacked(p, d, r)
}

func checkPacked(p []float64, d, r int) {
	if len(p) < PackedLen(d, r) {
		panic(shortMatrix)
	}
}
