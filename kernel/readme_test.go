package kernel_test

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel"
)

func step(x, y []float64, first []int, u *kernel.Basis) *kernel.Group {
	// A row of x has 100 features and 4 zeros; task t has the rows first[t] to first[t+1]-1 of x and y.
	tasks := kernel.View(x, 104, 100, first, y)
	group := kernel.NewGroup(tasks, 4) // u has 100 rows and 4 columns: kernel.BasisOf takes any mat.Matrix
	pool := kernel.NewPool(0)          // one worker a processor
	defer pool.Close()
	executor := kernel.NewExecutor(pool, []*kernel.Group{group})
	executor.Step([]*kernel.Basis{u}, 0) // to be repeated with other U: nothing is allocated
	return group                         // B: b_t = argmin |X_t U b - y_t|; Grad: sum of X_t' (X_t U b_t - y_t) b_t'
}

// The example of README: with U = [e_0 e_1 e_2 e_3] the coefficients of y = 2 x_0 - x_3 are 2, 0, 0 and -1.
func ExampleGroup() {
	const d, stride = 100, 104
	x, y := make([]float64, 8*stride), make([]float64, 8)
	for i := range y {
		row := x[i*stride:][:d]
		for k := range row {
			row[k] = float64((i*i+3*k*i+k)%7 - 3)
		}
		y[i] = 2*row[0] - row[3]
	}
	u := kernel.NewBasis(d, 4)
	for k := range 4 {
		u.Col(k)[k] = 1
	}
	group := step(x, y, []int{0, 8}, u)
	for k, b := range group.B[:4] {
		group.B[k] = math.Round(b) + 0 // no -0
	}
	fmt.Printf("b = %.0f, sum of squared errors %.0f", group.B[:4], group.Objective)
	// Output: b = [2 0 0 -1], sum of squared errors 0
}
