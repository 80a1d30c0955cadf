//go:build !purego

package tile

import "unsafe"

// A prefetch says which memory a tile brings into the second-level cache while it
// computes. It is cut into streams of equal length that begin at next, next + apart,
// next + 2 apart and so on. With every step, of as many features as a cache line holds
// of the numbers it computes in, the tile prefetches one cache line of each stream; a full
// step then moves all streams on by pace bytes.
//
// Several slow streams are faster than one fast one, because the hardware prefetcher of
// the second-level cache joins in: it follows every stream and has enough time to fetch
// the next line before the tile comes to it. A line that it has not fetched yet occupies
// one of the few line buffers of the first-level cache until memory answers.
type prefetch struct {
	next        uintptr
	apart, pace int
	// more streams: moreStreams times as many for mulTransposed, and twice as many, of half the
	// length, for mulBasis on AVX-512. Each of these moves on by
	// half a line a step, so that two steps in a row prefetch the same line, as happens on
	// AVX2, whose tiles are half as high. The second request makes up for the first where
	// the processor dropped it, as it seems to do under load: reading a task that had been
	// prefetched completely took 7 us instead of 3 (Ice Lake).
	more bool
	// Structs of more than four fields are not kept in registers: to copy this one took 20 ns once.
}

// newPrefetch returns how to prefetch the given number of bytes from next on in so many
// steps. If next is zero there is nothing to prefetch: the tile then
// names the line at here, which is in the cache, over and over.
func newPrefetch[X any](next uintptr, bytes int, steps float64, streams int, more bool, here *X) prefetch {
	if next == 0 || bytes == 0 {
		return prefetch{next: uintptr(unsafe.Pointer(here)), more: more}
	}
	pace := int(float64(bytes)/(steps*float64(streams))+1.99) &^ 1
	return prefetch{next, bytes / streams, pace, more}
}

// basisStreams and gradientStreams return the numbers of streams of mulBasis and of
// mulTransposed, unless they use more, for samples of size bytes: what a step reads of
// float32, and of 16 bits, is half as long as of float64. The generator of the tiles has
// the same numbers.
func basisStreams(size uintptr) int {
	if size == 8 {
		return 3
	}
	return 2
}

func gradientStreams(size uintptr) int {
	if size == 8 {
		return 2
	}
	return 1
}

// line is the size of a cache line.
const line = 64

// requestSteps is how many steps of a row share a round of prefetches in mulTransposed. The generator
// has the same number.
const requestSteps = 8

// moreStreams is how many times as many streams mulTransposed uses where it would have to
// skip lines otherwise.
const moreStreams = 3

// basisPrefetch is newPrefetch for mulBasis, and for mulBasisHalf, which has no tiles for
// twice as many streams.
func basisPrefetch[X any](h Hint, bytes int, steps float64, here *X) prefetch {
	streams := basisStreams(unsafe.Sizeof(*here))
	twice := active == AVX512 && unsafe.Sizeof(*here) > 2 && h.Next != 0 && h.Schedule != nil && h.Twice
	if twice {
		streams *= 2
	}
	return newPrefetch(h.Next, bytes, steps, streams, twice, here)
}

// gradientPrefetch is newPrefetch for mulTransposed.
func gradientPrefetch[X any](next uintptr, bytes int, steps float64, here *X) prefetch {
	streams := gradientStreams(unsafe.Sizeof(*here))
	const padding = 1.1 // of rows, of which the tiles skip some
	more := next != 0 && float64(bytes) > padding*line*steps*float64(streams)
	if more {
		streams *= moreStreams
	}
	return newPrefetch(next, bytes, steps, streams, more, here)
}

// rows returns how many of n rows, during which so many bytes are prefetched, X U takes at a time: what is prefetched too early pushes out what is
// used before.
func (h Hint) rows(n, bytes int) int {
	if h.Next == 0 || h.Schedule == nil || bytes <= h.Ahead {
		return n
	}
	if rows := h.Ahead * n / bytes &^ 3; rows > 0 {
		return rows
	}
	return n
}

// skip returns the hint for the samples after those that prefetch so many bytes.
func (h Hint) skip(bytes int) Hint {
	if h.Next != 0 {
		h.Next += uintptr(bytes)
	}
	return h
}
