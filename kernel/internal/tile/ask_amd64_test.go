//go:build !purego

package tile

import (
	"testing"
	"unsafe"
)

// heights returns the heights of the blocks of rows that mulBasis takes, 4 or 2: a row
// or three that are left over are taken together with rows that are done already.
func heights(n int) []int {
	var h []int
	for ; n >= 4; n -= 4 {
		h = append(h, 4)
	}
	switch {
	case n == 3 && len(h) > 0:
		return append(h, 4)
	case n == 3:
		return append(h, 2, 2)
	case n > 0:
		return append(h, 2)
	}
	return h
}

func testAsk[F Float](t *testing.T) {
	var here F
	size := int(unsafe.Sizeof(here))
	few := 3
	if size == 4 {
		few = 2
	}
	for n := 2; n <= 40; n++ {
		for _, d := range []int{8, 64, 128, 512, 600} {
			for groups, share := range []int{1: basisShare, 2: 8} {
				if groups == 0 {
					continue
				}
				ldx := Stride(d)
				bytes := n * ldx * size * share / 8
				const start = 1 << 20
				k := basisAhead(start, bytes, float64(groups*n*d)/(4*Width), &here)
				streams := few
				if k.twice {
					streams *= 2
				}
				asked := make([]bool, bytes/64+1)
				at := k.next
				for _, height := range heights(n) {
					for range groups * d / Width {
						for s := range streams {
							line := (int(at) - start + s*k.apart) / 64
							if line < len(asked) {
								asked[line] = true
							}
						}
						at += uintptr(k.pace * height / 4)
					}
				}
				missed := 0
				for i := range bytes / 64 {
					if !asked[i] {
						missed++
					}
				}
				// Where the stride has padding, the pace is a little more than a line.
				if allowed := 2 * n * (ldx - d) * size / 64; missed > allowed {
					t.Errorf("n = %d, d = %d, %d/8 of the bytes: %d of %d lines are not asked for", n, d, share, missed, bytes/64)
				}
			}
		}
	}
}

func TestAskCoversEveryLine(t *testing.T) {
	t.Run("float64", testAsk[float64])
	t.Run("float32", testAsk[float32])
}
