package leastsq_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kinds are ways in which columns depend on each other, or do not. Each changes a random problem.
var kinds = map[string]func(rng *rand.Rand, p problem){
	"independent": func(*rand.Rand, problem) {},
	"zero": func(_ *rand.Rand, p problem) {
		for j := range p.r {
			p.combine(j, nil)
		}
	},
	"first twice":  func(_ *rand.Rand, p problem) { p.combine(p.r-1, map[int]float64{0: 1}) },
	"pair at once": func(_ *rand.Rand, p problem) { p.combine(min(1, p.r-1), map[int]float64{0: -3}) },
	"zero first":   func(_ *rand.Rand, p problem) { p.combine(0, nil) },
	"zero last":    func(_ *rand.Rand, p problem) { p.combine(p.r-1, nil) },
	"zeros but one": func(rng *rand.Rand, p problem) {
		keep := rng.IntN(p.r)
		for j := range p.r {
			if j != keep {
				p.combine(j, nil)
			}
		}
	},
	"every third": everyThird,
	"first half": func(rng *rand.Rand, p problem) {
		for j := range p.r / 2 {
			p.combine(j, map[int]float64{p.r/2 + j: 1 + rng.Float64()})
		}
	},
	"sum of all": func(_ *rand.Rand, p problem) {
		f := map[int]float64{}
		for j := 1; j < p.r; j++ {
			f[j] = 1
		}
		p.combine(0, f)
	},
	"rows twice": rowsTwice,
	"first row only": func(_ *rand.Rand, p problem) {
		for j := range p.r {
			for i := range p.n - 1 {
				p.column(j)[i+1] = p.column(j)[0] * float64(i+1)
			}
		}
	},
	"graded columns": func(rng *rand.Rand, p problem) { // of norms from 1 to 1e-6
		everyThird(rng, p)
		for j := range p.r {
			floats.Scale(math.Pow(10, -6*float64((7*j)%p.r)/float64(p.r)), p.column(j))
		}
	},
	"a large one last": func(_ *rand.Rand, p problem) { // beside which the others look like nothing, and y fits
		f := map[int]float64{}
		for j := range p.r - 1 {
			f[j] = 0x1p33 / float64(j+1)
			floats.Scale(0x1p-33, p.column(j))
		}
		p.combine(p.r-1, f)
		floats.SubTo(p.y, p.column(0), p.column(p.r-1))
	},
	"singular values down to nothing": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, _ int) float64 { return math.Ldexp(1, -6*q) })
	},
	"a small singular value": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, k int) float64 { return math.Ldexp(1, -33*(q/max(k-1, 1))) })
	},
	"small singular values": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, k int) float64 { return math.Ldexp(1, -33*(2*q/k)) })
	},
	"y is zero": func(_ *rand.Rand, p problem) { clear(p.y) },
}

func rowsTwice(_ *rand.Rand, p problem) {
	for j := range p.r {
		for i := 1; i < p.n; i += 2 {
			p.column(j)[i] = p.column(j)[i-1]
		}
	}
}

func everyThird(rng *rand.Rand, p problem) {
	for j := 2; j < p.r; j += 3 {
		p.combine(j, map[int]float64{j - 1: rng.NormFloat64(), j - 2: rng.NormFloat64()})
	}
}

// TestSolve compares solutions with the singular value decomposition: for every kind of dependence, on every
// tail, with ridges, and in numbers of any size.
func TestSolve(t *testing.T) {
	ranks := []int{33, 64}
	if longtest.Enabled() {
		ranks = append(ranks, 70)
	}
	for r := range 20 {
		ranks = append(ranks, r+1)
	}
	tiertest.Each(t, func(t *testing.T) {
		for name, change := range kinds {
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(10, uint64(len(name))))
				decided, all := 0, 0
				for _, r := range ranks {
					for _, n := range []int{1, r / 2, r - 1, r, r + 1, r + 7 + rng.IntN(30)} {
						if n < 1 {
							continue
						}
						p := random(rng, n, r)
						change(rng, p)
						all++
						if p.check(t, 0, 0, [2]int{300, 300}, [2]int{-300, -300}, [2]int{900, 900},
							[2]int{-900, -900}) {
							decided++
						}
						p.check(t, 0.1, 0)
					}
				}
				if decided < all/2 {
					t.Errorf("%d of %d matrices have a rank beyond doubt", decided, all)
				}
			})
		}
	})
}

