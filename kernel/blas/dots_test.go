package blas_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// deepSettings visits products AB' and A'B' of few rows or columns and sums of many terms, of each number of
// rows beside others, and AB, A'B and A'B' of few columns, or of few behind others, with all factors of both.
func deepSettings(visit func(s settings)) {
	shapes := [][2]int{{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 2}, {3, 5}, {3, 9}, {10, 3}, {4, 4}, {5, 6}, {7, 5}, {8, 11},
		{24, 25}, {25, 24}, {33, 40}, {3, 130}, {130, 5}}
	at := 0
	visitNext := func(m, n, k int, tA, tB gblas.Transpose) {
		factors := [][2]float64{{1, 0}, {1, 1}, {-2, 0}, {2, 3}}[at%4]
		visit(settings{m: m, n: n, k: k, tA: tA, tB: tB, alpha: factors[0], beta: factors[1]})
		at++
	}
	for _, shape := range shapes {
		for _, k := range []int{23, 32, 47, 64, 145, 511, 512, 513, 1100} {
			for _, tA := range transposes {
				visitNext(shape[0], shape[1], k, tA, gblas.Trans)
			}
		}
	}
	for n := 2; n <= 9; n++ {
		for _, k := range []int{25, 32, 40, 47, 64, 145, 513} {
			visitNext(64+n, n, k, gblas.NoTrans, gblas.NoTrans)
			visitNext(60+n, n, k, gblas.Trans, transposes[k%2])
			visitNext(60+n, 14+n, k, gblas.NoTrans, gblas.NoTrans)
		}
	}
}

// gemmOf returns the product of matrices.
func gemmOf[T real]() operation[T] {
	all := operations[T]()
	return all[slices.IndexFunc(all, func(o operation[T]) bool { return o.name == "gemm" })]
}

// Products of few rows or columns and deep sums are those of the definition, special values included, on
// every tier, and have the same bits on the tiers with FMA.
func TestDeepProducts(t *testing.T) {
	deepProducts(t, doubles(blas.Implementation{}))
	deepProducts(t, singles(blas.Implementation{}))
}

func deepProducts[T real](t *testing.T, f *api[T]) {
	o, rng := gemmOf[T](), rand.New(rand.NewPCG(95, 96))
	tiertest.Each(t, func(t *testing.T) {
		deepSettings(func(s settings) { tryByDefinition(t, rng, f, o, s, 0) })
	})
	deepSettings(func(s settings) {
		what := fmt.Sprintf("%c%c %d %d %d", s.tA, s.tB, s.m, s.n, s.k)
		onTiers(t, what, func() []T { return randomResult(rand.New(rand.NewPCG(97, 98)), f, o, s) }, sameBit[T])
	})
}

// Deep products have the same bits on one thread and on more.
func TestDeepProductsOnThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f, o := doubles(blas.Implementation{}), gemmOf[float64]()
	for _, s := range []settings{
		{m: 5, n: 613, k: 700, tA: gblas.NoTrans, tB: gblas.Trans, alpha: 1},
		{m: 613, n: 7, k: 1500, tA: gblas.NoTrans, tB: gblas.Trans, alpha: 2},
		{m: 23, n: 301, k: 500, tA: gblas.NoTrans, tB: gblas.Trans, alpha: 1},
		{m: 613, n: 3, k: 500, tA: gblas.NoTrans, tB: gblas.NoTrans, alpha: 1},
		{m: 613, n: 19, k: 500, tA: gblas.NoTrans, tB: gblas.NoTrans, alpha: 1},
	} {
		result := func(threads int) []float64 {
			runtime.GOMAXPROCS(threads)
			return randomResult(rand.New(rand.NewPCG(99, 100)), f, o, s)
		}
		if want, got := result(1), result(3); !slices.Equal(got, want) {
			t.Errorf("%d x %d of depth %d: three threads compute other bits than one", s.m, s.n, s.k)
		}
	}
}
