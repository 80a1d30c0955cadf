package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
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
					within(t, "gradient", got.Grad, want.Grad, bound*ref.gradScale)
					if e := math.Abs(got.Objective - want.Objective); !(e <= bound*ref.objectiveScale) {
						t.Errorf("objective %v, want %v", got.Objective, want.Objective)
					}
					ref.check(t, got, r)
				})
			}
		}
	})
}

// Dependent columns stay dependent, columns of any length keep their digits, and NaN stays.
func TestCompressedOfDegenerateTasks(t *testing.T) {
	const d, r, n = 4, 2, 50
	rng := rand.New(rand.NewPCG(63, 64))
	row := make([]float64, d)
	b := kernel.NewBuilder(d, []int{n, n, n, n}, kernel.Float64)
	for task := range 4 {
		for i := range n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			y := rng.NormFloat64()
			switch task {
			case 1:
				row[1], row[2], row[3] = 2*row[0], 0, 0
			case 2:
				for k := range row {
					row[k] *= 1e-170
				}
				y *= 1e150
			case 3:
				if i == 7 {
					y = math.NaN()
				}
			}
			b.SetRow(task, i, row, y)
		}
	}
	tasks, u := b.Tasks(), kernel.NewBasis(d, r)
	u.Col(0)[0], u.Col(1)[1] = 1, 1
	want, got := kernel.NewGroup(tasks, r), kernel.NewGroup(tasks.Compressed(), r)
	want.Step(u, 0, nil)
	got.Step(u, 0, nil)
	for task, status := range []lsq.Status{lsq.OK, lsq.RankDeficient, lsq.NotFinite, lsq.NotFinite} {
		if task == 2 {
			status = want.Status[2]
		}
		if got.Status[task] != status || want.Status[task] != status {
			t.Errorf("task %d: status %v, of the samples %v, want %v", task, got.Status[task], want.Status[task], status)
		}
		for j := range r {
			if v, w := got.B[task*r+j], want.B[task*r+j]; !(math.Abs(v-w) <= 1e-13*math.Abs(w)+1e-14) {
				t.Errorf("task %d: b[%d] = %v, of the samples %v", task, j, v, w)
			}
		}
	}
}

// Tasks of which none is tall are returned as they are.
func TestCompressedOfShortTasks(t *testing.T) {
	tasks, _, _ := randomTasks(rand.New(rand.NewPCG(65, 66)), 9, []int{10, 3}, kernel.Float32)
	if tasks.Compressed() != tasks {
		t.Error("tasks without tall ones were copied")
	}
}
