package tile_test

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n float64 that are followed by a page that cannot be read.
func guarded(t testing.TB, n int) []float64 {
	page := syscall.Getpagesize()
	size := (8*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&mem[size-8*n])), n)
}
