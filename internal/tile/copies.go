package tile

import "unsafe"

// linesAhead is the number of lines of a cache that a copy prefetches: as many as a core can wait for.
const linesAhead = 48

// CopyPanels copies n columns of some rows, stride apart, to panels of PanelWidth columns by rows: panel i is
// at i*apart, and the last one may have fewer columns. Rows may be far from the core.
func CopyPanels[F Float](panels []F, apart int, from []F, stride, n, rows int) {
	copyPieces(panels, PanelWidth[F](), apart, from, stride, n, rows)
}

// CopyRows copies n columns of some rows, stride apart, to rows that are down apart. Rows may be far from the
// core.
func CopyRows[F Float](to []F, down int, from []F, stride, n, rows int) {
	copyPieces(to, down, PanelWidth[F](), from, stride, n, rows)
}

// copyPieces copies n columns of some rows in pieces of PanelWidth columns, across apart from each other in
// rows that are down apart. The last piece may have fewer columns.
func copyPieces[F Float](to []F, down, across int, from []F, stride, n, rows int) {
	raceRead(from, rows, n, stride)
	width, size := PanelWidth[F](), int(unsafe.Sizeof(F(0)))
	whole := n / width
	for k := 0; k < n && rows > 0 && Race; k += width {
		raceWrite(to[k/width*across:], rows, min(width, n-k), down)
	}
	if tiles.copyPieces == 0 || whole == 0 || rows == 0 {
		copyPiecesGeneric(to, down, across, from, stride, n, rows)
		return
	}
	_, _ = to[(whole-1)*across+(rows-1)*down+width-1], from[(rows-1)*stride+n-1]
	ahead := max(linesAhead*line/(whole*width*size), 1) * stride * size
	copyPiecesTile((*float64)(unsafe.Pointer(&to[0])), down*size, across*size, (*float64)(unsafe.Pointer(&from[0])),
		stride*size, ahead, whole, rows)
	if rest := whole * width; rest < n {
		copyPiecesGeneric(to[whole*across:], down, across, from[rest:], stride, n-rest, rows)
	}
}

// copyPiecesGeneric copies n columns of some rows, stride apart, in pieces of PanelWidth columns: pieces are
// across apart, and rows down.
func copyPiecesGeneric[F Float](to []F, down, across int, from []F, stride, n, rows int) {
	width := PanelWidth[F]()
	for k := range rows {
		row := from[k*stride:][:n]
		for at := k * down; len(row) > 0; at += across {
			row = row[copy(to[at:at+min(width, len(row))], row):]
		}
	}
}
