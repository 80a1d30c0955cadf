package tile

import "unsafe"

// RowProducts sets C to W Z' for the m x n matrix W and the p x n matrix Z, by rows: c[i*ldc+j] is the
// product of row i of W and row j of Z, in the order of RowDots for several rows. It reads nothing beyond the
// rows. There are at least ProductColumns rows of Z, of at least Width entries.
func RowProducts[F Float](c []F, ldc int, w []F, ldw int, z []F, ldz, m, p, n int) {
	raceRead(w, m, n, ldw)
	raceRead(z, p, n, ldz)
	raceWrite(c, m, p, ldc)
	if tiles.rowProducts[of[F](0)] == 0 || m == 0 || n == 0 {
		for i := range m {
			rowDotsGeneric(c[i*ldc:], z, ldz, w[i*ldw:], p, n)
		}
		return
	}
	_, _, _ = c[(m-1)*ldc+p-1], w[(m-1)*ldw+n-1], z[(p-1)*ldz+n-1]
	if p < ProductColumns[F]() || n < Width {
		panic("tile: too few rows or entries")
	}
	height, lower := evenRows(m, tiles.productRows[typeOf[F]()])
	rowProductsTile(unsafe.Pointer(&c[0]), ldc, unsafe.Pointer(&w[0]), ldw, unsafe.Pointer(&z[0]), ldz, n,
		height, m, lower, p, of[F](0))
}

// ProductColumns returns how many rows of Z RowProducts takes at a time. It computes some products twice
// unless there is a multiple of it.
func ProductColumns[F Float]() int { return max(1, tiles.productColumns[typeOf[F]()]) }

// typeOf returns 0 for float64, and 1 for float32.
func typeOf[F Float]() int { return of[F](0) / singles }

// evenRows cuts rows into tiles of a height at most, whose heights differ by one at most: it returns the
// height of the first ones, and how many rows are in tiles with a row less.
func evenRows(rows, most int) (height, lower int) {
	if rows <= most {
		return rows, 0
	}
	count := uint32(rows+most-1) / uint32(most)
	height = int((uint32(rows) + count - 1) / count)
	return height, (int(count)*height - rows) * (height - 1)
}
