package tiertest

import (
	"syscall"
	"testing"
	"unsafe"
)

// Guarded returns n float64, rounded up to whole pages, between two pages that cannot be read.
func Guarded(t testing.TB, n int) []float64 {
	page := syscall.Getpagesize()
	size := (8*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, page+size+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, end := range [][]byte{mem[:page], mem[page+size:]} {
		if err := syscall.Mprotect(end, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&mem[page])), size/8)
}
