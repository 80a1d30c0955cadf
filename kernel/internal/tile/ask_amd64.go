//go:build !purego

package tile

import "unsafe"

// An ask says what a tile prefetches beside its work: with every step of eight
// features a line of each of some streams, apart bytes from each other, the first at
// next; a full step moves all of them on by pace bytes.
//
// Memory comes fastest through the prefetcher of the second-level cache, and that is
// best started by several streams that each go on slowly: a single one, or three
// lines in a row with every step, leaves it too little time before the next line is
// asked for, and each of those then holds a buffer of the first-level cache for as
// long as memory takes.
type ask struct {
	next        uintptr
	apart, pace int
	twice       bool // in twice as many streams, for mulBasis on AVX-512
}

// twiceFrom is from how many bytes on mulBasis asks in twice as many streams on AVX-512,
// each going on by half of a line with a step: a line is then asked for by two steps in
// a row, as it is by tiles of half as many rows on AVX2. Some prefetches into the
// second-level cache seem to get lost under load: what had been asked for in full
// still took 7 us to read afterwards, not 3 (Ice Lake). In fewer bytes the streams would
// be short, and what is in a cache already should not be asked for any more often.
const twiceFrom = 48 << 10

// ahead returns how to ask for the given number of bytes from next on, in streams
// from all over them, in a number of steps of eight features. Without an address it
// asks for here over and over.
func ahead[F Float](next uintptr, bytes int, steps float64, streams int, here *F) ask {
	if next == 0 {
		return ask{next: uintptr(unsafe.Pointer(here))}
	}
	pace := int(float64(bytes)/(steps*float64(streams))+1.99) &^ 1
	return ask{next: next, apart: bytes / streams, pace: pace}
}

// basisStreams and gradientStreams are the lines that the tiles of mulBasis, unless they
// ask in twice as many streams, and of mulTransposed ask for with a step, for samples
// of so many bytes. In single precision eight features of a row have half as many.
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

// basisAhead is ahead for mulBasis.
func basisAhead[F Float](next uintptr, bytes int, steps float64, here *F) ask {
	streams := basisStreams(unsafe.Sizeof(*here))
	twice := active == AVX512 && next != 0 && bytes >= twiceFrom
	if twice {
		streams *= 2
	}
	k := ahead(next, bytes, steps, streams, here)
	k.twice = twice
	return k
}

// gradientAhead is ahead for mulTransposed.
func gradientAhead[F Float](next uintptr, bytes int, steps float64, here *F) ask {
	return ahead(next, bytes, steps, gradientStreams(unsafe.Sizeof(*here)), here)
}
