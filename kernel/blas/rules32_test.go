package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// With the same arguments as gonum's: panics too.
func TestRefusesFloat32AsGonum(t *testing.T) {
	x := make([]float32, 4096)
	for name, f := range map[string]func(i gblas.Float32){
		"gemm, a":         func(i gblas.Float32) { i.Sgemm('N', 'N', 20, 20, 20, 1, x[:399], 20, x, 20, 0, x, 20) },
		"gemm, stride":    func(i gblas.Float32) { i.Sgemm('N', 'T', 20, 20, 30, 1, x, 30, x, 29, 0, x, 20) },
		"gemm, transpose": func(i gblas.Float32) { i.Sgemm('X', 'N', 20, 20, 20, 1, x, 20, x, 20, 0, x, 20) },
		"syrk, c":         func(i gblas.Float32) { i.Ssyrk('L', 'T', 20, 30, 1, x, 20, 0, x[:399], 20) },
		"syr2k, b":        func(i gblas.Float32) { i.Ssyr2k('L', 'N', 20, 30, 1, x, 30, x[:599], 30, 0, x, 20) },
		"symm, side":      func(i gblas.Float32) { i.Ssymm('X', 'U', 20, 20, 1, x, 20, x, 20, 0, x, 20) },
		"symm, c":         func(i gblas.Float32) { i.Ssymm('L', 'U', 20, 20, 1, x, 20, x, 20, 0, x[:399], 20) },
		"trmm, a":         func(i gblas.Float32) { i.Strmm('L', 'U', 'N', 'N', 20, 30, 1, x[:399], 20, x, 30) },
		"trsm, diag":      func(i gblas.Float32) { i.Strsm('L', 'U', 'N', 'X', 20, 30, 1, x, 30, x, 30) },
		"gemv, x":         func(i gblas.Float32) { i.Sgemv('N', 20, 30, 1, x, 30, x[:29], 1, 0, x, 1) },
		"gemv, y":         func(i gblas.Float32) { i.Sgemv('T', 20, 30, 1, x, 30, x, 1, 0, x[:58], -2) },
		"gemv, inc":       func(i gblas.Float32) { i.Sgemv('N', 20, 30, 1, x, 30, x, 0, 0, x, 1) },
		"gemv, a":         func(i gblas.Float32) { i.Sgemv('N', 20, 30, 1, x[:599], 30, x, 1, 0, x, 1) },
		"ger, y":          func(i gblas.Float32) { i.Sger(20, 40, 1, x, 1, x[:39], 1, x, 40) },
		"ger, a":          func(i gblas.Float32) { i.Sger(20, 40, 1, x, 1, x, 1, x[:799], 40) },
		"dot, y":          func(i gblas.Float32) { i.Sdot(200, x, 1, x[:199], 1) },
		"axpy, x":         func(i gblas.Float32) { i.Saxpy(200, 1, x[:199], 1, x, 1) },
		"nrm2, x":         func(i gblas.Float32) { i.Snrm2(200, x[:199], 1) },
		"asum, n":         func(i gblas.Float32) { i.Sasum(-1, x, 1) },
	} {
		panicOf := func(i gblas.Float32) (msg any) {
			defer func() { msg = recover() }()
			f(i)
			return nil
		}
		want, got := panicOf(reference.Implementation{}), panicOf(blas.Implementation{})
		if want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: panic %v, want %v", name, got, want)
		}
	}
}

// The norm and the sum of absolute values have no overflow on the way, and are NaN if an entry is.
func TestNorms32(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ value, first, norm float32 }{
		{1e30, 1e30, 2e31}, {0x1p-140, 0x1p-140, 20 * 0x1p-140}, {3e38, 3e38, inf}, {0, 0, 0}, {1, -inf, inf}, {1, nan, nan}, {inf, nan, nan},
	} {
		x := slices.Repeat([]float32{c.value}, 400)
		x[0] = c.first
		got := blas.Implementation{}.Snrm2(400, x, 1)
		if !(math.Abs(float64(got-c.norm)) <= 1e-6*float64(c.norm)+1e-45 || got == c.norm || got != got && c.norm != c.norm) {
			t.Errorf("norm of %v and 399 times %v: %v, want %v", c.first, c.value, got, c.norm)
		}
		if sum := (blas.Implementation{}).Sasum(400, x, 1); (sum != sum) != (c.first != c.first) {
			t.Errorf("sum of |%v| and 399 times |%v|: %v", c.first, c.value, sum)
		}
	}
}

// NaN in a row of A makes that row of C NaN, infinity an infinity or NaN, and neither reaches another row.
func TestSgemmNotFinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const m, n, k = 30, 40, 20
		a, b, c := slices.Repeat([]float32{1}, m*k), slices.Repeat([]float32{2}, k*n), make([]float32, m*n)
		a[3*k+5], a[4*k+6] = float32(math.NaN()), float32(math.Inf(-1))
		blas.Implementation{}.Sgemm('N', 'N', m, n, k, 1, a, k, b, n, 0, c, n)
		for i, v := range c {
			want := map[int]float32{3: float32(math.NaN()), 4: float32(math.Inf(-1))}[i/n]
			if want == 0 {
				want = 2 * k
			}
			if v != want && (v == v || want == want) {
				t.Fatalf("row %d is %v, want %v", i/n, v, want)
			}
		}
	})
}

// Bits do not depend on the number of threads, and a call allocates nothing.
func TestFloat32SharesAndKeepsMemory(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const n = 290
	rng := rand.New(rand.NewPCG(13, 14))
	a, b := make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = rng.Float32()-0.5, rng.Float32()-0.5
	}
	var ours blas.Implementation
	calls := func(n int, c []float32) {
		ours.Sgemm('N', 'T', n, n, n, 0.5, a, n, b, n, 0, c, n)
		ours.Ssyrk('U', 'T', n, n, 1, a, n, 1, c, n)
		ours.Ssymm('L', 'U', n, n, 1, a, n, b, n, 1, c, n)
		ours.Strmm('R', 'L', 'N', 'U', n, n, 1, a, n, c, n)
		ours.Sgemv('T', n-1, n, 1, a, n, b, 2, 1, c, -1)
		ours.Sger(n, n, 1, a, 2, b, -2, c, n)
	}
	var want []float32
	for _, threads := range []int{1, 3, 16} {
		runtime.GOMAXPROCS(threads)
		got := make([]float32, n*n)
		calls(n, got)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatalf("other bits on %d threads", threads)
		}
	}
	tiles := tile.Active() == tile.AVX512 || tile.Active() == tile.AVX2 // elsewhere gonum computes, and allocates
	if c := make([]float32, n*n); tiles && !tile.Race && testing.AllocsPerRun(20, func() { calls(70, c) }) >= 1 {
		t.Error("calls on one thread allocate")
	}
}

// Use registers float32 too.
func TestUse32(t *testing.T) {
	before := blas32.Implementation()
	defer blas32.Use(before)
	defer restore()()
	blas.Use()
	if _, ok := blas32.Implementation().(blas.Implementation); !ok {
		t.Errorf("blas32 has %T", blas32.Implementation())
	}
}
