package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/blas/gonum"

	gonumblas "gonum.org/v1/gonum/blas"
)

// A sharedCall is a call of level 1 or 2 that several threads share. It overwrites its operands, and returns
// a sum.
type sharedCall struct {
	name string
	call func(b sharedAPI, o *sharedOperands) float64
}

// A sharedAPI has the routines of all types.
type sharedAPI interface {
	gonumblas.Float64
	gonumblas.Float32
	gonumblas.Complex128
	gonumblas.Complex64
}

// sharedOperands are a matrix and two vectors of each type.
type sharedOperands struct {
	a, x, y    []float64
	a32        []float32
	x32, y32   []float32
	az, xz, yz []complex128
	ac, xc, yc []complex64
}

const (
	sharedRows, sharedColumns, sharedStride = 411, 437, 441
	sharedLength                            = 150_003 // of vectors
)

// operandsOf returns the operands of the type of a routine.
func operandsOf(routine string, numbers []float64) *sharedOperands {
	o, a, x := new(sharedOperands), numbers[:2*sharedColumns*sharedStride], numbers[:2*sharedLength]
	y := numbers[len(numbers)-2*sharedLength:]
	switch routine[0] {
	case 'D':
		o.a, o.x, o.y = slices.Clone(a), slices.Clone(x), slices.Clone(y)
	case 'S':
		o.a32, o.x32, o.y32 = singlesOf(a), singlesOf(x), singlesOf(y)
	default:
		for _, v := range [][]float64{a, x, y} {
			var z []complex128
			var c []complex64
			for k := 0; k < len(v); k += 2 {
				z, c = append(z, complex(v[k], v[k+1])), append(c, complex64(complex(v[k], v[k+1])))
			}
			o.az, o.xz, o.yz = o.xz, o.yz, z
			o.ac, o.xc, o.yc = o.xc, o.yc, c
		}
	}
	return o
}

func singlesOf(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

// all returns the operands of the type of a routine, and a sum, as numbers.
func (o *sharedOperands) all(routine string, sum float64) []float64 {
	got := []float64{sum}
	switch routine[0] {
	case 'D':
		return slices.Concat(got, o.a, o.x, o.y)
	case 'S':
		for _, v := range slices.Concat(o.a32, o.x32, o.y32) {
			got = append(got, float64(v))
		}
	case 'Z':
		for _, v := range slices.Concat(o.az, o.xz, o.yz) {
			re, im := parts(v)
			got = append(got, re, im)
		}
	case 'C':
		for _, v := range slices.Concat(o.ac, o.xc, o.yc) {
			re, im := parts(v)
			got = append(got, re, im)
		}
	}
	return got
}

// TestSharedVectors: level 1 and 2 have the bits of one thread on several, and gonum's results.
func TestSharedVectors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	defer blas.HelpBrief()()
	threads := []int{2, 3, 8}
	if testing.Short() {
		threads = []int{3}
	}
	rng, numbers := rand.New(rand.NewPCG(61, 5)), make([]float64, 2*(sharedColumns*sharedStride+sharedLength))
	for k := range numbers {
		numbers[k] = rng.NormFloat64()
	}
	calls := sharedCalls()
	if testing.Short() { // both precisions share one code
		calls = slices.DeleteFunc(calls, func(c sharedCall) bool { return c.name[0] == 'S' || c.name[0] == 'C' })
	}
	want := make([][]float64, len(calls))
	result := func(c sharedCall, b sharedAPI) []float64 {
		o := operandsOf(c.name, numbers)
		sum := c.call(b, o)
		return o.all(c.name, sum)
	}
	for i, c := range calls {
		want[i] = result(c, reference.Implementation{})
	}
	tiertest.Each(t, func(t *testing.T) {
		for i, c := range calls {
			runtime.GOMAXPROCS(1)
			one := result(c, blas.Implementation{})
			if err := near(one, want[i]); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, threads := range threads {
				runtime.GOMAXPROCS(threads)
				for k, v := range result(c, blas.Implementation{}) {
					if math.Float64bits(v) != math.Float64bits(one[k]) {
						t.Fatalf("%s: number %d is %v on %d threads, %v on one", c.name, k, v, threads, one[k])
					}
				}
			}
		}
	})
}

// near returns an error for the first number that differs by more than the rounding of float32.
func near(got, want []float64) error {
	for k, v := range got {
		if !(math.Abs(v-want[k]) <= 1e-3*(1+math.Abs(want[k]))) {
			return fmt.Errorf("number %d is %v, want %v", k, v, want[k])
		}
	}
	return nil
}

