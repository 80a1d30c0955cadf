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

// withPairs adds the tiles of pairs and of turned vectors to a table.
func withPairs(o *operations) {
	for _, first := range []int{0, singles} {
		o.addComplex[first], o.timesComplex[first], o.dotComplex[first], o.turn[first] = 1, 1, 1, 1
	}
}

func addComplexTile(y, x, by unsafe.Pointer, n int, index int) {
	if index == singles {
		addComplex32_neon((*float32)(y), (*float32)(x), (*float32)(by), n)
	} else {
		addComplex_neon((*float64)(y), (*float64)(x), (*float64)(by), n)
	}
}

func timesComplexTile(y, by unsafe.Pointer, n int, index int) {
	if index == singles {
		timesComplex32_neon((*float32)(y), (*float32)(by), n)
	} else {
		timesComplex_neon((*float64)(y), (*float64)(by), n)
	}
}

func dotComplexTile(sums, x, y unsafe.Pointer, n int, index int) {
	if index == singles {
		var all [2 * complexBytes / 4]float32
		dotComplex32_neon(&all[0], (*float32)(x), (*float32)(y), n*4/complexBytes)
		halve((*[4]float32)(sums), all[:])
	} else {
		var all [2 * complexBytes / 8]float64
		dotComplex_neon(&all[0], (*float64)(x), (*float64)(y), n*8/complexBytes)
		halve((*[4]float64)(sums), all[:])
	}
}

// halve adds the second half of each half of some sums to the first, until a pair of each is left.
func halve[F Float](to *[4]F, all []F) {
	width := len(all) / 2
	for half := width / 2; half > 1; half /= 2 {
		for k := range half {
			all[k] += all[half+k]
			all[width+k] += all[width+half+k]
		}
	}
	*to = [4]F{all[0], all[1], all[width], all[width+1]}
}

func turnTile(x, y, by unsafe.Pointer, n int, index int) {
	if index == singles {
		turn32_neon((*float32)(x), (*float32)(y), (*float32)(by), n)
	} else {
		turn_neon((*float64)(x), (*float64)(y), (*float64)(by), n)
	}
}

// addComplex_neon adds pairs of n numbers of x to y, times the factors at by, n >= 2.
//
//go:noescape
func addComplex_neon(y, x, by *float64, n int)

//go:noescape
func addComplex32_neon(y, x, by *float32, n int)

// timesComplex_neon overwrites pairs of n numbers by their products with the factors at by, n >= 2.
//
//go:noescape
func timesComplex_neon(y, by *float64, n int)

//go:noescape
func timesComplex32_neon(y, by *float32, n int)

// dotComplex_neon adds products of pairs in blocks of complexBytes to one sum for each number of a block.
// Products with swapped pairs of y go to as many further sums.
//
//go:noescape
func dotComplex_neon(sums, x, y *float64, blocks int)

//go:noescape
func dotComplex32_neon(sums, x, y *float32, blocks int)

// turn_neon sets n numbers of x to a x + b y, and of y to c x + d y, with a, b, c and d at by.
//
//go:noescape
func turn_neon(x, y, by *float64, n int)

//go:noescape
func turn32_neon(x, y, by *float32, n int)
