//go:build !purego

package tile

import (
	"fmt"
	"testing"
	"unsafe"
)

// fetched collects the lines that streams of prefetches name, of memory from start on.
type fetched map[int]bool

const start = 1 << 20

func (f fetched) request(next uintptr, k streams, streams int) {
	for s := range streams {
		f[(int(next)-start+s*k.apart)/line] = true
	}
}

// check reports lines of so many bytes that nothing named, but for a few.
func (f fetched) check(t *testing.T, name string, bytes, allowed int) {
	t.Helper()
	missed := 0
	for i := range bytes / line {
		if !f[i] {
			missed++
		}
	}
	if missed > allowed {
		t.Errorf("%s: %d of %d lines are not prefetched", name, missed, bytes/line)
	}
}

func testBasisPrefetch[F Float](t *testing.T) {
	var here F
	size := int(unsafe.Sizeof(here))
	for n := 2; n <= 40; n++ {
		for _, d := range []int{8, 64, 128, 512, 600} {
			ldx := Stride(d)
			for groups, share := range map[int]int{1: basisShare, 2: 8} {
				bytes := n * ldx * size * share / 8
				k := basisStreams(start, bytes, n, groups*d/Width, &here)
				lines, next, left := fetched{}, k.next, n
				for _, height := range []int{4, 2} {
					for ; left >= height || height == 2 && left > 0; left -= height {
						for range groups * d / Width {
							lines.request(next, k, size/streamBytes+1)
							next += uintptr(k.pace * height / 4)
						}
					}
				}
				// Where the stride has padding, the pace is a little more than a line.
				lines.check(t, fmt.Sprintf("n = %d, d = %d, %d/8 of the bytes", n, d, share), bytes,
					2*n*(ldx-d)*size/line)
			}
		}
	}
}

func testGradientPrefetch[F Float](t *testing.T) {
	var here F
	size := int(unsafe.Sizeof(here))
	const eighths = 8 - basisShare
	for n := 1; n <= 40; n++ {
		for _, d := range []int{8, 64, 104, 128, 600} {
			ldx, steps := Stride(d), d/Width
			bytes := n * ldx * size * eighths / 8
			k := gradientStreams(&PrefetchPlan{Gradient: start, Eighths: basisShare}, n*ldx*size, n*rounds(steps),
				&here)
			lines := fetched{}
			for round := range n * requests(steps) {
				lines.request(k.next+uintptr(round*k.pace), k, size/streamBytes)
			}
			lines.check(t, fmt.Sprintf("n = %d, d = %d", n, d), bytes, 2*n*(ldx-d)*size/line+bytes/line/10)
		}
	}
}

// requests returns the rounds of prefetches in a row of blocks.
func requests(steps int) (n int) {
	for ; tiles.lanes == 8 && steps >= 16; steps -= 16 {
		n += 2
	}
	most := tiles.lanes/4*3 + 2 // steps of the last block: 5 on AVX2, 8 on AVX-512
	for ; steps > most; steps -= tiles.lanes {
		n++
	}
	return n + min(1, steps)
}

// What is prefetched has no effect but on speed: only this test notices lines that nothing prefetches.
func TestPrefetchCoversEveryLine(t *testing.T) {
	before := active
	defer Use(before)
	for _, tier := range Available()[1:] {
		if err := Use(tier); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("tier=%v", tier), func(t *testing.T) {
			t.Run("X U, float64", testBasisPrefetch[float64])
			t.Run("X U, float32", testBasisPrefetch[float32])
			t.Run("X'e, float64", testGradientPrefetch[float64])
			t.Run("X'e, float32", testGradientPrefetch[float32])
		})
	}
}

// A product of matrices takes high tiles as long as that computes no more rows in vain than low ones.
func TestPanelRows(t *testing.T) {
	before := tiles.high
	defer func() { tiles.high = before }()
	for _, c := range []struct{ high, left, want int }{
		{12, 1, 4}, {12, 8, 4}, {12, 11, 4}, {12, 12, 12}, {12, 13, 12}, {6, 5, 4}, {6, 6, 6}, {6, 7, 4}, {6, 8, 4},
		{6, 9, 6}, {6, 30, 6},
	} {
		tiles.high = c.high
		if got := panelRowsOf(c.left); got != c.want {
			t.Errorf("%d rows are left, a high tile has %d: %d, want %d", c.left, c.high, got, c.want)
		}
	}
}

// A step of the elimination of 30 x 4 takes the three columns behind it and y as one group, in 4 vectors of
// 8 rows: 128 bytes of each are prefetched.
func TestSolveAhead(t *testing.T) {
	for _, c := range []struct{ n, r, want int }{{30, 4, 3 * 4 * 128}, {30, 1, 0}, {8, 6, (2 + 2 + 1 + 1 + 1) * 128}} {
		if got := SolveAhead(c.n, c.r); got != c.want {
			t.Errorf("%d x %d: %d bytes, want %d", c.n, c.r, got, c.want)
		}
	}
}
