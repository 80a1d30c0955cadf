package tile

import (
	"math"
	"unsafe"
)

// RowDots sets sums[i] to sum_k a[i*lda+k] x[k], i < m, k < n. It reads nothing beyond n entries of a row.
func RowDots[F Float](sums, a []F, lda int, x []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	if tiles.rowDots[1] == 0 || m == 0 || n == 0 {
		rowDotsGeneric(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = dotRows[F](m, m-i)
		rowDotsTile(unsafe.Pointer(&sums[i]), unsafe.Pointer(&a[i*lda]), lda, 0, unsafe.Pointer(&x[0]), n, of[F](rows))
	}
}

// GrowingRowDots is RowDots, in the order of several rows, for a multiple of four rows at distances that grow
// by growth from row to row, as in packed triangles.
func GrowingRowDots[F Float](sums, a []F, lda, growth int, x []F, m, n int) {
	racePairs(a, lda, growth, m, n)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	tiled := tiles.rowDots[1] != 0 && m > 0 && n > 0
	if tiled {
		_, _, _ = sums[m-1], a[rowAt(m-1, lda, growth)+n-1], x[n-1]
	}
	for i := 0; i < m; i += mostGrowing {
		if tiled {
			to, row := unsafe.Pointer(&sums[i]), unsafe.Pointer(&a[rowAt(i, lda, growth)])
			rowDotsTile(to, row, lda+i*growth, growth, unsafe.Pointer(&x[0]), n, of[F](mostGrowing))
			continue
		}
		for k := i; k < i+mostGrowing; k++ {
			rowDotsGeneric(sums[k:], a[rowAt(k, lda, growth):], n, x, 1, n)
		}
	}
}

// InnerProduct returns the sum of x[k] y[k], in the order of RowDots for one row. x and y have one length.
func InnerProduct[F Float](x, y []F) F {
	raceRead(x, 1, len(x), 0)
	raceRead(y, 1, len(x), 0)
	if tiles.dotDouble == 0 || len(x) == 0 {
		return Dot(x, y)
	}
	_ = y[len(x)-1]
	from, with := unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])
	if unsafe.Sizeof(F(0)) == 4 {
		return F(dotSingleTile((*float32)(from), (*float32)(with), len(x)))
	}
	return F(dotDoubleTile((*float64)(from), (*float64)(with), len(x)))
}

// AddScaled adds the entries of x, times a number, to those of y, as AddOuter does for one row. x and y have
// one length.
func AddScaled[F Float](y, x []F, by F) {
	raceRead(x, 1, len(x), 0)
	raceWrite(y, 1, len(x), 0)
	if tiles.axpyDouble == 0 || len(x) == 0 {
		number := [1]F{by}
		addOuterGeneric(y, len(x), number[:], x, 1, len(x))
		return
	}
	_ = y[len(x)-1]
	to, from := unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0])
	if unsafe.Sizeof(F(0)) == 4 {
		axpySingleTile((*float32)(to), (*float32)(from), len(x), float32(by))
		return
	}
	axpyDoubleTile((*float64)(to), (*float64)(from), len(x), float64(by))
}

// Absolutes returns the sum of the absolute values of x.
func Absolutes[F Float](x []F) F {
	raceRead(x, 1, len(x), 0)
	width := absolutesBytes / int(unsafe.Sizeof(F(0)))
	whole := len(x) &^ (width - 1)
	if whole == 0 || tiles.absolutes[0] == 0 {
		return absolutesGeneric(x)
	}
	var sums [8]F // of entries 8 apart
	if whole == 2*len(sums) {
		for k, v := range x[len(sums):whole] {
			sums[k] = F(math.Abs(float64(x[k]))) + F(math.Abs(float64(v)))
		}
	} else {
		var parts [absolutesBytes / 4]F
		absolutesTile(unsafe.Pointer(&parts), unsafe.Pointer(&x[0]), whole, of[F](0))
		if width == len(parts) {
			for k, v := range parts[width/2:] {
				parts[k] += v
			}
		}
		for k := range sums {
			sums[k] = parts[k] + parts[k+len(sums)]
		}
	}
	even := (sums[0] + sums[4]) + (sums[2] + sums[6])
	odd := (sums[1] + sums[5]) + (sums[3] + sums[7])
	return even + odd + absolutesGeneric(x[whole:])
}

// absolutesBytes is the memory that the tile of Absolutes takes at a time, in bytes.
const absolutesBytes = 128

// squaresWidth is the number of entries that the tile of Squares takes at a time.
const squaresWidth = 16

// Squares returns the sum of the squares of x in float64, where they neither overflow nor underflow.
func Squares(x []float32) (sum float64) {
	raceRead(x, 1, len(x), 0)
	if whole := len(x) &^ (squaresWidth - 1); whole > 0 && tiles.squares[singles] != 0 {
		sum = squaresTile(unsafe.Pointer(&x[0]), whole, singles)
		x = x[whole:]
	}
	return sum + squaresGeneric(x)
}