// TestSharedSums: a large transposed matrix has the bits of one thread on several, which add sums of some
// rows each, and gonum's results, for y that begins within a line of a cache.
func TestSharedSums(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const m, n = 611, 901
	rng := rand.New(rand.NewPCG(61, 7))
	a, x, y := random(rng, m, n, 2), random(rng, 1, m, 0).data, random(rng, 1, n+3, 0).data
	product := func(b gonumblas.Float64Level2, threads int) []float64 {
		runtime.GOMAXPROCS(threads)
		to := slices.Clone(y)
		b.Dgemv('T', m, n, 1.5, a.data, a.stride, x, 1, .5, to[3:], 1)
		return to
	}
	want := product(reference.Implementation{}, 1)
	tiertest.Each(t, func(t *testing.T) {
		one := product(blas.Implementation{}, 1)
		for k, v := range one {
			if !(math.Abs(v-want[k]) <= 1e-11*(1+math.Abs(want[k]))) {
				t.Fatalf("number %d is %v, want %v", k, v, want[k])
			}
		}
		for _, threads := range []int{2, 3, 8} {
			if got := product(blas.Implementation{}, threads); !slices.Equal(got, one) {
				t.Errorf("other bits on %d threads", threads)
			}
		}
	})
}

// TestLongBriefProductsHaveHelpers: a product that one thread computes in 130 us begins soon after the
// product before if that began 140 us before it; a product of 2 us does not.
func TestLongBriefProductsHaveHelpers(t *testing.T) {
	if after := 140 * time.Microsecond; !blas.IsSoon(after, 4_000_000) || blas.IsSoon(after, 150_000) {
		t.Error("the time that a product takes does not count")
	}
}

// TestSharedProducts: products, also by triangles, and triangles of products have the bits of one thread if
// several pack the right factor together, in one piece or in several, if the factor is too deep for it, and
// in a brief product, in both precisions and with complex numbers.
func TestSharedProducts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	defer blas.HelpBrief()()
	rng := rand.New(rand.NewPCG(61, 6))
	ours := blas.Implementation{}
	shapes := []struct{ m, n, k int }{
		{61, 18, 289}, {101, 69, 67}, {211, 259, 263}, {197, 531, 4001}, {197, 150, 8200},
	}
	if testing.Short() {
		shapes = shapes[:4]
	}
	for _, s := range shapes {
		a, b := random(rng, s.m, s.k, 0).data, random(rng, s.k, s.n, 0).data
		a32, b32 := singlesOf(a), singlesOf(b)
		az, bz := make([]complex128, s.m*s.k), make([]complex128, s.k*s.n)
		for i, v := range a {
			az[i] = complex(v, -v/3)
		}
		for i, v := range b {
			bz[i] = complex(v/7, v)
		}
		products := func() (c []float64, c32 []float32, cz []complex128) {
			c, c32, cz = make([]float64, s.m*s.n), make([]float32, s.m*s.n), make([]complex128, s.m*s.n)
			ours.Dgemm('T', 'N', s.m, s.n, s.k, 1, a, s.m, b, s.n, 0, c, s.n)
			ours.Dgemm('N', 'T', s.m, s.n, s.k, 2, a, s.k, b, s.k, 1, c, s.n)
			ours.Sgemm('N', 'N', s.m, s.n, s.k, 1, a32, s.k, b32, s.n, 0, c32, s.n)
			ours.Zgemm('C', 'N', s.m, s.n, s.k, 1i, az, s.m, bz, s.n, 0, cz, s.n)
			upper, lower := make([]float64, s.m*s.m), make([]float64, s.m*s.m)
			ours.Dsyrk('U', 'N', s.m, s.k, 1, a, s.k, 0, upper, s.m)
			ours.Dsyr2k('L', 'T', s.m, s.k, 1, a, s.m, a, s.m, 0, lower, s.m)
			ours.Dtrmm('L', 'U', 'T', 'N', s.m, s.n, 1, upper, s.m, c, s.n)
			ours.Dtrmm('R', 'L', 'N', 'N', s.n, s.m, 1, lower, s.m, c, s.m)
			return slices.Concat(c, upper, lower), c32, cz
		}
		tiertest.Each(t, func(t *testing.T) {
			runtime.GOMAXPROCS(1)
			c, c32, cz := products()
			for _, threads := range []int{2, 3} { // three have too few rows to pack the factor together
				runtime.GOMAXPROCS(threads)
				d, d32, dz := products()
				if !slices.Equal(c, d) || !slices.Equal(c32, d32) || !slices.Equal(cz, dz) {
					t.Errorf("%d x %d, depth %d: other bits on %d threads", s.m, s.n, s.k, threads)
				}
			}
		})
	}
}
