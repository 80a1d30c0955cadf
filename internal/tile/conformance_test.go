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

// This is the one test suite of the dense operations. The tiles of every CPU tier, and
// package blas over them, are held to the same definitions: any shape, stride and
// alignment, guard words around everything, the error bound n eps sum |a||b| against a
// compensated reference, and the NaN, infinities and denormals of IEEE arithmetic.

// Ops is an implementation of the operations. Fields may be nil.
type Ops struct {
	MulBasis     func(a []float64, lda int, x []float64, ldx int, u []float64, ldu int, n, d, r int, h tile.Hint)
	MulBasis32   func(a []float64, lda int, x []float32, ldx int, u []float64, ldu int, n, d, r int, h tile.Hint)
	PackBasis    func(p, u []float64, ldu, d, r int)
	MulPacked    func(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, h tile.Hint)
	LeastSquares func(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64)

	Orthogonalize func(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64)

	Residual        func(e, a []float64, lda int, b, y []float64, n, r int) float64
	MulTransposed   func(g, x []float64, ldx int, e []float64, n, d int, h tile.Hint)
	MulTransposed32 func(g []float64, x []float32, ldx int, e []float64, n, d int, h tile.Hint)
	RankUpdate      func(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int)
	SolveUpper      func(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int)
	Rotate          func(z []float64, ldz int, c, s []float64, n int)
	Combine         func(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int)

	Panel       func(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, columns int, add bool)
	Transpose   func(dst []float64, ldd int, src []float64, lds, m, n int)
	RowDots     func(sums, a []float64, lda int, x []float64, m, n int)
	AddRows     func(y, a []float64, lda int, b []float64, m, n int)
	AddOuter    func(a []float64, lda int, b, y []float64, m, n int)
	Panel32     func(c []float32, ldc int, w []float32, ldw int, z []float32, ldz, m, n, columns int, add bool)
	Transpose32 func(dst []float32, ldd int, src []float32, lds, m, n int)
	RowDots32   func(sums, a []float32, lda int, x []float32, m, n int)
	AddRows32   func(y, a []float32, lda int, b []float32, m, n int)
	AddOuter32  func(a []float32, lda int, b, y []float32, m, n int)
}

// A shape is what an operation derives its sizes from.
type shape struct{ n, d, r int }

// operations returns the checks of the operations that an implementation has.
func (o Ops) operations() map[string]func(*run, shape) {
	all := map[string]func(*run, shape){}
	add := func(name string, has bool, f func(*run, shape)) {
		if has {
			all[name] = f
		}
	}
	add("MulBasis", o.MulBasis != nil, mulBasis("MulBasis", o.MulBasis))
	add("MulBasis32", o.MulBasis32 != nil, mulBasis("MulBasis32", o.MulBasis32))
	add("PackBasis", o.PackBasis != nil, o.packBasis)
	add("MulPacked", o.MulPacked != nil, o.mulPacked)
	add("MulTransposed", o.MulTransposed != nil, mulTransposed("MulTransposed", o.MulTransposed))
	add("MulTransposed32", o.MulTransposed32 != nil, mulTransposed("MulTransposed32", o.MulTransposed32))
	add("RankUpdate", o.RankUpdate != nil, o.rankUpdate)
	add("Rotate", o.Rotate != nil, o.rotate)
	add("Panel", o.Panel != nil, panel("Panel", o.Panel))
	add("Panel32", o.Panel32 != nil, panel("Panel32", o.Panel32))
	add("Transpose", o.Transpose != nil, transpose("Transpose", o.Transpose))
	add("Transpose32", o.Transpose32 != nil, transpose("Transpose32", o.Transpose32))
	add("RowDots", o.RowDots != nil, rowDots("RowDots", o.RowDots))
	add("RowDots32", o.RowDots32 != nil, rowDots("RowDots32", o.RowDots32))
	add("AddRows", o.AddRows != nil, addRows("AddRows", o.AddRows))
	add("AddRows32", o.AddRows32 != nil, addRows("AddRows32", o.AddRows32))
	add("AddOuter", o.AddOuter != nil, addOuter("AddOuter", o.AddOuter))
	add("AddOuter32", o.AddOuter32 != nil, addOuter("AddOuter32", o.AddOuter32))
	add("Combine", o.Combine != nil, o.combine)
	add("Residual", o.Residual != nil, o.residual)
	add("LeastSquares", o.LeastSquares != nil, o.leastSquares)
	add("LeastSquares of few columns", o.LeastSquares != nil, o.leastSquaresSmall)
	add("Orthogonalize", o.Orthogonalize != nil, o.setApart)
	add("SolveUpper", o.SolveUpper != nil, o.solveUpper)
	return all
}

