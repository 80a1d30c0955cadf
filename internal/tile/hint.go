package tile

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
