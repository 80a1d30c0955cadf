package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// A window is the range of rows and columns of a block, from top to below bottom, where a bulge moves.
type window struct{ top, bottom int }

// step is one QR step for the block from l to i.
func (f *schur) step(l, i int, s doubleShift) {
	m, v := f.begin(l, i, s)
	if m > l {
		c, _, _ := f.direction(v)
		f.h[m*f.stride+m-1] *= c // the entries below it are negligible
	}
	top, last := f.extent(l, i)
	for k := m; k < i; {
		w := window{k, min(k+windowRows, i+1)}
		if last-top < windowWhole {
			w = window{top, last + 1}
		} else if last+1-w.bottom < windowRows/3 {
			w.bottom = last + 1
		}
		end := i // the steps that touch the window only
		if w.bottom <= i {
			end = w.bottom - 2
		}
		f.chase(w, k, end, m, i, &v)
		f.beside(w, k, end, i, last)
		f.over(w, k, end, i, top)
		k = end
	}
	if f.z.n > 0 {
		f.first.record(f.z, m+1, i)
		f.second.record(f.z, m, i)
	}
}

// record adds the rotations of the rows lo to i to the rotations of Z'. The last row's are at 1 for both
// chains of rotations.
func (r *chainOfRotations) record(z *turned, lo, i int) {
	n := i - lo
	c, s := z.begin(lo, n, true)
	at := i - (lo + n - 1)
	copy(c, r.c[at:at+n])
	copy(s, r.s[at:at+n])
}

// direction returns the cosine of the rotations of a vector, a factor of its first entry, and the sizes.
func (f *schur) direction(v [3]float64) (c, s, size float64) {
	_, _, r := f.rotation(v[1], v[2])
	return f.rotation(v[0], r)
}

// rotation returns c and s with c x + s y = r and c y - s x = 0.
func (f *schur) rotation(x, y float64) (c, s, r float64) {
	if y == 0 {
		return 1, 0, x
	}
	squares := float64(x*x) + float64(y*y)
	if safeReflection(squares, squares) {
		r = math.Sqrt(squares)
		inverse := 1 / r
		return x * inverse, y * inverse, r
	}
	return own.Dlartg(x, y)
}

// chase moves the bulge from row k to row end within a window: in row m it begins with v.
func (f *schur) chase(w window, k, end, m, i int, v *[3]float64) {
	h, stride := f.h, f.stride
	for ; k < end; k++ {
		if k > m {
			v[0], v[1], v[2] = h[k*stride+k-1], h[(k+1)*stride+k-1], 0
			if k+2 <= i {
				v[2] = h[(k+2)*stride+k-1]
			}
		}
		c1, s1, r := f.rotation(v[1], v[2])
		c2, s2, r := f.rotation(v[0], r)
		at := i - k
		f.second.c[at], f.second.s[at] = c2, s2
		if k > m {
			h[k*stride+k-1], h[(k+1)*stride+k-1] = r, 0
		}
		row0, row1 := h[k*stride+k:k*stride+w.bottom], h[(k+1)*stride+k:][:w.bottom-k]
		if k+2 > i {
			for j, x := range row0 {
				y := row1[j]
				row0[j], row1[j] = float64(c2*x)+float64(s2*y), float64(c2*y)-float64(s2*x)
			}
			for at := w.top*stride + k; at <= i*stride+k; at += stride {
				row := (*[2]float64)(h[at:])
				x, y := row[0], row[1]
				row[0], row[1] = float64(c2*x)+float64(s2*y), float64(c2*y)-float64(s2*x)
			}
			continue
		}
		if k > m {
			h[(k+2)*stride+k-1] = 0
		}
		f.first.c[at-1], f.first.s[at-1] = c1, s1
		row2 := h[(k+2)*stride+k:][:len(row0)]
		row1 = row1[:len(row0)]
		for j, x := range row0 {
			y, z := row1[j], row2[j]
			y, row2[j] = float64(c1*y)+float64(s1*z), float64(c1*z)-float64(s1*y)
			row0[j], row1[j] = float64(c2*x)+float64(s2*y), float64(c2*y)-float64(s2*x)
		}
		for at := w.top*stride + k; at <= min(k+3, i)*stride+k; at += stride {
			row := (*[3]float64)(h[at:])
			x, y, z := row[0], row[1], row[2]
			y, row[2] = float64(c1*y)+float64(s1*z), float64(c1*z)-float64(s1*y)
			row[0], row[1] = float64(c2*x)+float64(s2*y), float64(c2*y)-float64(s2*x)
		}
	}
}

// of returns n rotations, the first of rows k and k+1.
func (r *chainOfRotations) of(k, n, i int) (c, s []float64) {
	at := i - (k + n - 1)
	return r.c[at : at+n], r.s[at : at+n]
}

// beside applies the rotations of the steps from row k to row end to the columns beside the window.
func (f *schur) beside(w window, k, end, i, last int) {
	n1, n2 := min(end, i-1)-k, end-k
	c1, s1 := f.first.of(k+1, n1, i)
	c2, s2 := f.second.of(k, n2, i)
	for j := w.bottom; j <= last; j += tile.RotateWidth {
		tile.Rotate(f.h[(k+1)*f.stride+j:], -f.stride, c1, s1, n1)
		tile.Rotate(f.h[k*f.stride+j:], -f.stride, c2, s2, n2)
	}
}

// over applies the rotations of the steps from row k to row end to the columns above the window.
func (f *schur) over(w window, k, end, i, top int) {
	rows := w.top - top
	if rows <= 0 {
		return
	}
	n1, n2 := min(end, i-1)-k, end-k
	c1, s1 := f.first.of(k+1, n1, i)
	c2, s2 := f.second.of(k, n2, i)
	columns := max(n1+2, n2+1)
	rows = tile.Pad(rows) // rows before them, if there are, are of no matrix
	from := f.above[(w.top-rows+tile.Width)*f.stride+k:]
	tile.Transpose(f.columns, f.side, from, f.stride, rows, columns)
	for j := 0; j < rows; j += tile.RotateWidth {
		tile.Rotate(f.columns[f.side+j:], -f.side, c1, s1, n1)
		tile.Rotate(f.columns[j:], -f.side, c2, s2, n2)
	}
	tile.Transpose(from, f.stride, f.columns, f.side, columns, rows)
}