// dotRows returns the number of rows of the next tile. There are m rows, and left of them remain. In float64
// the sum of a single row has another order: on all tiers the last m%4 rows are single ones.
func dotRows[F Float](m, left int) int {
	if unsafe.Sizeof(F(0)) == 4 {
		return largest(tiles.rowDots[singles:], left)
	}
	together := left - m%4
	if tiles.rowDots[6] != 0 && together > 4 && together != 8 {
		return 6
	}
	switch {
	case together >= 8 && tiles.rowDots[8] != 0:
		return 8
	case together >= 4:
		return 4
	}
	return 1
}

// SymmetricRows adds the products of Width rows of a symmetric n x n matrix, from row first on, and a vector
// to y; see symmetricRowsGeneric.
func SymmetricRows[F Float](y, a []F, lda int, x []F, upper bool, first, n int) {
	raceSymmetric(a, lda, upper, first, n)
	raceRead(x, 1, n, 0)
	raceWrite(y, 1, n, 0)
	if tiles.symmetricRows[1] == 0 {
		symmetricRowsGeneric(y, a, lda, x, upper, first, n)
		return
	}
	last := first + Width - 1
	_, _, _, _ = y[n-1], x[n-1], y[last], a[last*lda+last]
	index, beside, others := 1, Width, n-first-Width
	if !upper {
		index, beside, others = 2, -first, first
	}
	rows := tiles.lanes // of a tile
	if of[F](0) == singles {
		rows = symmetricRows32
	}
	halves := Width / rows
	for i := range halves {
		half := i
		if !upper { // the second half of the rows first
			half = halves - 1 - i
		}
		row := unsafe.Pointer(&a[(first+half*rows)*lda+first])
		to, with := unsafe.Pointer(&y[first]), unsafe.Pointer(&x[first])
		symmetricRowsTile(to, row, lda, with, beside, others, of[F](index+2*half))
	}
}

// symmetricRows32 is the number of rows of a tile of SymmetricRows in float32, on all tiers.
const symmetricRows32 = 4

// raceSymmetric reports the entries of rows of a symmetric matrix that are read to the race detector.
func raceSymmetric[F Float](a []F, lda int, upper bool, first, n int) {
	if !Race {
		return
	}
	for i := first; i < first+Width; i++ {
		if upper {
			raceRead(a[i*lda+i:], 1, n-i, 0)
		} else {
			raceRead(a[i*lda:], 1, i+1, 0)
		}
	}
}

// AddRows adds sum_i b[i] a[i*lda+k] to y[k], i < m, k < n.
func AddRows[F Float](y, a []F, lda int, b []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(b, 1, m, 0)
	raceWrite(y, 1, n, 0)
	if tiles.addRows[1] == 0 || m == 0 || n == 0 {
		addRowsGeneric(y, a, lda, b, m, n)
		return
	}
	_, _, _ = y[n-1], a[(m-1)*lda+n-1], b[m-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addRows[:singles], m-i)
		addRowsTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&a[i*lda]), lda, unsafe.Pointer(&b[i]), n, of[F](rows))
	}
}

// AddOuter adds b[i] y[k] to a[i*lda+k], i < m, k < n. y may be the only row of a.
func AddOuter[F Float](a []F, lda int, b, y []F, m, n int) {
	raceRead(b, 1, m, 0)
	raceRead(y, 1, n, 0)
	raceWrite(a, m, n, lda)
	if tiles.addOuter[1] == 0 || m == 0 || n == 0 {
		addOuterGeneric(a, lda, b, y, m, n)
		return
	}
	_, _, _ = a[(m-1)*lda+n-1], b[m-1], y[n-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addOuter[:singles], m-i)
		addOuterTile(unsafe.Pointer(&a[i*lda]), lda, unsafe.Pointer(&b[i]), unsafe.Pointer(&y[0]), n, of[F](rows))
	}
}

// Scale multiplies the entries of y by a number. Zero by NaN or infinity is NaN.
func Scale[F Float](y []F, by F) {
	raceWrite(y, 1, len(y), 0)
	if tiles.scale[0] == 0 || len(y) == 0 {
		for k := range y {
			y[k] *= by
		}
		return
	}
	scaleTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&by), len(y), of[F](0))
}

// AddAbs adds the absolute values of n entries of a to y, and returns their sum.
func AddAbs(y, a []float64, n int) float64 {
	raceRead(a, 1, n, 0)
	raceWrite(y, 1, n, 0)
	if tiles.addAbs == 0 || n == 0 {
		return addAbsGeneric(y, a, n)
	}
	_, _ = y[n-1], a[n-1]
	return addAbsTile(&y[0], &a[0], n)
}

// rowAt returns the index of row i, where the first rows are lda apart and distances grow from row to row.
func rowAt(i, lda, growth int) int { return i*lda + i*(i-1)/2*growth }

// racePairs reports m rows of n entries, at distances that grow, to the race detector.
func racePairs[F Float](a []F, lda, growth, m, n int) {
	for i := 0; Race && i < m; i++ {
		raceRead(a[rowAt(i, lda, growth):], 1, n, 0)
	}
}

