package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// The sizes of the blocks of algorithms decide on the order of sums, and are common to all tiers.
const (
	// smallTriangle is the largest order of a triangle that is solved row by row; smallTriangle32 in float32.
	// A larger one is cut in two, and the block beside the halves is a factor of a product. Trsm and Trmm of
	// 24 to 72, with 8 to 150 sides.
	smallTriangle, smallTriangle32 = tile.TriangleOrder, tile.TriangleOrder32
	// turnedTriangle is the largest order of a triangle on the right that is applied to the transpose of B as
	// a whole. A larger one is cut in two like others. M·Tri 33.
	turnedTriangle = 64
	// smallFactor is the largest order of a Cholesky factor that is computed column by column.
	smallFactor = 24
	// narrowFactor is the largest number of columns of an LU factor that are eliminated one by one.
	// cachedFactor is the largest order of a matrix that is eliminated so as a whole.
	narrowFactor = tile.PackWidth
	cachedFactor = 40
	// blockDepth is the largest depth of the blocks of a product in float64: a panel of the right factor
	// is as deep, and stays in the first-level cache with a few rows of the left one. With another alpha
	// than 1 the sums of each block are scaled before they are added to C. Mul, A'B 400 to 2000.
	blockDepth = 256
	// panelColumns is the number of reflections that are applied to other columns together.
	panelColumns = tile.ReflectWidth
	// reductionColumns is the number of columns, and of rows, that become bidiagonal before the others
	// follow. Up to 32 the vectors of a panel take longer than a pass over the others saves. SVD values
	// 100 to 300.
	reductionColumns = 8
	// rowsTogether is the number of rows whose products with a vector are computed before they are added
	// to y.
	rowsTogether = 64
	// columnsTogether is a number of columns whose sums stay in the first-level cache.
	columnsTogether = 2048
	// entriesOfAPart is the number of entries of a matrix that one thread multiplies by a vector.
	entriesOfAPart = 1 << 17
	// sharedByVectors is the least number of entries of a matrix that several threads multiply by a
	// vector: they exceed the second-level cache of a core.
	sharedByVectors = 1 << 19
)

