package blas

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A block of the left factor takes at most half of the second-level cache, and a fifth at least, for every
// size that processors have. An unknown cache is one of 1 MB.
func TestBlocksStayInCaches(t *testing.T) {
	heights := map[int]int{256 << 10: 48, 512 << 10: 96, 1 << 20: 192, 1280 << 10: 192, 2 << 20: 192, 0: 192, -1: 192}
	for _, tier := range []tile.Tier{tile.AVX2, tile.AVX512, tile.NEON} {
		for size, height := range heights {
			u := tuningOf(tier, size)
			if u.blockHeight != height || u.blockHeight%tileRows != 0 {
				t.Errorf("%v, %d bytes: blocks of %d rows, want %d", tier, size, u.blockHeight, height)
			}
			if size <= 0 && u.secondLevel != 1<<20 {
				t.Errorf("%v: an unknown cache has %d bytes", tier, u.secondLevel)
			}
			if bytes := blockBytes(u.blockHeight); 2*bytes > u.secondLevel || 5*bytes < u.secondLevel && size < 2<<20 {
				t.Errorf("%v, %d bytes: blocks of %d bytes", tier, size, bytes)
			}
		}
	}
}

// TestSameBitsForAllBlocks computes products, and triangles of them, in blocks of several sizes, as other
// tiers and caches have them.
func TestSameBitsForAllBlocks(t *testing.T) {
	if !vectorized() {
		t.Skip("no tiles for products")
	}
	u := tune()
	before := *u
	defer func() { *u = before }()
	sizes := [][2]int{{192, 2048}, {96, 2048}, {48, 2048}, {12, 16}, {24, 64}, {36, 48}, {1000, 1000}}
	for _, shape := range [][3]int{{37, 53, 70}, {130, 70, 300}, {64, 64, 64}, {25, 200, 33}} {
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				var want, wantSingle []float64
				for _, size := range sizes {
					u.blockHeight, u.blockWidth = size[0], size[1]
					name := fmt.Sprint(shape, string(tA), string(tB), size)
					want = sameAs(t, name, want, products[float64](tA, tB, shape))
					wantSingle = sameAs(t, name+" in float32", wantSingle, products[float32](tA, tB, shape))
				}
			}
		}
	}
}

// TestSameBitsForAllStreams adds outer products to some rows together, and to one after the other.
func TestSameBitsForAllStreams(t *testing.T) {
	if !vectorized() {
		t.Skip("no tiles for outer products")
	}
	u := tune()
	before := *u
	defer func() { *u = before }()
	for _, n := range []int{33, 50, 71} {
		var want, wantPairs, wantSingles []float64
		for _, second := range []int{1 << 20, 1} {
			u.secondLevel = second
			if got := u.oneStream(outerCaches, n*n); got != (second == 1) {
				t.Fatalf("one stream is %v", got)
			}
			name := fmt.Sprintf("n = %d, one stream %v", n, second == 1)
			rng := rand.New(rand.NewPCG(1, 2))
			values := func(n int) (x []float64) {
				for range n {
					x = append(x, rng.NormFloat64())
				}
				return x
			}
			x, y, a, pairs := values(2*n), values(2*n), values(n*n), values(2*n*n)
			ger(true, n, n, .7, x, 1, y, 1, a, n)
			zger(blas.ConjTrans, n, n, .7-.2i, x, 1, y, 1, pairs, n)
			singles := make([]float32, 2*n*n)
			zger(blas.Trans, n, n, .7-.2i, inSingles(x), 1, inSingles(y), 1, singles, n)
			want = sameAs(t, name, want, a)
			wantPairs = sameAs(t, name+" complex", wantPairs, pairs)
			wantSingles = sameAs(t, name+" complex64", wantSingles, inDoubles(singles))
		}
	}
}

func inSingles(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

func inDoubles(x []float32) (y []float64) {
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}

func sameAs(t *testing.T, name string, want, got []float64) []float64 {
	t.Helper()
	if want != nil && !slices.Equal(got, want) {
		t.Errorf("%s: other bits", name)
	}
	return got
}

// products returns products of a shape, and both triangles of one, with all kinds of updates.
func products[F tile.Float](tA, tB blas.Transpose, shape [3]int) (all []float64) {
	m, n, k := shape[0], shape[1], shape[2]
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []F {
		x := make([]F, n)
		for i := range x {
			x[i] = F(rng.NormFloat64())
		}
		return x
	}
	a, b := numbers(max(m, n)*k), numbers(max(m, n)*k)
	for _, part := range []blas.Uplo{blas.All, blas.Upper, blas.Lower} {
		for _, u := range []tile.Update[F]{{Alpha: 1}, {Alpha: 1, Beta: 1}, {Alpha: -1, Beta: 1},
			{Alpha: .3, Beta: -2}} {
			p := product[F]{m: m, n: n, k: k, update: u, c: numbers(n * max(m, n)), ldc: n, part: part}
			p.a, p.b = factor[F]{a, k, tA != blas.NoTrans}, factor[F]{b, n, tB != blas.NoTrans}
			if part != blas.All {
				p.m = n
			}
			if p.a.transposed {
				p.a.stride = p.m
			}
			if p.b.transposed {
				p.b.stride = k
			}
			p.compute()
			for _, v := range p.c {
				all = append(all, float64(v))
			}
		}
	}
	return all
}
