package blas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// AVX2 and AVX-512 give the same bits: all operations, of complex numbers too, and what LAPACK makes of them.
func TestSameBitsOnTiers(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		tiersOfReal(t, singles(blas.Implementation{}))
		tiersOfReal(t, doubles(blas.Implementation{}))
	})
	t.Run("complex", func(t *testing.T) {
		tiersOfComplex(t, complex128s(blas.Implementation{}))
		tiersOfComplex(t, complex64s(blas.Implementation{}))
	})
	t.Run("lapack", tiersOfLapack)
}

// onTiers calls f on every tier with FMA, and compares the results.
func onTiers[T comparable](t *testing.T, what string, f func() []T, same func(a, b T) bool) {
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
	var want []T
	for k, tier := range tiers {
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		got := f()
		if k == 0 {
			want = got
		}
		for i, v := range got {
			if !same(v, want[i]) {
				t.Errorf("%s: result %d is %v on %v, %v on %v", what, i, want[i], tiers[0], v, tier)
				break
			}
		}
	}
}

func tiersOfReal[T real](t *testing.T, f *api[T]) {
	for _, o := range operations[T]() {
		onTiers(t, fmt.Sprintf("%s in %T", o.name, T(0)), func() (results []T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 100 {
				s := randomSettings(rng)
				if i%10 == 0 { // several blocks
					s.m, s.n, s.k = 3*s.m+rng.IntN(90), 3*s.n+rng.IntN(90), 3*s.k+rng.IntN(90)
				}
				s.m, s.n, s.k = s.m+1, s.n+1, s.k+1
				results = append(results, randomResult(rng, f, o, s)...)
			}
			return results
		}, sameBit[T])
	}
}

func tiersOfComplex[T complexNumber](t *testing.T, ours complexAPI[T]) {
	for _, r := range complexRoutines[T]() {
		onTiers(t, fmt.Sprintf("%s in %T", r.name, T(0)), func() (results []T) {
			rng := rand.New(rand.NewPCG(61, 3))
			for i := range 40 {
				s := randomCall(rng, &r, sizesFrom(rng, 10+i))
				got, panicked := s.outcome(ours, &r)
				if panicked != "" {
					t.Fatalf("%s: panic %q", r.name, panicked)
				}
				results = append(results, got...)
			}
			return results
		}, func(a, b T) bool {
			re, im := parts(a)
			return sameParts(re, im, b)
		})
	}
}

// tiersOfLapack compares routines on the shapes of TestAsGonum, and the decompositions of package mat.
func tiersOfLapack(t *testing.T) {
	for name, r := range routines {
		onTiers(t, name, func() (results []float64) {
			rng := rand.New(rand.NewPCG(81, 82))
			for range 60 {
				s := randomSettings(rng)
				operands := r.operands(rng, &s, func() int { return 0 })
				x, values, _ := trial{operands, s, blas.Lapack{}}.outcome(r.call)
				for _, m := range x {
					results = append(results, m.data...)
				}
				results = append(results, values...)
			}
			return results
		}, sameBit[float64])
	}
	defer restore()()
	blas.Use()
	for _, n := range []int{3, 10, 33, 70, 130} {
		onTiers(t, fmt.Sprintf("decompositions of order %d", n), func() []float64 { return decompose(n) },
			sameBit[float64])
	}
}

// decompose returns singular and eigenvalues, and vectors, of random matrices of an order.
func decompose(n int) []float64 {
	l := &workloadList{rng: rand.New(rand.NewPCG(uint64(n), 5))}
	a, tall := l.dense(n, n), l.dense(2*n+3, n)
	var symmetric mat.EigenSym
	symmetric.Factorize(l.positive(n), true)
	results := symmetric.Values(nil)
	var vectors, u, v, inverse mat.Dense
	symmetric.VectorsTo(&vectors)
	for _, m := range []*mat.Dense{a, tall} {
		var svd mat.SVD
		svd.Factorize(m, mat.SVDThin)
		svd.UTo(&u)
		svd.VTo(&v)
		results = append(append(append(results, svd.Values(nil)...), u.RawMatrix().Data...), v.RawMatrix().Data...)
		u.Reset()
		v.Reset()
	}
	check(inverse.Inverse(a))
	var eigen mat.Eigen
	eigen.Factorize(a, mat.EigenRight)
	for _, value := range eigen.Values(nil) {
		re, im := parts(value)
		results = append(results, re, im)
	}
	return append(append(results, inverse.RawMatrix().Data...), vectors.RawMatrix().Data...)
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
