package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
)

// A table is a kind of features: entry (row, k) from a normal number.
type table struct {
	name string
	d    int
	x    func(row, k int, v float64) float64
	unit func(k int) float64 // of a feature
}

var one = func(int) float64 { return 1 }

// but returns the units of features that have unit 1 but for k = at modulo every.
func but(at, every int, unit float64) func(k int) float64 {
	return func(k int) float64 {
		if k%every == at {
			return unit
		}
		return 1
	}
}

func power(k int) float64 { return math.Pow(10, float64(k%13-6)) }

var tables = []table{
	{"normal", 37, func(_, _ int, v float64) float64 { return v }, one},
	{"padded", 64, func(_, _ int, v float64) float64 { return v }, one},
	{"units", 40, func(_, k int, v float64) float64 { return v * power(k) }, power},
	{"offsets", 48, func(_, k int, v float64) float64 { return v + but(3, 16, 1e6)(k) - 1 }, but(3, 16, 1e6)},
	{"intercept", 30, func(_, k int, v float64) float64 { return []float64{0.1, v}[min(k, 1)] }, one},
	// An entry that is in no sampled row, too large for the scale of the others.
	{"rare", 33, func(row, k int, v float64) float64 {
		if k == 5 && row == 779 {
			return 1e5
		}
		return v
	}, but(5, 33, 1e4)},
	// A small feature that is zero but for a few rows, which are not among the sampled ones.
	{"mostly zero", 33, func(row, k int, v float64) float64 {
		if k == 6 && row%10 != 1 {
			return 0
		}
		return v * but(6, 33, 1e-12)(k)
	}, but(6, 33, 1e-12)},
}

func (c table) build(rng *rand.Rand, samples []int, storage kernel.Storage) *kernel.Tasks {
	b := kernel.NewBuilder(c.d, samples, storage)
	row, x := 0, make([]float64, c.d)
	for t, n := range samples {
		for i := range n {
			for k := range x {
				x[k] = c.x(row, k, rng.NormFloat64())
			}
			b.SetRow(t, i, x, rng.NormFloat64())
			row++
		}
	}
	return b.Tasks()
}

// near returns u moved by a random matrix of the given length, in the units of features.
func (c table) near(rng *rand.Rand, u *kernel.Basis, length float64) *kernel.Basis {
	v := u.Clone()
	_, r := u.Dims()
	for j := range r {
		for k := range v.Col(j) {
			v.Col(j)[k] += length * rng.NormFloat64() / c.unit(k) / math.Sqrt(float64(c.d*r))
		}
	}
	return v
}

// distance returns how far a gradient and coefficients are from others, in the units of
// the features.
func (c table) distance(g, want *kernel.Group) (grad, b float64) {
	_, r := g.Grad.Dims()
	for j := range r {
		for k, v := range g.Grad.Col(j) {
			grad += math.Pow((v-want.Grad.Col(j)[k])/c.unit(k), 2)
		}
	}
	for i, v := range g.B {
		b += math.Pow(v-want.B[i], 2)
	}
	return math.Sqrt(grad), math.Sqrt(b)
}

// TestReduced holds steps by the copy to steps on the samples: the error is a part of the
// distance to the anchor, whatever the units and offsets of features, and nothing at the
// anchor.
func TestReduced(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for i, c := range tables {
			for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
				for _, ridge := range []float64{0, 0.5} {
					t.Run(fmt.Sprintf("%s/%v/ridge=%g", c.name, storage, ridge), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(i), 5))
						samples := make([]int, 70)
						for t := range samples {
							samples[t] = []int{40, 25, 60, 0, 33}[t%5]
						}
						c.testReduced(t, rng, c.build(rng, samples, storage), 1+i%5+4*(i/5), ridge)
					})
				}
			}
		}
	})
}

