package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// Sweep reads the given one of equal parts of the packed samples from memory, once
// and as fast as this machine can, and does nothing else: no step takes less time
// than a sweep over all parts by as many workers. A machine may be faster in one
// stream through memory or in several: four selects four. The result only keeps
// the reading from being optimised away.
//
// Measuring the ceiling on the samples themselves matters where they just fit in a
// cache: a second buffer would push them out.
func (t *Tasks) Sweep(part, parts int, four bool) float64 {
	if part < 0 || part >= parts {
		panic(badPart)
	}
	defer t.keep()
	x := t.x64
	if t.storage == Float32 {
		x = unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(t.x32))), len(t.x32)/2)
	}
	x = x[part*len(x)/parts : (part+1)*len(x)/parts]
	return tile.ReadSum(x, four)
}
