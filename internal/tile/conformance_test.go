package tile_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// This is the one test suite of the dense operations. The tiles of every CPU tier are held to the same
// definitions: any shape, stride and alignment, guard words around everything, the error bound n eps sum
// |a||b| against a compensated reference, and the NaN, infinities and denormals of IEEE arithmetic.

// A shape is what an operation derives its sizes from.
type shape struct{ n, d, r int }

// TestConformance holds every operation to its definition on every tier.
func TestConformance(t *testing.T) {
	repeats := 2 // once is enough for a build that differs by little, and for a machine that is emulated
	switch {
	case longtest.Enabled():
		repeats = 6
	case testing.Short():
		repeats = 1
	}
	conform(t, slices.Sorted(maps.Keys(checks)), func(rng *rand.Rand) []shape { return shapes(rng, repeats) })
}

// The operations of matrices and vectors conform for all tails of rows and entries together, and with -short
// for each of them with others.
func TestVectors(t *testing.T) {
	conform(t, []string{
		"RowDots", "RowDots32", "AddRows", "AddRows32", "AddOuter", "AddOuter32", "AddAbs", "Reflect", "Rotate",
		"SymmetricRows", "SymmetricRows32",
		"RowProducts", "RowProducts32",
		"GrowingRowDots", "GrowingRowDots32", "NarrowColumns", "NarrowColumns32",
		"SumColumns", "SumColumns32", "NarrowRows", "NarrowRows32", "NarrowPairs", "NarrowPairs32",
		"RowDotPairs", "RowDotPairs32", "AddRowPairs", "AddRowPairs32", "AddOuterPairs", "AddOuterPairs32",
		"Span dots", "Span dots32", "Span add", "Span add32", "Span both", "Span both32", "Span outer", "Span outer32",
		"Span solve", "Span solve32",
		"AddScaled", "AddScaled32",
		"InnerProduct", "InnerProduct32", "Squares", "Absolutes", "Absolutes32", "Scale", "Scale32",
		"AddComplex", "AddComplex32", "TimesComplex", "TimesComplex32", "PlaneRotation", "PlaneRotation32",
		"Turn", "Turn32", "Swap", "Swap32", "GatherPairs", "GatherPairs32", "ScalePairs", "ScalePairs32",
		"TurnPairs", "TurnPairs32", "CombinePairs", "CombinePairs32", "SplitPairs", "SplitPairs32",
		"SolveRows", "SolveRows32", "MultiplyRows", "MultiplyRows32",
		"SolveComplexRows", "SolveComplexRows32", "MultiplyComplexRows", "MultiplyComplexRows32",
	}, func(*rand.Rand) (all []shape) {
		for d := 1; d < 70; d++ {
			for i, n := range []int{0, 1, 2, 3, 4, 7, 8, 15, 17 + d%8} {
				if (i+d)%2 == 0 || !testing.Short() {
					all = append(all, shape{n, d, 1})
				}
			}
		}
		return all
	})
}

// sameBits are the operations whose slices have the same bits on every tier. Others show by their rounding
// that a tile is in use.
var sameBits = []string{
	"PackComplex", "PackComplex32", "TransposeComplex", "TransposeComplex32",
	"TurnPairs", "TurnPairs32", "CombinePairs", "CombinePairs32", "SplitPairs", "SplitPairs32",
	"LargestIndex", "LargestIndex32", "LargestPair", "LargestPair32", "PackBasis", "Scale",
	"Scale32", "SumDifferences", "Swap", "Swap32", "Transpose", "Transpose32",
	"GatherPairs", "GatherPairs32", "ScalePairs", "ScalePairs32",
	"CopyRows", "CopyRows32", "CopyPanels", "CopyPanels32",
	"NarrowColumns", "NarrowColumns32", "NarrowRows", "NarrowRows32",
}

// conform holds operations to their definitions on every tier, for some shapes. With -short these are every
// second one, the odd ones for one operation and the even ones for the next.
func conform(t *testing.T, names []string, shapes func(*rand.Rand) []shape) {
	generic := map[string]uint64{} // hashes of what the definitions compute
	tiertest.Every(t, func(t *testing.T) {
		if testing.Short() && tile.Active() == tile.Generic && slices.Contains(tile.Available(), tile.NEON) {
			t.Skip("amd64 holds portable Go to the definitions")
		}
		for index, name := range names {
			t.Run(name, func(t *testing.T) {
				r := newRun(t, rand.New(rand.NewPCG(1, 2)))
				for i, s := range shapes(r.rng) {
					if testing.Short() && (i+index)%2 > 0 {
						continue
					}
					// Special values take the same paths; coprime to the pattern of shapes.
					r.value = values[max(0, i%7-2)]
					if r.try(name, s); t.Failed() {
						return
					}
				}
				switch got := uint64(r.hash); {
				case tile.Active() == tile.Generic:
					generic[name] = got
				case tile.Active() != tile.NEON && (got == generic[name]) != slices.Contains(sameBits, name) &&
					!tile.Race:
					t.Errorf("the bits of all results are those of the definition: %v", got == generic[name])
				}
			})
		}
	})
}