func (c table) testReduced(t *testing.T, rng *rand.Rand, tasks *kernel.Tasks, r int, ridge float64) {
	zero := kernel.NewBasis(c.d, r)
	anchor := c.near(rng, zero, math.Sqrt(float64(c.d*r)))
	g, want := kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)
	g.EnableMixedPrecision()
	step := func(u *kernel.Basis) (grad, b float64) {
		t.Helper()
		want.Step(u, ridge, nil)
		g.Step(u, ridge, nil)
		return c.distance(g, want)
	}
	// Moving U by its own length changes the gradient by about its size.
	step(anchor)
	gradSize, bSize := c.distance(want, kernel.NewGroup(tasks, r))
	const lost = 1e-3
	if grad, b := step(anchor); grad > lost*gradSize || b > lost*bSize {
		t.Errorf("with the anchor 0: gradient off by %g of %g, coefficients by %g of %g", grad, gradSize, b, bSize)
	}
	g.RefreshReference()
	exactly(t, "anchor", g, want, anchor, ridge)
	exactly(t, "step at the anchor", g, want, anchor, ridge)
	if !sameBits(g.Reference().Data(), anchor.Data()) {
		t.Error("the reference is not the anchor")
	}
	for _, move := range []float64{1e-1, 1e-4, 1e-8} {
		grad, b := step(c.near(rng, anchor, move*math.Sqrt(float64(c.d*r))))
		if grad > lost*move*gradSize+1e-13*gradSize || b > lost*move*bSize+1e-13*bSize {
			t.Errorf("at a distance of %g: gradient off by %g of %g, coefficients by %g of %g", move, grad, gradSize, b, bSize)
		}
	}
}

// byTiles reports whether steps on the samples are computed by the tiles, as those of anchors are.
func byTiles() bool {
	return !slices.Contains([]string{"gonum", "openblas"}, kernel.Describe().Kernel)
}

// alike is whether two numbers are the same but for the sign of a zero and, where another backend
// computes with the samples, for rounding in the units of the largest.
func alike(a, b, largest float64) bool {
	return a == b || !byTiles() && math.Abs(a-b) <= 1e-9*largest
}

// allAlike is that of vectors.
func allAlike(a, b []float64) bool {
	largest := 0.0
	for _, v := range b {
		largest = max(largest, math.Abs(v))
	}
	for i := range b {
		if !alike(a[i], b[i], largest) {
			return false
		}
	}
	return true
}

// exactly steps both groups and wants the same bits.
func exactly(t *testing.T, what string, g, want *kernel.Group, u *kernel.Basis, ridge float64) {
	t.Helper()
	g.Step(u, ridge, nil)
	want.Step(u, ridge, nil)
	if !allAlike(g.B, want.B) || !alike(g.Objective, want.Objective, want.Objective) {
		t.Errorf("%s: coefficients or objective differ from those on the samples", what)
	}
	_, r := u.Dims()
	for j := range r {
		if !allAlike(g.Grad.Col(j), want.Grad.Col(j)) {
			t.Fatalf("%s: column %d of the gradient is %v, on the samples %v", what, j, g.Grad.Col(j), want.Grad.Col(j))
		}
	}
}

// TestReducedResumes makes a second group go on from the anchor of a first, with the same
// bits, on executors with different numbers of workers and next to a group that is not
// reduced and one that makes an anchor, all on the same basis.
func TestReducedResumes(t *testing.T) {
	for _, c := range tables {
		t.Run(c.name, func(t *testing.T) { c.testResumes(t, rand.New(rand.NewPCG(9, 9))) })
	}
}

func (c table) testResumes(t *testing.T, rng *rand.Rand) {
	tasks := c.build(rng, ragged(rng, 90, 40), kernel.Float64)
	const r = 3
	anchor := randomBasis(rng, c.d, r)
	u := c.near(rng, anchor, 1e-3)
	var first []float64
	for workers := 1; workers <= 3; workers++ {
		pool := kernel.NewPool(workers)
		groups := []*kernel.Group{kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)}
		groups[0].EnableMixedPrecision()
		groups[2].EnableMixedPrecision()
		e := kernel.NewExecutor(pool, groups)
		groups[0].RefreshReference()
		e.Step([]*kernel.Basis{anchor, anchor, anchor}, 0)
		groups[2].RefreshReference()
		e.Step([]*kernel.Basis{u, u, u}, 0)
		pool.Close()
		got := groups[0].Grad.Data()
		if first == nil {
			first = append(first, got...)
			one := kernel.NewGroup(tasks, r)
			one.EnableMixedPrecision()
			one.Step(u, 0, nil) // with another anchor
			one.RefreshReference()
			one.Step(anchor, 0, nil)
			one.Step(u, 0, nil)
			if !sameBits(one.Grad.Data(), first) {
				t.Error("a group by itself computes other bits")
			}
		}
		if !sameBits(got, first) {
			t.Errorf("%d workers compute other bits", workers)
		}
		// OpenBLAS leaves anchors to the tiles, and samples far from zero lose digits.
		if byTiles() && !sameBits(groups[1].Grad.Data(), groups[2].Grad.Data()) {
			t.Error("an anchor differs from a step on the samples")
		}
		if sameBits(groups[0].Grad.Data(), groups[1].Grad.Data()) {
			t.Error("the copy was not used")
		}
	}
}