// Numbers of every size, without samples, with ridges that count and that are lost beside the matrix.
func TestSolveScaled(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 1))
		integer := func() float64 { return float64(rng.IntN(2001) - 1000) } // which denormal numbers hold
		for _, shape := range [][2]int{{30, 4}, {5, 5}, {3, 5}, {40, 16}, {0, 3}} {
			p := newProblem(shape[0], shape[1], integer)
			p.check(t, 0, 0, [][2]int{
				{500, 0}, {-500, 0}, {500, 500}, {-500, -500}, {1000, 1000}, {-1074, -1074}, {-1074, -200},
				{-540, -540}, {-530, -600}, {0, -1074}, {0, 1000}, {-520, 0}, {520, 0}, {-500, 400}, {-460, -1000},
			}...)
			p.check(t, 3, 0, [2]int{-530, -530}, [2]int{-480, -480}, [2]int{-100, -100}, [2]int{100, 100},
				[2]int{490, 490})
		}
		p := random(rng, 12, 6)
		everyThird(rng, p)
		if !p.check(t, 1e-40, 0) {
			t.Error("the ridge is not lost")
		}
	})
}

// The rank is the number of singular values above the tolerance.
func TestSolveTolerance(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, shape := range [][2]int{{20, 5}, {5, 5}, {4, 9}} {
		p := random(rng, shape[0], shape[1])
		p.values(rng, func(q, _ int) float64 { return math.Pow(10, -2*float64(q)) })
		for _, tolerance := range []float64{1e-20, 1e-5, 0.5, 1} {
			p.check(t, 0, tolerance)
		}
		p.check(t, 1, 1e-3)
	}
}

// Columns that are nearly dependent magnify the rounding of later dependent ones, in few of many random
// matrices to about the line at which these are set apart.
func TestSolveMagnifiedRounding(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5014, 1))
		for range 3000 {
			p := random(rng, 5+rng.IntN(16), 5+rng.IntN(16))
			rowsTwice(rng, p)
			p.check(t, 0, 0)
		}
	})
}

// Matrices whose diagonals of R are all ones, and Kahan's, each of whose columns depends on all others a
// little, are singular to rounding: only the size of the solution shows it.
func TestSolveHidden(t *testing.T) {
	triangle := func(r int, above func(i, j int) float64) problem {
		p := newProblem(r, r, func() float64 { return 0 })
		for j := range r {
			for i := range j {
				p.column(j)[i] = above(i, j)
			}
			p.column(j)[j], p.y[j] = 1, math.Sin(float64(j+1))
		}
		return p
	}
	const n, c = 100, 0.35
	zero := func() float64 { return 0 }
	s := math.Sqrt(1 - c*c)
	tall, wide, below := newProblem(n, n, zero), newProblem(n, n+1, zero), newProblem(n+1, n+1, zero)
	below.a[0], below.y[0] = 2, 1 // first in any order: the null direction does not show in the first column
	for j := range n {
		for i := range j + 1 {
			v := math.Pow(s, float64(i)) * (1 - 1e-13*float64(j)) // so that rounding does not change the order
			if i < j {
				v *= -c
			}
			tall.column(j)[i], wide.column(i)[j], below.column(j + 1)[i+1] = v, v, v
		}
		tall.y[j], wide.y[j], below.y[j+1] = math.Sin(float64(j)), math.Cos(float64(j)), 1
	}
	// A small column that is what the others lack: it looks like nothing beside all of them.
	instead := newProblem(n+1, n+1, zero) // with a row of zeros
	for i := range n {
		copy(instead.column(i), tall.column(i))
		instead.y[i] = 1e-7 * math.Sin(float64(i*i))
		instead.column(n)[i] = instead.y[i]
	}
	fits, fitsBelow := tall, below // without the null direction in b either, until that of minimum norm is sought
	fits.y, fitsBelow.y = tall.column(0), below.column(1)
	tiertest.Each(t, func(t *testing.T) {
		for name, p := range map[string]problem{
			"ones":   triangle(64, func(int, int) float64 { return -1 }),
			"beside": triangle(3, func(i, j int) float64 { return 1e6 * float64(1/(j-i)) }),
			"Kahan":  tall, "wide": wide, "below": below, "instead": instead, "fits": fits, "fits below": fitsBelow,
		} {
			if !p.check(t, 0, 0) {
				t.Errorf("%s: no rank beyond doubt", name)
			}
		}
	})
}

