//go:build !purego

package tile

import "unsafe"

// A prefetch is the memory that a tile brings into the second-level cache while it computes. It is cut into
// streams of equal length that begin at next, next + apart, next + 2 apart and so on. With every step, which
// is a cache line of the numbers that it computes in, the tile prefetches one line of each stream, and moves
// all streams on by pace bytes.
//
// Several slow streams are faster than one fast one, because the hardware prefetcher of
// the second-level cache joins in: it follows every stream and has enough time to fetch
// the next line before the tile comes to it. A line that it has not fetched yet occupies
// one of the few line buffers of the first-level cache until memory answers.
type prefetch struct {
	next        uintptr
	apart, pace int
	// Structs of more than four fields are not kept in registers: to copy this one took 20 ns once.
}

// line is the size of a cache line.
const line = 64

// none returns the prefetch of nothing: the line at p, which is in the cache, over and over.
func none[X any](p *X) prefetch { return prefetch{next: uintptr(unsafe.Pointer(p))} }

// newPrefetch returns the prefetch of the given number of bytes from next on, for tiles of four rows that
// take the given number of steps in all.
func newPrefetch(next uintptr, bytes, steps, streams int) prefetch {
	each := steps * streams
	// An even number of bytes, since a block of two rows moves on by half.
	return prefetch{next: next, apart: bytes / streams, pace: ((bytes+each-1)/each + 1) &^ 1}
}

// basisPrefetch returns the prefetch of the given number of bytes while X U takes some steps for each of n
// rows.
func basisPrefetch[F Float](h Hint, bytes, n, steps int, here *F) prefetch {
	if h.Next == 0 || bytes == 0 {
		return none(here)
	}
	return newPrefetch(h.Next, bytes, (n*steps+3)/4, basisStreams(int(unsafe.Sizeof(*here))))
}

// gradientPrefetch returns the prefetch of the share of X'e, given the bytes of its samples and its steps.
func gradientPrefetch[F Float](h Hint, bytes, steps int, here *F) prefetch {
	if bytes = bytes * h.Eighths / 8; h.Next == 0 || bytes == 0 {
		return none(here)
	}
	return newPrefetch(h.Next, bytes, steps, gradientStreams(int(unsafe.Sizeof(*here))))
}

// rows returns how many of n rows X U takes at a time, given the bytes that it prefetches in all: memory that
// is prefetched too early pushes out memory that is used before.
func (h Hint) rows(n, bytes int) int {
	if h.Next == 0 || bytes <= Window {
		return n
	}
	if rows := Window * n / bytes &^ 3; rows > 0 {
		return rows
	}
	return n
}

// skip returns the hint for later samples, after others that prefetch the given number of bytes.
func (h Hint) skip(bytes int) Hint {
	if h.Next != 0 {
		h.Next += uintptr(bytes)
	}
	return h
}