// TestReduceRange takes samples of sizes that float32 holds, and others, which are refused; a feature that
// is tiny beside others is none of them.
func TestReduceRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for size, refused := range map[float64]bool{1e-300: true, 1e-40: true, 1e-28: true, 1e-26: false, 1: false, 1e26: false, 1e28: true, 1e60: true, 1e140: true} {
		b, row := kernel.NewBuilder(20, []int{15, 15, 15}, kernel.Float64), make([]float64, 20)
		for i := range 45 {
			for j := range row {
				row[j] = size * rng.NormFloat64()
			}
			row[7] *= 1e-310
			b.SetRow(i/15, i%15, row, rng.NormFloat64())
		}
		tasks := b.Tasks()
		g := kernel.NewGroup(tasks, 3)
		if refused {
			wantPanic(t, fmt.Sprintf("size %g", size), g.EnableMixedPrecision)
			continue
		}
		g.EnableMixedPrecision()
		want := kernel.NewGroup(tasks, 3)
		u, ws := randomBasis(rng, 20, 3), kernel.NewWorkspace(15, 20, 3)
		g.RefreshReference()
		g.Step(u, 0, ws)
		u = table{d: 20, unit: one}.near(rng, u, 1e-3)
		g.Step(u, 0, ws)
		want.Step(u, 0, ws)
		if !(math.Abs(g.Objective-want.Objective) <= 1e-5*want.Objective) {
			t.Errorf("size %g: objective %v, without the copy %v", size, g.Objective, want.Objective)
		}
	}
}

// Responses of any size give the same results in their unit, bit by bit: also where float32 does not
// hold them.
func TestReducedOfAnyResponses(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, c := range tables[:5] {
			const r = 2
			rng := rand.New(rand.NewPCG(31, 32))
			tasks := c.build(rng, []int{30, 0, 25, 40}, kernel.Float64)
			anchor := randomBasis(rng, c.d, r)
			u := c.near(rng, anchor, 0.1)
			responses := make([]float64, 0, tasks.TotalSamples())
			for task := range tasks.Len() {
				responses = append(responses, tasks.Y(task)...)
			}
			run := func(exponent int) (atAnchor, near *kernel.Group) {
				y := make([]float64, len(responses))
				for i, v := range responses {
					y[i] = math.Ldexp(v, exponent)
				}
				of := func(steps ...*kernel.Basis) *kernel.Group {
					g := kernel.NewGroup(tasks.WithResponses(y), r)
					g.EnableMixedPrecision()
					for i, u := range steps {
						if i == 1 {
							g.RefreshReference()
						}
						g.Step(u, 0, nil)
					}
					return g
				}
				return of(anchor), of(anchor, anchor, u)
			}
			first, near := run(0)
			for _, exponent := range []int{133, 332, -130, -400} { // 1e40, 1e100, 1e-39, 1e-120
				f, n := run(exponent)
				for i, pair := range [][2]*kernel.Group{{f, first}, {n, near}} {
					got, want := pair[0].Grad.Data(), pair[1].Grad.Data()
					for k, v := range want {
						if got[k] != math.Ldexp(v, 2*exponent) {
							t.Fatalf("%s: responses times 2^%d, step %d: entry %d of the gradient is %g, want %g",
								c.name, exponent, i, k, got[k], math.Ldexp(v, 2*exponent))
						}
					}
				}
			}
		}
	})
}
