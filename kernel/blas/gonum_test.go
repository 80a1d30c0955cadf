package blas_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const eps = 0x1p-52

// rowMajor is a matrix stored by rows, with memory behind each that must stay as it is.
type rowMajor struct {
	rows, cols, stride int
	data               []float64
}

var guardWord = math.Float64frombits(0x7ff8dead_beefcafe)

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

func (m *rowMajor) at(i, j int) float64 { return m.data[i*m.stride+j] }

// op is an entry of the matrix, or its transpose.
func (m *rowMajor) op(t gblas.Transpose, i, j int) float64 {
	if t != gblas.NoTrans {
		i, j = j, i
	}
	return m.at(i, j)
}

func (m *rowMajor) clone() *rowMajor {
	c := *m
	c.data = append([]float64(nil), m.data...)
	return &c
}

// unguarded reports whether memory between rows was written.
func (m *rowMajor) unguarded() bool {
	for i, v := range m.data {
		if i%m.stride >= m.cols && math.Float64bits(v) != math.Float64bits(guardWord) {
			return true
		}
	}
	return false
}

// opOf returns a matrix of which op has so many rows and columns.
func opOf(rng *rand.Rand, t gblas.Transpose, rows, cols, gap int) *rowMajor {
	if t != gblas.NoTrans {
		rows, cols = cols, rows
	}
	return random(rng, rows, cols, gap)
}

// An exact sum of products is twice as precise as float64.
type exact struct{ hi, lo, abs float64 }

func (s *exact) add(x, y float64) {
	p := x * y
	t := s.hi + p
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (p - z) + math.FMA(x, y, -p)
	s.hi = t
	s.abs += math.Abs(p)
}

// near reports whether v is the sum to the rounding of n operations.
func (s *exact) near(v float64, n int) bool {
	return math.Abs((s.hi-v)+s.lo) <= float64(n+8)*eps*s.abs
}

var transposes = []gblas.Transpose{gblas.NoTrans, gblas.Trans}

// shapes have every tail of rows and columns of a tile, and the ends of blocks.
func shapes(rng *rand.Rand) (list [][3]int) {
	list = [][3]int{{96, 16, 256}, {97, 33, 257}, {25, 530, 9}, {24, 520, 13}, {193, 30, 20}, {1, 50, 513}, {4, 97, 270}, {121, 5, 64}, {12, 48, 512}}
	for n := 1; n <= 49; n++ {
		list = append(list, [3]int{1 + rng.IntN(40), n, 15 + rng.IntN(30)}, [3]int{n, 20 + rng.IntN(30), 1 + rng.IntN(40)})
	}
	return list
}

func TestGemm(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for at, s := range shapes(rng) {
			m, n, k := s[0], s[1], s[2]
			for _, tA := range transposes {
				for _, tB := range transposes {
					gap := []int{0, 1, 5}[at%3]
					a, b, c := opOf(rng, tA, m, k, gap), opOf(rng, tB, k, n, gap), random(rng, m, n, gap)
					alpha, beta := []float64{1, -1, 0.7}[at%3], []float64{0, 1, -0.3}[at/3%3]
					before := c.clone()
					if beta == 0 {
						c.data[0] = math.NaN() // is not read
					}
					blas.Implementation{}.Dgemm(tA, tB, m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c.data, c.stride)
					if c.unguarded() {
						t.Fatalf("%v %c%c: wrote between rows", s, tA, tB)
					}
					for i := range m {
						for j := range n {
							var want exact
							want.add(beta, before.at(i, j))
							for l := range k {
								want.add(alpha*a.op(tA, i, l), b.op(tB, l, j))
							}
							if !want.near(c.at(i, j), k) {
								t.Fatalf("%v %c%c alpha %g beta %g: entry (%d, %d) is %v, want %v", s, tA, tB, alpha, beta, i, j, c.at(i, j), want.hi)
							}
						}
					}
				}
			}
		}
	})
}

var triangles = []gblas.Uplo{gblas.Upper, gblas.Lower}

// outside reports whether an entry is not in a triangle.
func outside(ul gblas.Uplo, i, j int) bool {
	return ul == gblas.Upper && j < i || ul == gblas.Lower && j > i
}