// The sizes at which a way gives way to another. The ways round differently, so that these are common to
// all tiers too. Each was set by the workloads in its comment, by BenchmarkBesideGonum on one thread.
const (
	// loopMultiplications is the largest number of multiplications of a product that plain loops compute
	// faster than tiles, and thinMultiplications that of a row or a column. Mul 1 to 3.
	loopMultiplications, thinMultiplications = 20, 8
	// sparseMultiplications is the least number of multiplications of a product that looks for zeros.
	// sparseShare is the number of entries among which one may be other than zero. The workloads of the
	// group zeros.
	sparseMultiplications, sparseShare = 1 << 15, 12
	// shallowDepth is the largest number of terms of a product without blocks, of any size. Mul 80x3 by 3x2
	// to 2000x32 by 32x200.
	shallowDepth = 32
	// narrowRows and narrowDepth are the least numbers of rows, and of terms of a sum, for which pairs take
	// less time than panels, with few columns. narrowRowsShort is the number of rows for fewer terms than
	// narrowTerms. Mul 600x40 by 40x4, 24x8 by 8x2 to 2000x40 by 40x4.
	narrowRows, narrowDepth, narrowRowsShort, narrowTerms = 128, 4, 400, 8
	// smallSize is the largest size of a product without blocks. Mul 3 to 64, A'B 8 and 30.
	smallSize = 64
	// shortRows, shortDepth and shortWidth are the largest numbers of rows, of products of a sum, and of
	// columns for which a product needs no blocks. Mul 2x2 by 2x70 to 2x10000, 16x8 by 8x600.
	shortRows, shortDepth, shortWidth = 16, 8, 1024
	// tinySides is the largest number of right sides for which a triangle of up to three rows is kept in
	// registers, and tinyStepsRight the largest order, times the number of right sides, with the triangle on
	// the right. triangleLoops is the largest n n k where
	// plain loops solve or multiply a triangle of order n on the right of k rows faster than tiles. LU.Solve
	// and Cholesky.Solve, 2 to 20, blas64.Trmm 2 to 8.
	tinySides, tinyStepsRight, triangleLoops = 24, 150, 160
	// numberSides is the number of right sides below which gonum multiplies one row in less time,
	// pairRowsMost the one for two rows and threeRowsMost for three: from pairRowsLeast on for two rows, or
	// pairRowsUnit with ones on the diagonal, and for three above tinySides. Trsm and Trmm of 1 to 4 rows and
	// 1 to 80 sides.
	numberSides, pairRowsUnit, pairRowsLeast, pairRowsMost, threeRowsMost = 80, 5, 18, 40, 40
	// fewSides is the largest number of right sides that are copied, and for which plain loops save time up
	// to fewSidesLoops as an n n k. Trsm and Trmm, 2 and 3 sides, 4 to 64.
	fewSides, fewSidesLoops = 3, 300
	// vectorEntries is the number of entries of a matrix below which gonum multiplies it by a vector
	// faster, and vectorRow the number of entries of a row: productRow for inner products with a vector.
	// MulVec 3 to 100, RankOne and Sgemv.
	vectorEntries, vectorRow, productRow = 512, 32, 24
	// gerEntriesWhole and gerEntriesOdd are the numbers of entries of a matrix below which gonum adds an
	// outer product faster: for rows of a multiple of four numbers, and for others. RankOne 32 to 64.
	gerEntriesWhole, gerEntriesOdd = 1200, 2500
	// narrowLength is the least number of rows of a matrix of few columns that tiles of its own multiply by a
	// vector. Gemv of 16 x 2 to 4000 x 16.
	narrowLength = 32
	// summedColumns and summedColumns32 are the largest numbers of columns whose sums are four sums each. Of
	// more, the rows leave the first-level cache before they are read again. gonum takes less time for fewer
	// than summedColumnsLeast in float64, other than two vectors. Gemv of 60 x 9 to 1000 x 60.
	summedColumns, summedColumns32, summedColumnsLeast = 40, 32, 24
	// transposedEntries is vectorEntries for a transposed matrix. MulVec 5 x 400 to 50 x 50, transposed.
	transposedEntries = 1200
	// gemvLoopOrder is the largest number of rows and of columns of a matrix that plain loops multiply by a
	// vector in less time than gonum, and gemvLoopEntries32 the largest number of entries in float32, where
	// gonum computes none, or gemvCopies32 with vectors that are copied. MulVec 2 to 5, Sgemv 3 to 16.
	gemvLoopOrder, gemvLoopEntries32, gemvCopies32 = 4, 128, 96
	// symvUpper and symvLower are the orders below which gonum takes less time for a symmetric matrix, in
	// either triangle, and a vector. Sym·v 10 to 20.
	symvUpper, symvLower = 13, 16
	// gonum takes less time for a triangle and a vector below the orders trmvOrder for products, trsvDots for
	// systems of a lower triangle that is not transposed, trsvUnit for most of those with ones on the
	// diagonal, and in float32 for products of the transpose from trmvTurned32 to below trmvOrder32. Loops do
	// up to tinyFactors, in float32 tinyFactors32, for systems up to tinyUnknowns; and below loopOrder for
	// vectors with other increments, which are copied from there on. Tri·v, blas64.Trsv and Trmv, LU.SolveVec
	// and Cholesky.SolveVec, 2 to 64; LU.Solve with 3 sides.
	trmvOrder, trsvDots, trsvUnit, trmvTurned32, trmvOrder32 = 52, 14, 15, 14, 40
	tinyUnknowns, tinyFactors, tinyFactors32, loopOrder      = 11, 12, 23, 16
	// fewUpdates is the largest k for which A A' has no blocks, up to updateMultiplications. SymRankK 2-32.
	fewUpdates, updateMultiplications = 32, 1 << 22
	// From fewRanksOrder on C + A A' adds up to tile.OuterVectors columns by rows. SymRankK 16x2 to 600x4.
	fewRanksOrder = 24
	// fewColumns is the largest number of columns of a product A'B that is computed as the transpose of
	// B'A, for at least manyRows rows. It is transposedColumns or transposedColumns32 if A has at least
	// transposedLeft entries, and moreColumns if it has more than largeLeft. The product takes rowsAtATime
	// rows of A at a time. SVD.Solve with three right sides, A'B of 16 to 1000 rows by 2 to 24.
	fewColumns, moreColumns, largeLeft, manyRows, rowsAtATime = 4, 12, 1 << 15, 16, 32
	transposedColumns, transposedColumns32, transposedLeft    = 6, 8, 640
	// dotRows is the largest number of rows of A, or of B if it has fewer, of a product A B' whose entries
	// are inner products. They have at least dotTerms terms, and dotDepths for each row of A, or twice as
	// many for each row of B. The others are sizes for float32. mostDotTerms is the number of terms for which
	// a few rows of both stay in the first-level cache. copiedDots is how many terms of a sum take as long as
	// to copy it. AB' of 2 x 2 to 200 x 200 of random depths.
	dotRows, dotTerms, dotDepths       = 24, 32, 6
	dotRows32, dotTerms32, dotDepths32 = 32, 24, 4
	mostDotTerms, copiedDots           = 512, 16
	// turnedProduct is the largest number of rows, or of columns, of a product A'B' that is computed as the
	// transpose of BA. It has at least turnedDepth terms, and turnedMultiplications at most: threads share
	// others. Up to turnedWhole rows all terms are taken at a time. A'B' of 2 x 2 to 1000 x 40.
	turnedProduct, turnedDepth, turnedWhole, turnedMultiplications = 24, 32, 32, 1_000_000
	// syrkColumns and syrkEntries are the largest n n k and n k for which plain loops compute a triangle
	// of A'A faster than tiles, and syrkRows is the largest n n k for A A'. Up to syrkOrder inner products
	// of rows are faster for any k: of two rows up to order syrkPairs or below the depth syrkDepth, else
	// of all rows with one. Symmetric products of up to symmRows rows and symmColumns columns take less
	// time with gonum, and on the right those with m n (n + 3) below symmMultiplications. Cov 50x5,
	// SymOuterK, Sym·M, Symm of 1 x 1 to 16 x 16.
	syrkColumns, syrkEntries, syrkRows         = 150, 20, 192
	syrkOrder, syrkPairs, syrkDepth            = 6, 3, 30
	symmRows, symmColumns, symmMultiplications = 3, 16, 200
	// rankTwoOrder is the largest order of A'B + B'A, within syrkColumns and syrkEntries, that is computed
	// entry by entry. Syr2k of 1 to 12 columns and 1 to 20 rows.
	rankTwoOrder = 4
	// symmVectorSides is the largest number s of right sides of a symmetric matrix that are taken one after
	// the other, from the order symmVectorOrder s (s-1) on. symmSides is the largest number for which a
	// matrix from the order symmRowsOrder on is copied some rows at a time. Symm of 2 to 24 sides, orders 20
	// to 700.
	symmVectorSides, symmVectorOrder, symmSides, symmRowsOrder = 5, 8, 128, 160
	// rankTwoWhole is the largest order of A B' + B A' that is computed as A B', added to its transpose: for
	// at least n/3 terms, up to the order rankTwoRows, and where one product of twice as many terms needs
	// blocks. Up to rankTwoFew terms others are computed as that product. Syr2k of 2 x 2 to 400 x 400.
	rankTwoWhole, rankTwoRows, rankTwoFew = 128, 16, 32
	// dotLength is the length of vectors in float64 below which gonum's level 1 takes less time. Dot,
	// AddScaledVec, Scal.
	dotLength = 64
	// rotationLength, complexLength, complexDot and largestLength are lengths of vectors. From these on
	// the tiles take less time: for rotations, for complex numbers, for their inner products (in
	// complex64 three times as long), and for the largest value. blas64.Rot and Iamax, cblas128.Dotu.
	rotationLength, complexLength, complexDot, largestLength = 16, 16, 48, 8
	// stridedLength is the least length of vectors with other increments than 1 where loops that check their
	// entries beforehand, and four sums, take less time than gonum's. Dot and Norm of columns.
	stridedLength = 16
	// gatheredLength is the least length of complex vectors with other increments that are copied for sums
	// and largest values. Scasum and Icamax of 16 to 10000.
	gatheredLength = 48
	// scaledLength is the number of very small or large entries of a vector that are scaled together for its
	// norm. gonum takes less time for fewer than twice as many. Norm 3 to 100000, of subnormal numbers.
	scaledLength = 64
	// swapLength is the length of vectors that are exchanged by tiles. Swap of 1 to 40.
	swapLength = 12
	// callLength is the largest length of vectors for which a loop takes less time than a call of
	// assembly. Dot 3, EigenSym 3.
	callLength = 6
	// loopLength is the largest length of vectors whose entries a loop changes in no more time than
	// gonum's assembly; loopLength32 in float32. Axpy and Sscal of 1 to 40.
	loopLength, loopLength32 = 7, 15
	// fewForQR is the number of reflectors below which Dgeqrf takes one after the other. QR 5 to 8.
	fewForQR = 7
	// With fewer than fewReflectors reflectors other routines take one after the other, and where there are
	// no vectors with up to oneByOne: see factorsByPanels and generatesByPanels. QR, QTo.
	fewReflectors, oneByOne = 8, 128
	// squareReflectors is the largest number of reflectors of a nearly square Q that are taken one after the
	// other, and squareVectors is the largest number of vectors for them. QTo and QR.Solve of 8 to 64 rows.
	squareReflectors, squareVectors = 36, 24
	// fewRowsForPanels is the number of rows below which several panels take as long as one reflector after
	// the other. vectorsForPanels is the number of vectors, with those that become reflectors, from which a
	// panel changes others in less time, and the length of the rows of Q from which they are generated in
	// panels. tallReflectors is the length below which gonum applies one panel in no more time. QR, Least
	// squares, Geqrf, Gelqf and Orglq of 7 x 8 to 40 x 110.
	fewRowsForPanels, vectorsForPanels, tallReflectors = 36, 40, 256
	// fewVectors is the largest number of vectors that are reflected by one reflector after the other, by at
	// least fewForVectors of at least longReflectors entries. It is moreVectors if the reflectors fill a
	// panel. QR.SolveTo and LQ.SolveTo of 1 to 8 sides.
	fewVectors, moreVectors, fewForVectors, longReflectors = 4, 8, 4, 32
	// fewForFactors and fewForCholesky are the orders below which gonum needs no more time. Solve, Cholesky.
	fewForFactors, fewForCholesky = 24, 33
	// complexMultiplications is the number of multiplications of complex numbers below which gonum
	// multiplies two matrices as fast. complexSides and complexSidesRight are the largest numbers for which
	// it multiplies a symmetric matrix as fast: on the left, of up to complexSidesOrder rows, and on the
	// right. Of one row or order it does below pairSidesOrder on the right, and on the left always.
	// BenchmarkComplex, for all constants of complex numbers.
	complexMultiplications, complexMultiplicationsTurned = 44, 120
	complexSides, complexSidesOrder, complexSidesRight   = 120, 3, 80
	// thinPairs is the largest number of entries of the larger factor of a complex row, or of a column, that
	// is computed as a product, and thinTerms the largest number of terms for each of some inner products.
	// fewEntries is the least number for which few rows or columns are inner products. Zgemm of one row or
	// column, 2 to 400.
	thinPairs, thinTerms, fewEntries = 800, 16, 1000
	// turnedPairColumns is the largest number of columns of a complex product that is computed as its
	// transpose, in complex64 twice that, for at least turnedPairRows rows, and turnedPairTerms terms for
	// each column. Zgemm, transposed, of 20 x 1 to 400 x 4.
	turnedPairColumns, turnedPairRows, turnedPairTerms = 2, 16, 3
	// complexSquares is n n k below which gonum computes a triangle A A* as fast, from complexDotsOrder to
	// complexSquaresOrder rows, and complexDots is that for fewer rows, whose inner products gonum takes from
	// where they are. complexSquaresTurned is that for A*A, and complexSquares32 that for A A* in complex64.
	// twiceSquares, twiceDots and twiceTurned are the sizes for two products. Updates of rank one and two,
	// of one row, take less time below the orders updatedOnce and updatedTwice. Zherk and Zher2k of 1 x 1 to
	// 10 x 100 and 100 x 10.
	complexSquares, complexDots, complexSquaresTurned, complexSquares32 = 600, 4000, 54, 28
	complexDotsOrder, complexSquaresOrder                               = 4, 8
	twiceSquares, twiceDots, twiceTurned                                = 130, 260, 10
	updatedOnce, updatedTwice                                           = 48, 18
	// mirrorLoops is the largest order of a complex triangle that is mirrored entry by entry. Zhemm.
	mirrorLoops = 16
	// complexRows, complexRow and complexEntries are numbers of rows, of entries of a row, and of entries
	// of a matrix, below which gonum adds a product of two complex vectors as fast, and computes products of
	// few complex rows. complexRow32 and complexEntries32 are the sizes of complex64 for a vector, not
	// transposed, where gonum's loops, which have other bits for other addresses, are not used. Zgeru 5 to
	// 30, Cgemv 5 to 30.
	complexRows, complexRow, complexEntries, complexRow32, complexEntries32 = 4, 16, 250, 8, 64
	// gemvRows and gemvEntries are numbers of rows, and of entries of a complex matrix, below which gonum
	// multiplies it by a vector as fast, if rows have fewer than complexDot entries. gemvRowsTransposed is
	// gemvRows for op(A) other than A. Zgemv of 2 x 2 to 900 x 900, of random shapes.
	gemvRows, gemvRowsTransposed, gemvEntries = 12, 8, 50
	// thinColumns is the largest number of columns of a complex matrix that loops multiply by a vector, for
	// at least thinRows rows for each of them. Zgemv of 30 x 1 to 1000 x 6.
	thinColumns, thinRows = 5, 4
	// complexWide is the least number of entries of a row for which fewer than complexRows complex rows take
	// less time by vectors. Zgeru 1 x 20 to 3 x 900.
	complexWide = 128
	// pairSides is the largest number s of right sides of a symmetric complex matrix that are taken one after
	// the other, from the order pairSidesOrder on, and symmVectorOrder s (s-1). Zhemm of 1 x 8 to 8 x 800.
	pairSides, pairSidesOrder = 5, 24
	// mostTerms is the largest number of terms of a triangle of a complex product, or of two, that is added
	// to C row by row, from rowsForTerms rows for each of them on. Zherk and Zher2k of 5 x 1 to 400 x 5.
	mostTerms, rowsForTerms = 1, 24
	// complexTwice is the largest order of a triangle of two complex products that are computed as one
	// matrix, which is added to its transpose. Two products of fewer than complexTwiceDepth terms are one of
	// twice as many where the order exceeds these by joinedOrder. Zher2k of 5 x 1 to 400 x 40.
	complexTwice, complexTwiceDepth, joinedOrder = 96, 16, 12
	// turnedRows is the least number of rows of a complex matrix where separate products by real and by
	// imaginary parts save time. A matrix of fewer rows, with at least complexDot columns, is multiplied by
	// rows, as complex numbers. Zgemv 4x362.
	turnedRows = 24
	// streamedPairs is the least number of entries of a matrix of complex128, not transposed, that is
	// multiplied by rows too: from the third-level cache it comes faster as one stream. Zgemv 300 to 900.
	streamedPairs = 200_000
	// complexBlock is the largest order of a complex triangle that is applied row by row. complexSteps is
	// the largest n n k for which plain loops apply one of order n on the right of k rows, or on the left of
	// up to fewPairSides columns. On the left gonum takes less time for up to fewPairSides rows, but for
	// solutions of as few columns. Ztrsm, Ztrmm 3 to 64, of 1 x 1 to 9 x 16.
	complexBlock, complexSteps, fewPairSides = 48, 64, 3
	// fewBandSides is the least number of right sides of a band matrix whose rows are combined; fewer are
	// solved one after the other. BandCholesky.Solve of 10 to 350 with 1 to 40 sides.
	fewBandSides = 4
	// leastShortRow and mostShortRow are the lengths of a row whose product with itself gonum computes in
	// less time. SymRankK and SymOuterK of one row.
	leastShortRow, mostShortRow = 9, 30
	// sizesInLoops is the length of rows from which vectors add their absolute values to others. Norm 1 of 4
	// to 60.
	sizesInLoops = 16
	// fewForNorms is the number of columns of a triangle below which gonum needs no more time for its norms,
	// or fewForRowSums for sums of rows; fewForSymmetricNorms that of a symmetric matrix, fewEntriesForNorms
	// the number of entries of any matrix, and fewColumnsForNorms the number of columns for their sums. Norm
	// and Cholesky of 1 to 40.
	fewForNorms, fewForRowSums, fewForSymmetricNorms = 20, 32, 16
	fewEntriesForNorms, fewColumnsForNorms           = 6, 5
	// fewForReduction is the number of columns below which one column and row after the other become
	// bidiagonal in less time. SVD values 50 and 100.
	fewForReduction = 64
)

