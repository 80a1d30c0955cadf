package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// backends returns the names of all backends but the tiles, which come first in each test.
func backends() []string {
	all := []string{"gonum", "openblas"}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(kernel.Describe().Available, name) })
}

// use switches to a backend for the rest of the test.
func use(t *testing.T, name string) {
	restore, err := kernel.UseBackend(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
}

// The tiles of every tier and all other backends have the statuses, coefficients, gradients and objectives of
// the definition: for empty, full, wide and square tasks, ridges, parts, other responses and both storages.
func TestConformance(t *testing.T) {
	shapes := []struct {
		d, r    int
		samples []int
	}{
		{5, 2, nil}, {5, 2, []int{0, 0, 0}}, {1, 1, []int{1, 5}}, {12, 3, []int{20, 0, 2, 9, 4, 0}},
		{33, 5, []int{60, 13, 1}},
		{40, 20, []int{25, 10}}, {9, 3, []int{400, 9, 10, 11, 0, 57, 3, 10, 1000}}, {40, 16, []int{30, 25, 22}},
	}
	rng := rand.New(rand.NewPCG(51, 52))
	for _, c := range [][4]int{ // d, r, tasks, at most so many samples
		{1, 1, 1, 3}, {5, 1, 4, 6}, {7, 2, 9, 5}, {40, 4, 30, 30}, {100, 10, 20, 50}, {33, 5, 17, 9}, {64, 16, 12, 40},
		{130, 33, 9, 70}, {30, 3, 600, 12}, {17, 2, 3, 400}, {8, 1, 50, 90}, {70, 20, 5, 4},
	} {
		samples := ragged(rng, c[2], c[3])
		samples[0] = c[3]        // some task has samples
		for i := range samples { // square problems, also of halves, may be as ill-conditioned as they like
			for n := &samples[i]; *n == c[1] || *n/2 == c[1] || (*n+1)/2 == c[1]; {
				*n++
			}
		}
		shapes = append(shapes, struct {
			d, r    int
			samples []int
		}{c[0], c[1], samples})
	}
	tiertest.Each(t, func(t *testing.T) {
		for _, name := range append([]string{tile.Active().String()}, backends()...) {
			t.Run(name, func(t *testing.T) {
				use(t, name)
				for _, s := range shapes {
					for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
						for _, ridge := range []float64{0, 0.3} {
							tasks, x, y := randomTasks(rng, s.d, s.samples, storage)
							(&conformance{t, tasks, x, y, randomBasis(rng, s.d, s.r), ridge}).check()
						}
					}
				}
			})
		}
	})
}

// A conformance compares steps of tasks with the same data as matrices, on one basis.
type conformance struct {
	t     *testing.T
	tasks *kernel.Tasks
	x     []*mat.Dense
	y     [][]float64
	u     *kernel.Basis
	ridge float64
}

func (c *conformance) check() {
	d, r := c.u.Dims()
	defer func() {
		if c.t.Failed() {
			c.t.Fatalf("%d tasks, d = %d, r = %d, %v, ridge %g", c.tasks.Len(), d, r, c.tasks.Storage(), c.ridge)
		}
	}()
	before := c.u.Clone()
	g, used := kernel.NewGroup(c.tasks, r), c.usedWorkspace()
	want := stepReference(c.u, c.ridge, c.x, c.y, c.x, c.y)
	g.Step(c.u, c.ridge, used)
	want.check(c.t, g, r)
	checkAgain(c.t, g, c.u, c.ridge, nil)
	checkGradient(c.t, g, want, c.u, used)
	if c.tasks.TotalSamples() > 1000 && g.Elapsed <= 0 {
		c.t.Errorf("elapsed %v", g.Elapsed)
	}
	small := kernel.NewGroup(c.tasks.Compressed(), r)
	small.Step(c.u, c.ridge, used)
	want.check(c.t, small, r)
	c.checkParts(used)
	c.checkResponses(used)
	c.checkGramProduct(used)
	if !sameBits(c.u.Data(), before.Data()) {
		c.t.Error("the basis was written")
	}
	info := kernel.Describe() // gonum allocates for large products, and netlib always
	allocates := info.Kernel == "gonum" && (info.Build == "openblas" || c.tasks.MaxSamples()*d*r > 1000)
	all := func() { g.Step(c.u, c.ridge, used); g.Minimize(c.u, c.ridge, used); g.Gradient(c.u, used) }
	if n := check.Allocations(2, all); n != 0 && !allocates {
		c.t.Errorf("%d allocations", n)
	}
}

