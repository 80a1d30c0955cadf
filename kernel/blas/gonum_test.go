package blas_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	checks "github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const eps = 0x1p-52

// rowMajor is a matrix stored by rows, with memory behind each that must stay as it is.
type rowMajor struct {
	rows, cols, stride int
	data               []float64
}

var guardWord = math.Float64frombits(0x7ff8dead_beefcafe)

func guarded(v float64) bool { return math.Float64bits(v) == math.Float64bits(guardWord) }

// random returns a matrix whose rows are gap apart.
func random(rng *rand.Rand, rows, cols, gap int) *rowMajor {
	m := &rowMajor{rows, cols, max(cols+gap, 1), nil}
	m.data = make([]float64, max((rows-1)*m.stride+cols, 0))
	for i := range m.data {
		if m.data[i] = guardWord; i%m.stride < cols {
			m.data[i] = rng.NormFloat64()
		}
	}
	return m
}

// dense returns the matrix without its guards.
func (m *rowMajor) dense() *mat.Dense {
	var d mat.Dense
	d.SetRawMatrix(blas64.General{Rows: m.rows, Cols: m.cols, Stride: m.stride, Data: m.data})
	return &d
}

func (m *rowMajor) clone() *rowMajor {
	c := *m
	c.data = append([]float64(nil), m.data...)
	return &c
}

// unguarded reports whether memory between rows was written.
func (m *rowMajor) unguarded() bool {
	for i, v := range m.data {
		if i%m.stride >= m.cols && !guarded(v) {
			return true
		}
	}
	return false
}

var transposes = []gblas.Transpose{gblas.NoTrans, gblas.Trans}

// shapes have every tail of rows and columns of a tile, and the ends of blocks.
func shapes(rng *rand.Rand) (list [][3]int) {
	list = [][3]int{{96, 16, 256}, {97, 33, 257}, {25, 530, 9}, {24, 520, 13}, {193, 30, 20},
		{1, 50, 513}, {2, 3, 4}, {4, 4, 1}, {1, 1, 3}, {4, 97, 270}, {121, 5, 64}, {12, 48, 512}}
	for n := 1; n <= 49; n++ {
		list = append(list, [3]int{1 + rng.IntN(40), n, 15 + rng.IntN(30)},
			[3]int{n, 20 + rng.IntN(30), 1 + rng.IntN(40)})
	}
	return list
}

var triangles = []gblas.Uplo{gblas.Upper, gblas.Lower}

// outside reports whether an entry is not in a triangle.
func outside(ul gblas.Uplo, i, j int) bool {
	return ul == gblas.Upper && j < i || ul == gblas.Lower && j > i
}

// Use is for the whole program; this test puts back what was.
func TestUse(t *testing.T) {
	before := blas32.Implementation()
	defer blas32.Use(before)
	defer restore()()
	blas.Use()
	if _, ok := blas32.Implementation().(*blas.Registered); !ok {
		t.Errorf("blas32 has %T", blas32.Implementation())
	}
	a := []float64{4, 2, math.NaN(), 2}
	if _, ok := lapack64.Potrf(symmetric(2, a)); !ok || a[0] != 2 || a[1] != 1 || a[3] != 1 {
		t.Errorf("Potrf: %v", a)
	}
}

func symmetric(n int, data []float64) blas64.Symmetric {
	return blas64.Symmetric{N: n, Stride: n, Data: data, Uplo: gblas.Upper}
}

// restore returns what puts back gonum's own implementations.
func restore() func() {
	before, single, pairs := blas64.Implementation(), blas32.Implementation(), cblas128.Implementation()
	return func() {
		blas64.Use(before)
		blas32.Use(single)
		cblas128.Use(pairs)
		lapack64.Use(lapackreference.Implementation{})
	}
}

