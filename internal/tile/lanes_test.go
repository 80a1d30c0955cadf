package tile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A laneTest holds the operands of a block, and those of the definitions for each of its tasks.
type laneTest struct {
	*testing.T
	lanes, n, d, r int
	x, u, a, work  []float64
}

// column returns number i of every vector of lane l: entry i of each row of some numbers, or of all if row is
// 1.
func (s *laneTest) column(from []float64, l, row, i, count int) []float64 {
	out := make([]float64, count)
	for k := range out {
		out[k] = from[(k*row+i)*s.lanes+l]
	}
	return out
}

// near fails the test unless two vectors differ by at most 1e-11 of scale.
func (s *laneTest) near(what string, got, want []float64, scale float64) {
	s.Helper()
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= 1e-11*scale) {
			s.Fatalf("n = %d, d = %d, r = %d: %s[%d] = %v, want %v", s.n, s.d, s.r, what, i, got[i], v)
		}
	}
}

func size(x []float64) float64 { return math.Sqrt(Dot(x, x)) }

// eachLaneShape calls f with random operands for every tier with lanes: every n, d and r occurs.
func eachLaneShape(t *testing.T, f func(s *laneTest)) {
	before := active
	defer Use(before)
	for _, tier := range Available()[1:] {
		if err := Use(tier); err != nil {
			t.Fatal(err)
		}
		if Lanes() == 0 {
			continue
		}
		t.Run(tier.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			random := func(n int) []float64 {
				x := make([]float64, n)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				return x
			}
			for i := range 192 { // 3 x 64
				s := &laneTest{T: t, lanes: Lanes(), n: LaneRows + i%28, d: LaneFeatures + i%57, r: 1 + i%LaneColumns}
				s.x, s.u, s.a = random(s.n*s.d*s.lanes), random(64*s.r), random((s.n+8)*LaneStride(s.r)*s.lanes)
				s.work = random(LaneWork(s.r))
				clear(s.work[:laneZeros*s.lanes])
				f(s)
			}
		})
	}
}

func TestMulBasisLanes(t *testing.T) {
	eachLaneShape(t, func(s *laneTest) {
		lda, pad := LaneStride(s.r)*s.lanes, Pad(s.d)
		u, before := make([]float64, s.r*pad), slices.Clone(s.a)
		for j := range s.r {
			copy(u[j*pad:], s.u[j*64:][:s.d])
		}
		MulBasisLanes(s.a, lda, s.x, s.u, 64, s.n, s.d, s.r)
		for l := range s.lanes {
			x, want := make([]float64, s.n*pad), make([]float64, s.n*s.r)
			for i := range s.n {
				copy(x[i*pad:], s.column(s.x[i*s.d*s.lanes:], l, 1, 0, s.d))
			}
			mulBasisGeneric(want, s.n, x, pad, u, pad, s.n, s.d, s.r)
			for j := range s.r {
				s.near("A", s.column(s.a, l, LaneStride(s.r), j, s.n), want[j*s.n:][:s.n], 10*float64(s.d))
			}
			for j := s.r; j < LaneStride(s.r); j++ { // what is not A stays
				s.near("y", s.column(s.a, l, LaneStride(s.r), j, s.n), s.column(before, l, LaneStride(s.r), j, s.n), 0)
			}
		}
		if rest := s.n * lda; !slices.Equal(s.a[rest:], before[rest:]) {
			s.Fatal("rows behind the block were written")
		}
		last := [3]int{(s.n-1)*lda + s.r*s.lanes, s.n * s.d * s.lanes, (s.r-1)*64 + s.d}
		for i := range last {
			short := last
			short[i]--
			func() {
				defer func() {
					if recover() == nil {
						s.Errorf("operand %d too short: no panic", i)
					}
				}()
				MulBasisLanes(s.a[:short[0]:short[0]], lda, s.x[:short[1]:short[1]], s.u[:short[2]:short[2]], 64, s.n,
					s.d, s.r)
			}()
		}
	})
}

