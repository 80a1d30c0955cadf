package tile

import "unsafe"

// TriangleOrder is the largest order of a triangle for which SolveRows and MultiplyRows take less time than a
// product by panels does for a part of it.
const TriangleOrder = 24

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
		vectors, part, whole := triangleColumns[F](order, cols-k, ldb)
		b := unsafe.Add(first, k*int(unsafe.Sizeof(F(0))))
		switch {
		case isNarrow[F](order, part, ldb):
			part = min(part, Width/2)
			solveFewTile(b, ldb, corner, down, across, factors, order, part, narrowTile)
		case vectors == 1 && order <= fewRows[F]():
			solveFewTile(b, ldb, corner, down, across, factors, order, part, 0)
		case whole:
			solveRowsTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
		default:
			solveRowsPartTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
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
		vectors, part, whole := triangleColumns[F](order, cols-k, ldb)
		b := unsafe.Add(first, k*int(unsafe.Sizeof(F(0))))
		if whole && tiles.multiplyRows[of[F](vectors)] != 0 {
			multiplyRowsTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
		} else {
			multiplyRowsPartTile(b, ldb, corner, down, across, factors, order, part, of[F](vectors))
		}
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

// triangleColumns returns the numbers of vectors and of columns of the tile for the next of left columns. The
// last of several vectors is whole unless rows do not stay in registers and are apart: two such vectors have
// another tile.
func triangleColumns[F Float](order, left, ldb int) (vectors, columns int, whole bool) {
	lanes := triangleLanes[F]()
	switch {
	case left >= 4*lanes:
		return 4, 4 * lanes, true
	case left >= 2*lanes:
		return 2, 2 * lanes, true
	case left > lanes && order > fewRows[F]() && rowsApart(ldb, 2*lanes):
		return 2, left, false
	}
	return 1, min(left, lanes), true
}

// triangleLanes returns the length of a vector of the tiles for triangles. The ones for float32 are AVX2's.
func triangleLanes[F Float]() int {
	if unsafe.Sizeof(F(0)) == 4 {
		return Width
	}
	return tiles.lanes
}

// rowsApart reports whether as many columns of a row, the whole vectors that a tile loads, reach into no
// other row. To load what the tile stored a moment before as another vector takes long, also in lanes that a
// mask leaves out.
func rowsApart(ldb, columns int) bool { return max(ldb, -ldb) >= columns }

// isNarrow reports whether rows of some columns, fewer than a vector of AVX-512 has, take less time by
// vectors of AVX2, which do not reach into other rows.
func isNarrow[F Float](order, columns, ldb int) bool {
	few := order <= Width && columns < Width && !rowsApart(ldb, Width)
	return few && unsafe.Sizeof(F(0)) == 8 && tiles.solveFew[narrowTile] != 0
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
