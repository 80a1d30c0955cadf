//go:build race

package tile

import (
	"runtime"
	"unsafe"
)

// Race reports whether this build has the race detector.
const Race = true

// The race detector does not see the reads and writes of assembly. raceRead and raceWrite report them: count
// vectors of n entries, ld apart. In other builds they do nothing.

func raceRead[T any](m []T, count, n, ld int) {
	for i := range count {
		if n > 0 {
			runtime.RaceReadRange(unsafe.Pointer(&m[i*ld]), n*int(unsafe.Sizeof(m[0])))
		}
	}
}

func raceWrite[T any](m []T, count, n, ld int) {
	for i := range count {
		if n > 0 {
			runtime.RaceWriteRange(unsafe.Pointer(&m[i*ld]), n*int(unsafe.Sizeof(m[0])))
		}
	}
}
