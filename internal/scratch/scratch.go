// Package scratch has memory that lies in a file without a name: what does not fit in the
// machine's memory the system writes to disk, and reads again when it is asked for.
package scratch

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// ErrMemory is in the chain of the error about a folder whose files are in memory.
var ErrMemory = errors.New("its files are in memory, not on a disk")

// A File is the mapped memory of a file without a name: it vanishes with the process, however that ends, or when nothing
// refers to the File. Its memory must not be used after the last reference to the File (runtime.KeepAlive).
type File struct{ data []byte }

// New makes a file of n bytes, all zero, in a folder. It reserves all of the disk space
// first, so that a disk that is full is an error here and nowhere later.
func New(folder string, n int) (*File, error) {
	data, err := reserve(folder, n)
	if err != nil {
		return nil, fmt.Errorf("%s cannot hold %d bytes of samples: %w", folder, n, err)
	}
	f := &File{data}
	if n > 0 {
		runtime.AddCleanup(f, release, data)
	}
	return f, nil
}

// Numbers returns the memory of a file as numbers.
func Numbers[T float32 | float64](f *File) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(f.data))), len(f.data)/int(unsafe.Sizeof(v)))
}

// Seal makes the memory read only, on Linux and macOS: writing ends the process then.
func (f *File) Seal() {
	if len(f.data) > 0 {
		seal(f.data)
	}
}

// Ahead asks the system to read bytes lo to hi, cut to those that there are. It does not
// wait for them.
func (f *File) Ahead(lo, hi int) {
	if hi = min(hi, len(f.data)); lo < hi {
		ahead(f.data[lo:hi])
	}
}

// Scattered announces reads at random places (true), so that the system reads only the pages that are used, or reads
// from the first byte to the last (false), as after New.
func (f *File) Scattered(yes bool) {
	if len(f.data) > 0 {
		scattered(f.data, yes)
	}
}
