package tile

import "unsafe"

// SquareRows is the number of rows of the squares of TriangleOf.
const SquareRows = 6

// TriangleOf computes a triangle of the m x m matrix C = alpha W Z + beta C, for sums of n >= 1 terms,
// without the squares of SquareRows rows on its diagonal. The last square may have fewer rows. It sets
// squares to alpha W Z, one square behind the other, each by rows of SquareRows entries.
func TriangleOf[F Float](
	upper bool, c []F, ldc int, squares, w []F, at Layout, z []F, ldz, m, n int, u Update[F],
) {
	if m == 0 {
		return
	}
	if tiles.panelFew[of[F](0)] == 0 || Race {
		triangleGeneric(upper, c, ldc, squares, w, at, z, ldz, m, n, u)
		return
	}
	const side = SquareRows
	_, _ = c[(m-1)*ldc+m-1], squares[:m*side]
	_, _ = w[at.index(m-1, n-1)], z[(n-1)*ldz+m-1]
	p := triangle[F]{w: unsafe.Pointer(&w[0]), z: unsafe.Pointer(&z[0]), at: at, ldz: ldz, n: n}
	whole := m / SquareRows * SquareRows
	own := Update[F]{Alpha: u.Alpha}
	p.rows(unsafe.Pointer(&squares[0]), side, 0, 0, whole, side, own, steps{z: side})
	if whole < m {
		to := unsafe.Pointer(&squares[whole*side])
		p.rows(to, side, whole, whole, m-whole, m-whole, own, steps{})
	}
	switch {
	case m <= SquareRows:
	case upper:
		right := steps{side, side, -side}
		if whole == m {
			whole -= SquareRows // the last square has nothing beside it
		}
		p.rows(unsafe.Pointer(&c[side]), ldc, 0, side, whole, m-side, u, right)
	default:
		below := unsafe.Pointer(&c[SquareRows*ldc])
		p.rows(below, ldc, SquareRows, 0, whole-SquareRows, side, u, steps{more: side})
		if whole < m {
			p.rows(unsafe.Pointer(&c[whole*ldc]), ldc, whole, 0, m-whole, whole, u, steps{})
		}
	}
}

// A triangle has the factors of TriangleOf.
type triangle[F Float] struct {
	w, z   unsafe.Pointer
	at     Layout
	ldz, n int
}

// steps compare rows with the SquareRows rows above them. The rows begin c columns of C and z columns of Z
// further to the right, and have more columns more.
type steps struct{ c, z, more int }

// rows computes some rows of C, which begin at an address: rows of W from row on, with cols columns of Z from
// column on. They are less than SquareRows or a multiple of it.
func (p *triangle[F]) rows(c unsafe.Pointer, ldc, row, column, rows, cols int, u Update[F], s steps) {
	if rows == 0 {
		return
	}
	size := int(unsafe.Sizeof(F(0)))
	add, by := u.tile()
	panelFewTile(c, ldc, unsafe.Add(p.w, row*p.at.Down*size), p.at.Down, p.at.Next, p.at.Across,
		unsafe.Add(p.z, column*size), p.ldz, p.n, min(rows, SquareRows), rows, 0, cols, add, by,
		s.c, s.z, s.more, of[F](0))
}

// triangleGeneric is TriangleOf by products.
func triangleGeneric[F Float](
	upper bool, c []F, ldc int, squares, w []F, at Layout, z []F, ldz, m, n int, u Update[F],
) {
	width, side := PanelWidth[F](), SquareRows
	for i := 0; i < m; i += SquareRows {
		rows, left := min(SquareRows, m-i), w[i*at.Down:]
		product := Update[F]{Alpha: u.Alpha}
		Panels(squares[i*side:], side, left, at, z[i:], ldz, width, rows, n, rows, product)
		from, to := 0, i
		if upper {
			from, to = i+rows, m
		}
		if from < to {
			Panels(c[i*ldc+from:], ldc, left, at, z[from:], ldz, width, rows, n, to-from, u)
		}
	}
}
