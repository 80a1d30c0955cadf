package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// What decides on the order of a sum is common to all tiers: the order of entries in a block, the sizes of the
// blocks of algorithms, and the sizes at which one way of summing gives way to another. docs/kernel.md lists the
// sums whose order still depends on the tier.
const (
	// smallTriangle is the largest order of a triangle that is solved row by row. A larger one is cut in two, and
	// the block beside the halves is a factor of a product.
	smallTriangle = tile.PackWidth
	// smallFactor is the largest order of a Cholesky factor that is computed column by column.
	smallFactor = 32
	// narrowFactor is the largest number of columns of an LU factor that are eliminated one by one, and
	// cachedFactor the largest order of one that is eliminated so as a whole.
	narrowFactor = tile.PackWidth
	cachedFactor = 64
	// panelColumns is the number of reflections that are applied to other columns together.
	panelColumns = tile.ReflectWidth
	// rowsTogether is the number of rows whose products with a vector are computed before they are added to y.
	rowsTogether = 64
	// columnsTogether is a number of columns whose sums stay in the first-level cache.
	columnsTogether = 2048
	// entriesOfAPart are the entries of a matrix of which one thread takes the product with a vector.
	entriesOfAPart = 1 << 17
	// sharedByVectors is the least number of entries of a matrix that several threads multiply by a vector:
	// they exceed the second-level cache of a core.
	sharedByVectors = 1 << 19
)

// Blocks of a product. A panel of the right factor, blockDepth x PackWidth, and a few rows of the left one
// stay in the first-level cache, and a block of each factor stays in the second. No block decides on the order
// of a sum: a tile adds to C entry by entry.
const (
	blockDepth  = 256
	blockHeight = 96
	blockWidth  = 256                     // at most, see tuning
	leftStride  = blockDepth + tile.Width // no power of two
	widest      = 2 * tile.PackWidth      // of the panels of any type
)

// A tuning has the sizes that decide on speed only. Those of a tier were set by the benchmark in the comment,
// on one thread unless it says otherwise.
type tuning struct {
	// blockWidth is the number of columns of a block of the right factor. TestTable, Gemm 1000.
	blockWidth int
	// loopMultiplications is the largest number of multiplications of a product that plain loops compute faster
	// than tiles. BenchmarkSmall, Gemm.
	loopMultiplications int
	// parallelMultiplications is the least number of multiplications in float64 that several threads share, and
	// parallelSoon that of a product by itself while a helper is likely to be awake; in float32 they are twice
	// as large. One thread takes 70 to 150 us, or 15 to 30 us, for them. TestTable, Gemm 100 to 300.
	parallelMultiplications, parallelSoon int
	// sparseMultiplications is the least number of multiplications of a product that looks for zeros, and
	// sparseShare the number of entries among which one may be a number other than zero. BenchmarkSparse.
	sparseMultiplications, sparseShare int
	// triangleLoops is the largest product of the square of the order of a triangle and the number of right sides
	// that plain loops solve faster. BenchmarkSmall, Trsm.
	triangleLoops int
	// trmmUnknowns is the number of entries of B below which gonum multiplies it by a triangle of one block
	// faster. Tri·M 8 and 10.
	trmmUnknowns int
	// vectorEntries is the number of entries of a matrix below which gonum multiplies it by a vector faster;
	// vectorRow that of a row. BenchmarkSmall, Gemv.
	vectorEntries, vectorRow int
	// symvOrder, trsvOrder and trmvOrder are the orders below which gonum, or plain loops, take less time.
	// Sym·v, Tri·v and Cholesky.SolveVec.
	symvOrder, trsvOrder, trmvOrder int
	// syrkMultiplications is the largest n n k for which plain loops compute a triangle faster than tiles, and
	// symmMultiplications the number of multiplications below which gonum takes less time. Cov 50x5, SymOuterK and
	// Sym·M.
	syrkMultiplications, symmMultiplications int
	// dotLength is the length of vectors below which gonum's level 1 takes less time. BenchmarkSmall, Dot.
	dotLength int
	// vectorBytes is the size of a vector of the tier.
	vectorBytes int
	// secondLevel is the size of the second-level cache of a core in bytes.
	secondLevel int
}

// tunings are the tunings of the tiers on this processor.
var tunings = func() (all [tile.NEON + 1]tuning) {
	for t := range all {
		all[t] = tuningOf(tile.Tier(t), cpuid.CPU.Cache.L2)
	}
	return all
}()

// tune returns the tuning of the tier in use.
func tune() *tuning { return &tunings[tile.Active()] }

// tuningOf returns the tuning of a tier for a second-level cache of a size, 0 or less if it is unknown.
func tuningOf(t tile.Tier, secondLevel int) tuning {
	u := tuning{
		blockWidth: blockWidth, loopMultiplications: 36, parallelMultiplications: 1 << 22, parallelSoon: 1_000_000,
		sparseMultiplications: 1 << 15, sparseShare: 12, triangleLoops: 300, trmmUnknowns: 300,
		vectorEntries: 512, vectorRow: 32, symvOrder: 32, trsvOrder: 32, trmvOrder: 128, syrkMultiplications: 2048, symmMultiplications: 256, dotLength: 64, vectorBytes: 32, secondLevel: 1 << 20,
	}
	switch t {
	case tile.AVX2:
		u.loopMultiplications = 48
	case tile.AVX512:
		u.vectorBytes = 64
	}
	if secondLevel > 0 {
		u.secondLevel = secondLevel
	}
	if u.secondLevel < 1<<20 { // a block of the right factor takes half of it
		u.blockWidth = blockWidth / 2
	}
	return u
}
