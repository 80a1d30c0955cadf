//go:build !purego

package tile

// mulBasis_2x3_neon and mulBasis32_2x3_neon compute a tile of A = X U: one or two rows of samples X, times up
// to 3 columns of a basis, over steps of 8 features. After every step they prefetch the line at next, and
// move next on by ahead bytes.
//
//go:noescape
func mulBasis_2x3_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, rows, steps int,
	next uintptr, ahead int)

//go:noescape
func mulBasis32_2x3_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, rows, steps int,
	next uintptr, ahead int)

// mulTransposed_neon and mulTransposed32_neon compute up to 4 blocks, of a cache line each, of X' e for
// samples X, or add to it. The n rows are ldx apart, entries of e step, of any sign. After every row they
// prefetch two lines at next, and move next on by ahead bytes.
//
//go:noescape
func mulTransposed_neon(v, x *float64, ldx int, e *float64, step, n, blocks int, add bool, next uintptr, ahead int)

//go:noescape
func mulTransposed32_neon(v *float64, x *float32, ldx int, e *float64, step, n, blocks int, add bool, next uintptr,
	ahead int)

// panel_4_neon computes up to 4 rows of a product, or adds it to c:
//
//	c[i*ldc+k] = sum_j w[i*wi+j*wj] * z[j*ldz+k],  i < m <= 4, j < n, k < 8*blocks.
//
//go:noescape
func panel_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, blocks int, add bool)

// panel32_4_neon is panel_4_neon for float32, with 16 columns a block.
//
//go:noescape
func panel32_4_neon(c *float32, ldc int, w *float32, wi, wj int, z *float32, ldz, m, n, blocks int, add bool)

// panelRest_4_neon is panel_4_neon for up to 7 columns, and panel32Rest_4_neon panel32_4_neon for up to 15.
//
//go:noescape
func panelRest_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, cols int, add bool)

//go:noescape
func panel32Rest_4_neon(c *float32, ldc int, w *float32, wi, wj int, z *float32, ldz, m, n, cols int, add bool)

// rowDots_4_neon computes the products of c <= 4 rows of 8*blocks entries and x. start has the first addends
// of the sums of 4 rows. It writes 4 sums. addDots_4_neon adds to the partial sums of 4 rows. rowDots_1_neon
// returns the product of one row, in the order for one.
//
//go:noescape
func rowDots_4_neon(sums, start, a *float64, lda, c int, x *float64, blocks int)

//go:noescape
func addDots_4_neon(sums, a *float64, lda int, x *float64, blocks int)

//go:noescape
func addDots32_4_neon(sums, a *float32, lda int, x *float32, blocks int)

//go:noescape
func rowDots_1_neon(start, a, x *float64, blocks int) float64

//go:noescape
func rowDots32_4_neon(sums, start, a *float32, lda, c int, x *float32, blocks int)

//go:noescape
func rowDots32_1_neon(start, a, x *float32, blocks int) float32

// axpy_neon adds by times x to y, of n entries; y may be x.
//
//go:noescape
func axpy_neon(y, x *float64, by float64, n int)

//go:noescape
func axpy32_neon(y, x *float32, by float32, n int)

// rotate_neon is rotateGeneric for 16 columns, with row 0 at z.
//
//go:noescape
func rotate_neon(z *float64, ldz int, c, s *float64, n int)

// reflect_neon is the tile reflect for 8*groups columns, groups <= 4; wnext is the entry of w for the next
// column.
//
//go:noescape
func reflect_neon(a, col, next *float64, ld int, w, sums *float64, scale, wnext float64, m, groups int)

// addSquares_neon adds the partial sums of the squares of 8*blocks entries of x to 8 sums.
//
//go:noescape
func addSquares_neon(sums, x *float64, blocks int)

// axpys_4_neon computes a_j -= f[j] x for the first c <= 4 columns of a.
//
//go:noescape
func axpys_4_neon(f, x, a *float64, lda, c, m int)

// scale_neon multiplies x by f.
//
//go:noescape
func scale_neon(x *float64, f float64, m int)

//go:noescape
func scale32_neon(x *float32, f float32, m int)

// mulTransposedLanes_neon computes the products of 8 features of blocks of 4 lanes and e, the last row first:
// x and e are the last of n rows, ldx and lde apart.
//
//go:noescape
func mulTransposedLanes_neon(sums, x *float64, ldx int, e *float64, lde, n int)

// fmaPeak_neon does rounds of 16 vector multiply-adds in registers.
func fmaPeak_neon(rounds int)
