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
// are a correction to others. A conversion (VCVTPH2PS, FCVTL on arm64) takes the place of a load there,
// one for every four to six multiply-adds in MulBasisHalf, where it hides behind them,
// and one for each in MulTransposedHalf, which then takes as long as with float64 in the
// cache. Of the two formats that processors convert while they load, 16-bit integers
// (VPMOVSXWD, VCVTDQ2PS) and IEEE binary16, one instruction less, took the same time:
// 1.16 us for X U and 0.52 to 0.53 for X'e of 28 x 608 and r = 4. For normal entries
// integers are four times as exact; but one entry a thousand times as large as the others
// takes their digits, which it does not from binary16.
//
// Rounding. No tile touches the floating-point control register: all tiers round
// as Go does and keep denormal numbers. They need no flushing to be fast, since
// residuals that have converged are at the rounding of the data, far above the
// denormal range.
//
// The functions do not check their arguments beyond slice bounds. Package blas does so
// for others; package kernel, which calls some of them itself to pass hints of what to
// prefetch, only has shapes that fit. Slices must not overlap unless a comment says that they may.
//
// # What limits each shape
//
// The shapes are those of the benchmarks; figures are of an Ice Lake server unless said.
// X_t is used twice an iteration and should come from memory once, so a streaming read is
// the floor, and the arithmetic at the peak of multiply-adds is the other one.
//
// paper1 (30 x 600, rank 4) streams 86 MB. A task (144 kB) fits in the second-level cache,
// and while one is worked on, the next is asked for. How fast that comes depends on how it
// is asked for. A first-level cache has a dozen buffers for lines on their way, and memory
// is 145 ns away: so many single lines are 4.5 GB/s, while a plain read gets 13 GB/s, since
// the second-level cache runs ahead of streams that it recognises. Three adjacent lines
// with every step leave it no time to do so (.61 of the read, as without any prefetch);
// the same lines from three places a third of the region apart do (.77 to .83), and from
// six places, each line asked for twice (.81 to .92). Some requests into the second level
// get lost under load: a task asked for in full still took 7 to 9 us to read, 3 if it was
// asked for into the first level. Loads from the second level need the same buffers, and
// the small least squares and the update of the gradient ask for next to nothing. Small
// pages are 5 % slower.
//
// On Zen 4 a task in cache takes 4.7 to 5.6 us and its read 5 to 6 us, and with the share
// of X U that suits Intel the two hardly overlap (.50 to .54); in a C prototype asking for
// more during X'e reached .66 to .72. On Sapphire Rapids exactly one task ahead is 2 %
// better than 64 kB on paper1, 8 % on 40 x 500 at rank 8; on 200 x 200 half of it in X'e
// is, by 4 %. That is why package kernel measures schedules on the data themselves.
//
// many (25 x 128, rank 5) streams 128 MB in tasks of 25 kB. Each has its own small least
// squares: two of these step by step together, to share the waiting for sums and
// quotients, took as long as one after the other; they are arithmetic more than latency.
//
// wide (64 x 2048, rank 16) streams 1 GB in tasks of 1 MB. The product takes twelve rows
// at a time, with the packed basis from the second-level cache, and reaches 79 % of the
// FMA peak on a task in cache: 61 us, where reading a task takes 81 us. The limit is how
// well the two overlap: in a C program of the same shape multiply-adds in registers hide
// behind the read altogether (82 us), with the basis from the second level less so
// (93 us), and the twelve entries that each step broadcasts from lines still on their way
// least of all (107 us). Rows that long are asked for some features ahead of their use,
// into the first level: twelve whole rows ahead would be 200 kB of the second level. Where
// that has less than 2 MB a part of X_t comes from the third level once more, so that X'e
// takes 24 to 41 us and not 13. X U by blocks of 256 to 1024 features over all rows, so
// that the basis comes from the first level, takes 1.12 to 1.16 times as long.
//
// paper2 (50 x 100, rank 10) has 4 MB, which stay in cache: its roofline is arithmetic, of
// short rows. X U reaches 44 to 47 GFLOP/s where rows of 600 features reach 70 to 74, for
// the horizontal sums.
//
// A task that does not stay in the second-level cache from X U to X'e is read from memory
// twice, and there the processor's own prefetching is best: on 400 x 600 (1.9 MB) every
// schedule lost 1 to 29 % to none.
package tile
