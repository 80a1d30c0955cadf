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
}

// ahead returns how to ask for the given number of bytes from next on, in streams
// from all over them, in a number of steps of eight features. Without an address it
// asks for here over and over.
func ahead[F Float](next uintptr, bytes int, steps float64, streams int, here *F) ask {
	if next == 0 {
		return ask{next: uintptr(unsafe.Pointer(here))}
	}
	pace := int(float64(bytes)/(steps*float64(streams))+1.99) &^ 1
	return ask{next, bytes / streams, pace}
}

// basisStreams returns in how many streams mulBasis asks. In single precision eight
// features of four rows have half as many bytes.
func basisStreams[F Float]() int {
	var x F
	if unsafe.Sizeof(x) == 4 {
		return 2
	}
	return 3
}

// gradientStreams returns in how many streams mulTransposed asks.
func gradientStreams[F Float]() int {
	var x F
	if unsafe.Sizeof(x) == 4 {
		return 1
	}
	return 2
}