// level3 calls every operation on matrices of order n, in both precisions, with results in c.
func level3(n int, a, b, c []float64) {
	i := blas.Implementation{}
	i.Dgemm('N', 'T', n, n, n, 0.5, a, n, b, n, 0, c, n)
	i.Dsyrk('U', 'T', n, n, 1, a, n, 1, c, n)
	i.Dsymv('U', n, 1, a, n, b, 1, 0, c, 1)
	i.Dsyr2k('L', 'N', n, n, 1, a, n, b, n, 1, c, n)
	for j := range n {
		c[j*n+j] += float64(n * n)
	}
	blas.Lapack{}.Dpotrf('U', n, c, n)
	i.Dtrsm('R', 'U', 'N', 'N', n, n, 1, c, n, c[n*n:], n)
	i.Dtrsm('L', 'U', 'T', 'N', n, n, 1, c, n, c[n*n:], n)
	i.Dtrmm('R', 'U', 'T', 'U', n, n, 1e-3, c, n, c[n*n:], n)
	i.Dgemm('T', 'N', n, n, n, 1, a, n, b, n, 1, c[n*n:], n)
	i.Dsymm('R', 'U', n, n, 1e-3, a, n, b, n, 1, c[n*n:], n)
	w := level3Pool.Get().(*level3Memory)
	defer level3Pool.Put(w)
	y, tau := w.y[:2*n], w.tau[:n]
	i.Dgemv('N', 2*n, n, 1, c, n, a, 1, 0, y, 1)
	i.Dgemv('T', 2*n, n, 1, c, n, y, 1, 0, tau, 1)
	i.Dger(2*n, n, 1e-3, y, 1, tau, 1, c, n)
	blas.Lapack{}.Dgetrf(n, n, c, n, w.pivots[:n])
	blas.Lapack{}.Dgeqrf(n, n, c[n*n:], n, tau, w.work[:32*n], 32*n)
	for k := range n * n {
		w.a[k], w.b[k], w.c[k] = float32(a[k]), float32(b[k]), 0
	}
	i.Sgemm('N', 'T', n, n, n, 0.5, w.a[:], n, w.b[:], n, 0, w.c[:], n)
	i.Ssyrk('U', 'T', n, n, 1, w.a[:], n, 1, w.c[:], n)
	i.Ssymm('L', 'U', n, n, 1, w.a[:], n, w.b[:], n, 1, w.c[:], n)
	i.Strmm('R', 'L', 'N', 'U', n, n, 1, w.a[:], n, w.c[:], n)
	i.Sgemv('T', n-1, n, 1, w.a[:], n, w.b[:], 2, 1, w.c[:], -1)
	i.Sger(n, n, 1, w.a[:], 2, w.b[:], -2, w.c[:], n)
	for k := range n * n {
		c[k] += float64(w.c[k])
	}
}

// level3Memory is memory of level3 for orders up to 530, which is kept between calls.
type level3Memory struct {
	y      [2 * 530]float64
	tau    [530]float64
	work   [32 * 530]float64
	pivots [530]int

	a, b, c [530 * 530]float32
}

var level3Pool = sync.Pool{New: func() any { return new(level3Memory) }}

// Large products are shared by threads; bits depend neither on how many there are nor on what else computes.
func TestSameBits(t *testing.T) {
	orders, threads := []int{70, 170, 173, 530}, []int{1, 2, 3, 16} // with ends of blocks along all sides
	if testing.Short() {
		orders, threads = []int{70, 173, 290}, []int{1, 3, 16}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(13, 14))
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range orders {
			a, b, start := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, 2*n, n, 0)
			var want []float64
			for _, threads := range threads {
				runtime.GOMAXPROCS(threads)
				var callers sync.WaitGroup
				got := make([][]float64, min(threads, 3))
				for i := range got {
					got[i] = start.clone().data
					callers.Go(func() { level3(n, a.data, b.data, got[i]) })
				}
				callers.Wait()
				if want == nil {
					want = got[0]
				}
				for _, got := range got {
					if !slices.Equal(got, want) {
						t.Fatalf("order %d: other bits on %d threads", n, threads)
					}
				}
			}
		}
	})
}

// Helpers of large products end when none follows, also if several callers share them.
func TestHelpersEnd(t *testing.T) {
	const n = 180
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	before := runtime.NumGoroutine()
	a, b := random(rand.New(rand.NewPCG(15, 16)), n, n, 0), random(rand.New(rand.NewPCG(15, 17)), n, n, 0)
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			c := make([]float64, n*n)
			for range 30 {
				blas.Implementation{}.Dgemm('N', 'N', n, n, n, 1, a.data, n, b.data, n, 0, c, n)
			}
		})
	}
	callers.Wait()
	checks.Goroutines(t, before)
}

// The norm does not overflow on the way, and is NaN if an entry is.
func TestNorms32(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ value, first, norm float32 }{
		{1e30, 1e30, 2e31}, {0x1p-140, 0x1p-140, 20 * 0x1p-140}, {3e38, 3e38, inf}, {0, 0, 0}, {1, -inf, inf},
		{1, nan, nan}, {inf, nan, nan},
	} {
		x := slices.Repeat([]float32{c.value}, 400)
		x[0] = c.first
		got := blas.Implementation{}.Snrm2(400, x, 1)
		if !(math.Abs(float64(got-c.norm)) <= 1e-6*float64(c.norm)+1e-45 || got == c.norm || got != got &&
			c.norm != c.norm) {
			t.Errorf("norm of %v and 399 times %v: %v, want %v", c.first, c.value, got, c.norm)
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
