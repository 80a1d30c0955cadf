package tile

import "unsafe"

// apartTogether is the number of pairs that the tiles of pairs apart take at a time.
const apartTogether = 4

// GatherPairs copies n pairs of numbers to dst, where they are beside each other. In src they are inc pairs
// apart, inc >= 1.
func GatherPairs[F Float](dst, src []F, inc, n int) {
	raceRead(src, n, 2, 2*inc)
	raceWrite(dst, 1, 2*n, 0)
	whole := 0 // pairs that the tile takes
	if tiles.gatherPairs[0] != 0 && n >= apartTogether {
		whole = n &^ (apartTogether - 1)
		_, _ = dst[2*whole-1], src[2*inc*(whole-1)+1]
		step := 2 * inc * int(unsafe.Sizeof(F(0)))
		gatherPairsTile(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), step, whole, of[F](0))
	}
	for k := whole; k < n; k++ {
		*(*[2]F)(dst[2*k:]) = *(*[2]F)(src[2*inc*k:])
	}
}

// ScalePairs multiplies n pairs of numbers by a number. They are inc pairs apart, inc >= 1.
func ScalePairs[F Float](x []F, inc, n int, by F) {
	raceWrite(x, n, 2, 2*inc)
	whole := 0 // pairs that the tile takes
	if tiles.scalePairs[0] != 0 && n >= apartTogether {
		whole = n &^ (apartTogether - 1)
		_ = x[2*inc*(whole-1)+1]
		step := 2 * inc * int(unsafe.Sizeof(F(0)))
		scalePairsTile(unsafe.Pointer(&x[0]), unsafe.Pointer(&by), step, whole, of[F](0))
	}
	for k := whole; k < n; k++ {
		p := (*[2]F)(x[2*inc*k:])
		p[0], p[1] = p[0]*by, p[1]*by
	}
}