// RowDotPairs sets sums[2i] and sums[2i+1] to the products of row i of a with x and with z, in the orders of
// RowDots. The first rows are lda apart. Distances grow by growth from row to row, as in packed triangles.
func RowDotPairs[F Float](sums, a []F, lda, growth int, x, z []F, m, n int) {
	together := 0 // the rows that the tile computes
	if dotPairRows[F](mostGrowing, growth) > 0 && n > 0 {
		together = m &^ 3
		racePairs(a, lda, growth, together, n)
		raceRead(x, 1, n, 0)
		raceRead(z, 1, n, 0)
		raceWrite(sums, 1, 2*together, 0)
	}
	if together > 0 {
		_, _, _, _ = sums[2*together-1], a[rowAt(together-1, lda, growth)+n-1], x[n-1], z[n-1]
	}
	for i, rows := 0, 0; i < together; i += rows {
		rows = dotPairRows[F](together-i, growth)
		to, from := unsafe.Pointer(&sums[2*i]), unsafe.Pointer(&a[rowAt(i, lda, growth)])
		with, other := unsafe.Pointer(&x[0]), unsafe.Pointer(&z[0])
		rowDotPairsTile(to, from, lda+i*growth, growth, with, other, n, of[F](rows))
	}
	for i, rows := together, 0; i < m; i += rows {
		rows = min(4, m-i)
		row, apart, same := a[rowAt(i, lda, growth):], lda, rows
		if growth != 0 { // one row, or one in the order of several: as if all were the same
			rows, apart, same = 1, 0, 1
			if i < m&^3 {
				same = 4
			}
		}
		var first, second [4]F
		RowDots(first[:], row, apart, x, same, n)
		RowDots(second[:], row, apart, z, same, n)
		for k := range rows {
			sums[2*(i+k)], sums[2*(i+k)+1] = first[k], second[k]
		}
	}
}

// AddRowPairs adds sum_i b[2i] a_i[k] to y[k], and sum_i b[2i+1] a_i[k] to z[k], k < n, for m rows a_i at the
// distances of RowDotPairs.
func AddRowPairs[F Float](y, z, a []F, lda, growth int, b []F, m, n int) {
	if tiles.addRowPairs[1] == 0 || m == 0 || n == 0 {
		for i := range m {
			row := a[rowAt(i, lda, growth):]
			AddRows(y, row, lda, b[2*i:], 1, n)
			AddRows(z, row, lda, b[2*i+1:], 1, n)
		}
		return
	}
	racePairs(a, lda, growth, m, n)
	raceRead(b, 1, 2*m, 0)
	raceWrite(y, 1, n, 0)
	raceWrite(z, 1, n, 0)
	_, _, _, _ = y[n-1], z[n-1], a[rowAt(m-1, lda, growth)+n-1], b[2*m-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addRowPairs[:singles], m-i)
		from, by := unsafe.Pointer(&a[rowAt(i, lda, growth)]), unsafe.Pointer(&b[2*i])
		to, other := unsafe.Pointer(&y[0]), unsafe.Pointer(&z[0])
		addRowPairsTile(to, other, from, lda+i*growth, growth, by, n, of[F](rows))
	}
}

// AddOuterPairs adds b[2i] y[k] + b[2i+1] z[k] to a[i*lda+k], i < m, k < n: the product with y first.
func AddOuterPairs[F Float](a []F, lda int, b, y, z []F, m, n int) {
	if tiles.addOuterPairs[1] == 0 || m == 0 || n == 0 {
		for i := range m {
			AddOuter(a[i*lda:], lda, b[2*i:], y, 1, n)
			AddOuter(a[i*lda:], lda, b[2*i+1:], z, 1, n)
		}
		return
	}
	raceRead(b, 1, 2*m, 0)
	raceRead(y, 1, n, 0)
	raceRead(z, 1, n, 0)
	raceWrite(a, m, n, lda)
	_, _, _, _ = a[(m-1)*lda+n-1], b[2*m-1], y[n-1], z[n-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addOuterPairs[:singles], m-i)
		to, by := unsafe.Pointer(&a[i*lda]), unsafe.Pointer(&b[2*i])
		addOuterPairsTile(to, lda, by, unsafe.Pointer(&y[0]), unsafe.Pointer(&z[0]), n, of[F](rows))
	}
}

// dotPairRows returns the number of rows of the next tile of RowDotPairs, if some rows are left, and 0 if the
// tier has no tile. Distances of rows may grow in tiles of up to mostGrowing rows.
func dotPairRows[F Float](left, growth int) int {
	sizes := tiles.rowDotPairs[:singles]
	if unsafe.Sizeof(F(0)) == 4 {
		sizes = tiles.rowDotPairs[singles:]
	}
	has := func(rows int) bool { return rows < len(sizes) && sizes[rows] != 0 }
	switch { // rows come in fours
	case left >= 8 && growth == 0 && has(8):
		return 8
	case left >= 4 && has(4):
		return 4
	case left >= 3 && left != 4 && has(3):
		return 3
	case has(2):
		return 2
	}
	return 0
}