func TestMulTransposedLanes(t *testing.T) {
	eachLaneShape(t, func(s *laneTest) {
		lde, ldv := LaneStride(s.r)*s.lanes, s.d+3
		v := slices.Repeat([]float64{7}, s.lanes*ldv)
		MulTransposedLanes(v, ldv, s.x, s.a, lde, s.n, s.d)
		for l := range s.lanes {
			x, want := make([]float64, s.n*Pad(s.d)), make([]float64, Pad(s.d))
			for i := range s.n {
				copy(x[i*Pad(s.d):], s.column(s.x[i*s.d*s.lanes:], l, 1, 0, s.d))
			}
			mulTransposedGeneric(want, x, Pad(s.d), s.column(s.a, l, LaneStride(s.r), 0, s.n), s.n, s.d)
			s.near("v", v[l*ldv:], want[:s.d], 10*float64(s.n))
			s.near("v", v[l*ldv+s.d:], []float64{7, 7, 7}, 0)
		}
	})
}

// Each lane has the solution of its own problem, with and without the rows of a ridge, and no lane affects
// another one: the last one has NaN in one half of the shapes, and dependent columns in the other.
func TestLeastSquaresLanes(t *testing.T) {
	eachLaneShape(t, func(s *laneTest) {
		r, row := s.r, LaneStride(s.r)
		n, m := s.n, s.n+s.d%2*r
		if m < r+3 {
			return // it may be as ill-conditioned as it likes
		}
		bad := s.lanes - 1
		for i := range m {
			for l := range s.lanes {
				y := &s.a[(i*row+r)*s.lanes+l]
				if i >= n {
					*y = 0
				}
				if first := s.a[(i*row)*s.lanes+l]; l == bad {
					s.a[(i*row+r-1)*s.lanes+l] = []float64{math.NaN(), first}[s.n%2]
				}
			}
		}
		a, before := slices.Clone(s.a), slices.Clone(s.a)
		x := LeastSquaresLanes(s.a, m, n, r, s.work)
		if r > 1 && !(x.Product[bad] < 1e-14) && !math.IsNaN(x.Product[bad]) || s.n%2 == 0 && x.Lo[bad] == x.Lo[bad] {
			s.Fatalf("n = %d, r = %d: product %g, lo %g of a problem without full rank", n, r, x.Product[bad],
				x.Lo[bad])
		}
		if s.work[0] != 0 || s.work[laneZeros*s.lanes-1] != 0 ||
			!slices.Equal(s.a[m*row*s.lanes:], before[m*row*s.lanes:]) {
			s.Fatal("zeros or rows behind the block were written")
		}
		for l := range bad {
			columns, y := make([]float64, 0, m*r), s.column(a, l, row, r, m)
			for j := range r {
				columns = append(columns, s.column(a, l, row, j, m)...)
			}
			b, work, e := make([]float64, r), make([]float64, LeastSquaresWork(m, r)), make([]float64, n)
			lo, hi := leastSquaresGeneric(b, columns, m, m, r, y, work)
			squares := residualGeneric(e, columns, m, b, y, n, r)
			_, _, f, ldf := Eliminated(work, m, r)
			product := 1.0
			for k := range r {
				product *= f[k*(ldf+1)] / hi
			}
			scale := 100 * (size(b) + size(y)) * hi / lo
			s.near("b", s.column(x.B, l, x.Stride/s.lanes, 0, r), b, scale)
			for i := range e {
				e[i] = -e[i]
			}
			s.near("e", s.column(s.a, l, row, r, n), e, scale)
			s.near("results", []float64{x.Lo[l] / lo, x.Hi[l] / hi, x.Product[l] / product}, []float64{1, 1, 1},
				100*hi/lo)
			s.near("squares", []float64{x.Squares[l]}, []float64{squares}, scale*size(y))
			largest := 0.0
			for _, v := range b {
				largest = max(largest, math.Abs(v))
			}
			s.near("size", []float64{x.Size[l]}, []float64{largest}, scale)
		}
	})
}