// repeats is how many times shapes pairs the sizes: once is enough for a build that
// differs by little from one that is tested more, and for a machine that is emulated.
func repeats() int {
	switch {
	case longtest.Enabled():
		return 6
	case testing.Short():
		return 1
	}
	return 2
}

// test holds an implementation to the definitions on every tier.
func test(t *testing.T, ops Ops, repeats int) {
	tiertest.Every(t, func(t *testing.T) {
		operations := ops.operations()
		for _, name := range slices.Sorted(maps.Keys(operations)) {
			check := operations[name]
			t.Run(name, func(t *testing.T) {
				r := newRun(t, rand.New(rand.NewPCG(1, 2)))
				for i, s := range shapes(r.rng, repeats) {
					r.at = fmt.Sprintf("n = %d, d = %d, r = %d", s.n, s.d, s.r)
					r.value = normal
					// Special values take the same paths; coprime to the pattern of shapes.
					switch i % 7 {
					case 3:
						r.value = special
					case 4:
						r.value = huge
					case 5:
						r.value = tiny
					case 6:
						r.value = small
					}
					if r.try(check, s); t.Failed() {
						return
					}
				}
			})
		}
	})
}

// fuzz does the same for one operation, with shapes and values from the fuzzer.
func fuzz(f *testing.F, ops Ops, name string) {
	check := ops.operations()[name]
	f.Add(uint64(1), uint8(30), uint16(600), uint8(4), uint8(0))
	f.Add(uint64(2), uint8(0), uint16(1), uint8(1), uint8(1))
	f.Add(uint64(3), uint8(51), uint16(97), uint8(10), uint8(2))
	f.Add(uint64(4), uint8(64), uint16(130), uint8(33), uint8(0))
	f.Add(uint64(5), uint8(7), uint16(9), uint8(0), uint8(1))
	f.Add(uint64(6), uint8(27), uint16(1450), uint8(17), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, d uint16, r, values uint8) {
		before := tile.Active()
		defer tile.Use(before)
		s := shape{int(n) % 100, 1 + int(d)%1500, int(r) % 72}
		for _, tier := range tile.Available() {
			if err := tile.Use(tier); err != nil {
				t.Fatal(err)
			}
			// The same numbers for every tier.
			run := newRun(t, rand.New(rand.NewPCG(seed, 3)))
			run.at = fmt.Sprintf("tier %v, n = %d, d = %d, r = %d", tier, s.n, s.d, s.r)
			run.value = []func(*rand.Rand) float64{normal, special, tiny, huge, small}[values%5]
			run.try(check, s)
		}
	})
}

// try runs a check. A read beyond the memory of an operand fails the test rather
// than the process.
func (r *run) try(check func(*run, shape), s shape) {
	r.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			r.Errorf("%s: %v\n%s", r.at, p, debug.Stack())
		}
	}()
	check(r, s)
}

// shapes returns shapes in which every rank up to 20 and around the multiples of 16,
// every number of samples up to 70 and every padded number of features up to 200 occur
// so many times, each time with other sizes beside it, and some large shapes. That is
// every tile, with every tail: tiles differ by rank, their tails by samples and rank.
func shapes(rng *rand.Rand, repeats int) []shape {
	all := []shape{
		{30, 600, 4}, {50, 100, 10}, {25, 128, 5}, {3, 5000, 3}, {70, 64, 70},
		{2, 512, 1}, {9, 4096, 2}, {49, 1030, 7}, {98, 1540, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}, {0, 8, 0},
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
