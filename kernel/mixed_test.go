package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A table is a kind of features: feature k has entries in the given unit, the offset far away.
type table struct {
	name string
	d    int
	unit func(k int) float64
	far  float64
}

func one(int) float64 { return 1 }

var tables = []table{
	{"normal", 37, one, 0},
	{"padded", 64, one, 0},
	{"units", 40, func(k int) float64 { return math.Pow(10, float64(k%13-6)) }, 0},
	{"offsets", 48, one, 100},
}

func (c table) build(rng *rand.Rand, samples []int, storage kernel.Storage) *kernel.Tasks {
	b, x := kernel.NewBuilder(c.d, samples, storage), make([]float64, c.d)
	for t, n := range samples {
		for i := range n {
			for k := range x {
				x[k] = (rng.NormFloat64() + c.far) * c.unit(k)
			}
			b.SetRow(t, i, x, rng.NormFloat64())
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

// distance returns how far a gradient and coefficients are from others, in the units of the features.
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

// Steps on the copy against steps on the samples: the error is the rounding of float32 times the distance to
// the reference, whatever the units of features, and nothing at the reference. Samples in Float32 are read.
func TestMixedPrecision(t *testing.T) {
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
						c.testMixed(t, rng, c.build(rng, samples, storage), 1+i%5, ridge)
					})
				}
			}
		}
	})
}

func (c table) testMixed(t *testing.T, rng *rand.Rand, tasks *kernel.Tasks, r int, ridge float64) {
	length := math.Sqrt(float64(c.d * r))
	reference := c.near(rng, kernel.NewBasis(c.d, r), length)
	g, want := kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)
	g.EnableMixedPrecision()
	step := func(u *kernel.Basis) (grad, b float64) {
		t.Helper()
		want.Step(u, ridge, nil)
		g.Step(u, ridge, nil)
		return c.distance(g, want)
	}
	// Moving U by its own length changes the gradient by about its size.
	step(reference)
	gradSize, bSize := c.distance(want, kernel.NewGroup(tasks, r))
	lost := 1e-6 * max(c.far*c.far, 1)
	switch grad, b := step(reference); {
	case grad > lost*gradSize || b > lost*bSize:
		t.Errorf("with the reference 0: gradient off by %g of %g, coefficients by %g of %g", grad, gradSize, b, bSize)
	case (grad == 0) != (tasks.Storage() == kernel.Float32) && byTiles():
		t.Errorf("with the reference 0: gradient off by %g", grad)
	}
	g.RefreshReference()
	for range 2 { // to refresh, and on the copy
		exactly(t, g, want, reference, ridge)
	}
	if !sameBits(g.Reference().Data(), reference.Data()) {
		t.Error("the reference is not the basis of the step that refreshed it")
	}
	for _, move := range []float64{1e-1, 1e-4, 1e-7} {
		grad, b := step(c.near(rng, reference, move*length))
		if rounding := 1e-13 * max(c.far, 1); grad > (lost*move+rounding)*gradSize || b > (lost*move+rounding)*bSize {
			t.Errorf("at a distance of %g: gradient off by %g of %g, coefficients by %g of %g", move, grad, gradSize, b, bSize)
		}
	}
}

// byTiles reports whether steps on the samples are computed by the tiles, as those of mixed precision are.
func byTiles() bool {
	return !slices.Contains([]string{"gonum", "openblas"}, kernel.Describe().Kernel)
}

// exactly steps both groups at the reference and checks that they agree: bit for bit up to the sign of zeros
// or, where another backend computes with the samples, to rounding.
func exactly(t *testing.T, g, want *kernel.Group, u *kernel.Basis, ridge float64) {
	t.Helper()
	g.Step(u, ridge, nil)
	want.Step(u, ridge, nil)
	d, r := u.Dims()
	pairs := [][2][]float64{{g.B, want.B}, {{g.Objective}, {want.Objective}}}
	for j := range r {
		pairs = append(pairs, [2][]float64{g.Grad.Col(j)[:d], want.Grad.Col(j)})
	}
	for _, p := range pairs {
		largest := 0.0
		for _, v := range p[1] {
			largest = max(largest, math.Abs(v))
		}
		for i, v := range p[1] {
			if p[0][i] != v && (byTiles() || math.Abs(p[0][i]-v) > 1e-9*largest) {
				t.Fatalf("%v, on the samples %v", p[0], p[1])
			}
		}
	}
}

