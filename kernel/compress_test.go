package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
)

// heights are the numbers of samples of tasks of 9 features: 10 is the most that stays.
var heights = []int{400, 9, 10, 11, 0, 57, 3, 10, 1000}

// A step on compressed tasks has the coefficients, gradient and objective of one on the samples, for
// every storage and ridge, to some n eps of the norms that cancel in them.
func TestCompressed(t *testing.T) {
	const d, r = 9, 3
	tiertest.Each(t, func(t *testing.T) {
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			rng := rand.New(rand.NewPCG(61, 62))
			tasks, x, y := randomTasks(rng, d, heights, storage)
			small := tasks.Compressed()
			for task, n := range heights {
				if got := small.Samples(task); got != min(n, d+1) {
					t.Errorf("task %d: %d samples, want %d", task, got, min(n, d+1))
				}
			}
			for _, ridge := range []float64{0, 0.7} {
				t.Run(fmt.Sprintf("storage=%v/ridge=%g", storage, ridge), func(t *testing.T) {
					u := randomBasis(rng, d, r)
					want, got := kernel.NewGroup(tasks, r), kernel.NewGroup(small, r)
					want.Step(u, ridge, nil)
					got.Step(u, ridge, nil)
					ref := stepReference(u, ridge, x, y, x, y)
					const bound = 1e-13
					for i, v := range got.B {
						if got.Status[i/r] != want.Status[i/r] || math.Abs(v-want.B[i]) > bound*(1+math.Abs(want.B[i])) {
							t.Errorf("b[%d] = %v with status %v, want %v with %v", i, v, got.Status[i/r], want.B[i], want.Status[i/r])
						}
					}
					within(t, "gradient", got.Grad, want.Grad, bound*ref.GradScale)
					if e := math.Abs(got.Objective - want.Objective); !(e <= bound*ref.ObjectiveScale) {
						t.Errorf("objective %v, want %v", got.Objective, want.Objective)
					}
					ref.check(t, got, r)
				})
			}
		}
	})
}

// Tasks of which none is tall are returned as they are.
func TestCompressedOfShortTasks(t *testing.T) {
	tasks, _, _ := randomTasks(rand.New(rand.NewPCG(65, 66)), 9, []int{10, 3}, kernel.Float32)
	if tasks.Compressed() != tasks {
		t.Error("tasks without tall ones were copied")
	}
}
