//go:build !purego

package tile

import (
	"fmt"
	"slices"
	"testing"
)

// An operation without a tile is computed by its definition, bit by bit.
func TestMissingTiles(t *testing.T) {
	before := active
	defer Use(before)
	const n, r = 23, 5
	ramp := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1/float64(3+i*i%101) - 0.07
		}
		return x
	}
	a, y, w := ramp(n*r), ramp(n), ramp(2*RotateWidth*n)
	for name, op := range map[string]struct {
		tiles func() []*int
		run   func() []float64
	}{
		"Residual": {func() []*int { return []*int{&tiles.residual} }, func() []float64 {
			e := make([]float64, n)
			return append(e, Residual(e, a, n, w, y, n, r))
		}},
		"LeastSquares": {func() []*int { return []*int{&tiles.leastSquares, &tiles.leastSquares32[1], &tiles.residual} }, func() []float64 {
			b, e := make([]float64, r), make([]float64, n)
			LeastSquares(b, e, a, n, n, r, y, make([]float64, LeastSquaresWork(n, r)), 0)
			return append(b, e...)
		}},
		"RankUpdate": {func() []*int { return []*int{&tiles.rankUpdate[1]} }, func() []float64 {
			g := make([]float64, 24*r)
			RankUpdate(g, 24, w, 24, a, r, 9, n, r)
			return g
		}},
		"SolveUpper": {func() []*int { return []*int{&tiles.solveUpper} }, func() []float64 {
			q := slices.Clone(a)
			SolveUpper(q, n, w, r, y, n, r)
			return q
		}},
		"Rotate": {func() []*int { return []*int{&tiles.rotate} }, func() []float64 {
			z := slices.Clone(w)
			Rotate(z, RotateWidth, y, y, n)
			return z
		}},
		"Panel": {func() []*int { return []*int{&tiles.panel[1]} }, func() []float64 {
			c := make([]float64, n*PackWidth)
			Panel(c, PackWidth, a, r, w, PackWidth, n, r, PackWidth, false)
			return c
		}},
		"SumDifferences": {func() []*int { return []*int{&tiles.sumDifferences} }, func() []float64 {
			sum := make([]float64, 24)
			SumDifferences(sum, w, 24, 2, []int{0, 4, 1}, y, n)
			return sum
		}},
		"ReadSum": {func() []*int { return []*int{&tiles.readSum[1]} }, func() []float64 { return []float64{ReadSum(w, false)} }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Use(Generic); err != nil {
				t.Fatal(err)
			}
			want := op.run()
			for _, tier := range available()[1:] {
				if err := Use(tier); err != nil {
					t.Fatal(err)
				}
				for _, tile := range op.tiles() {
					*tile = 0
				}
				if got := op.run(); !slices.Equal(got, want) {
					t.Errorf("%v: %v, want %v", tier, fmt.Sprint(got), fmt.Sprint(want))
				}
			}
		})
	}
}
