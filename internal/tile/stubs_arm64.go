//go:build !purego

package tile

// mulBasis_4x5_neon and the three below compute a tile of A = X U: some rows of samples X, times up to 5
// columns of a basis, over steps of 8 features. After every step they prefetch the line at next, and move
// next on by ahead bytes.
//
//go:noescape
func mulBasis_4x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int,
	next uintptr, ahead int)

//go:noescape
func mulBasis_1x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int,
	next uintptr, ahead int)

//go:noescape
func mulBasis32_4x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int,
	next uintptr, ahead int)

//go:noescape
func mulBasis32_1x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int,
	next uintptr, ahead int)

// mulTransposed_neon and mulTransposed32_neon compute up to 4 blocks, of a cache line each, of X' e for
// samples X. After every row they prefetch the line at next, and move next on by ahead bytes.
//
//go:noescape
func mulTransposed_neon(v, x *float64, ldx int, e *float64, n, blocks int, next uintptr, ahead int)

//go:noescape
func mulTransposed32_neon(v *float64, x *float32, ldx int, e *float64, n, blocks int, next uintptr, ahead int)

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

// fmaPeak_neon does rounds of 16 vector multiply-adds in registers.
func fmaPeak_neon(rounds int)
