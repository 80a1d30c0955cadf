//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

// A basisTile computes a tile of A = X U: some rows of samples X, given by the function,
// times up to 5 columns of numbers N, over steps of a cache line of these. After every step
// it prefetches the line at next, and moves next on by ahead bytes.
type basisTile[X, N any] func(a *float64, lda int, x *X, ldx int, u *N, ldu, columns, steps int, next uintptr, ahead int)

//go:noescape
func mulBasis_4x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)

//go:noescape
func mulBasis_1x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)

//go:noescape
func mulBasis32_4x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)

//go:noescape
func mulBasis32_1x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)

// addBasisHalf_4x5_neon adds a tile to A, and addBasisHalf_1x5_neon likewise.
//
//go:noescape
func addBasisHalf_4x5_neon(a *float64, lda int, x *uint16, ldx int, u *float32, ldu, columns, steps int, next uintptr, ahead int)

//go:noescape
func addBasisHalf_1x5_neon(a *float64, lda int, x *uint16, ldx int, u *float32, ldu, columns, steps int, next uintptr, ahead int)

// A rowSum computes up to 4 blocks, of a cache line each, of X' e for samples X and numbers
// N. After every row it prefetches the line at next, and moves next on by ahead bytes.
type rowSum[X, N any] func(v *N, x *X, ldx int, e *N, n, blocks int, next uintptr, ahead int)

//go:noescape
func mulTransposed_neon(v, x *float64, ldx int, e *float64, n, blocks int, next uintptr, ahead int)

//go:noescape
func mulTransposed32_neon(v *float64, x *float32, ldx int, e *float64, n, blocks int, next uintptr, ahead int)

//go:noescape
func mulTransposedHalf_neon(v *float32, x *uint16, ldx int, e *float32, n, blocks int, next uintptr, ahead int)

// addScaled_neon is addScaled for blocks of 8 entries.
//
//go:noescape
func addScaled_neon(v, w, s *float64, grad *float32, blocks int)

// residual_4_neon is residual for blocks of 4 samples.
//
//go:noescape
func residual_4_neon(e, a *float64, lda int, b, y *float64, blocks, r int) float64

// panel_4_neon computes up to 4 rows of a product, or adds it to c:
//
//	c[i*ldc+k] = sum_j w[i*wi+j*wj] * z[j*ldz+k],  i < m <= 4, j < n, k < 8*blocks.
//
//go:noescape
func panel_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, blocks int, add bool)

// dots_4_neon computes f[j] = x'a_j for the first c <= 4 columns of a. It writes 4
// entries of f.
//
//go:noescape
func dots_4_neon(f, x, a *float64, lda, c, m int)

// axpys_4_neon computes a_j -= f[j] x for the first c <= 4 columns of a.
//
//go:noescape
func axpys_4_neon(f, x, a *float64, lda, c, m int)

// scale_neon multiplies x by f.
//
//go:noescape
func scale_neon(x *float64, f float64, m int)

// step returns how many numbers N, and so many features, are in a cache line.
func step[N any]() int { return 64 / int(unsafe.Sizeof(*new(N))) }