// A second group goes on from the reference of a first with the same bits, on executors with any number of
// workers, and next to a group without a copy and one that refreshes its reference.
func TestMixedPrecisionResumes(t *testing.T) {
	const r = 3
	c, rng := tables[0], rand.New(rand.NewPCG(9, 9))
	tasks := c.build(rng, ragged(rng, 90, 40), kernel.Float64)
	reference := randomBasis(rng, c.d, r)
	u := c.near(rng, reference, 1e-3)
	one := kernel.NewGroup(tasks, r)
	one.EnableMixedPrecision()
	one.Step(u, 0, nil) // with another reference
	one.RefreshReference()
	one.Step(reference, 0, nil)
	one.Step(u, 0, nil)
	for workers := 1; workers <= 3; workers++ {
		pool := kernel.NewPool(workers)
		groups := []*kernel.Group{kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)}
		groups[0].EnableMixedPrecision()
		groups[2].EnableMixedPrecision()
		e := kernel.NewExecutor(pool, groups)
		groups[0].RefreshReference()
		e.Step([]*kernel.Basis{reference, reference, reference}, 0)
		groups[2].RefreshReference()
		e.Step([]*kernel.Basis{u, u, u}, 0)
		pool.Close()
		if !sameBits(groups[0].Grad.Data(), one.Grad.Data()) {
			t.Errorf("%d workers compute other bits", workers)
		}
		if byTiles() && !sameBits(groups[1].Grad.Data(), groups[2].Grad.Data()) {
			t.Error("a step that refreshes the reference differs from a step on the samples")
		}
		if sameBits(groups[0].Grad.Data(), groups[1].Grad.Data()) {
			t.Error("the copy was not used")
		}
	}
}

// Descent with a reference that the group refreshes ends where descent on the samples ends, and reads the
// samples in few steps.
func TestRefreshAutomatically(t *testing.T) {
	const r, steps = 2, 400
	rng := rand.New(rand.NewPCG(21, 22))
	c := tables[0]
	tasks := c.build(rng, slices.Repeat([]int{30}, 60), kernel.Float64)
	truth, start, row, y := randomBasis(rng, c.d, r), randomBasis(rng, c.d, r), make([]float64, c.d), []float64{}
	for task := range tasks.Len() {
		b := [r]float64{rng.NormFloat64(), rng.NormFloat64()}
		for i := range 30 {
			v := 0.1 * rng.NormFloat64()
			for k, x := range tasks.Row(row, task, i) {
				v += x * (truth.At(k, 0)*b[0] + truth.At(k, 1)*b[1])
			}
			y = append(y, v)
		}
	}
	tasks = tasks.WithResponses(y)
	descend := func(mixed bool) (u *kernel.Basis, refreshed int) {
		g := kernel.NewGroup(tasks, r)
		if mixed {
			g.EnableMixedPrecision()
			g.RefreshAutomatically()
		}
		u = start.Clone()
		for range steps {
			g.Step(u, 0, nil)
			if mixed && sameBits(g.Reference().Data(), u.Data()) {
				refreshed++
			}
			for i, v := range g.Grad.Data() {
				u.Data()[i] -= v / 1e4
			}
			u.Orthonormalize(nil, nil)
		}
		return u, refreshed
	}
	want, _ := descend(false)
	got, refreshed := descend(true)
	var span, wanted mat.Dense // of U only the span is determined
	span.Mul(got, got.T())
	wanted.Mul(want, want.T())
	within(t, "U U'", &span, &wanted, 1e-12)
	if refreshed < steps/40-1 || refreshed > steps/20 {
		t.Errorf("%d of %d steps read the samples", refreshed, steps)
	}
}

// Samples of sizes that float32 holds, and others, which are refused; a feature that is tiny beside others is
// none of them. Responses may have any size.
func TestMixedPrecisionRange(t *testing.T) {
	for size, refused := range map[float64]bool{1e-300: true, 1e-40: true, 1e-32: true, 1e-28: false, 1: false, 1e36: false, 1e39: true, 1e140: true} {
		rng := rand.New(rand.NewPCG(1, 3))
		b, row := kernel.NewBuilder(20, []int{15, 15, 15}, kernel.Float64), make([]float64, 20)
		for i := range 45 {
			for j := range row {
				row[j] = size * rng.NormFloat64()
			}
			row[7] *= 1e-310
			b.SetRow(i/15, i%15, row, 1e100*rng.NormFloat64())
		}
		tasks := b.Tasks()
		g, want := kernel.NewGroup(tasks, 3), kernel.NewGroup(tasks, 3)
		if refused {
			wantPanic(t, fmt.Sprintf("size %g", size), g.EnableMixedPrecision)
			continue
		}
		g.EnableMixedPrecision()
		u := randomBasis(rng, 20, 3)
		g.RefreshReference()
		g.Step(u, 0, nil)
		u = table{d: 20, unit: one}.near(rng, u, 1e-3)
		g.Step(u, 0, nil)
		want.Step(u, 0, nil)
		if !(math.Abs(g.Objective-want.Objective) <= 1e-7*want.Objective) {
			t.Errorf("size %g: objective %v, without the copy %v", size, g.Objective, want.Objective)
		}
	}
}
