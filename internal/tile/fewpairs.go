package tile

import "unsafe"

// ComplexProduct computes m rows of C = alpha W Z + beta C for complex numbers, as pairs of reals, for sums
// of n >= 1 terms and cols reals; see complexProductGeneric. The rows of W are down reals apart, and its
// columns across. alpha and beta are real. The signs are those of products with real parts of W, and of
// swapped products with imaginary ones.
func ComplexProduct[F Float](
	c []F, ldc int, w []F, down, across int, z []F, ldz, m, n, cols int, u Update[F], signs *PairSigns[F],
) {
	if m == 0 || cols == 0 {
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*down+(n-1)*across+1], z[(n-1)*ldz+cols-1]
	if tiles.fewPairs[of[F](0)] == 0 || Race {
		complexProductGeneric(c, ldc, w, down, across, z, ldz, m, n, cols, u, signs)
		return
	}
	var by unsafe.Pointer
	if u != (Update[F]{Alpha: 1}) {
		by = unsafe.Pointer(&u)
	}
	height, lower := evenRows(m, tiles.pairRows)
	fewPairsTile(unsafe.Pointer(&c[0]), ldc, unsafe.Pointer(&w[0]), down, across, unsafe.Pointer(&z[0]), ldz, n,
		height, m, lower, cols, by, unsafe.Pointer(signs), of[F](0))
}

// complexProductGeneric is ComplexProduct by products of reals: of the real parts of W, and of its imaginary
// parts, with Z. The latter are swapped, and both have their signs when they are added.
func complexProductGeneric[F Float](
	c []F, ldc int, w []F, down, across int, z []F, ldz, m, n, cols int, u Update[F], signs *PairSigns[F],
) {
	const rows, columns = 4, 16 // of a piece
	var byRe, byIm [rows * columns]F
	at, width := Layout{down, across, across}, PanelWidth[F]()
	for i := 0; i < m; i += rows {
		for j := 0; j < cols; j += columns {
			high, wide, left, right := min(rows, m-i), min(columns, cols-j), w[i*down:], z[j:]
			Panels(byRe[:], columns, left, at, right, ldz, width, high, n, wide, Update[F]{Alpha: 1})
			Panels(byIm[:], columns, left[1:], at, right, ldz, width, high, n, wide, Update[F]{Alpha: 1})
			CombinePairs(byRe[:], byIm[:], signs)
			for k := range high {
				row := c[(i+k)*ldc+j:][:wide]
				for l, v := range byRe[k*columns:][:wide] {
					if v = F(u.Alpha * v); u.Beta != 0 {
						v += F(u.Beta * row[l])
					}
					row[l] = v
				}
			}
		}
	}
}