func TestSyrkAndSyr2k(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for at, s := range shapes(rng) {
			n, k, gap := s[1], s[2], []int{0, 1, 5}[at%3]
			if n > 500 && at != 2 {
				continue
			}
			alpha, beta := []float64{1, -1, 0.7}[at%3], []float64{0, 1, -0.3}[at/3%3]
			for _, ul := range triangles {
				for _, tA := range transposes {
					for _, two := range []bool{false, true} {
						a, b, c := opOf(rng, tA, n, k, gap), opOf(rng, tA, n, k, gap), random(rng, n, n, gap)
						before := c.clone()
						if two {
							blas.Implementation{}.Dsyr2k(ul, tA, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c.data, c.stride)
						} else {
							b = nil
							blas.Implementation{}.Dsyrk(ul, tA, n, k, alpha, a.data, a.stride, beta, c.data, c.stride)
						}
						if c.unguarded() {
							t.Fatalf("%v: wrote between rows", s)
						}
						for i := range n {
							for j := range n {
								if outside(ul, i, j) {
									if c.at(i, j) != before.at(i, j) {
										t.Fatalf("n = %d, k = %d, %c: wrote entry (%d, %d)", n, k, ul, i, j)
									}
									continue
								}
								var want exact
								want.add(beta, before.at(i, j))
								for l := range k {
									if !two {
										want.add(alpha*a.op(tA, i, l), a.op(tA, j, l))
										continue
									}
									want.add(alpha*a.op(tA, i, l), b.op(tA, j, l))
									want.add(alpha*b.op(tA, i, l), a.op(tA, j, l))
								}
								if !want.near(c.at(i, j), 2*k) {
									t.Fatalf("n = %d, k = %d, %c%c: entry (%d, %d) is %v, want %v", n, k, ul, tA, i, j, c.at(i, j), want.hi)
								}
							}
						}
					}
				}
			}
		}
	})
}

// Use is for the whole program; this test puts back what was.
func TestUse(t *testing.T) {
	defer restore()()
	blas.Use()
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
	before := blas64.Implementation()
	return func() {
		blas64.Use(before)
		lapack64.Use(lapackreference.Implementation{})
	}
}

// level3 calls every operation on matrices of order n, with results in c.
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
	w := level3Pool.Get().(*level3Memory)
	defer level3Pool.Put(w)
	y, tau := w.y[:2*n], w.tau[:n]
	i.Dgemv('N', 2*n, n, 1, c, n, a, 1, 0, y, 1)
	i.Dgemv('T', 2*n, n, 1, c, n, y, 1, 0, tau, 1)
	i.Dger(2*n, n, 1e-3, y, 1, tau, 1, c, n)
	blas.Lapack{}.Dgetrf(n, n, c, n, w.pivots[:n])
	blas.Lapack{}.Dgeqrf(n, n, c[n*n:], n, tau, w.work[:32*n], 32*n)
}

// level3Memory is memory of level3 for orders up to 530, which is kept between calls.
type level3Memory struct {
	y      [2 * 530]float64
	tau    [530]float64
	work   [32 * 530]float64
	pivots [530]int
}

var level3Pool = sync.Pool{New: func() any { return new(level3Memory) }}

// Bits do not depend on what else computes.
func TestSameBitsBesideOthers(t *testing.T) {
	const n = 70
	rng := rand.New(rand.NewPCG(11, 12))
	a, b, start := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, 2*n, n, 0)
	tiertest.Each(t, func(t *testing.T) {
		want := start.clone()
		level3(n, a.data, b.data, want.data)
		parallel := make([]*rowMajor, 8)
		var all sync.WaitGroup
		for i := range parallel {
			parallel[i] = start.clone()
			all.Go(func() { level3(n, a.data, b.data, parallel[i].data) })
		}
		all.Wait()
		for _, got := range parallel {
			if !slices.Equal(got.data, want.data) {
				t.Fatal("other bits beside other goroutines")
			}
		}
	})
}

// Large products are shared by threads; bits do not depend on how many there are.
func TestSameBitsOnAnyThreads(t *testing.T) {
	orders, threads := []int{170, 173, 530}, []int{1, 2, 3, 16} // with ends of blocks along all sides
	if testing.Short() {
		orders, threads = []int{173, 290}, []int{1, 3, 16}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(13, 14))
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range orders {
			a, b, start := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, 2*n, n, 0)
			var want []float64
			for _, threads := range threads {
				runtime.GOMAXPROCS(threads)
				got := start.clone().data
				level3(n, a.data, b.data, got)
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Fatalf("order %d: other bits on %d threads", n, threads)
				}
			}
		}
	})
}

// Products read and write nothing but their arguments, wherever they are.
func TestDgemmStaysInside(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const most = 100 * 102
		rng := rand.New(rand.NewPCG(35, 36))
		a, b, c := tiertest.Edge(t, most), tiertest.Edge(t, most), tiertest.Edge(t, most)
		var ours blas.Implementation
		for i := range 200 {
			m, n, k, front := 20+rng.IntN(80), 1+rng.IntN(100), 20+rng.IntN(80), i%3 == 0
			left, right, want := random(rng, m, k, i%2), random(rng, k, n, i%2), random(rng, m, n, i%2)
			got := c(want.data, front)
			ours.Dgemm(gblas.NoTrans, gblas.NoTrans, m, n, k, 1, left.data, left.stride, right.data, right.stride, 1, want.data, want.stride)
			ours.Dgemm(gblas.NoTrans, gblas.NoTrans, m, n, k, 1, a(left.data, front), left.stride, b(right.data, front), right.stride, 1, got, want.stride)
			for j, v := range want.data {
				if math.Float64bits(v) != math.Float64bits(got[j]) {
					t.Fatalf("%d x %d x %d: entry %d is %v at the edge of memory, %v elsewhere", m, n, k, j, got[j], v)
				}
			}
		}
	})
}
