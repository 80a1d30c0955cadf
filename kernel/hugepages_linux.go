package kernel

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a huge page on the systems that have them by default.
const hugePage = 2 << 20

// adviseHugePages requests huge pages for the memory of x, as far as x covers whole ones: reading the samples
// then misses the translation buffers less often. A system that refuses loses nothing but speed.
func adviseHugePages(x []float64) {
	const madvHugepage = 14
	if len(x) == 0 {
		return
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	lead := -start & (hugePage - 1)
	bytes := uintptr(len(x)) * 8
	if bytes < lead+hugePage {
		return
	}
	n := (bytes - lead) &^ (hugePage - 1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start+lead, n, madvHugepage)
}