// usedWorkspace returns a workspace that is larger than necessary and served other tasks.
func (c *conformance) usedWorkspace() *kernel.Workspace {
	d, r := c.u.Dims()
	rng := rand.New(rand.NewPCG(2, 1))
	others, _, _ := randomTasks(rng, d+9, []int{c.tasks.MaxSamples() + 3, 2 * r}, c.tasks.Storage())
	groups := []*kernel.Group{kernel.NewGroup(others, r+2), kernel.NewGroup(c.tasks, r),
		kernel.NewGroup(c.tasks.Compressed(), r)}
	ws := kernel.NewWorkspace(groups...)
	groups[0].Step(randomBasis(rng, d+9, r+2), 0, ws)
	return ws
}

// checkParts takes least squares and gradient from different parts, and from one part whose tasks do not
// follow each other in memory.
func (c *conformance) checkParts(ws *kernel.Workspace) {
	_, r := c.u.Dims()
	for _, p := range [][2]int{{0, 1}, {1, 0}, {1, 1}} {
		fx, fy := partOf(c.x, c.y, p[0], 2)
		gx, gy := partOf(c.x, c.y, p[1], 2)
		fit, grad := kernel.NewGroup(c.tasks.Part(p[0], 2), r), kernel.NewGroup(c.tasks.Part(p[1], 2), r)
		split(fit, grad, c.u, c.ridge, ws)
		stepReference(c.u, c.ridge, fx, fy, gx, gy).check(c.t, grad, r)
	}
}

// split does a step with sample splitting: the least squares of one group, the gradient of the other one.
func split(fit, grad *kernel.Group, u *kernel.Basis, ridge float64, ws *kernel.Workspace) {
	fit.Minimize(u, ridge, ws)
	copy(grad.B, fit.B)
	copy(grad.Status, fit.Status)
	grad.Gradient(u, ws)
}

// checkResponses takes other responses, which their owner then multiplies by -2.
func (c *conformance) checkResponses(ws *kernel.Workspace) {
	_, r := c.u.Dims()
	all := slices.Concat(c.y...)
	var others [][]float64
	for i, v := range all {
		all[i] = 3 - v*v
	}
	for at, task := 0, 0; task < len(c.y); task++ {
		others = append(others, all[at:][:len(c.y[task])])
		at += len(c.y[task])
	}
	view := c.tasks.WithResponses(all)
	g := kernel.NewGroup(view, r)
	g.Step(c.u, c.ridge, ws)
	stepReference(c.u, c.ridge, c.x, others, c.x, others).check(c.t, g, r)
	for i := range all {
		all[i] *= -2
	}
	other := kernel.NewGroup(view, r)
	other.Step(c.u, c.ridge, ws)
	for i, v := range g.B {
		if other.B[i] != -2*v {
			c.t.Fatalf("b[%d] = %v for responses times -2, want %v", i, other.B[i], -2*v)
		}
	}
	half, same := kernel.NewGroup(view.Part(1, 2), r), kernel.NewGroup(c.tasks.Part(1, 2).WithResponses(all), r)
	half.Step(c.u, c.ridge, ws)
	same.Step(c.u, c.ridge, ws)
	sameGroup(c.t, same, half)
	for task, y := range c.y {
		if !sameBits(c.tasks.Y(task), y) {
			c.t.Errorf("the responses of task %d were written", task)
		}
	}
}

func (c *conformance) checkGramProduct(ws *kernel.Workspace) {
	d, r := c.u.Dims()
	got, want := kernel.NewBasis(d, r), mat.NewDense(d, r, nil)
	got.Col(0)[0] = 9 // overwritten
	for _, x := range c.x {
		if x != nil {
			var a, p mat.Dense
			a.Mul(x, c.u)
			p.Mul(x.T(), &a)
			want.Add(want, &p)
		}
	}
	few := kernel.NewBuilder(d, []int{min(7, c.tasks.MaxSamples())}, c.tasks.Storage()).Tasks().NewWorkspace(r)
	for _, ws := range []*kernel.Workspace{ws, few, nil} {
		c.tasks.GramProduct(got, c.u, ws)
		sameMatrix(c.t, "Gram product", got, want, 1e-13)
	}
	if n := check.Allocations(2, func() { c.tasks.GramProduct(got, c.u, few) }); n != 0 {
		c.t.Errorf("%d allocations in a Gram product", n)
	}
}

// checkGradient computes the gradient at the coefficients of a step.
func checkGradient(t *testing.T, g *kernel.Group, want *reference, u *kernel.Basis, ws *kernel.Workspace) {
	t.Helper()
	_, r := u.Dims()
	b, status := slices.Clone(g.B), slices.Clone(g.Status)
	clear(g.Grad.Data())
	g.Gradient(u, ws)
	want.check(t, g, r)
	if !sameBits(b, g.B) || !slices.Equal(status, g.Status) {
		t.Error("Gradient wrote coefficients or statuses")
	}
}