// A fewSizes has the sizes of complex products of few rows or columns whose larger factor is not packed: the
// largest number of these, the least number of terms for each of them, and of terms of any number.
type fewSizes struct{ most, depths, depth int }

// fewByRows is for larger factors that are stored by rows; turned are the sizes of products that are the
// transpose of C. Zgemm of 1 x 2 to 24 x 300, and of 2 x 1 to 300 x 24.
var (
	fewByRows       = fewSizes{most: 8, depths: 5, depth: 9}
	fewByRowsTurned = fewSizes{most: 2, depths: 14, depth: 28}
)

// A rowsFrom has the least sizes of triangles and bands where rows by vectors take less time than gonum's
// loops.
type rowsFrom struct {
	rankOne, rankTwo, symmetric, general int
	product, solution                    byTranspose
}

// The orders were set by blas64.Syr, Spr, Syr2 and Spr2 of 8 to 34 rows.
var (
	rankOneFrom       = ranksFrom{upper: 22, lower: 30, strided: 24}
	packedRankOneFrom = ranksFrom{upper: 26, lower: 36, strided: 24}
	rankTwoFrom       = ranksFrom{upper: 24, lower: 24, strided: 16}
	packedRankTwoFrom = ranksFrom{upper: 26, lower: 26, strided: 16}
)

