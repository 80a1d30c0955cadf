package tile

// PackBasis copies a d x r basis to panels of PackWidth columns for MulPacked, each by
// rows, the last one filled up with zero columns:
//
//	p[(c*Pad(d)+k)*PackWidth+j] = u[(c*PackWidth+j)*ldu+k],  k < Pad(d).
func PackBasis(p, u []float64, ldu, d, r int) {
	d = Pad(d)
	for c := 0; c < r; c += PackWidth {
		panel, columns := p[c*d:][:PackWidth*d], min(PackWidth, r-c)
		if columns < PackWidth {
			clear(panel)
		}
		Transpose(panel, PackWidth, u[c*ldu:], ldu, columns, d)
	}
}

// Transpose sets the rows of dst to the columns of the m x n matrix src: n rows of m entries.
// By tiles it takes a quarter of the time: a step of a node with one task of 30 x 600 and
// rank 16 would take 1.2 times as long, for its basis.
func Transpose(dst []float64, ldd int, src []float64, lds, m, n int) {
	raceRead(src, m, n, lds)
	raceWrite(dst, n, m, ldd)
	rows, columns := transpose(dst, ldd, src, lds, m, n) // that are done
	if rows < m && columns > 0 {
		transposeGeneric(dst[rows:], ldd, src[rows*lds:], lds, m-rows, columns)
	}
	if columns < n && m > 0 {
		transposeGeneric(dst[columns*ldd:], ldd, src[columns:], lds, m, n-columns)
	}
}

func transposeGeneric(dst []float64, ldd int, src []float64, lds, m, n int) {
	const few = 8 // lines that the first-level cache keeps, whatever the strides
	for i := 0; i < m; i += few {
		for j := range n {
			for k := i; k < min(i+few, m); k++ {
				dst[j*ldd+k] = src[k*lds+j]
			}
		}
	}
}
