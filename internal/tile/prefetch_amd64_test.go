//go:build !purego

package tile

import (
	"os"
	"regexp"
	"strconv"
	"strings"
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

// layout returns the size of samples X, how many of them a step takes, and their stride.
func layout[X any](d int) (size, step, ldx int) {
	if size = int(unsafe.Sizeof(*new(X))); size == 2 {
		return size, HalfWidth, StrideHalf(d, size)
	}
	return size, Width, Stride(d)
}

func testPrefetch[X any](t *testing.T) {
	var here X
	few := basisStreams(unsafe.Sizeof(here))
	for n := 2; n <= 40; n++ {
		for _, d := range []int{8, 64, 128, 512, 600} {
			size, step, ldx := layout[X](d)
			d = (d + step - 1) / step * step
			for groups, share := range []int{1: basisShare, 2: 8} {
				if groups == 0 {
					continue
				}
				bytes := n * ldx * size * share / 8
				const start = 1 << 20
				by := Usual(n*ldx*size, size, 1<<30, d, 1)
				k := basisPrefetch(Hint{start, share, by}, bytes, float64(groups*n*d)/float64(4*step), &here)
				streams := few
				if k.more {
					streams *= 2
				}
				fetched := make([]bool, bytes/64+1)
				at := k.next
				for _, height := range heights(n) {
					for range groups * d / step {
						for s := range streams {
							line := (int(at) - start + s*k.apart) / 64
							if line < len(fetched) {
								fetched[line] = true
							}
						}
						at += uintptr(k.pace * height / 4)
					}
				}
				missed := 0
				for i := range bytes / 64 {
					if !fetched[i] {
						missed++
					}
				}
				// Where the stride has padding, the pace is a little more than a line.
				if allowed := 2 * n * (ldx - d) * size / 64; missed > allowed {
					t.Errorf("n = %d, d = %d, %d/8 of the bytes: %d of %d lines are not prefetched", n, d, share, missed, bytes/64)
				}
			}
		}
	}
}

func TestPrefetchCoversEveryLine(t *testing.T) {
	t.Run("float64", testPrefetch[float64])
	t.Run("float32", testPrefetch[float32])
	t.Run("16 bits", testPrefetch[uint16])
}

func testGradientPrefetch[X any](t *testing.T) {
	var here X
	for n := 1; n <= 40; n++ {
		for _, d := range []int{8, 64, 128, 600} {
			size, step, ldx := layout[X](d)
			d = (d + step - 1) / step * step
			for _, eighths := range []int{2, 4, 6} {
				wide, narrow := cut(d/step, maxBlock())
				steps := n * (rounds(wide) + rounds(narrow))
				const start = 1 << 20
				bytes := n * ldx * size * eighths / 8
				k := gradientPrefetch(start, bytes, float64(steps), &here)
				streams := gradientStreams(unsafe.Sizeof(here))
				if k.more {
					streams *= moreStreams
				}
				fetched := make([]bool, bytes/64+1)
				for step := range steps {
					for s := range streams {
						if line := (int(k.next) - start + step*k.pace + s*k.apart) / 64; line < len(fetched) {
							fetched[line] = true
						}
					}
				}
				missed := 0
				for i := range bytes / 64 {
					if !fetched[i] {
						missed++
					}
				}
				if allowed := 2*n*(ldx-d)*size/64 + bytes/64/10; missed > allowed {
					t.Errorf("n = %d, d = %d, %d/8 of the bytes: %d of %d lines are not prefetched", n, d, eighths, missed, bytes/64)
				}
			}
		}
	}
}

func TestGradientPrefetchCoversEveryLine(t *testing.T) {
	t.Run("float64", testGradientPrefetch[float64])
	t.Run("float32", testGradientPrefetch[float32])
	t.Run("16 bits", testGradientPrefetch[uint16])
}

// The generator of the assembly says how many lines a step prefetches, and so does this
// package.
func TestAssemblyPrefetchesAsManyStreams(t *testing.T) {
	function := regexp.MustCompile(`^TEXT ·(mulBasis|sumBlocks|addPanels)(32|Half)?_`)
	loop := regexp.MustCompile(`^(?:(twice|)dot|(more|)[bB]lock|feature)(\d*)(?:Row|):$`)
	for _, file := range []string{"tile_avx2_amd64.s", "tile_avx512_amd64.s"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, at, loops := "", "", 0
		want, lines := 0, 0
		var size uintptr
		for line := range strings.Lines(string(source)) {
			line = strings.TrimSpace(line)
			op, _, _ := strings.Cut(line, " ")
			switch {
			case op == "TEXT":
				name, at, size = "", "", 8
				if f := function.FindStringSubmatch(line); f != nil {
					name = f[1]
					size = map[string]uintptr{"": 8, "32": 4, "Half": 2}[f[2]]
				}
			case name == "":
			case loop.MatchString(line):
				f := loop.FindStringSubmatch(line)
				at, lines = line, 0
				want = basisStreams(size)
				switch name {
				case "sumBlocks":
					width, _ := strconv.Atoi(f[3])
					want = gradientStreams(size) * rounds(groups{0, width, 1})
				case "addPanels":
					want = gradientStreams(size)
				}
				switch f[1] + f[2] {
				case "twice":
					want *= 2
				case "more":
					want *= moreStreams
				}
			case at != "" && strings.HasPrefix(op, "PREFETCH"):
				lines++
			case at != "" && op == "JNZ":
				if loops++; lines != want {
					t.Errorf("%s: %s, %d bytes a feature: loop %s prefetches %d lines, want %d", file, name, size, at, lines, want)
				}
				at = ""
			}
		}
		if loops < 60 {
			t.Errorf("%s: %d loops found", file, loops)
		}
	}
}
