package tile

import "unsafe"

// A Hint is the memory that an operation prefetches while it computes: the given eighths of the bytes of its
// samples, from address Next on, which need not be readable. If Next is zero it prefetches nothing.
type Hint struct {
	Next    uintptr
	Eighths int
}

// Window limits how many bytes ahead of their use samples are prefetched: enough to cover the latency of
// memory, and a small part of the second-level cache. Within a window the order of the requests does not
// matter.
const Window = 64 << 10

// While a task is computed the tiles prefetch what is used next, as many bytes in all as the task has.
// basisShare is the share of a group of up to maxDots columns in MulBasis, in eighths; the rest, if there is
// any, is that of MulTransposed. It is the larger one since MulBasis has more arithmetic to hide the transfer
// behind: MulTransposed is as fast as the second-level cache already.
const basisShare = 6

// Eighths returns how many eighths of a task X U on a basis of rank r prefetches: basisShare for each group
// of columns, or all with a packed basis. The rest is that of X'e.
func Eighths(r int, packed bool) int {
	if packed {
		return 8
	}
	return min(8, (r+maxDots-1)/maxDots*basisShare)
}

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

// basisPrefetch returns the prefetch of the given number of bytes while X U takes some steps for each of n
// rows.
func basisPrefetch[F Float](h Hint, bytes, n, steps int, here *F) prefetch {
	return newPrefetch(h.Next, bytes, (n*steps+3)/4, int(unsafe.Sizeof(*here))/streamBytes+1, here)
}

// gradientPrefetch returns the prefetch of the share of X'e, given the bytes of its samples and its steps.
func gradientPrefetch[F Float](h Hint, bytes, steps int, here *F) prefetch {
	return newPrefetch(h.Next, bytes*h.Eighths/8, steps, int(unsafe.Sizeof(*here))/streamBytes, here)
}

// newPrefetch returns the prefetch of the given number of bytes from next on, for tiles of four rows that
// take the given number of steps in all. Without any, it is the line at here, which is in the cache, over and
// over.
func newPrefetch[F Float](next uintptr, bytes, steps, streams int, here *F) prefetch {
	if next == 0 || bytes == 0 {
		return prefetch{next: uintptr(unsafe.Pointer(here))}
	}
	each := steps * streams
	// An even number of bytes, since a block of two rows moves on by half.
	return prefetch{next: next, apart: bytes / streams, pace: ((bytes+each-1)/each + 1) &^ 1}
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
