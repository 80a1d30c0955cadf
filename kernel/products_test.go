package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/internal/tiertest"
	"gonum.org/v1/gonum/mat"
)

// productReference is H V by dense projections.
func productReference(u, v mat.Matrix, ridge float64, x []*mat.Dense, y [][]float64) (h *mat.Dense, scale float64) {
	d, r := u.Dims()
	h = mat.NewDense(d, r, nil)
	for t := range x {
		if x[t] == nil {
			continue
		}
		b, _ := solveReference(u, ridge, x[t], y[t])
		var w, q, e, g mat.VecDense
		q.MulVec(v, b)
		w.MulVec(x[t], &q)
		c, _ := solveReference(u, ridge, x[t], w.RawVector().Data)
		var a, outer mat.Dense
		a.Mul(x[t], u)
		e.MulVec(&a, c)
		e.SubVec(&w, &e)
		g.MulVec(x[t].T(), &e)
		outer.Outer(1, &g, b)
		h.Add(h, &outer)
		scale += mat.Norm(x[t], 2) * mat.Norm(&w, 2) * mat.Norm(b, 2)
	}
	return h, scale
}

// A product is that of dense matrices on every tier, in both storages, with and without a
// ridge, and leaves alone what the step has found.
func TestProducts(t *testing.T) { tiertest.Each(t, testProducts) }

func testProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	pool := kernel.NewPool(3)
	defer pool.Close()
	for _, c := range []struct{ d, r, tasks, most int }{{1, 1, 1, 3}, {5, 1, 4, 6}, {7, 2, 9, 5}, {40, 4, 30, 30}, {33, 5, 17, 9}, {130, 33, 9, 70}, {17, 2, 3, 400}, {30, 3, 600, 12}} {
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			for _, ridge := range []float64{0, 0.7} {
				t.Run(fmt.Sprintf("d=%d/r=%d/tasks=%d/storage=%v/ridge=%g", c.d, c.r, c.tasks, storage, ridge), func(t *testing.T) {
					samples := ragged(rng, c.tasks, c.most)
					samples[0] = c.most
					for i, n := range samples {
						if n == c.r {
							samples[i]++ // as in TestStep
						}
					}
					tasks, x, y := randomTasks(rng, c.d, samples, storage)
					u, v, out := []*kernel.Basis{randomBasis(rng, c.d, c.r)}, []*kernel.Basis{kernel.NewBasis(c.d, c.r)}, []*kernel.Basis{kernel.NewBasis(c.d, c.r)}
					for j := range c.r {
						for i := range v[0].Col(j) {
							v[0].Col(j)[i] = rng.NormFloat64()
						}
					}
					g := kernel.NewGroup(tasks, c.r)
					e := kernel.NewExecutor(pool, []*kernel.Group{g})
					e.Step(u, ridge)
					grad, b, objective := g.Grad.Clone(), append([]float64(nil), g.B...), g.Objective
					p := kernel.NewProducts(e)
					p.Multiply(out, u, v, ridge)
					want, scale := productReference(u[0], v[0], ridge, x, y)
					within(t, "H V", out[0], want, 1e-10*scale)
					if !sameBits(grad.Data(), g.Grad.Data()) || !sameBits(b, g.B) || objective != g.Objective {
						t.Error("the product has changed what the step found")
					}
				})
			}
		}
	}
}

