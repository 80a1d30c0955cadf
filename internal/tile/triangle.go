package tile

import "unsafe"

// TriangleOrder is the largest order of a triangle for which SolveRows and MultiplyRows take less time than a
// product by panels does for a part of it, and TriangleOrder32 that in float32.
const TriangleOrder, TriangleOrder32 = 48, 32

// SolveRows overwrites the rows of B, of cols entries each, by the solution of a triangular system; see
// solveRowsGeneric. It reads and writes nothing beyond these entries.
func SolveRows[F Float](b []F, ldb int, a []F, down, across int, d []F, order, cols int) {
	raceTriangle(b, ldb, a, down, across, order, cols)
	if tiles.solveRows[1] == 0 || order == 0 || cols == 0 {
		solveRowsGeneric(b, ldb, a, down, across, d, order, cols)
		return
	}
	first, corner, factors := triangleOperands(b, ldb, a, down, across, d, order, cols)
	for k := 0; k < cols; {
		vectors, part := triangleColumns[F](cols - k)
		b := unsafe.Add(first, k*int(unsafe.Sizeof(F(0))))
		if left := cols - k; order <= fewRows[F]() && left < 2*triangleLanes[F]() {
			part = min(left, triangleLanes[F]())
			solveFewTile(b, ldb, corner, down, across, factors, order, part, 0)
		} else {
			solveRowsTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
		}
		k += part
	}
}

// MultiplyRows overwrites the rows of B, of cols entries each, by their product with a triangle; see
// multiplyRowsGeneric. It reads and writes nothing beyond these entries.
func MultiplyRows[F Float](b []F, ldb int, a []F, down, across int, d []F, order, cols int) {
	raceTriangle(b, ldb, a, down, across, order, cols)
	if tiles.multiplyRows[1] == 0 || order == 0 || cols == 0 {
		multiplyRowsGeneric(b, ldb, a, down, across, d, order, cols)
		return
	}
	first, corner, factors := triangleOperands(b, ldb, a, down, across, d, order, cols)
	for k := 0; k < cols; {
		vectors, part := triangleColumns[F](cols - k)
		b := unsafe.Add(first, k*int(unsafe.Sizeof(F(0))))
		multiplyRowsTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
		k += part
	}
}

// triangleOperands returns the addresses of the first rows of B and A and of d, which may be empty.
func triangleOperands[F Float](
	b []F, ldb int, a []F, down, across int, d []F, order, cols int,
) (first, corner, factors unsafe.Pointer) {
	rows, entries := firstOf(ldb, order), firstOf(down, order)+firstOf(across, order)
	_, _ = b[rows+max(ldb, 0)*(order-1)+cols-1], a[entries+(max(down, 0)+max(across, 0))*(order-1)]
	if len(d) > 0 {
		_ = d[order-1]
		factors = unsafe.Pointer(&d[0])
	}
	return unsafe.Pointer(&b[rows]), unsafe.Pointer(&a[entries]), factors
}

// firstOf returns the place of the first of n things that are some distance apart: the last one in memory if
// that is negative.
func firstOf(apart, n int) int { return max(0, (1-n)*apart) }

// triangleColumns returns the number of vectors of the tile for the next of left columns, or twoHalves, and
// the number of its columns. Several vectors need no masks: the last one may have columns in common with the
// one before it. So the last tile has several.
func triangleColumns[F Float](left int) (vectors, columns int) {
	return columnsInVectors[F](left, triangleLanes[F]())
}

// columnsInVectors is triangleColumns for vectors of some columns.
func columnsInVectors[F Float](left, lanes int) (vectors, columns int) {
	switch vectors := (left + lanes - 1) / lanes; {
	case vectors == 1 && 2*left >= lanes && left < lanes && tiles.multiplyRows[of[F](twoHalves)] != 0:
		return twoHalves, left
	case vectors <= 4:
		return vectors, left
	case vectors == 5:
		return 3, 3 * lanes
	}
	return 4, 4 * lanes
}

// triangleLanes returns the length of a vector of the tiles for triangles. The ones for float32 are AVX2's.
func triangleLanes[F Float]() int {
	if unsafe.Sizeof(F(0)) == 4 {
		return Width
	}
	return tiles.lanes
}

// fewRows returns how many rows of one vector stay in registers.
func fewRows[F Float]() int {
	if unsafe.Sizeof(F(0)) == 4 {
		return 0
	}
	return tiles.few
}

// solveRowsGeneric solves a triangular system for the rows of B, in this order. An empty d stands for ones:
//
//	b[i*ldb+j] = (b[i*ldb+j] - sum_k a[i*down+k*across] b[k*ldb+j]) d[i],  k < i < order, j < cols.
//
// If ldb is negative, row i is at b[(i-order+1)*ldb], as in BLAS. Both distances in a are negative then.
func solveRowsGeneric[F Float](b []F, ldb int, a []F, down, across int, d []F, order, cols int) {
	corner, first := firstOf(down, order)+firstOf(across, order), firstOf(ldb, order)
	for i := range order {
		row := b[first+i*ldb:][:cols]
		for k := range i {
			factor := a[corner+i*down+k*across]
			for j, v := range b[first+k*ldb:][:cols] {
				row[j] -= F(factor * v)
			}
		}
		for j := range row {
			if len(d) > 0 {
				row[j] *= d[i]
			}
		}
	}
}

// multiplyRowsGeneric multiplies the rows of B by a triangle, the last one first, for the operands of
// solveRowsGeneric:
//
//	b[i*ldb+j] = b[i*ldb+j] d[i] + sum_k a[i*down+k*across] b[k*ldb+j],  k < i < order, j < cols.
func multiplyRowsGeneric[F Float](b []F, ldb int, a []F, down, across int, d []F, order, cols int) {
	corner, first := firstOf(down, order)+firstOf(across, order), firstOf(ldb, order)
	for i := order - 1; i >= 0; i-- {
		row := b[first+i*ldb:][:cols]
		for j := range row {
			if len(d) > 0 {
				row[j] *= d[i]
			}
		}
		for k := range i {
			factor := a[corner+i*down+k*across]
			for j, v := range b[first+k*ldb:][:cols] {
				row[j] += F(factor * v)
			}
		}
	}
}

func raceTriangle[F Float](b []F, ldb int, a []F, down, across, order, cols int) {
	raceRead(a, order, order, max(down, -down, across, -across))
	raceWrite(b, order, cols, max(ldb, -ldb))
}