// checkAgain repeats a step, to the bit, and compares Minimize with it.
func checkAgain(t *testing.T, g *kernel.Group, u *kernel.Basis, ridge float64, ws *kernel.Workspace) {
	t.Helper()
	d, r := u.Dims()
	grad, b, objective := g.Grad.Clone(), slices.Clone(g.B), g.Objective
	g.Step(u, ridge, ws)
	if !sameBits(grad.Data(), g.Grad.Data()) || !sameBits(b, g.B) || objective != g.Objective {
		t.Error("a second step differs from the first")
	}
	clear(g.B)
	g.Minimize(u, ridge, ws)
	if !(floats.Distance(g.B, b, 2) <= 1e-10*floats.Norm(b, 2)) {
		t.Errorf("B of Minimize is %v, that of Step %v", g.B, b)
	}
	if !(g.Objective-objective <= 1e-10*(objective+1) && objective-g.Objective <= 1e-10*(objective+1)) {
		t.Errorf("objective of Minimize is %g, that of Step %g", g.Objective, objective)
	}
	if !sameBits(grad.Data(), g.Grad.Data()) {
		t.Error("Minimize wrote the gradient")
	}
	for j := range r {
		if padding := g.Grad.Data()[j*g.Grad.Stride():][d:g.Grad.Stride()]; slices.ContainsFunc(
			padding, func(v float64) bool { return v != 0 }) {
			t.Errorf("padding of column %d of the gradient is %v", j, padding)
		}
	}
}

// X'e of one task, with zeros behind it.
func TestTasksMulTransposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		tasks, x, y := randomTasks(rng, 13, []int{4, 0, 6}, storage)
		for task := range 3 {
			v, want := slices.Repeat([]float64{7}, 16), mat.NewVecDense(13, nil)
			if tasks.MulTransposed(v, task, y[task]); x[task] != nil {
				want.MulVec(x[task].T(), mat.NewVecDense(len(y[task]), y[task]))
			}
			sameMatrix(t, fmt.Sprintf("X'e of task %d", task), mat.NewVecDense(13, v[:13]), want, 1e-14)
			if !sameBits(v[13:], []float64{0, 0, 0}) {
				t.Errorf("padding %v", v[13:])
			}
		}
	}
}

// A workspace that has packed a basis packs it again after it has changed.
func TestChangedBasis(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		use(t, tile.Active().String())
		rng := rand.New(rand.NewPCG(71, 72))
		for _, r := range []int{3, 16, 24} {
			tasks, _, _ := randomTasks(rng, 64, slices.Repeat([]int{40}, 3), kernel.Float64)
			g, want := kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)
			ws := kernel.NewWorkspace(g)
			product, again, u := kernel.NewBasis(64, r), kernel.NewBasis(64, r), randomBasis(rng, 64, r)
			for range 2 {
				g.Minimize(u, 0, ws)
				want.Minimize(u, 0, nil)
				if !sameBits(g.B, want.B) {
					t.Errorf("r = %d: Minimize has the coefficients of another basis", r)
				}
				floats.Scale(-3, u.Data())
				tasks.GramProduct(product, u, ws)
				tasks.GramProduct(again, u, nil)
				if !sameBits(product.Data(), again.Data()) {
					t.Errorf("r = %d: the Gram product is that of another basis", r)
				}
				floats.Scale(2, u.Data())
			}
		}
	})
}

// A column of dummy variables is solved for as others are, by every backend: gonum v0.17 applies its
// reflectors wrongly in blocks of more than 32.
func TestDummyVariables(t *testing.T) {
	const n, r, levels = 101, 40, 20
	rng := rand.New(rand.NewPCG(97, 98))
	for _, name := range kernel.Describe().Available {
		t.Run(name, func(t *testing.T) {
			use(t, name)
			build, u := kernel.NewBuilder(r, []int{n}, kernel.Float64), kernel.NewBasis(r, r)
			row := make([]float64, r)
			for i := range n {
				sum := 0.0
				for j := range row {
					row[j] = rng.NormFloat64()
					if j < levels {
						row[j] = 0
					}
				}
				row[i%levels] = 1
				for _, v := range row {
					sum += v
				}
				build.SetRow(0, i, row, sum)
			}
			for j := range r {
				u.Col(j)[j] = 1
			}
			g := kernel.NewGroup(build.Tasks(), r)
			g.Step(u, 0, nil)
			for j, b := range g.B {
				if !(math.Abs(b-1) <= 1e-11) {
					t.Fatalf("coefficient %d is off by %g", j, b-1)
				}
			}
		})
	}
}