// packedBlocks is the least order of a packed triangle of complex128 whose transpose is multiplied some rows
// at a time; of complex64 it is twice that. Ztpmv.
const packedBlocks = 240

// The sizes are orders of triangles, or numbers of diagonals beside the main one, of reals and of complex
// numbers. A solution by blocks of unknowns needs at least as many diagonals as a block has unknowns, less
// one. Packed triangles of complex64 have sizes of their own. SymRankOne, RankTwo, Band.MulVecTo, Zhemv,
// Zher, Ztrsv, Ztpsv.
var (
	fromRows = rowsFrom{
		symmetric: 24,
		product:   byTranspose{28, 28, 28}, solution: byTranspose{40, 32, 32},
	}
	fromDiagonals = rowsFrom{
		symmetric: 4, general: 4, product: byTranspose{6, 6, 6}, solution: byTranspose{18, 18, 18},
	}
	fromComplexRows = rowsFrom{
		rankOne: 24, rankTwo: 24, symmetric: 24,
		product: byTranspose{56, 36, 22}, solution: byTranspose{56, 20, 20},
	}
	fromComplexPacked    = rowsFrom{product: byTranspose{56, 40, 24}, solution: byTranspose{80, 60, 40}}
	fromComplexPacked32  = rowsFrom{product: byTranspose{80, 40, 24}, solution: byTranspose{130, 140, 16}}
	fromComplexDiagonals = rowsFrom{
		symmetric: 4, general: 4, product: byTranspose{8, 10, 10}, solution: byTranspose{28, 28, 28},
	}
)

