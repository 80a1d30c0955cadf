//go:build !purego

package tile

import "unsafe"

// A rowsProduct is C += W Z, or C = W Z, of up to 4 rows: row i of W is at i*down, its entry j at j*across.
type rowsProduct struct {
	c            unsafe.Pointer
	ldc          int
	w            unsafe.Pointer
	down, across int
	z            unsafe.Pointer
	ldz          int
	m, n         int
	add          bool
}

// compute computes some columns: whole cache lines, and then the others.
func (p *rowsProduct) compute(cols int, single bool) {
	if single {
		lines, rest := cols/16, cols%16
		c, w, z := (*float32)(p.c), (*float32)(p.w), (*float32)(p.z)
		if lines > 0 {
			panel32_4_neon(c, p.ldc, w, p.down, p.across, z, p.ldz, p.m, p.n, lines, p.add)
		}
		if rest > 0 {
			c, z = at(c, lines*16), at(z, lines*16)
			panel32Rest_4_neon(c, p.ldc, w, p.down, p.across, z, p.ldz, p.m, p.n, rest, p.add)
		}
		return
	}
	lines, rest := cols/8, cols%8
	c, w, z := (*float64)(p.c), (*float64)(p.w), (*float64)(p.z)
	if lines > 0 {
		panel_4_neon(c, p.ldc, w, p.down, p.across, z, p.ldz, p.m, p.n, lines, p.add)
	}
	if rest > 0 {
		c, z = at(c, lines*8), at(z, lines*8)
		panelRest_4_neon(c, p.ldc, w, p.down, p.across, z, p.ldz, p.m, p.n, rest, p.add)
	}
}

func panelTile(
	c unsafe.Pointer, ldc int, w unsafe.Pointer, down, next, across int, z unsafe.Pointer, ldz, n, rows int, add bool,
	by unsafe.Pointer, panels, nextc, nextz int,
	_ int, _, _ uintptr, _, _ int, index int,
) {
	cols, size := 8, 8
	if index >= singles {
		cols, size = 16, 4
	}
	for i := range panels {
		to, from := unsafe.Add(c, i*nextc*size), unsafe.Add(z, i*nextz*size)
		panelFewTile(to, ldc, w, down, next, across, from, ldz, n, rows, rows, 0, cols, add, by, 0, 0, 0, index)
	}
}

func panelFewTile(
	c unsafe.Pointer, ldc int, w unsafe.Pointer, down, next, across int, z unsafe.Pointer, ldz, n, height, rows, lower,
	cols int, add bool, by unsafe.Pointer, rightc, rightz, more int, index int,
) {
	most, size := 8, 8
	if index >= singles {
		most, size = 16, 4
	}
	for ; rows > 0; rows -= height {
		if rows == lower {
			height--
		}
		for column := 0; column < cols; column += most {
			to, from := unsafe.Add(c, column*size), unsafe.Add(z, column*size)
			p := rowsProduct{to, ldc, w, down, across, from, ldz, 0, n, add}
			if count := min(most, cols-column); index >= singles {
				panelRowsOfTile[float32](p, next, height, count, by)
			} else {
				panelRowsOfTile[float64](p, next, height, count, by)
			}
		}
		c, w = unsafe.Add(c, (height*ldc+rightc)*size), unsafe.Add(w, height*down*size)
		z, cols = unsafe.Add(z, rightz*size), cols+more
	}
}

// panelRowsOfTile computes some rows of a product, lowPanel at a time: in C or, where C is scaled, beside it.
func panelRowsOfTile[F Float](p rowsProduct, next, rows, cols int, by unsafe.Pointer) {
	size := int(unsafe.Sizeof(F(0)))
	var sums [lowPanel * 16]F
	for i := 0; i < rows; i += lowPanel {
		tile := p
		tile.m = min(lowPanel, rows-i)
		tile.c, tile.w = unsafe.Add(p.c, i*p.ldc*size), unsafe.Add(p.w, i*p.down*size)
		if by != nil {
			tile.c, tile.ldc = unsafe.Pointer(&sums), cols
		}
		if next == p.across {
			tile.compute(cols, size == 4)
		} else {
			inPairs[F](tile, next, cols)
		}
		if by == nil {
			continue
		}
		u := (*Update[F])(by)
		for j := range tile.m {
			row := unsafe.Slice((*F)(unsafe.Add(p.c, (i+j)*p.ldc*size)), cols)
			for k, sum := range sums[j*cols:][:cols] {
				sum = F(u.Alpha * sum)
				if u.Beta != 0 {
					sum += F(u.Beta * row[k])
				}
				row[k] = sum
			}
		}
	}
}
