//go:build !purego

package tile

import "unsafe"

// Advanced SIMD is part of every arm64 processor that Go runs on.
func available() []Tier { return []Tier{Generic, NEON} }

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	if active != NEON || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	_, _, _ = a[(r-1)*lda+n-1], x[(n-1)*ldx+Pad(d)-1], u[(r-1)*ldu+Pad(d)-1]
	switch x := any(x).(type) {
	case []float64:
		mulBasisTiles(mulBasis_4x5_neon, mulBasis_1x5_neon, a, lda, x, ldx, u, ldu, n, Pad(d), r, h.Next)
	case []float32:
		mulBasisTiles(mulBasis32_4x5_neon, mulBasis32_1x5_neon, a, lda, x, ldx, u, ldu, n, Pad(d), r, h.Next)
	}
}

func mulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	if active != NEON || n == 0 || d == 0 {
		mulTransposedGeneric(g, x, ldx, e, n, d)
		return
	}
	_, _, _ = g[Pad(d)-1], x[(n-1)*ldx+Pad(d)-1], e[n-1]
	switch x := any(x).(type) {
	case []float64:
		mulTransposedBlocks(mulTransposed_neon, g, x, ldx, e, n, Pad(d), h.Next)
	case []float32:
		mulTransposedBlocks(mulTransposed32_neon, g, x, ldx, e, n, Pad(d), h.Next)
	}
}

// mulBasisTiles covers A by tiles of 4 rows, then of 1 row, and of up to 5 columns
// of equal width, to within one, for n, d, r > 0 and d a multiple of Width. It
// prefetches its usual share at an even pace.
func mulBasisTiles[F Float](tile4, tile1 basisTile[F], a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	steps := d / Width
	blocks := (r + 4) / 5
	ahead := Eighths(r, false) * Width * int(unsafe.Sizeof(x[0])) / 8 // for one row
	if next == 0 {
		next, ahead = uintptr(unsafe.Pointer(&x[0])), 0
	}
	for i := 0; i < n; {
		tile, rows := tile4, 4
		if n-i < 4 {
			tile, rows = tile1, 1
		}
		pace := ahead * rows / blocks
		j := 0
		for left := blocks; left > 0; left-- {
			c := (r - j + left - 1) / left
			tile(&a[j*lda+i], lda, &x[i*ldx], ldx, &u[j*ldu], ldu, c, steps, next, pace)
			next += uintptr(steps * pace)
			j += c
		}
		i += rows
	}
}

// mulTransposedBlocks cuts g into runs of up to 4 blocks, of equal width to within one
// block, for n, d > 0 and d a multiple of Width, and prefetches half as many bytes from
// next on as it reads.
func mulTransposedBlocks[F Float](sum rowSum[F], g []float64, x []F, ldx int, e []float64, n, d int, next uintptr) {
	ahead := Width * int(unsafe.Sizeof(x[0])) / 2 // for one block of one row
	if next == 0 {
		next, ahead = uintptr(unsafe.Pointer(&x[0])), 0
	}
	blocks, done := d/Width, 0
	for left := (blocks + 3) / 4; left > 0; left-- {
		c := (blocks - done + left - 1) / left
		sum(&g[done*Width], &x[done*Width], ldx, &e[0], n, c, next, ahead*c)
		next += uintptr(n * ahead * c)
		done += c
	}
}