// The derivative is that of the objective: where responses are fitted exactly, the second
// difference of the objective of the least squares along V is 2 <V, H V>.
func TestProductsAreSecondDerivatives(t *testing.T) {
	const d, r = 12, 2
	rng := rand.New(rand.NewPCG(8, 1))
	u, v, out := randomBasis(rng, d, r), randomBasis(rng, d, r), kernel.NewBasis(d, r)
	builder := kernel.NewBuilder(d, []int{9, 9, 9, 9}, kernel.Float64)
	row := make([]float64, d)
	for task := range 4 {
		b := []float64{rng.NormFloat64(), rng.NormFloat64()}
		for i := range 9 {
			y := 0.0
			for k := range row {
				row[k] = rng.NormFloat64()
				y += row[k] * (u.At(k, 0)*b[0] + u.At(k, 1)*b[1])
			}
			builder.SetRow(task, i, row, y)
		}
	}
	pool := kernel.NewPool(1)
	defer pool.Close()
	g := kernel.NewGroup(builder.Tasks(), r)
	e := kernel.NewExecutor(pool, []*kernel.Group{g})
	e.Step([]*kernel.Basis{u}, 0)
	kernel.NewProducts(e).Multiply([]*kernel.Basis{out}, []*kernel.Basis{u}, []*kernel.Basis{v}, 0)
	curvature := 0.0
	for k, x := range out.Data() {
		curvature += x * v.Data()[k]
	}
	const h = 1e-4
	sum := 0.0
	for _, s := range []float64{h, -h} {
		moved := u.Clone()
		for k, x := range v.Data() {
			moved.Data()[k] += s * x
		}
		e.Minimize([]*kernel.Basis{moved}, 0)
		sum += g.Objective
	}
	if got := sum / (h * h); math.Abs(got-2*curvature) > 1e-4*curvature {
		t.Errorf("second difference %g, want 2 <V, H V> = %g", got, 2*curvature)
	}
}

// Any number of workers gives the same bits, and nothing is allocated.
func TestProductsByWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const d, r = 24, 2
	tasks, _, _ := randomTasks(rng, d, ragged(rng, 300, 60), kernel.Float64)
	few, _, _ := randomTasks(rng, d, []int{5, 0}, kernel.Float64)
	u := []*kernel.Basis{randomBasis(rng, d, r), randomBasis(rng, d, r)}
	v := []*kernel.Basis{randomBasis(rng, d, r), randomBasis(rng, d, r)}
	var want []*kernel.Basis
	for _, workers := range []int{1, 2, 5} {
		pool := kernel.NewPool(workers)
		e := kernel.NewExecutor(pool, []*kernel.Group{kernel.NewGroup(tasks, r), kernel.NewGroup(few, r)})
		e.Step(u, 0)
		p, out := kernel.NewProducts(e), []*kernel.Basis{kernel.NewBasis(d, r), kernel.NewBasis(d, r)}
		if n := testing.AllocsPerRun(20, func() { p.Multiply(out, u, v, 0) }); n != 0 {
			t.Errorf("%d workers: a product makes %g allocations", workers, n)
		}
		if want == nil {
			want = out
		}
		for i := range out {
			if !sameBits(out[i].Data(), want[i].Data()) {
				t.Errorf("%d workers: group %d differs", workers, i)
			}
		}
		pool.Close()
	}
}

func TestProductsPanic(t *testing.T) {
	tasks := kernel.NewBuilder(4, []int{3}, kernel.Float64).Tasks()
	pool := kernel.NewPool(1)
	defer pool.Close()
	p := kernel.NewProducts(kernel.NewExecutor(pool, []*kernel.Group{kernel.NewGroup(tasks, 2)}))
	one := func(d, r int) []*kernel.Basis { return []*kernel.Basis{kernel.NewBasis(d, r)} }
	u, v, out := one(4, 2), one(4, 2), one(4, 2)
	wantPanic(t, "number", func() { p.Multiply(nil, u, v, 1) })
	wantPanic(t, "direction", func() { p.Multiply(out, u, one(4, 3), 1) })
	wantPanic(t, "result", func() { p.Multiply(one(5, 2), u, v, 1) })
	wantPanic(t, "aliased with the basis", func() { p.Multiply(u, u, v, 1) })
	wantPanic(t, "aliased with the direction", func() { p.Multiply(v, u, v, 1) })
	wantPanic(t, "ridge", func() { p.Multiply(out, u, v, -1) })
	p.Multiply(out, u, v, 1)
}
