package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// checkAgain repeats a step, to the bit, and compares Minimize with it.
func checkAgain(t *testing.T, g *kernel.Group, u *kernel.Basis, ridge float64, ws *kernel.Workspace) {
	t.Helper()
	grad, b, objective := g.Grad.Clone(), append([]float64(nil), g.B...), g.Objective
	g.Step(u, ridge, ws)
	if !sameBits(grad.Data(), g.Grad.Data()) || !sameBits(b, g.B) || objective != g.Objective {
		t.Error("a second step differs from the first")
	}
	clear(g.B)
	g.Minimize(u, ridge, ws)
	d, r := u.Dims()
	sameMatrix(t, "B of Minimize", mat.NewDense(len(g.Status), r, g.B), mat.NewDense(len(g.Status), r, b), 1e-10)
	if math.Abs(objective-g.Objective) > 1e-10*(objective+1) {
		t.Errorf("objective of Minimize is %g, that of Step %g", g.Objective, objective)
	}
	if !sameBits(grad.Data(), g.Grad.Data()) {
		t.Error("Minimize wrote the gradient")
	}
	for j := range r {
		for _, v := range g.Grad.Data()[j*g.Grad.Stride()+d : (j+1)*g.Grad.Stride()] {
			if v != 0 {
				t.Fatalf("padding of column %d of the gradient is %g", j, v)
			}
		}
	}
}

// A larger workspace, used before for something else, gives the same bits.
func TestWorkspaceReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	big, _, _ := randomTasks(rng, 90, []int{60, 3}, kernel.Float64)
	small, _, _ := randomTasks(rng, 21, []int{9, 2, 0, 7}, kernel.Float32)
	u := randomBasis(rng, 21, 3)
	want, got := kernel.NewGroup(small, 3), kernel.NewGroup(small, 3)
	want.Step(u, 0, kernel.NewWorkspace(9, 21, 3))
	ws, big16 := kernel.NewWorkspace(60, 90, 12), kernel.NewWorkspace(60, 90, 16)
	kernel.NewGroup(big, 12).Step(randomBasis(rng, 90, 12), 0, ws)
	got.Step(u, 0, ws)
	if !sameBits(got.B, want.B) || !sameBits(got.Grad.Data(), want.Grad.Data()) {
		t.Error("the workspace shows in the result")
	}
	packed, _, _ := randomTasks(rng, 40, []int{30, 25}, kernel.Float64)
	for range 2 { // another basis each time, which is packed
		u := randomBasis(rng, 40, 16)
		want, got := kernel.NewGroup(packed, 16), kernel.NewGroup(packed, 16)
		want.Step(u, 0, nil)
		got.Step(u, 0, big16)
		sameGroup(t, got, want)
	}
}

func TestSetSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		samples := []int{20, 0, 9, 1, 33, 2}
		const d, r, parts = 19, 3, 4
		tasks, x, y := randomTasks(rng, d, samples, storage)
		u := randomBasis(rng, d, r)
		g := kernel.NewGroup(tasks, r)
		ws := kernel.NewWorkspace(tasks.MaxSamples(), d, r)
		for p := range parts {
			g.SetSamples(tasks.Part(p, parts), tasks.Part(parts-1-p, parts))
			g.Step(u, 0, ws)
			fx, fy := partOf(x, y, p, parts)
			gx, gy := partOf(x, y, parts-1-p, parts)
			stepReference(u, 0, fx, fy, gx, gy).check(t, g, r)
			same := tasks.Part(p, parts) // whose tasks do not follow each other in memory
			g.SetSamples(same, same)
			g.Step(u, 0, ws)
			stepReference(u, 0, fx, fy, fx, fy).check(t, g, r)
		}
		g.SetSamples(tasks, tasks)
		g.Step(u, 0, ws)
		stepReference(u, 0, x, y, x, y).check(t, g, r)
	}
}

// Without scratch memory everything computes the same bits and allocates what it needs.
func TestWithoutScratch(t *testing.T) {
	const d, r = 19, 3
	rng := rand.New(rand.NewPCG(3, 9))
	tasks, _, _ := randomTasks(rng, d, []int{20, 0, 9, 1, 33, 2}, kernel.Float64)
	u := randomBasis(rng, d, r)
	ws := kernel.NewWorkspace(tasks.MaxSamples(), d, r)
	want, got := kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)
	same := func(what string, want, got []float64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: other bits without scratch", what)
		}
	}
	want.Minimize(u, 0.1, ws)
	got.Minimize(u, 0.1, nil)
	same("Minimize", want.B, got.B)
	want.Step(u, 0, ws)
	got.Step(u, 0, nil)
	same("Step", want.Grad.Data(), got.Grad.Data())
	p, q := kernel.NewBasis(d, r), kernel.NewBasis(d, r)
	tasks.GramProduct(p, u, ws)
	tasks.GramProduct(q, u, nil)
	same("GramProduct", p.Data(), q.Data())
	p.Orthonormalize(make([]float64, r*r), make([]float64, r))
	q.Orthonormalize(nil, nil)
	same("Orthonormalize", p.Data(), q.Data())
}