// mulBasisTiles covers A by tiles of 4 rows, then of 1 row, and of up to 5 columns
// of equal width, to within one, for n, d, r > 0 and d a multiple of a step. It
// prefetches what Ahead says at an even pace.
func mulBasisTiles[X, N any](tile4, tile1 basisTile[X, N], a []float64, lda int, x []X, ldx int, u []N, ldu int, n, d, r int, next uintptr) {
	steps := d / step[N]()
	blocks := (r + 4) / 5
	ahead := Ahead(r) * step[N]() * int(unsafe.Sizeof(x[0])) / 8 // for one row
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
// block, for n, d > 0 and d a multiple of a step, and prefetches half as many bytes from
// next on as it reads.
func mulTransposedBlocks[X, N any](sum rowSum[X, N], g []N, x []X, ldx int, e []N, n, d int, next uintptr) {
	width := step[N]()
	ahead := width * int(unsafe.Sizeof(x[0])) / 2 // for one block of one row
	if next == 0 {
		next, ahead = uintptr(unsafe.Pointer(&x[0])), 0
	}
	blocks, done := d/width, 0
	for left := (blocks + 3) / 4; left > 0; left-- {
		c := (blocks - done + left - 1) / left
		sum(&g[done*width], &x[done*width], ldx, &e[0], n, c, next, ahead*c)
		next += uintptr(n * ahead * c)
		done += c
	}
}

func residualNEON(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if n < 4 || r == 0 {
		return residualGeneric(e, a, lda, b, y, n, r)
	}
	s := residual_4_neon(&e[0], &a[0], lda, &b[0], &y[0], n/4, r)
	if i := n &^ 3; i < n {
		s += residualGeneric(e[i:], a[i:], lda, b, y[i:], n-i, r)
	}
	return s
}

func rankUpdateNEON(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if m == 0 || d == 0 {
		return
	}
	for j := 0; j < r; j += 4 {
		panel_4_neon(&g[j*ldg], ldg, &b[j], 1, ldb, &v[0], ldv, min(4, r-j), m, Pad(d)/Width, true)
	}
}

// combineNEON works on panels of 64 columns, so that a panel of Z stays in the first
// cache while all rows of W meet it. The last panel is moved left to be 8 columns
// wide; what it computes again comes out the same.
func combineNEON(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	if n == 0 || cols < 8 {
		combineGeneric(c, ldc, w, ldw, z, ldz, m, n, cols)
		return
	}
	for k := 0; k < cols; {
		width := min(64, (cols-k)&^7)
		if width == 0 {
			k, width = cols-8, 8
		}
		for i := 0; i < m; i += 4 {
			panel_4_neon(&c[i*ldc+k], ldc, &w[i*ldw], ldw, 1, &z[k], ldz, min(4, m-i), n, width/8, false)
		}
		k += width
	}
}

func leastSquaresNEON(b, a []float64, lda, n, r int, y, work []float64) (lo, hi float64) {
	ldw := Pad(n)
	ldf := r + 4 // dots_4_neon may write 3 entries beyond column r
	w := work[:(r+1)*ldw]
	f := work[len(w):][:r*ldf]
	for j := range r {
		copy(w[j*ldw:], a[j*lda:][:n])
	}
	copy(w[r*ldw:], y[:n])
	for k := range r {
		x, row := &w[k*ldw], f[k*ldf:][:ldf]
		for j := k; j <= r; j += 4 {
			dots_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
		s := row[k]
		if k == 0 {
			lo, hi = s, s
		}
		lo, hi = min(lo, s), max(hi, s)
		for j := k + 1; j <= r; j++ {
			row[j] /= s
		}
		for j := k + 1; j <= r; j += 4 {
			axpys_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
	}
	for k := r - 1; k >= 0; k-- {
		row := f[k*ldf:][:ldf]
		s := row[r]
		for j := r - 1; j > k; j-- {
			s -= row[j] * b[j]
		}
		b[k] = s
	}
	return lo, hi
}

// factorNEON takes the inner products of the first columns together with the norm,
// when v is not known yet, and those of the other columns with v.
func factorNEON(a []float64, lda, m, n int, r []float64, ldr int, h []float64) {
	var f [4]float64
	for k := range n {
		x := a[k*lda+k:]
		c := min(4, n-k)
		dots_4_neon(&f[0], &x[0], &x[0], lda, c, m-k)
		scale := 1.0
		if f[0] < tinySquare && raise(x[:m-k]) {
			scale = 1 / raiseBy
			dots_4_neon(&f[0], &x[0], &x[0], lda, c, m-k)
		}
		s, xk := f[0], x[0]
		alpha := -math.Copysign(math.Sqrt(s), xk)
		r[k*ldr+k] = alpha * scale
		hk := s - alpha*xk
		h[k] = hk
		inv := inverse(hk)
		for i := 1; i < c; i++ {
			f[i] = (f[i] - alpha*x[i*lda]) * inv
		}
		x[0] = xk - alpha
		if c > 1 {
			axpys_4_neon(&f[1], &x[0], &x[lda], lda, c-1, m-k)
		}
		if n > k+4 {
			reflectNEON(x[4*lda:], lda, m-k, n-k-4, x, inv)
		}
		for j := k + 1; j < n; j++ {
			r[j*ldr+k] = a[j*lda+k]
			a[j*lda+k] = 0
		}
	}
}

func formQNEON(a []float64, lda, m, n int, h []float64) {
	for k := n - 1; k >= 0; k-- {
		x := a[k*lda+k:]
		inv := inverse(h[k])
		if n > k+1 {
			reflectNEON(x[lda:], lda, m-k, n-k-1, x, inv)
		}
		scale_neon(&x[0], -x[0]*inv, m-k) // H_k e_k = e_k - v (v_k / h)
		x[0]++
		clear(a[k*lda : k*lda+k])
	}
}

// reflectNEON subtracts (v'a_j inv) v from the n > 0 columns of a.
func reflectNEON(a []float64, lda, m, n int, v []float64, inv float64) {
	var f [4]float64
	for j := 0; j < n; j += 4 {
		c := min(4, n-j)
		dots_4_neon(&f[0], &v[0], &a[j*lda], lda, c, m)
		for i := range f {
			f[i] *= inv
		}
		axpys_4_neon(&f[0], &v[0], &a[j*lda], lda, c, m)
	}
}

// inverse returns 1/h, and 0 for the reflector of a column of zeros.
func inverse(h float64) float64 {
	if h == 0 {
		return 0
	}
	return 1 / h
}

func gramNEON(s []float64, lds int, a []float64, lda, m, n int) {
	var f [4]float64
	for i := range n {
		for j := i; j < n; j += 4 {
			c := min(4, n-j)
			dots_4_neon(&f[0], &a[i*lda], &a[j*lda], lda, c, m)
			for k := range c {
				s[(j+k)*lds+i] = f[k]
			}
		}
	}
}

// solveUpperNEON subtracts every column that is solved from those to its right.
func solveUpperNEON(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	var f [4]float64
	for i := range n {
		x := &a[i*lda]
		scale_neon(x, inv[i], m)
		for j := i + 1; j < n; j += 4 {
			c := min(4, n-j)
			for k := range c {
				f[k] = r[(j+k)*ldr+i]
			}
			axpys_4_neon(&f[0], x, &a[j*lda], lda, c, m)
		}
	}
}