// Where singular values fall slowly many directions are nearly null, and none is the first: b is a solution
// of a matrix that differs by no more than what counts as null, and no long one.
func TestSolveSlowFall(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 1))
		for _, r := range []int{4, 5, 6, 8, 10, 16, 20, 30, 60, 100} {
			for _, n := range []int{r / 2, r - 1, r, r + 20} {
				p := random(rng, n, r)
				p.values(rng, func(q, k int) float64 { return math.Pow(1e-22, float64(q)/float64(k)) })
				b, status, _ := p.solve(t, 0, 0)
				if want := map[bool]leastsq.Status{true: leastsq.Underdetermined,
					false: leastsq.RankDeficient}[n < r]; status != want {
					t.Errorf("%d x %d: status %v", n, r, status)
				}
				var e, g mat.VecDense // A b - y, A'(A b - y)
				e.MulVec(p.dense(), mat.NewVecDense(r, b))
				e.SubVec(&e, mat.NewVecDense(n, p.y))
				g.MulVec(p.dense().T(), &e)
				size := mat.Norm(p.dense(), 2)
				line := 30 * float64(n+r) * eps * size
				if v := mat.Norm(&g, 2); !(v <= line*(size*norm(b)+norm(p.y))) || !(norm(b) <= 900*norm(p.y)/line) {
					t.Errorf("%d x %d: gradient %g with |b| = %g, |y| = %g", n, r, v, norm(b), norm(p.y))
				}
			}
		}
	})
}

// NaN, Inf and solutions that overflow give zeros.
func TestSolveNotFinite(t *testing.T) {
	zeros := func(t *testing.T, p problem, ridge float64) {
		t.Helper()
		if b, status, _ := p.solve(t, ridge, 0); status != leastsq.NotFinite || norm(b) != 0 {
			t.Errorf("%d x %d, ridge %g: status %v, b = %v", p.n, p.r, ridge, status, b)
		}
	}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 1))
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, shape := range [][2]int{{30, 4}, {4, 4}, {2, 4}, {1, 1}, {20, 16}} {
				for at := -1; at < shape[0]*shape[1]; at += 1 + at/3 {
					p := random(rng, shape[0], shape[1])
					if at < 0 {
						p.y[len(p.y)/2] = bad
					} else {
						p.column(at / p.n)[at%p.n] = bad
					}
					zeros(t, p, 0)
					zeros(t, p, 1)
				}
			}
		}
		zeros(t, random(rng, 6, 2).scaled(-1000, 1000), 0)
	})
}

