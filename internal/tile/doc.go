// Package tile holds the inner loops of the kernel: small fused dense
// operations on the layouts of package kernel, in portable Go and, per CPU
// tier, in assembly.
//
// Layouts. A block of samples x is row-major with row stride ldx. A basis u
// (and a gradient g) is column-major with column stride ldu. Both strides are at
// least Pad(d), and the entries from d to Pad(d) of every row of x and of every
// column of u are zero, so that loops along d run over Pad(d) entries and have
// no tails. Everything else (a, e, y, b, factors) may have any length.
//
// Arithmetic is float64, but for the products with samples of 16 bits (half.go), which
// are float32: twice as many lanes, and errors that count for little where these products
// are a correction to others.
//
// Rounding. No tile touches the floating-point control register: all tiers round
// as Go does and keep denormal numbers. They need no flushing to be fast, since
// residuals that have converged are at the rounding of the data, far above the
// denormal range.
//
// The functions do not check their arguments beyond slice bounds. Package blas does so
// for others; package kernel, which calls some of them itself to pass hints of what to
// prefetch, only has shapes that fit. Slices must not overlap unless a comment says that
// they may.
//
// docs/kernel.md has measurements: what limits each shape, and why prefetching has
// schedules.
package tile

// Width is the number of float64 in the widest vector of any tier: every row of
// samples and every column of a basis is padded with zeros to a multiple of it.
const Width = 8

// Pad returns the smallest multiple of Width that is at least n.
func Pad(n int) int { return (n + Width - 1) &^ (Width - 1) }

// Stride returns the row or column stride, in float64, for vectors of n
// entries: Pad(n), and one more Width when Pad(n) entries would be a multiple of
// 4096 bytes, since walking down such rows would hit one set of the first-level
// cache over and over.
func Stride(n int) int {
	s := Pad(n)
	if s > 0 && s%512 == 0 {
		s += Width
	}
	return s
}

// Float is the type in which samples are stored. Arithmetic is float64 for both.
type Float interface{ float32 | float64 }

//go:generate env GOWORK=off go -C _asm run . -tier avx2 -pkg tile -out ../tile_avx2_amd64.s -stubs ../stubs_avx2_amd64.go
//go:generate env GOWORK=off go -C _asm run . -tier avx512 -pkg tile -out ../tile_avx512_amd64.s -stubs ../stubs_avx512_amd64.go
//go:generate env GOWORK=off go -C _asm run . -select ../select_amd64.go