// With other responses a group computes what it would with tasks that were built with
// them, bit for bit, parts and both storages included; samples and responses of the
// tasks themselves stay as they are.
func TestWithResponses(t *testing.T) {
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		const d, r, parts = 19, 3, 2
		samples := []int{20, 0, 9, 1, 33, 2}
		tasks, x, y := randomTasks(rand.New(rand.NewPCG(3, 1)), d, samples, storage)
		u := randomBasis(rand.New(rand.NewPCG(3, 2)), d, r)
		ws := kernel.NewWorkspace(tasks.MaxSamples(), d, r)
		var all []float64
		b := kernel.NewBuilder(d, samples, storage)
		for task := range samples {
			for i, v := range y[task] {
				all = append(all, 3-v*v)
				b.SetRow(task, i, x[task].RawRowView(i), 3-v*v)
			}
		}
		rebuilt, view := b.Tasks(), tasks.WithResponses(all)
		want, got := kernel.NewGroup(rebuilt, r), kernel.NewGroup(tasks, r)
		same := func(what string) {
			t.Helper()
			want.Step(u, 0, ws)
			got.Step(u, 0, ws)
			if !slices.Equal(got.B, want.B) || !slices.Equal(got.Grad.Data(), want.Grad.Data()) || got.Objective != want.Objective {
				t.Errorf("%v, %s: other bits than with tasks built with these responses", storage, what)
			}
		}
		got.SetSamples(view, view)
		same("all samples")
		for p := range parts {
			want.SetSamples(rebuilt.Part(p, parts), rebuilt.Part(1-p, parts))
			got.SetSamples(view.Part(p, parts), view.Part(1-p, parts))
			same("part of the view")
			got.SetSamples(tasks.Part(p, parts).WithResponses(all), tasks.Part(1-p, parts).WithResponses(all))
			same("view of the part")
		}
		got = kernel.NewGroup(view, r)
		want.SetSamples(rebuilt, rebuilt)
		same("a group of the view")
		for i := range all { // the owner may change them between steps
			all[i] *= -2
		}
		before := slices.Clone(got.B)
		got.Step(u, 0, ws)
		for i, v := range before {
			if got.B[i] != -2*v {
				t.Fatalf("%v: b[%d] = %v, want %v", storage, i, got.B[i], -2*v)
			}
		}
		for task := range samples {
			if !slices.Equal(tasks.Y(task), y[task]) {
				t.Errorf("%v: the responses of the tasks were written", storage)
			}
		}
		wantPanic(t, "too few responses", func() { tasks.WithResponses(all[1:]) })
		wantPanic(t, "too many responses", func() { tasks.WithResponses(append(all, 0)) })
		wantPanic(t, "different responses", func() { got.SetSamples(view, tasks) })
	}
}

// Tasks without any sample have no coefficients and no gradient.
func TestEmptyTasks(t *testing.T) {
	for _, samples := range [][]int{{}, {0}, {0, 0, 0}} {
		tasks := kernel.NewBuilder(5, samples, kernel.Float64).Tasks()
		g := kernel.NewGroup(tasks, 2)
		ws := kernel.NewWorkspace(0, 5, 2)
		u := kernel.NewBasis(5, 2)
		u.Col(0)[0], u.Col(1)[1] = 1, 1
		g.Grad.Col(0)[0] = 9
		for _, ridge := range []float64{0, 1} {
			g.Step(u, ridge, ws)
			if mat.Norm(g.Grad, 2) != 0 || g.Objective != 0 {
				t.Errorf("%v: gradient %v, objective %g", samples, g.Grad.Data(), g.Objective)
			}
			for i, s := range g.Status {
				if (s == lsq.Underdetermined) != (ridge == 0) {
					t.Errorf("task %d, ridge %g: %v", i, ridge, s)
				}
			}
		}
		out := kernel.NewBasis(5, 2)
		out.Col(0)[0] = 9
		tasks.GramProduct(out, u, ws)
		if mat.Norm(out, 2) != 0 {
			t.Errorf("%v: Gram product %v", samples, out.Data())
		}
	}
}

func TestGramProduct(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 1))
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			for _, c := range []struct{ d, r, work int }{{13, 3, 40}, {13, 3, 7}, {64, 16, 1}, {5, 1, 3}} {
				tasks, x, _ := randomTasks(rng, c.d, []int{40, 0, 3, 1, 22}, storage)
				u := randomBasis(rng, c.d, c.r)
				g, ws := kernel.NewBasis(c.d, c.r), kernel.NewWorkspace(c.work, c.d, c.r)
				tasks.GramProduct(g, u, ws)
				want := mat.NewDense(c.d, c.r, nil)
				for _, xt := range x {
					if xt != nil {
						var a, p mat.Dense
						a.Mul(xt, u)
						p.Mul(xt.T(), &a)
						want.Add(want, &p)
					}
				}
				sameMatrix(t, "Gram product", g, want, 1e-13)
				if n := testing.AllocsPerRun(5, func() { tasks.GramProduct(g, u, ws) }); n != 0 {
					t.Errorf("%g allocations", n)
				}
			}
		}
	})
}

func TestTasksMulTransposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	tasks, x, y := randomTasks(rng, 13, []int{4, 0, 6}, kernel.Float32)
	for task := range 3 {
		v := make([]float64, 16)
		v[3], v[15] = 7, 7
		tasks.MulTransposed(v, task, y[task])
		want := mat.NewVecDense(13, nil)
		if x[task] != nil {
			want.MulVec(x[task].T(), mat.NewVecDense(len(y[task]), y[task]))
		}
		sameMatrix(t, "X'y", mat.NewVecDense(13, v[:13]), want, 1e-14)
		if !sameBits(v[13:], []float64{0, 0, 0}) {
			t.Errorf("padding %v", v[13:])
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	tasks, _, _ := randomTasks(rng, 40, ragged(rng, 50, 30), kernel.Float64)
	u := randomBasis(rng, 40, 4)
	g, ws := kernel.NewGroup(tasks, 4), kernel.NewWorkspace(30, 40, 4)
	for name, f := range map[string]func(){
		"Step":     func() { g.Step(u, 0, ws) },
		"ridge":    func() { g.Step(u, 1, ws) },
		"Minimize": func() { g.Minimize(u, 0, ws) },
	} {
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}
