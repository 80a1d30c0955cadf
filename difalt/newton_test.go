package difalt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

func gaussianBasis(rng *rand.Rand, d, r int) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	return u
}

// TestGaussNewtonProduct compares the product of a Gauss-Newton step with its definition in dense matrices,
// for tasks without samples, with fewer samples than the rank, with equal rows, with dependent columns of
// X_t U, and with many samples; in both storages, with and without a ridge; and for one worker and three bit
// for bit. Features in another unit have the same product, since their coefficients have the opposite unit.
func TestGaussNewtonProduct(t *testing.T) {
	want := gaussNewtonProducts(t, 1)
	for _, unit := range []float64{0x1p-60, 0x1p60} {
		for i, got := range gaussNewtonProducts(t, unit) {
			if !slices.Equal(got, want[i]) {
				t.Errorf("features in the unit %v: product %d is %v, want %v", unit, i, got, want[i])
			}
		}
	}
}

func gaussNewtonProducts(t *testing.T, unit float64) (all [][]float64) {
	t.Helper()
	const d, r, left = 11, 3, 9 // rows of U from left on are zero
	rng := rand.New(rand.NewPCG(1, 2))
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		k := newtonTasks(rng, d, left, unit, storage)
		u, direction := gaussianBasis(rng, d, r), gaussianBasis(rng, d, r)
		u.Orthonormalize(nil, nil)
		for j := range r {
			clear(u.Col(j)[left:])
		}
		for _, ridge := range []float64{0, .3 * unit * unit, 100 * unit * unit} {
			g := kernel.NewGroup(k, r)
			g.Minimize(u, ridge, nil)
			p := &point{u: []*kernel.Basis{u}, tasks: []*kernel.Tasks{k}, at: []evaluation{{b: g.B}}, ridge: ridge}
			var first []float64
			for _, workers := range []int{1, 3} {
				pool := kernel.NewPool(workers)
				defer pool.Close()
				n := newNewton(p)
				n.direction.CopyFrom(direction)
				for range 2 { // nothing is left of a product in the next one
					n.multiply(p, pool)
				}
				if first == nil {
					first = slices.Clone(n.parts[0].Data())
				}
				if !slices.Equal(first, n.parts[0].Data()) {
					t.Errorf("%v, ridge %v: %d workers make a difference", storage, ridge, workers)
				}
				if unit != 1 {
					continue // the definition needs an SVD, and gonum's is wrong for small entries
				}
				if want := denseProduct(k, u, direction, g.B, ridge); !mat.EqualApprox(n.parts[0], want, 1e-11) {
					t.Errorf("%v, ridge %v: the product is %v, want %v", storage, ridge, mat.Formatted(n.parts[0]),
						mat.Formatted(want))
				}
			}
			all = append(all, first)
		}
	}
	return all
}

// newtonTasks returns tasks of d features: task 7 has pairs of equal rows, and task 8 lacks the features from
// 2 to left-1.
func newtonTasks(rng *rand.Rand, d, left int, unit float64, storage kernel.Storage) *kernel.Tasks {
	sizes := []int{0, 1, 2, 3, 4, 5, 30, 6, 6}
	for range 30 {
		sizes = append(sizes, 7)
	}
	b := kernel.NewBuilder(d, sizes, storage)
	for task, n := range sizes {
		x := make([]float64, d)
		for i := range n {
			for k := range x {
				if task != 7 || i%2 == 0 {
					x[k] = float64(float32(rng.NormFloat64())) * unit
				}
			}
			if task == 8 {
				clear(x[2:left])
			}
			b.SetRow(task, i, x, rng.NormFloat64())
		}
	}
	return b.Tasks()
}

// denseProduct is sum_t X_t'(I - S_t)X_t D b_t b_t', where S_t is the smoother of X_t U.
func denseProduct(k *kernel.Tasks, u, direction *kernel.Basis, b []float64, ridge float64) *mat.Dense {
	d, r := u.Dims()
	sum := mat.NewDense(d, r, nil)
	for t := range k.Len() {
		n := k.Samples(t)
		if n == 0 {
			continue
		}
		x := mat.NewDense(n, d, nil)
		for i := range n {
			k.Row(x.RawRowView(i), t, i)
		}
		var a, v, smooth, outer mat.Dense
		a.Mul(x, u)
		coefficients := mat.NewDense(r, 1, slices.Clone(b[t*r:][:r]))
		v.Product(x, direction, coefficients)
		var svd mat.SVD
		svd.Factorize(&a, mat.SVDThin)
		var left mat.Dense
		svd.UTo(&left)
		values := svd.Values(nil)
		for i, s := range values {
			switch {
			case ridge > 0:
				values[i] = s * s / (s*s + ridge)
			case s > 1e-10*values[0]:
				values[i] = 1
			default:
				values[i] = 0
			}
		}
		smooth.Product(&left, mat.NewDiagDense(len(values), values), left.T(), &v)
		v.Sub(&v, &smooth)
		outer.Product(x.T(), &v, coefficients.T())
		sum.Add(sum, &outer)
	}
	return sum
}