// FuzzConformance does the same for shapes and values from the fuzzer.
func FuzzConformance(f *testing.F) {
	names := slices.Sorted(maps.Keys(checks))
	for op := range names {
		for i, s := range []shape{{30, 600, 4}, {0, 1, 1}, {51, 97, 10}, {64, 130, 33}, {7, 9, 0}, {27, 1450, 17}} {
			f.Add(uint64(i), uint8(op), uint8(s.n), uint16(s.d-1), uint8(s.r), uint8(i%3))
		}
	}
	f.Add(uint64(85), uint8(slices.Index(names, "LeastSquares")), uint8(200), uint16(12), uint8(0), uint8(239))
	f.Fuzz(func(t *testing.T, seed uint64, op, n uint8, d uint16, r, value uint8) {
		before := tile.Active()
		defer tile.Use(before)
		for _, tier := range tile.Available() {
			if err := tile.Use(tier); err != nil {
				t.Fatal(err)
			}
			run := newRun(t, rand.New(rand.NewPCG(seed, 3))) // the same numbers for every tier
			run.value = values[int(value)%len(values)]
			run.try(names[int(op)%len(names)], shape{int(n) % 100, 1 + int(d)%1500, int(r) % 72})
		}
	})
}

// try runs a check. A read beyond the memory of an operand fails the test rather
// than the process.
func (r *run) try(name string, s shape) {
	r.Helper()
	r.at = fmt.Sprintf("%s: tier %v, n = %d, d = %d, r = %d", name, tile.Active(), s.n, s.d, s.r)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			r.Errorf("%s: %v\n%s", r.at, p, debug.Stack())
		}
	}()
	r.operands, r.scratch, r.inputs = nil, nil, nil
	value := r.value
	checks[name](r, s)
	r.value = value
}

// shapes returns shapes in which every rank up to 20 and around the multiples of 16,
// every number of samples up to 70 and every padded number of features up to 200 occur
// so many times, each time with other sizes beside it, and some large shapes. That is
// every tile, with every tail: tiles differ by rank, their tails by samples and rank.
func shapes(rng *rand.Rand, repeats int) []shape {
	all := []shape{
		{30, 600, 4}, {50, 100, 10}, {25, 128, 5}, {3, 5000, 3}, {70, 64, 70},
		{2, 512, 1}, {1, 20, 6}, {1, 90, 12}, {5, 6000, 2}, {9, 4096, 2}, {49, 1030, 7}, {98, 1540, 3}, {0, 1, 1},
		{1, 1, 1}, {1, 1, 0}, {0, 8, 0},
	}
	if !testing.Short() { // they take as long as all others
		all = append(all, shape{64, 2048, 16}, shape{40, 1030, 33}, shape{71, 1450, 9})
	}
	ranks := []int{31, 32, 33, 47, 48, 49, 63, 64, 65, 70}
	for r := range 21 {
		ranks = append(ranks, r)
	}
	for range repeats {
		for _, r := range ranks {
			all = append(all, shape{rng.IntN(71), 1 + rng.IntN(100), r})
		}
		for n := range 71 {
			all = append(all, shape{n, 1 + rng.IntN(80), ranks[rng.IntN(len(ranks))]})
		}
		for d := 0; d < 200; d += tile.Width {
			all = append(all, shape{rng.IntN(20), d + 1 + rng.IntN(tile.Width), rng.IntN(12)})
		}
	}
	// MulPacked takes rows from here on (float64) and from twice as long on (float32) in
	// two pieces, and these numbers of rows by tiles of all heights.
	long := tile.Window / 8 / tile.PackRows
	for _, n := range []int{1, 7, 15, 19} {
		for _, d := range []int{long, 2 * long} {
			all = append(all, shape{n, d + 1 + rng.IntN(80), 13 + rng.IntN(8)})
		}
	}
	// Values that are not normal then come with shapes of every kind.
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
