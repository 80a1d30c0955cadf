package kernel_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
)

// Garbage behind the columns of a basis changes no result.
func TestPaddingOfBasis(t *testing.T) {
	const d, r = 20, 2
	rng := rand.New(rand.NewPCG(8, 1))
	tasks, _, _ := randomTasks(rng, d, []int{9, 12}, kernel.Float64)
	clean := randomBasis(rng, d, r)
	dirty := func() *kernel.Basis {
		u := clean.Clone()
		for j, v := range []float64{rng.NormFloat64(), math.NaN()} {
			for k := d; k < u.Stride(); k++ {
				u.Data()[j*u.Stride()+k] = v
			}
		}
		return u
	}
	tiertest.Each(t, func(t *testing.T) {
		want, got := clean.Clone(), dirty()
		want.Orthonormalize(nil, nil)
		got.Orthonormalize(nil, nil)
		if !sameBits(got.Data(), want.Data()) {
			t.Errorf("Orthonormalize: other bits, U is\n%v\nwant\n%v", got.Data(), want.Data())
		}
		of := func(basis func() *kernel.Basis) [][]float64 {
			g, gram := kernel.NewGroup(tasks, r), kernel.NewBasis(d, r)
			g.Step(basis(), 0, nil)
			tasks.GramProduct(gram, basis(), nil)
			return [][]float64{g.B, g.Grad.Data(), gram.Data()}
		}
		expected := of(clean.Clone)
		for i, got := range of(dirty) {
			if !sameBits(got, expected[i]) {
				t.Errorf("result %d differs with garbage in the padding", i)
			}
		}
	})
}

func TestGroupPanics(t *testing.T) {
	tasks := kernel.NewBuilder(5, []int{3, 4}, kernel.Float64).Tasks()
	g, ws, u := kernel.NewGroup(tasks, 2), kernel.NewWorkspace(4, 5, 2), kernel.NewBasis(5, 2)
	// Every fault has its own message.
	messages := map[any]string{}
	for name, f := range map[string]func(){
		"tasks":       func() { kernel.NewGroup(nil, 1) },
		"basis":       func() { g.Step(kernel.NewBasis(6, 2), 0, ws) },
		"workspace":   func() { g.Minimize(u, 0, kernel.NewWorkspace(3, 5, 2)) },
		"samples":     func() { g.SetSamples(nil, nil) },
		"other tasks": func() { three := kernel.NewBuilder(5, []int{3}, 0).Tasks(); g.SetSamples(three, three) },
		"ridge":       func() { g.Step(u, 1.7e308, ws) },
		"gradient":    func() { g.Step(g.Grad, 0, ws) },
		"no group":    func() { new(kernel.Group).Step(u, 0, ws) },
		"large":       func() { kernel.NewGroup(tasks, math.MaxInt/8) },
	} {
		msg := panicOf(f)
		if text, ok := msg.(string); !ok || !strings.HasPrefix(text, "kernel: ") || messages[msg] != "" {
			t.Errorf("%s: panic %q, that of %q", name, msg, messages[msg])
		}
		messages[msg] = name
	}
	wantPanic(t, "no samples of the least squares", func() { g.SetSamples(nil, tasks) })
	wantPanic(t, "no samples of the gradient", func() { g.SetSamples(tasks, nil) })
	wantPanic(t, "no basis", func() { g.Step(nil, 0, ws) })
	wantPanic(t, "rank", func() { kernel.NewGroup(tasks, 0) })
	wantPanic(t, "negative rank", func() { kernel.NewGroup(tasks, -1) })
	wantPanic(t, "empty workspace", func() { g.Step(u, 0, new(kernel.Workspace)) })
	wantPanic(t, "large workspace", func() { kernel.NewWorkspace(math.MaxInt/16, 3, math.MaxInt/16) })
	wantPanic(t, "B replaced", func() { other := kernel.NewGroup(tasks, 2); other.B = other.B[1:]; other.Step(u, 0, ws) })
	wantPanic(t, "Grad replaced", func() { other := kernel.NewGroup(tasks, 2); other.Grad = u; other.Step(u, 0, ws) })
	wantPanic(t, "workspace for the samples of the gradient", func() {
		split := kernel.NewGroup(tasks, 2)
		split.SetSamples(tasks.Part(0, 4), tasks)
		split.Step(u, 0, kernel.NewWorkspace(tasks.Part(0, 4).MaxSamples(), 5, 2))
	})
	wantPanic(t, "workspace, n", func() { kernel.NewWorkspace(-1, 1, 1) })
	wantPanic(t, "workspace, d", func() { kernel.NewWorkspace(1, 0, 1) })
	wantPanic(t, "workspace, r", func() { kernel.NewWorkspace(1, 1, 0) })
	wantPanic(t, "basis, r", func() { g.Step(kernel.NewBasis(5, 3), 0, ws) })
	wantPanic(t, "negative ridge", func() { g.Step(u, -1, ws) })
	wantPanic(t, "NaN ridge", func() { g.Step(u, math.NaN(), ws) })
	wantPanic(t, "infinite ridge", func() { g.Minimize(u, math.Inf(1), ws) })
	other := kernel.NewBuilder(5, []int{3}, kernel.Float64).Tasks()
	wantPanic(t, "samples of other tasks", func() { g.SetSamples(tasks, other) })
	wantPanic(t, "Gram product of nothing", func() { tasks.GramProduct(nil, u, ws) })
	wantPanic(t, "Gram product of itself", func() { tasks.GramProduct(u, u, ws) })
	wantPanic(t, "Gram product, r", func() { tasks.GramProduct(kernel.NewBasis(5, 1), u, ws) })
	wantPanic(t, "Gram product, workspace", func() { tasks.GramProduct(u.Clone(), u, kernel.NewWorkspace(0, 5, 2)) })
}