// A tuning has the sizes that decide on speed only, for a tier and the caches of a processor.
type tuning struct {
	// blockHeight and blockWidth are the largest sizes of the blocks of a product in float64. A block of
	// the left factor stays in the second-level cache, and one of the right factor in the third. Mul, A'B
	// 400 to 2000.
	blockHeight, blockWidth int
	// products are the least numbers of multiplications in float64 that several threads share, passes the
	// least numbers of entries of float64 that they read or write, and vectors those of operations on
	// vectors: in float32 all are twice as large. One thread takes 4 to 5 us for products of soon, 1 to 2 us
	// for passes, 1 us for vectors, and 100 us or more for products and passes of always. Mul 30 to 300,
	// MulVec, Sym·v, RankOne 100 to 500, Zgemv, Zher 129, Dot, Axpy and Scal of 9000 to 200000, two threads.
	products, passes, vectors sharing
	// vectorBytes is the size of a vector of the tier.
	vectorBytes int
	// secondLevel is the size of the second-level cache of a core in bytes.
	secondLevel int
}

// outerCaches and complexOuterCaches are how many times the second-level cache a matrix has at least that
// changes row by row. RankOne 600 to 3000, Zgeru 300 to 1500.
const outerCaches, complexOuterCaches = 14, 3

// oneStream reports whether the rows of a matrix of some bytes are changed one after the other, not some
// together: a matrix of more than some second-level caches comes and goes faster as one stream.
func (u *tuning) oneStream(caches, bytes int) bool { return bytes > caches*u.secondLevel }

