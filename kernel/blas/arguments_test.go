package blas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// argumentSets is the number of random sets of arguments a routine, precision and tier: 100,000 in long
// tests, and a tenth of that in portable Go, where most routines are gonum's own.
func argumentSets() int {
	switch {
	case longtest.Enabled() && tiled():
		return 100_000
	case longtest.Enabled():
		return 10_000
	case testing.Short():
		return 200
	}
	return 1000
}

// randomArguments returns settings of any kind, most of them small: all tails of tiles, and no entries at
// all.
func randomArguments(rng *rand.Rand) settings {
	s := randomSettings(rng)
	size := func() int {
		switch k := rng.IntN(40); {
		case k == 0:
			return 0
		case k == 1:
			return rng.IntN(90)
		}
		return 1 + rng.IntN([]int{4, 10, 20}[rng.IntN(3)])
	}
	s.m, s.n, s.k = size(), size(), size()
	s.alpha = []float64{1, 1, -1, 0, 2}[rng.IntN(5)]
	s.beta = []float64{0, 0, 1, 3}[rng.IntN(4)]
	return s
}

// Results are right for random arguments of any kind: sizes from 0, strides, increments of both signs,
// triangles, sides, transpositions, diagonals, factors 0, and NaN and infinities among the entries. Nothing
// else is written.
func TestRandomArguments(t *testing.T) {
	wide := operations[float64]()
	for i, o := range operations[float32]() {
		t.Run(o.name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				randomCalls(t, o, newBench(t, 0x1p-24, singles(blas.Implementation{}),
					singles(reference.Implementation{})), 0x1p-8)
				randomCalls(t, wide[i],
					newBench(t, eps, doubles(blas.Implementation{}), doubles(reference.Implementation{})), 0x1p-30)
			})
		})
	}
}

// randomCalls holds half of the calls to the definition, on few values and special ones, and half to gonum's
// results, on normal numbers at the ends of memory.
func randomCalls[T real](t *testing.T, o operation[T], b *bench[T], tolerance float64) {
	for i := range argumentSets() {
		s := randomArguments(b.rng)
		if i%2 == 0 {
			if !tryByDefinition(t, b.rng, b.ours, o, s, tolerance) {
				return
			}
			continue
		}
		if o.kind == mirrored {
			s.diag = gblas.NonUnit
		}
		if s.beta == 3 {
			s.beta = float64(float32(-0.3))
		}
		increments := []int{1, 1, 1, 2, -1, -3}
		if o.kind == solves { // the check multiplies the result as a matrix
			increments = increments[:4]
		}
		of, terms := o.shapes(&s, func() int { return pick(b.rng, increments) })
		x, fit := b.operands(o.kind, of, s)
		if !fit {
			continue
		}
		if err := b.check(o, s, x, terms); err != nil {
			t.Errorf("%+v: %v", s, err)
			return
		}
	}
}
