package kernel_test

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/mat"
)

// Three tasks of different sizes whose coefficients are multiples of (1, 2): from
// a wrong start, gradient steps find the direction.
func Example() {
	b := kernel.NewBuilder(2, []int{2, 1, 3}, kernel.Float64)
	b.SetRow(0, 0, []float64{1, 0}, 1)
	b.SetRow(0, 1, []float64{0, 1}, 2)
	b.SetRow(1, 0, []float64{1, 1}, 6)
	b.SetRow(2, 0, []float64{2, 1}, -4)
	b.SetRow(2, 1, []float64{1, 2}, -5)
	b.SetRow(2, 2, []float64{0, 1}, -2)
	tasks := b.Tasks()

	const d, r = 2, 1
	g := kernel.NewGroup(tasks, r)
	ws := kernel.NewWorkspace(g)
	u := kernel.NewBasis(d, r)
	u.Col(0)[0] = 1
	rr, work := make([]float64, r*r), make([]float64, qr.WorkLen(r))
	for range 200 {
		g.Step(u, 0, ws)
		for i, v := range g.Grad.Data() {
			u.Data()[i] -= 0.01 * v
		}
		u.Orthonormalize(rr, work)
	}
	fmt.Printf("U = %.3f\n", u.Col(0))
	fmt.Printf("b = %.3f %.3f %.3f\n", g.B[0], g.B[1], g.B[2])
	// Output:
	// U = [0.447 0.894]
	// b = 2.236 4.472 -2.236
}

// A batch of least squares: new tasks on a basis that stays as it is.
func ExampleGroup_Minimize() {
	b := kernel.NewBuilder(3, []int{2, 1, 0}, kernel.Float64)
	b.SetRow(0, 0, []float64{1, 0, 5}, 3)
	b.SetRow(0, 1, []float64{0, 1, 5}, 4)
	b.SetRow(1, 0, []float64{3, 4, 5}, 25)
	tasks := b.Tasks()
	u := kernel.BasisOf(mat.NewDense(3, 2, []float64{
		1, 0,
		0, 1,
		0, 0,
	}))
	g := kernel.NewGroup(tasks, 2)
	g.Minimize(u, 0, kernel.NewWorkspace(g))
	for t, s := range g.Status {
		fmt.Printf("%.1f %v\n", g.B[2*t:][:2], s)
	}
	// Output:
	// [3.0 4.0] ok
	// [3.0 4.0] underdetermined
	// [0.0 0.0] underdetermined
}

// Two tasks over the caller's rows of two features, padded with zeros to 8.
func ExampleView() {
	x := make([]float64, 3*8)
	copy(x[0:], []float64{1, 0})
	copy(x[8:], []float64{0, 1})
	copy(x[16:], []float64{1, 1})
	tasks := kernel.View(x, 8, 2, []int{0, 2, 3}, []float64{1, 2, 6})
	g := kernel.NewGroup(tasks, 1)
	g.Minimize(kernel.BasisOf(mat.NewDense(2, 1, []float64{1, 2})), 0, nil)
	fmt.Println(g.B)
	// Output:
	// [1 2]
}