// TestConjugateGradients: the steps of newton solve a system with a known matrix, to the accuracy that
// forcing asks for, or end after mostProducts; a direction without curvature ends them, too.
func TestConjugateGradients(t *testing.T) {
	const d, r = 8, 2
	rng := rand.New(rand.NewPCG(5, 6))
	grad := gaussianBasis(rng, d, r)
	identity := []float64{1, 0, 0, 1}
	p := &point{u: []*kernel.Basis{grad}}
	for name, c := range map[string]struct {
		curvature func(i int) float64
		products  int
	}{
		"identity":  {func(int) float64 { return 2 }, 1},
		"two":       {func(i int) float64 { return 1 + 999*float64(i%2) }, 2},
		"hard":      {func(i int) float64 { return math.Pow(10, float64(i)) }, mostProducts},
		"none":      {func(int) float64 { return 0 }, 1},
		"downwards": {func(int) float64 { return -1 }, 1},
	} {
		n, product, products := newNewton(p), kernel.NewBasis(d, r), 0
		n.begin(grad, identity)
		for done := false; !done; products++ {
			for j := range r {
				for i, v := range n.direction.Col(j) {
					product.Col(j)[i] = c.curvature(j*d+i) * v
				}
			}
			done = n.take(product)
		}
		if products > c.products || name != "hard" && products != c.products {
			t.Errorf("%s: %d products, want %d", name, products, c.products)
		}
		rest, size, descent := 0.0, 0.0, 0.0
		for j := range r {
			for i, v := range n.step.Col(j) {
				g := grad.Col(j)[i]
				rest, size, descent = rest+math.Pow(c.curvature(j*d+i)*v+g, 2), size+g*g, descent+g*v
			}
		}
		if products < mostProducts && c.curvature(0) > 0 && rest > forcing*forcing*size {
			t.Errorf("%s: a residual of %v, the gradient has %v", name, math.Sqrt(rest), math.Sqrt(size))
		}
		if descent >= 0 {
			t.Errorf("%s: the step leads upwards", name)
		}
	}
}

// TestAndersonCorrect compares the correction with its definition in dense matrices, and shortens it where it
// is more than twice the plain step.
func TestAndersonCorrect(t *testing.T) {
	const d, r = 9, 2
	rng := rand.New(rand.NewPCG(7, 8))
	p := gram.New(r)
	p.Invert([]float64{3, 1, 2})
	var inverse, root mat.Dense
	inverse.CloneFrom(mat.NewDense(r, r, p.Inverse))
	p.Map(p.Inverse, func(v float64) float64 { return 1 / math.Sqrt(v) })
	root.CloneFrom(mat.NewDense(r, r, p.Inverse))
	p.Map(p.Inverse, func(v float64) float64 { return 1 / v })
	for _, count := range []int{0, 1, 3, memoryLen, memoryLen + 4} {
		n := newAnderson(d, r)
		var du, dg []*mat.Dense
		for range count {
			a, b := gaussianBasis(rng, d, r), gaussianBasis(rng, d, r)
			n.remember(a, b)
			du, dg = append(du, mat.DenseCopyOf(a)), append(dg, mat.DenseCopyOf(b))
		}
		du, dg = du[max(0, count-memoryLen):], dg[max(0, count-memoryLen):]
		grad := gaussianBasis(rng, d, r)
		system, right := mat.NewDense(max(len(dg), 1), d*r, nil), mat.NewDense(1, d*r, nil)
		for a := range dg {
			var weighed mat.Dense
			weighed.Mul(dg[a], &root)
			copy(system.RawRowView(a), weighed.RawMatrix().Data)
		}
		var weighed, plain mat.Dense
		weighed.Mul(grad, &root)
		copy(right.RawRowView(0), weighed.RawMatrix().Data)
		want := mat.NewDense(d, r, nil)
		plain.Mul(grad, &inverse)
		plain.Scale(-1, &plain)
		if len(dg) > 0 {
			var c mat.Dense
			if err := c.Solve(system.T(), right.T()); err != nil {
				t.Fatal(err)
			}
			for a := range dg {
				var change mat.Dense
				change.Mul(dg[a], &inverse)
				change.Sub(&change, du[a])
				change.Scale(c.At(a, 0), &change)
				want.Add(want, &change)
			}
		}
		if length := mat.Norm(want, 2); length > longest*mat.Norm(&plain, 2) {
			want.Scale(longest*mat.Norm(&plain, 2)/length, want)
		}
		want.Add(want, &plain)
		step := kernel.NewBasis(d, r)
		for j := range r {
			copy(step.Col(j), mat.Col(nil, j, &plain))
		}
		n.correct(step, grad, p)
		if !mat.EqualApprox(step, want, 1e-6) {
			t.Errorf("%d changes: %v, want %v", count, mat.Formatted(step), mat.Formatted(want))
		}
	}
}

// TestAndersonWithoutChanges: an iteration that repeats itself does not change the step.
func TestAndersonWithoutChanges(t *testing.T) {
	const d, r = 9, 2
	rng := rand.New(rand.NewPCG(7, 8))
	p := gram.New(r)
	p.Invert([]float64{3, 1, 2})
	n, step := newAnderson(d, r), gaussianBasis(rng, d, r)
	for range 3 { // an iteration that repeats itself has no changes to extrapolate from
		n.rememberChange(step, step, step, step)
	}
	before := step.Clone()
	if n.correct(step, step, p); !mat.Equal(step, before) {
		t.Errorf("without changes the step is %v, want %v", mat.Formatted(step), mat.Formatted(before))
	}
}
