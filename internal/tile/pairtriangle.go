package tile

import "unsafe"

// SolveComplexRows overwrites the rows of B, of cols complex numbers each, by the solution of a complex
// triangular system; see solveComplexGeneric. It reads and writes nothing beyond these entries.
func SolveComplexRows[F Float](b []F, ldb int, a []F, down, across int, d []F, conjugate bool, order, cols int) {
	racePairTriangle(b, ldb, a, down, across, d, order, cols)
	if tiles.solvePairs[1] == 0 || order == 0 || cols == 0 {
		solveComplexGeneric(b, ldb, a, down, across, d, conjugate, order, cols)
		return
	}
	first, corner, factors := pairTriangleOperands(b, ldb, a, down, across, d, order, cols)
	signs := pairSigns[F](conjugate)
	by := unsafe.Pointer(&signs)
	for k := 0; k < cols; {
		vectors, part := pairColumns[F](cols - k)
		b := unsafe.Add(first, 2*k*int(unsafe.Sizeof(F(0))))
		if part == 1 {
			solvePairTile(b, ldb, corner, down, across, factors, by, order, part, of[F](0))
		} else {
			solvePairsTile(b, ldb, corner, down, across, factors, by, order, part, of[F](vectors))
		}
		k += part
	}
}

// MultiplyComplexRows overwrites the rows of B, of cols complex numbers each, by their product with a complex
// triangle; see multiplyComplexGeneric. It reads and writes nothing beyond these entries.
func MultiplyComplexRows[F Float](b []F, ldb int, a []F, down, across int, d []F, conjugate bool, order, cols int) {
	racePairTriangle(b, ldb, a, down, across, d, order, cols)
	if tiles.multiplyPairs[1] == 0 || order == 0 || cols == 0 {
		multiplyComplexGeneric(b, ldb, a, down, across, d, conjugate, order, cols)
		return
	}
	first, corner, factors := pairTriangleOperands(b, ldb, a, down, across, d, order, cols)
	signs := pairSigns[F](conjugate)
	by := unsafe.Pointer(&signs)
	for k := 0; k < cols; {
		vectors, part := pairColumns[F](cols - k)
		b := unsafe.Add(first, 2*k*int(unsafe.Sizeof(F(0))))
		if part == 1 {
			multiplyPairTile(b, ldb, corner, down, across, factors, by, order, part, of[F](0))
		} else {
			multiplyPairsTile(b, ldb, corner, down, across, factors, by, order, part, of[F](vectors))
		}
		k += part
	}
}

// pairTriangleOperands returns the addresses of the first rows of B and A and of d, which may be empty.
func pairTriangleOperands[F Float](
	b []F, ldb int, a []F, down, across int, d []F, order, cols int,
) (first, corner, factors unsafe.Pointer) {
	rows, entries := firstOf(ldb, order), firstOf(down, order)+firstOf(across, order)
	_, _ = b[rows+max(ldb, 0)*(order-1)+2*cols-1], a[entries+(max(down, 0)+max(across, 0))*(order-1)+1]
	if len(d) > 0 {
		_ = d[2*order-1]
		factors = unsafe.Pointer(&d[0])
	}
	return unsafe.Pointer(&b[rows]), unsafe.Pointer(&a[entries]), factors
}

// pairColumns is triangleColumns for columns of complex numbers.
func pairColumns[F Float](left int) (vectors, columns int) {
	return columnsInVectors[F](left, triangleLanes[F]()/2)
}

// pairSigns returns the signs of the products with imaginary parts in a pair: i times (x, y) is (-y, x).
func pairSigns[F Float](conjugate bool) [2]F {
	if conjugate {
		return [2]F{1, -1}
	}
	return [2]F{-1, 1}
}

// A pairRow adds up a row of complex numbers: re, and i or -i times im.
type pairRow[F Float] struct {
	re, im []F
	signs  [2]F
}

// pairsTogether is the number of columns of complex numbers that are computed together.
const pairsTogether = 64

// shortPairs is the number of reals of a row below which a loop takes less time than calls of a tile.
const shortPairs = 8