// tunings are the tunings of the tiers on this processor.
var tunings = func() (all [tile.NEON + 1]tuning) {
	for t := range all {
		all[t] = tuningOf(tile.Tier(t), cpuid.CPU.Cache.L2)
	}
	return all
}()

// tune returns the tuning of the tier in use.
func tune() *tuning { return &tunings[tile.Active()] }

// leastBlockHeight is the least height of the largest blocks, on processors with a small second-level cache.
const leastBlockHeight = 48

// blockBytes returns the size of a block of the left factor of a height.
func blockBytes(height int) int { return height * oddLines(blockDepth) * 8 }

// tuningOf returns the tuning of a tier for second-level caches of a size, 0 or less if it is unknown.
func tuningOf(t tile.Tier, secondLevel int) tuning {
	u := tuning{
		blockHeight: 192, blockWidth: 2048,
		products:    sharing{soon: 120_000, always: 1 << 22},
		passes:      sharing{soon: 16_000, always: 350_000},
		vectors:     sharing{soon: 24_000, always: 350_000},
		vectorBytes: 32, secondLevel: secondLevel,
	}
	if t == tile.AVX512 {
		u.vectorBytes = 64
	}
	if u.secondLevel <= 0 {
		u.secondLevel = 1 << 20
	}
	for u.blockHeight > leastBlockHeight && 2*blockBytes(u.blockHeight) > u.secondLevel {
		u.blockHeight /= 2
	}
	return u
}
