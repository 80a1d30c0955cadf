package tile

import "unsafe"

// NarrowBytes is the memory of a row of the most columns that NarrowColumns and NarrowRows take, and
// narrowTogether the number of rows that the former takes at a time.
const (
	NarrowBytes    = 32
	narrowTogether = 4
)

// NarrowColumns sets sums to those of the n columns of m rows of a, times numbers of x. Number i is at
// x[at+i*inc]. A sum is that of four sums, each of the rounded products of every fourth row, and of up to
// three last rows. A row has up to NarrowBytes.
func NarrowColumns[F Float](sums, a []F, lda int, x []F, at, inc, m, n int) {
	raceRead(a, m, n, lda)
	var all [narrowTogether][NarrowBytes / 4]F
	whole, size := m&^(narrowTogether-1), int(unsafe.Sizeof(F(0)))
	total := &all[0]
	if whole > 0 && tiles.narrowColumns[0] != 0 {
		last := at + (m-1)*inc
		_, _, _, _ = x[at], x[last], a[(m-1)*lda+n-1], total[:n]
		narrowColumnsTile(
			unsafe.Pointer(total), unsafe.Pointer(&a[0]), lda, unsafe.Pointer(&x[at]), inc*size, whole, n, of[F](0),
		)
	} else {
		for i := range whole {
			for k, v := range a[i*lda:][:n] {
				all[i%narrowTogether][k] += F(x[at+i*inc] * v)
			}
		}
		for k := range n {
			total[k] = (all[0][k] + all[2][k]) + (all[1][k] + all[3][k])
		}
	}
	for i := whole; i < m; i++ {
		for k, v := range a[i*lda:][:n] {
			total[k] += F(x[at+i*inc] * v)
		}
	}
	copy(sums[:n], total[:])
}

// SumBytes is the memory of a row of the most columns that SumColumns takes.
const SumBytes = 320

// SumColumns sets sums to those of the n columns of m rows of a, times the numbers of x; see
// sumColumnsGeneric. A row has up to SumBytes.
func SumColumns[F Float](sums, a []F, lda int, x []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, m, 0)
	raceWrite(sums, 1, n, 0)
	if tiles.sumColumns[0] == 0 || m == 0 || n*int(unsafe.Sizeof(F(0))) < NarrowBytes || n < tiles.lanes {
		sumColumnsGeneric(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[n-1], a[(m-1)*lda+n-1], x[m-1]
	sumColumnsTile(unsafe.Pointer(&sums[0]), unsafe.Pointer(&a[0]), lda, unsafe.Pointer(&x[0]), m, n, of[F](0))
}

// sumColumnsGeneric computes the sums as four sums, each of every fourth row by AddRows. Up to three last
// rows are added to the first of these.
func sumColumnsGeneric[F Float](sums, a []F, lda int, x []F, m, n int) {
	const sumsOf, together = SumBytes / 4, 16
	var all [narrowTogether][sumsOf]F
	var by [together]F
	whole := m &^ (narrowTogether - 1)
	for k := range all {
		for i := k; i < whole; i += narrowTogether * together {
			rows := min(together, (whole-i+narrowTogether-1)/narrowTogether)
			for j := range rows {
				by[j] = x[i+j*narrowTogether]
			}
			AddRows(all[k][:n], a[i*lda:], narrowTogether*lda, by[:], rows, n)
		}
	}
	AddRows(all[0][:n], a[min(whole*lda, len(a)):], lda, x[whole:], m-whole, n)
	for k := range sums[:n] {
		sums[k] = (all[0][k] + all[2][k]) + (all[1][k] + all[3][k])
	}
}

// NarrowRows sets sums to the products of m rows of n numbers and x. Products are rounded. A sum is that of
// the sums of neighbours, of pairs of them, and so on, with zeros behind a row, which has up to NarrowBytes.
func NarrowRows[F Float](sums, a []F, lda int, x []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	whole, lanes := 0, NarrowBytes/int(unsafe.Sizeof(F(0)))
	if tiles.narrowRows[0] != 0 && m >= lanes {
		whole = m &^ (lanes - 1)
		_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
		narrowRowsTile(
			unsafe.Pointer(&sums[0]), unsafe.Pointer(&a[0]), lda, unsafe.Pointer(&x[0]), whole, n, of[F](0),
		)
	}
	for i := whole; i < m; i++ {
		var p [NarrowBytes / 4]F
		for k, v := range a[i*lda:][:n] {
			p[k] = F(x[k] * v)
		}
		sums[i] = (p[0] + p[1]) + (p[2] + p[3])
		if lanes > 4 {
			sums[i] += (p[4] + p[5]) + (p[6] + p[7])
		}
	}
}

// pairRowsTogether is the number of rows that the tile of NarrowPairs takes at a time.
const pairRowsTogether = 4

// NarrowPairs sets sums[2i] and sums[2i+1] to the products of row i of a with x and with z; see
// narrowPairGeneric. A row has at least NarrowBytes.
func NarrowPairs[F Float](sums, a []F, lda int, x, z []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceRead(z, 1, n, 0)
	raceWrite(sums, 1, 2*m, 0)
	if tiles.narrowPairs[0] == 0 || m == 0 {
		for i := range m {
			row := a[i*lda:][:n]
			sums[2*i], sums[2*i+1] = narrowPairGeneric(row, x), narrowPairGeneric(row, z)
		}
		return
	}
	if n*int(unsafe.Sizeof(F(0))) < NarrowBytes {
		panic("tile: too few entries")
	}
	_, _, _, _ = sums[2*m-1], a[(m-1)*lda+n-1], x[n-1], z[n-1]
	if m >= pairRowsTogether {
		narrowPairsTile(unsafe.Pointer(&sums[0]), unsafe.Pointer(&a[0]), lda, unsafe.Pointer(&x[0]),
			unsafe.Pointer(&z[0]), m, n, of[F](0))
		return
	}
	for i := range m { // as if all rows were the same
		var same [2 * pairRowsTogether]F
		narrowPairsTile(unsafe.Pointer(&same), unsafe.Pointer(&a[i*lda]), 0, unsafe.Pointer(&x[0]),
			unsafe.Pointer(&z[0]), pairRowsTogether, n, of[F](0))
		sums[2*i], sums[2*i+1] = same[0], same[1]
	}
}

// narrowPairGeneric returns the product of a row and a vector, as sums of the lanes of NarrowBytes. Entries
// behind the last whole vector are in the last lanes. Neighbours are added, pairs of them, and so on.
func narrowPairGeneric[F Float](row, x []F) F {
	const most = NarrowBytes / 4
	var sums [most]F
	lanes, n := NarrowBytes/int(unsafe.Sizeof(F(0))), len(row)
	whole := n / lanes * lanes
	for k, v := range row[:whole] {
		sums[k%lanes] = fused(v, x[k], sums[k%lanes])
	}
	for k := whole; k < n; k++ {
		lane := k + lanes - n
		sums[lane] = fused(row[k], x[k], sums[lane])
	}
	for ; lanes > 1; lanes /= 2 {
		for k := range lanes / 2 {
			sums[k] = sums[2*k] + sums[2*k+1]
		}
	}
	return sums[0]
}