// add adds the product of a complex number and a row.
func (p *pairRow[F]) add(re, im F, row []F) {
	if len(p.re) < shortPairs {
		for j, v := range row[:len(p.re)] {
			p.re[j], p.im[j] = fused(re, v, p.re[j]), fused(im, v, p.im[j])
		}
		return
	}
	by := [2]F{re, im}
	AddRows(p.re, row, 0, by[:1], 1, len(p.re))
	AddRows(p.im, row, 0, by[1:], 1, len(p.re))
}

// combine adds the sums of products with imaginary parts to the sums of products with real parts.
func (p *pairRow[F]) combine() {
	for j := 0; j+1 < len(p.re); j += 2 {
		p.re[j] += F(p.signs[0] * p.im[j+1])
		p.re[j+1] += F(p.signs[1] * p.im[j])
	}
}

// solveComplexGeneric solves a triangular system for the rows of B, in this order. An empty d stands for
// ones, which are the inverses of the pivots:
//
//	b[i*ldb+j] = (b[i*ldb+j] - sum_k a[i*down+k*across] b[k*ldb+j]) d[i],  k < i < order, j < cols.
//
// Entries are complex numbers, or conjugate ones of a and d, and all distances count reals. If ldb is
// negative, row i is at b[(i-order+1)*ldb], as in BLAS. Both distances in a are negative then.
func solveComplexGeneric[F Float](
	b []F, ldb int, a []F, down, across int, d []F, conjugate bool, order, cols int,
) {
	corner, first := firstOf(down, order)+firstOf(across, order), firstOf(ldb, order)
	var memory [2 * pairsTogether]F
	for ; cols > 0; cols, first = cols-pairsTogether, first+2*pairsTogether {
		n := 2 * min(cols, pairsTogether)
		for i := range order {
			p := pairRow[F]{b[first+i*ldb:][:n], memory[:n], pairSigns[F](conjugate)}
			clear(p.im)
			for k := range i {
				entry := a[corner+i*down+k*across:]
				p.add(-entry[0], -entry[1], b[first+k*ldb:][:n])
			}
			if i > 0 {
				p.combine()
			}
			for j := 0; j < n && len(d) > 0; j += 2 {
				re, im := p.re[j], p.re[j+1]
				p.re[j] = fused(p.signs[0]*im, d[2*i+1], F(re*d[2*i]))
				p.re[j+1] = fused(p.signs[1]*re, d[2*i+1], F(im*d[2*i]))
			}
		}
	}
}

// multiplyComplexGeneric multiplies the rows of B by a triangle, the last one first, for the operands of
// solveComplexGeneric:
//
//	b[i*ldb+j] = b[i*ldb+j] d[i] + sum_k a[i*down+k*across] b[k*ldb+j],  k < i < order, j < cols.
func multiplyComplexGeneric[F Float](
	b []F, ldb int, a []F, down, across int, d []F, conjugate bool, order, cols int,
) {
	corner, first := firstOf(down, order)+firstOf(across, order), firstOf(ldb, order)
	var memory [2 * pairsTogether]F
	for ; cols > 0; cols, first = cols-pairsTogether, first+2*pairsTogether {
		n := 2 * min(cols, pairsTogether)
		for i := order - 1; i >= 0; i-- {
			p := pairRow[F]{b[first+i*ldb:][:n], memory[:n], pairSigns[F](conjugate)}
			clear(p.im)
			for j := 0; j < n && len(d) > 0; j++ {
				p.im[j] = p.re[j] * d[2*i+1]
				p.re[j] *= d[2*i]
			}
			for k := range i {
				entry := a[corner+i*down+k*across:]
				p.add(entry[0], entry[1], b[first+k*ldb:][:n])
			}
			p.combine()
		}
	}
}

func racePairTriangle[F Float](b []F, ldb int, a []F, down, across int, d []F, order, cols int) {
	if !Race {
		return
	}
	down, across = max(down, -down), max(across, -across)
	for i := range order { // entries are pairs, in rows or columns
		raceRead(a[i*down:], order, 2, across)
	}
	raceRead(d, 1, len(d), 0)
	raceWrite(b, order, 2*cols, max(ldb, -ldb))
}
