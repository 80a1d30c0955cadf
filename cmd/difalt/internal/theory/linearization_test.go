package theory

import (
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Linearization is an iteration of diffusion near a point U that all nodes share: with
// U_g = U + E_g, E_g in the tangent space, U'E_g = 0, to first order
//
//	E <- (W^T_con x I) (E_g - c L (H_g E_g + G_g) M_g),
//
// with the gradients G_g at U, the Hessians H_g there in Gauss-Newton's form, which is all of them
// where the tasks are fitted exactly (kernel.Products), and c = eta, M = I for the paper's step,
// or c = s/(n m), M_g = P_g^-1 for the scaled one, with the P_g that T_con rounds make of the nodes'
// own L B_g B_g'. The QR changes nothing to first order.
type Linearization struct {
	u         []*kernel.Basis // the same for all nodes
	grads     []*kernel.Basis
	w         *mat.Dense // L x L
	executor  *kernel.Executor
	products  *kernel.Products
	image     []*kernel.Basis
	steps     []*mat.Dense // c L M_g
	grams     []*mat.Dense // L B_g B_g'
	curvature float64      // n m
	pool      *kernel.Pool
	rounds    int
}

// Linearize returns the linearisation at u for the tasks of all nodes and mixing weights, with the
// paper's step of length 0. Close releases its worker.
func Linearize(nodes []*kernel.Tasks, u *kernel.Basis, w *topology.Weights) *Linearization {
	d, r := u.Dims()
	l := &Linearization{w: mat.NewDense(len(nodes), len(nodes), nil), pool: kernel.NewPool(1)}
	var groups []*kernel.Group
	xx, tasks := 0.0, 0
	for g, k := range nodes {
		groups = append(groups, kernel.NewGroup(k, r))
		l.u, l.image = append(l.u, u), append(l.image, kernel.NewBasis(d, r))
		squares, _ := k.SquareSums()
		xx, tasks = xx+squares, tasks+k.Len()
		for j := range nodes {
			l.w.Set(g, j, w.At(g, j))
		}
	}
	l.executor = kernel.NewExecutor(l.pool, groups)
	l.executor.Step(l.u, 0)
	l.products = kernel.NewProducts(l.executor)
	for _, g := range groups {
		grad := g.Grad.Clone()
		l.horizontal(grad)
		l.grads = append(l.grads, grad)
		b, gram := mat.NewDense(len(g.B)/r, r, g.B), new(mat.Dense)
		gram.Mul(b.T(), b)
		gram.Scale(float64(len(nodes)), gram)
		l.grams = append(l.grams, gram)
	}
	l.curvature = xx / float64(tasks) / float64(d)
	l.Plain(0, 1)
	return l
}

// Close releases the worker.
func (l *Linearization) Close() { l.pool.Close() }

// Plain makes it an iteration of the paper's method with a step eta and so many rounds.
func (l *Linearization) Plain(eta float64, rounds int) {
	_, r := l.u[0].Dims()
	step := mat.NewDense(r, r, nil)
	for k := range r {
		step.Set(k, k, eta*float64(len(l.u)))
	}
	l.steps, l.rounds = nil, rounds
	for range l.u {
		l.steps = append(l.steps, step)
	}
}

// Scaled makes it an iteration of the scaled step s. It panics if the tasks near a node do not
// determine its P_g.
func (l *Linearization) Scaled(s float64, rounds int) {
	l.steps, l.rounds = nil, rounds
	var power mat.Dense
	power.Pow(l.w, rounds)
	_, r := l.u[0].Dims()
	for g := range l.u {
		p, step := mat.NewDense(r, r, nil), new(mat.Dense)
		for j, gram := range l.grams {
			var part mat.Dense
			part.Scale(power.At(g, j), gram)
			p.Add(p, &part)
		}
		if err := step.Inverse(p); err != nil {
			panic("theory: a node sees tasks of too few directions")
		}
		step.Scale(s*float64(len(l.u))/l.curvature, step)
		l.steps = append(l.steps, step)
	}
}

// horizontal takes the part in the span of U from e.
func (l *Linearization) horizontal(e *kernel.Basis) {
	_, r := e.Dims()
	for i := range r {
		for j := range r {
			u := l.u[0].Col(j)
			floats.AddScaled(e.Col(i), -floats.Dot(u, e.Col(i)), u)
		}
	}
}

// apply overwrites e by its image, with the gradients at U times force.
func (l *Linearization) apply(e []*kernel.Basis, force float64) {
	l.products.Multiply(l.image, l.u, e, 0)
	_, r := l.u[0].Dims()
	for g, h := range l.image {
		l.horizontal(h)
		floats.AddScaled(h.Data(), force, l.grads[g].Data())
		for i := range r {
			for j := range r {
				floats.AddScaled(e[g].Col(i), -l.steps[g].At(j, i), h.Col(j))
			}
		}
	}
	for range l.rounds {
		for g := range e {
			clear(l.image[g].Data())
			for j := range e {
				floats.AddScaled(l.image[g].Data(), l.w.At(g, j), e[j].Data())
			}
		}
		for g := range e {
			e[g].CopyFrom(l.image[g])
		}
	}
	for _, v := range e {
		l.horizontal(v) // of rounding, which an iteration would keep
	}
}

// random returns a random point of the tangent space of unit length.
func (l *Linearization) random(seed uint64) []*kernel.Basis {
	rng := rand.New(rand.NewPCG(seed, 0x7a6e))
	e := make([]*kernel.Basis, len(l.u))
	for g := range e {
		e[g] = kernel.NewBasis(l.u[g].Dims())
		_, r := e[g].Dims()
		for j := range r {
			for i := range e[g].Col(j) {
				e[g].Col(j)[i] = rng.NormFloat64()
			}
		}
		l.horizontal(e[g])
	}
	return e
}

func dot(a, b []*kernel.Basis) (sum float64) {
	for g := range a {
		sum += floats.Dot(a[g].Data(), b[g].Data())
	}
	return sum
}

func scale(a []*kernel.Basis, by float64) {
	for _, v := range a {
		floats.Scale(by, v.Data())
	}
}

func add(a []*kernel.Basis, by float64, b []*kernel.Basis) {
	for g := range a {
		floats.AddScaled(a[g].Data(), by, b[g].Data())
	}
}

// Radius returns the spectral radius: by what an iteration multiplies a small error in the end. It
// is the mean growth of a random vector over as many iterations as it takes to be known to one in
// a thousand, also where the largest eigenvalues are complex.
func (l *Linearization) Radius() float64 {
	const block, blocks = 100, 50
	e, radius := l.random(1), math.NaN()
	for k := range blocks {
		sum := 0.0
		for range block {
			n := math.Sqrt(dot(e, e))
			if n == 0 {
				return 0
			}
			scale(e, 1/n)
			l.apply(e, 0)
			sum += math.Log(dot(e, e)) / 2
		}
		before := radius
		if radius = math.Exp(sum / block); k > 0 && math.Abs(radius-before) < 1e-4*(1-radius) {
			break
		}
	}
	return radius
}

// Krylov returns the least rate at which a method can converge that combines the images of the
// iteration in any way, with coefficients that all nodes share, as Anderson acceleration does with
// a long memory: the mean factor of an iteration of GMRES on E - A E = f, down to 1e-10.
func (l *Linearization) Krylov() float64 {
	const digits, most = 1e-10, 400
	residual := l.random(1)
	start := math.Sqrt(dot(residual, residual))
	var images [][]*kernel.Basis // orthonormal: what the directions become
	for k := range most {
		direction := clone(residual)
		image := clone(residual)
		l.apply(image, 0)
		add(direction, -1, image)
		for range 2 { // once more, for orthogonality to rounding
			for _, v := range images {
				add(direction, -dot(direction, v), v)
			}
		}
		length := math.Sqrt(dot(direction, direction))
		scale(direction, 1/length)
		images = append(images, direction)
		add(residual, -dot(residual, direction), direction)
		if left := math.Sqrt(dot(residual, residual)) / start; left < digits || length == 0 {
			return math.Pow(left, 1/float64(k+1))
		}
	}
	return math.Pow(math.Sqrt(dot(residual, residual))/start, 1/float64(most))
}

func clone(a []*kernel.Basis) []*kernel.Basis {
	b := make([]*kernel.Basis, len(a))
	for g := range a {
		b[g] = a[g].Clone()
	}
	return b
}

// Bias returns where the iteration ends, at a U that minimises the objective of all nodes: the
// largest |E_g| of the fixed point, to first order in the gradients of the nodes there, as the
// spectral norm, which is that of the subspace distance.
func (l *Linearization) Bias() float64 {
	e := clone(l.grads)
	scale(e, 0)
	for range 20000 {
		before := clone(e)
		l.apply(e, 1)
		add(before, -1, e)
		if dot(before, before) <= 1e-24*dot(e, e) {
			break
		}
	}
	largest := 0.0
	for _, v := range e {
		largest = max(largest, spectralNorm(v))
	}
	return largest
}

func spectralNorm(v *kernel.Basis) float64 {
	var svd mat.SVD
	if !svd.Factorize(v, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}
