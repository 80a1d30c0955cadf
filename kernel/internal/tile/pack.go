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
