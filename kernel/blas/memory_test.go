package blas

import (
	"testing"
	"unsafe"
)

// TestRoomBesideMemory: memory that is borrowed neither begins nor ends at an edge of a page, where lanes of
// a short vector that are masked would lie in another one. Go puts these lengths at the beginning of a page.
func TestRoomBesideMemory(t *testing.T) {
	const page, room = 4096, 8 * roomOfVectors
	for _, n := range []int{1 << 13, 1 << 14, 20_000, 1 << 17} {
		all := enough(nil, n)
		whole := all[:cap(all)]
		first := uintptr(unsafe.Pointer(&whole[0])) % page
		last := uintptr(unsafe.Pointer(&whole[len(whole)-1])) % page
		if first < room || last+8+room > page {
			t.Errorf("%d numbers begin %d bytes behind the beginning of a page, and end %d before an end",
				n, first, page-last-8)
		}
		if again := enough(all, cap(all)); &again[0] != &all[0] {
			t.Errorf("%d numbers: memory that is large enough was left", n)
		}
	}
}