// With orthogonal columns b_j = a_j y_j / (a_j^2 + ridge). Matrices, ridges and right-hand sides of any sizes
// next to one another give it, wherever it is a number.
func TestSolveSizes(t *testing.T) {
	exactly := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	sizes := []float64{5e-324, 1e-310, 5.6e-309, 3e-300, 1.1e-289, 1e-200, 1e-100, .3, 1e100, 1e200, 1e300}
	tiertest.Each(t, func(t *testing.T) {
		for _, rows := range []int{2, 3} {
			for _, a := range sizes {
				for _, ridge := range []float64{0, 5e-324, 1e-300, 1e-30, 1, 1e300} {
					for _, y := range sizes {
						p := newProblem(rows, 2, func() float64 { return 0 })
						p.column(0)[0], p.column(1)[1], p.y[0], p.y[1] = a, -a, y, y
						den := exactly(0).Mul(exactly(a), exactly(a))
						den.Add(den, exactly(ridge))
						num := exactly(0).Mul(exactly(a), exactly(y))
						want, _ := num.Quo(num, den).Float64()
						got, status, _ := p.solve(t, ridge, 0)
						if math.IsInf(want, 1) {
							if status != leastsq.NotFinite || norm(got) != 0 {
								t.Errorf("%d rows of %g, ridge %g, y %g: %v, status %v, want an overflow", rows, a,
									ridge, y, got, status)
							}
							continue
						}
						near := func(v, want float64) bool { return math.Abs(v-want) <= 1e-13*math.Abs(want)+5e-324 }
						if status != leastsq.OK || !near(got[0], want) || !near(got[1], -want) {
							t.Errorf("%d rows of %g, ridge %g, y %g: %v, want %g; status %v", rows, a, ridge, y, got,
								want, status)
						}
					}
				}
			}
		}
	})
}

// Squares that underflow in part do not cost digits.
func TestSolveSquaresUnderflow(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	p := random(rng, 9, 3)
	floats.Scale(0x1p-20, p.column(2)) // so that the squares of the last pivot underflow first
	want, _, _ := p.solve(t, 0, 0)
	tiertest.Each(t, func(t *testing.T) {
		for down := 400; down <= 620; down += 5 {
			got, status, _ := p.scaled(-down, 210-down).solve(t, 0, 0)
			for j, v := range got {
				if w := math.Ldexp(want[j], 210); status != leastsq.OK || !(math.Abs(v-w) <= 1e-13*math.Abs(w)) {
					t.Errorf("A times 2^-%d: b[%d] = %g, want %g; status %v", down, j, v, w, status)
				}
			}
		}
	})
}

// A workspace that served other problems, and memory at the edge of what may be read, change nothing, and
// nothing is allocated.
func TestSolveStaysInside(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const most, rows, cols = 50 * 30, 40, 20
		rng := rand.New(rand.NewPCG(31, 32))
		a, y, b := tiertest.Edge(t, most), tiertest.Edge(t, most), tiertest.Edge(t, most)
		ws := leastsq.NewWorkspace(rows, cols)
		for i := range 600 {
			p, front, ridge := random(rng, rng.IntN(rows+1), 1+rng.IntN(cols)), i%3 == 0, float64(i%2)
			p.a = p.a[:(p.r-1)*p.lda+p.n]
			if i%4 == 0 && p.r > 1 { // dependent
				copy(p.column(1), p.column(0))
			}
			if i%5 == 0 && p.n > 0 {
				p.y[0] = math.NaN()
			}
			want, status, rank := p.solve(t, ridge, 0)
			p.a, p.y = a(p.a, front), y(p.y, front)
			got, m := b(make([]float64, p.r), front), p.matrix()
			allocated := check.Allocations(1, func() {
				res, _ := leastsq.Solve(got, &m, p.y, ridge, leastsq.Tolerance(p.n, p.r), 0, ws)
				if res.Status != status || res.Rank != rank || !slices.Equal(got, want) {
					t.Fatalf("%d x %d: %v, %v at the edge of memory, %v, %v elsewhere", p.n, p.r, got, res.Status, want,
						status)
				}
			})
			if allocated != 0 {
				t.Fatalf("%d x %d, status %v: %d allocations", p.n, p.r, status, allocated)
			}
		}
	})
}
