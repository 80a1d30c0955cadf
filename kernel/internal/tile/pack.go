package tile

// packBasisGeneric copies a d x r basis to panels of PackWidth columns, each by
// rows, the last one filled up with zero columns:
//
//	p[(c*Pad(d)+k)*PackWidth+j] = u[(c*PackWidth+j)*ldu+k],  k < Pad(d).
func packBasisGeneric(p, u []float64, ldu, d, r int) { packColumns(p, u, ldu, Pad(d), 0, r) }

// packColumns copies columns from to r, and clears what comes after them of the last panel.
// What precedes them in the panel of the first is overwritten if that panel is not full.
func packColumns(p, u []float64, ldu, d, from, r int) {
	for c := from &^ (PackWidth - 1); c < r; c += PackWidth {
		panel := p[c*d:][:PackWidth*d]
		if c+PackWidth > r {
			clear(panel)
		}
		// In blocks of features, so that the panel's lines stay in the cache until all
		// their columns are there.
		for k := 0; k < d; k += 2 * Width {
			n := min(2*Width, d-k)
			rows := panel[k*PackWidth:][:n*PackWidth]
			for j := max(from-c, 0); j < min(PackWidth, r-c); j++ {
				at := j
				for _, v := range u[(c+j)*ldu+k:][:n] {
					rows[at] = v
					at += PackWidth
				}
			}
		}
	}
}

// Transpose sets the rows of dst to the columns of the m x n matrix src: n rows of m entries.
func Transpose(dst []float64, ldd int, src []float64, lds, m, n int) {
	const few = 8 // lines that the first-level cache keeps, whatever the strides
	for i := 0; i < m; i += few {
		rows := min(few, m-i)
		if rows < few {
			for k := range rows {
				for j, v := range src[(i+k)*lds:][:n] {
					dst[j*ldd+i+k] = v
				}
			}
			return
		}
		s0, s1, s2, s3 := src[i*lds:][:n], src[(i+1)*lds:][:n], src[(i+2)*lds:][:n], src[(i+3)*lds:][:n]
		s4, s5, s6, s7 := src[(i+4)*lds:][:n], src[(i+5)*lds:][:n], src[(i+6)*lds:][:n], src[(i+7)*lds:][:n]
		for j := range n {
			d := (*[few]float64)(dst[j*ldd+i:])
			d[0], d[1], d[2], d[3] = s0[j], s1[j], s2[j], s3[j]
			d[4], d[5], d[6], d[7] = s4[j], s5[j], s6[j], s7[j]
		}
	}
}
