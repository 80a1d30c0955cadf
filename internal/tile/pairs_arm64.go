//go:build !purego

package tile

import "unsafe"

// columnsInTurn is the number of columns of a factor in pairs that are copied together.
const columnsInTurn = 64

// inPairs computes a product whose factor is in pairs, by way of copies of some columns of it.
func inPairs[F Float](p rowsProduct, next, cols int) {
	var copied [lowPanel * columnsInTurn]F
	size, of := int(unsafe.Sizeof(copied[0])), p
	for first := 0; first < of.n; first += columnsInTurn {
		n := min(columnsInTurn, of.n-first)
		for i := range of.m {
			for k := range n {
				place := i*of.down + (first+k+1)/2*next + (first+k)/2*of.across
				copied[i*columnsInTurn+k] = *at((*F)(of.w), place)
			}
		}
		p.w, p.down, p.across, p.n = unsafe.Pointer(&copied), columnsInTurn, 1, n
		p.z, p.add = unsafe.Add(of.z, first*of.ldz*size), of.add || first > 0
		p.compute(cols, size == 4)
	}
}
