//go:build !purego

package tile

import "unsafe"

// A prefetch says which memory a tile brings into the second-level cache while it
// computes. It is cut into streams of equal length that begin at next, next + apart,
// next + 2 apart and so on. With every step of eight features the tile prefetches one
// cache line of each stream; a full step then moves all streams on by pace bytes.
//
// Several slow streams are faster than one fast one, because the hardware prefetcher of
// the second-level cache joins in: it follows every stream and has enough time to fetch
// the next line before the tile comes to it. A line that it has not fetched yet occupies
// one of the few line buffers of the first-level cache until memory answers.
type prefetch struct {
	next        uintptr
	apart, pace int
	twice       bool // twice as many streams, of half the length: mulBasis on AVX-512 only
}

// twiceFrom is the number of bytes from which on mulBasis on AVX-512 uses twice as many
// streams. Each then moves on by half a line a step, so that two steps in a row prefetch
// the same line, as happens on AVX2, whose tiles are half as high. The second request
// makes up for the first where the processor dropped it, as it seems to do under load:
// reading a task that had been prefetched completely took 7 us instead of 3 (Ice Lake).
// Below this size the streams would be too short to be followed.
const twiceFrom = 48 << 10

// newPrefetch returns how to prefetch the given number of bytes from next on in so many
// steps of eight features. If next is zero there is nothing to prefetch: the tile then
// names the line at here, which is in the cache, over and over.
func newPrefetch[F Float](next uintptr, bytes int, steps float64, streams int, here *F) prefetch {
	if next == 0 {
		return prefetch{next: uintptr(unsafe.Pointer(here))}
	}
	pace := int(float64(bytes)/(steps*float64(streams))+1.99) &^ 1
	return prefetch{next: next, apart: bytes / streams, pace: pace}
}

// basisStreams and gradientStreams return the numbers of streams of mulBasis, unless it
// uses twice as many, and of mulTransposed, for samples of size bytes: eight float32
// are half as long as eight float64. The generator of the tiles has the same numbers.
func basisStreams(size uintptr) int {
	if size == 4 {
		return 2
	}
	return 3
}

func gradientStreams(size uintptr) int {
	if size == 4 {
		return 1
	}
	return 2
}

// basisPrefetch is newPrefetch for mulBasis.
func basisPrefetch[F Float](next uintptr, bytes int, steps float64, here *F) prefetch {
	streams := basisStreams(unsafe.Sizeof(*here))
	twice := active == AVX512 && next != 0 && bytes >= twiceFrom
	if twice {
		streams *= 2
	}
	k := newPrefetch(next, bytes, steps, streams, here)
	k.twice = twice
	return k
}

// gradientPrefetch is newPrefetch for mulTransposed.
func gradientPrefetch[F Float](next uintptr, bytes int, steps float64, here *F) prefetch {
	return newPrefetch(next, bytes, steps, gradientStreams(unsafe.Sizeof(*here)), here)
}
