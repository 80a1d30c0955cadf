package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestCompensated checks the identity X' theta - y' = X theta - y at the reference,
// to the rounding of float64, where the plain float32 copy is wrong by 1e-8.
func TestCompensated(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const d, r = 37, 3
	samples := []int{5, 0, 12, 1}
	build := kernel.NewBuilder(d, samples, kernel.Float64)
	for task, n := range samples {
		for i := range n {
			x := make([]float64, d)
			for k := range x {
				x[k] = rng.NormFloat64()
			}
			build.SetRow(task, i, x, rng.NormFloat64())
		}
	}
	full := build.Tasks()
	c, ok := kernel.NewCompensated(full)
	if !ok || c.Reduced().Storage() != kernel.Float32 {
		t.Fatal("no float32 copy")
	}
	u := kernel.NewBasis(d, r)
	b := make([]float64, len(samples)*r)
	for j := range r {
		for k := range u.Col(j) {
			u.Col(j)[k] = rng.NormFloat64()
		}
	}
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	residual := func(k *kernel.Tasks, task, i int) float64 {
		e := -k.Y(task)[i]
		for f, x := range k.Row(make([]float64, d), task, i) {
			for j := range r {
				e += x * u.At(f, j) * b[task*r+j]
			}
		}
		return e
	}
	worst := 0.0
	check := func(want float64) {
		t.Helper()
		worst = 0
		for task, n := range samples {
			for i := range n {
				worst = max(worst, math.Abs(residual(c.Reduced(), task, i)-residual(full, task, i)))
			}
		}
		if worst > want {
			t.Errorf("residuals differ by %g, want at most %g", worst, want)
		}
	}
	check(1e-5)
	if worst < 1e-10 {
		t.Errorf("the uncompensated copy is exact to %g: nothing is tested", worst)
	}
	theta := make([]float64, d)
	c.Refer(u, b, theta)
	check(1e-13)
	if n := testing.AllocsPerRun(10, func() { c.Refer(u, b, theta) }); n != 0 {
		t.Errorf("Refer allocates %v times", n)
	}
	// A new reference forgets the old one.
	for i := range b {
		b[i] *= -2
	}
	c.Refer(u, b, theta)
	check(2e-13)
}

func TestCompensatedRefuses(t *testing.T) {
	build := kernel.NewBuilder(2, []int{1}, kernel.Float64)
	build.SetRow(0, 0, []float64{1, 1e39}, 1)
	if _, ok := kernel.NewCompensated(build.Tasks()); ok {
		t.Error("1e39 fits into float32")
	}
	if _, ok := kernel.NewCompensated(kernel.NewBuilder(2, []int{1}, kernel.Float32).Tasks()); ok {
		t.Error("float32 samples are compensated")
	}
}
