package tile

import "unsafe"

// A PrefetchPlan is the memory that the tiles bring into the second-level cache while they compute with some
// samples: from each address on, which need not be readable, and nothing if it is zero. No plan (nil) is a
// plan of zeros.
type PrefetchPlan struct {
	Basis    uintptr // during X U: Eighths of the bytes of the samples
	Eighths  int     // 0 to 8
	Solve    uintptr // during the least squares: SolveAhead bytes
	Gradient uintptr // during X'e: the other eighths
}

// ofBasis returns the address and the eighths for X U.
func (p *PrefetchPlan) ofBasis() (next uintptr, eighths int) {
	if p == nil {
		return 0, 0
	}
	return p.Basis, p.Eighths
}

// ofGradient returns the address and the eighths for X'e.
func (p *PrefetchPlan) ofGradient() (next uintptr, eighths int) {
	if p == nil {
		return 0, 0
	}
	return p.Gradient, 8 - p.Eighths
}

// Window limits how many bytes ahead of their use samples are prefetched: enough to cover the latency of
// memory, and a small part of the second-level cache. Within a window the order of the requests does not
// matter.
const Window = 64 << 10

// While a task is computed the tiles prefetch the samples that are used next, as many bytes as the task has.
// basisShare is how many eighths of them MulBasis prefetches for a group of up to maxDots columns;
// MulTransposed prefetches the eighths that are left. MulBasis has the larger share since it has more
// arithmetic to hide the transfer behind: MulTransposed runs at the speed of the second-level cache already.
const basisShare = 6

// Eighths returns how many eighths of a task X U on a basis of rank r prefetches: basisShare for each group
// of columns, at most 8, and 8 with a packed basis.
func Eighths(r int, packed bool) int {
	if packed {
		return 8
	}
	return min(8, (r+maxDots-1)/maxDots*basisShare)
}

// streams are the memory that a tile brings into the second-level cache while it computes. They have equal
// lengths and begin at next, next + apart, next + 2 apart and so on. A step is a cache line of the numbers
// that the tile computes with. With every step it prefetches one line of each stream, and moves all streams
// on by pace bytes.
//
// Several slow streams are faster than one fast one, because the hardware prefetcher of
// the second-level cache joins in: it follows every stream and has enough time to fetch
// the next line before the tile comes to it. A line that it has not fetched yet occupies
// one of the few line buffers of the first-level cache until memory answers.
type streams struct {
	next        uintptr
	apart, pace int
	// Structs of more than four fields are not kept in registers: to copy this one took 20 ns once.
}

// line is the size of a cache line.
const line = 64

// nothing returns streams for a tile that should prefetch nothing: the line at here, which is in the cache,
// over and over.
func nothing[F Float](here *F) streams { return streams{next: uintptr(unsafe.Pointer(here))} }

// basisStreams returns the streams of the given number of bytes while X U takes some steps for each of n
// rows.
func basisStreams[F Float](next uintptr, bytes, n, steps int, here *F) streams {
	return newStreams(next, bytes, (n*steps+3)/4, int(unsafe.Sizeof(*here))/streamBytes+1, here)
}

// gradientStreams returns the streams of X'e, given its plan, the bytes of its samples and its steps.
func gradientStreams[F Float](p *PrefetchPlan, bytes, steps int, here *F) streams {
	next, eighths := p.ofGradient()
	return newStreams(next, bytes*eighths/8, steps, int(unsafe.Sizeof(*here))/streamBytes, here)
}

// newStreams returns the streams of the given number of bytes from next on. They serve tiles of four rows
// that take the given number of steps in all.
func newStreams[F Float](next uintptr, bytes, steps, count int, here *F) streams {
	if next == 0 || bytes == 0 {
		return nothing(here)
	}
	each := steps * count
	// An even number of bytes, since a block of two rows moves on by half.
	return streams{next: next, apart: bytes / count, pace: ((bytes+each-1)/each + 1) &^ 1}
}

// rowsAhead returns how many of n rows X U takes at a time if it prefetches the given number of bytes in all:
// memory that is prefetched too early pushes out memory that is used before.
func rowsAhead(next uintptr, n, bytes int) int {
	if next == 0 || bytes <= Window {
		return n
	}
	if rows := Window * n / bytes &^ 3; rows > 0 {
		return rows
	}
	return n
}

// after returns the address behind the given number of bytes from next on, 0 if next is 0.
func after(next uintptr, bytes int) uintptr {
	if next == 0 {
		return 0
	}
	return next + uintptr(bytes)
}
