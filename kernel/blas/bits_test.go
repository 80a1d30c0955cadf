package blas_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
)

// tierDependent are the operations whose sums still depend on the tier: inner products of rows have as many
// partial sums as a vector has lanes.
var tierDependent = []string{"dot", "nrm2", "gemv", "symv", "trsv"}

// AVX2 and AVX-512 give the same bits: all operations in float32, and in float64 all but the ones of
// tierDependent, and products and systems with one row or column, which call these.
func TestSameBitsOnTiers(t *testing.T) {
	tiers := tile.Available()[1:]
	if len(tiers) < 2 {
		t.Skip("this machine and build have fewer than two tiers with FMA")
	}
	before := tile.Active()
	defer func() {
		if err := tile.Use(before); err != nil {
			t.Error(err)
		}
	}()
	compareTiers(t, tiers, singles(blas.Implementation{}), nil)
	compareTiers(t, tiers, doubles(blas.Implementation{}), tierDependent)
}

func compareTiers[T real](t *testing.T, tiers []tile.Tier, f *api[T], but []string) {
	for _, o := range operations[T]() {
		if slices.Contains(but, o.name) {
			continue
		}
		results := make([][]T, len(tiers))
		for k, tier := range tiers {
			if err := tile.Use(tier); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				s := randomSettings(rng)
				s.m, s.n, s.k = s.m+3, s.n+3, s.k+3
				results[k] = append(results[k], randomResult(rng, f, o, s)...)
			}
		}
		for i, v := range results[0] {
			if w := results[1][i]; !sameBit(v, w) {
				t.Errorf("%s in %T: %v on %v, %v on %v", o.name, v, v, tiers[0], w, tiers[1])
				break
			}
		}
	}
}

// randomResult returns the result of an operation on random operands.
func randomResult[T real](rng *rand.Rand, f *api[T], o operation[T], s settings) []T {
	of, _ := o.shapes(&s, func() int { return 1 })
	var x [3]view[T]
	for p, sh := range of {
		cols := max(sh.cols, 1)
		x[p] = view[T]{make([]T, max(sh.rows*cols, 1)), cols}
		for i := range x[p].data {
			x[p].data[i] = T(rng.NormFloat64())
		}
		if p == 0 && sh.rows == sh.cols {
			for i := range sh.rows {
				x[p].data[i*(cols+1)] += T(sh.rows)
			}
		}
	}
	o.call(f, s, x)
	return x[2].data
}
